// SPDX-License-Identifier: Apache-2.0
// Runs the bytes of a device program as the kernel would, for what such programs are made of;
// anything else, and a register that was never written, throws.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "netns/kernel/device_program.h"

namespace test {

struct DeviceQuestion {
    uint32_t type = 0;    // BPF_DEVCG_DEV_*
    uint32_t access = 0;  // BPF_DEVCG_ACC_*
    uint32_t major = 0;
    uint32_t minor = 0;
};

class DeviceInterpreter {
  public:
    static bool allows(const netns::BpfCode& code, const DeviceQuestion& question) {
        DeviceInterpreter machine{question};
        size_t at = 0;
        while (!machine.ended_)
            at = machine.step(code.at(at), at);
        return (machine.get(BPF_REG_0) & 1U) != 0;
    }

  private:
    explicit DeviceInterpreter(const DeviceQuestion& q)
        : context_{(q.access << 16U) | q.type, q.major, q.minor} {}

    uint64_t get(unsigned reg) const { return registers_.at(reg).value(); }

    uint64_t operand(const bpf_insn& i) const {
        return BPF_SRC(i.code) == BPF_X ? get(i.src_reg)
                                        : static_cast<uint64_t>(static_cast<int64_t>(i.imm));
    }

    static uint64_t calculate(unsigned operation, uint64_t a, uint64_t b) {
        switch (operation) {
            case BPF_MOV:
                return b;
            case BPF_AND:
                return a & b;
            case BPF_RSH:
                return a >> b;
            default:
                throw std::logic_error("arithmetic");
        }
    }

    bool jumps(const bpf_insn& i) const {
        switch (BPF_OP(i.code)) {
            case BPF_JA:
                return true;
            case BPF_JEQ:
                return get(i.dst_reg) == operand(i);
            case BPF_JNE:
                return get(i.dst_reg) != operand(i);
            default:
                throw std::logic_error("jump");
        }
    }

    size_t step(const bpf_insn& i, size_t at) {
        switch (BPF_CLASS(i.code)) {
            case BPF_ALU64: {
                const bool moves = BPF_OP(i.code) == BPF_MOV;
                registers_.at(i.dst_reg) =
                    calculate(BPF_OP(i.code), moves ? 0 : get(i.dst_reg), operand(i));
                return at + 1;
            }
            case BPF_LDX:
                if (i.code != (BPF_LDX | BPF_MEM | BPF_W) || i.src_reg != BPF_REG_1 ||
                    registers_[BPF_REG_1].has_value())
                    throw std::logic_error("load");
                registers_.at(i.dst_reg) = context_.at(static_cast<size_t>(i.off) / 4);
                return at + 1;
            case BPF_JMP:
                ended_ = BPF_OP(i.code) == BPF_EXIT;
                return at + 1 + (!ended_ && jumps(i) ? static_cast<size_t>(i.off) : 0);
            default:
                throw std::logic_error("instruction");
        }
    }

    std::array<uint32_t, 3> context_;                      // register 1 points to it
    std::array<std::optional<uint64_t>, 11> registers_{};  // without a value: never written
    bool ended_ = false;
};

}  // namespace test
