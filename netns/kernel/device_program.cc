// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/device_program.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>

namespace netns {

namespace {
constexpr int kBlockMark = 0x72646d61;  // "rdma"
constexpr size_t kBlockSize = 14;
using Block = std::array<bpf_insn, kBlockSize>;

constexpr bpf_insn instruction(
    unsigned code, unsigned target, unsigned source, int offset, int number) {
    return {.code = static_cast<__u8>(code),
            .dst_reg = static_cast<__u8>(target & 0xfU),
            .src_reg = static_cast<__u8>(source & 0xfU),
            .off = static_cast<__s16>(offset),
            .imm = number};
}

constexpr bpf_insn set(unsigned reg, int value) {
    return instruction(BPF_ALU64 | BPF_MOV | BPF_K, reg, 0, 0, value);
}

// Loads a member of the context, whose address is in register 1.
constexpr bpf_insn load(unsigned reg, size_t member) {
    return instruction(BPF_LDX | BPF_MEM | BPF_W, reg, BPF_REG_1, static_cast<int>(member), 0);
}

constexpr bpf_insn calculate(unsigned operation, unsigned reg, int value) {
    return instruction(BPF_ALU64 | operation | BPF_K, reg, 0, 0, value);
}

// Jumps from position `at` to the end of the block, unless the register has the value.
constexpr bpf_insn leave_unless(size_t at, unsigned reg, uint32_t value) {
    return instruction(BPF_JMP | BPF_JNE | BPF_K,
                       reg,
                       0,
                       static_cast<int>(kBlockSize - at - 1),
                       static_cast<int>(value));
}

// Uses 64-bit operations only: a 32-bit one may come back from the kernel with one more
// instruction. Register 1 stays as it is for the program behind. That program cannot depend on
// registers 0, 2 and 3, since a program begins without values in them.
Block block_for(DeviceNumber device) {
    constexpr int kTypeBits = 16;
    return {set(BPF_REG_0, kBlockMark),
            load(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, access_type)),
            instruction(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, BPF_REG_2, 0, 0),
            calculate(BPF_AND, BPF_REG_3, (1 << kTypeBits) - 1),
            leave_unless(4, BPF_REG_3, BPF_DEVCG_DEV_CHAR),
            calculate(BPF_RSH, BPF_REG_2, kTypeBits),
            calculate(BPF_AND, BPF_REG_2, ~(BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE)),
            leave_unless(7, BPF_REG_2, 0),
            load(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, major)),
            leave_unless(9, BPF_REG_2, device.major),
            load(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, minor)),
            leave_unless(11, BPF_REG_2, device.minor),
            set(BPF_REG_0, 1),
            instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)};
}

bool same(const bpf_insn& a, const bpf_insn& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

bool starts_block(const BpfCode& code, size_t at) {
    return at + kBlockSize <= code.size() && same(code[at], set(BPF_REG_0, kBlockMark));
}

// Returns the position of the device's block among those at the beginning; the end of the code if
// there is none.
size_t find_block(const BpfCode& code, DeviceNumber device) {
    const Block wanted = block_for(device);
    for (size_t at = 0; starts_block(code, at); at += kBlockSize) {
        if (std::equal(
                wanted.begin(), wanted.end(), code.begin() + static_cast<ptrdiff_t>(at), same))
            return at;
    }
    return code.size();
}
}  // namespace

Result<> check_reloadable(const BpfCode& code) {
    const auto refuse = [](const char* what) {
        return make_error(Code::Unsupported,
                          fmt::format("the container's device program {}, so that it cannot be "
                                      "rebuilt with one more device",
                                      what))
            .advise("use precreate or rdma-runtime, which need no rebuilt program");
    };
    if (code.empty())
        return refuse("is not shown by the kernel");
    for (size_t at = 0; at < code.size(); ++at) {
        const unsigned kind = code[at].code;
        if (kind == (BPF_JMP | BPF_CALL))
            return refuse("calls functions");
        if (kind != (BPF_LD | BPF_IMM | BPF_DW))
            continue;
        if (code[at].src_reg != 0)
            return refuse("uses maps");
        ++at;  // the other half of the number
    }
    return {};
}

bool allows_by_block(const BpfCode& code, DeviceNumber device) {
    return find_block(code, device) != code.size();
}

BpfCode with_device(const BpfCode& code, DeviceNumber device) {
    if (allows_by_block(code, device))
        return code;
    const Block block = block_for(device);
    BpfCode wider(block.begin(), block.end());
    wider.insert(wider.end(), code.begin(), code.end());
    return wider;
}

BpfCode without_device(const BpfCode& code, DeviceNumber device) {
    BpfCode narrower = code;
    const auto at = narrower.begin() + static_cast<ptrdiff_t>(find_block(code, device));
    if (at != narrower.end())
        narrower.erase(at, at + kBlockSize);
    return narrower;
}

bool same_code(const BpfCode& a, const BpfCode& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

}  // namespace netns
