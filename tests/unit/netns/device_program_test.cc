// SPDX-License-Identifier: Apache-2.0
// Device programs, run: whatever rules a container has, our blocks add their devices and nothing
// else, and cut out they leave the program as it was.
#include <gtest/gtest.h>

#include "tests/unit/netns/device_interpreter.h"

namespace test {
namespace {

using base::Code;
using netns::BpfCode;
using netns::DeviceNumber;

constexpr DeviceNumber kUverbs{.major = 231, .minor = 192};
constexpr DeviceNumber kRdmaCm{.major = 10, .minor = 58};
constexpr uint32_t kAccessRw = BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE;

using Any = std::optional<uint32_t>;  // or one value

struct Rule {
    bool allow = false;
    Any type, major, minor;
    uint32_t access = 0;
};

bpf_insn op(unsigned code, unsigned dst, unsigned src, int off, int imm) {
    return {.code = static_cast<__u8>(code),
            .dst_reg = static_cast<__u8>(dst & 0xfU),
            .src_reg = static_cast<__u8>(src & 0xfU),
            .off = static_cast<__s16>(off),
            .imm = imm};
}

// One rule as a runtime might write it: registers 2 to 5 are type, access, major, minor.
void add_rule(BpfCode& code, const Rule& rule) {
    BpfCode body;
    // Decides if all that is asked is in the rule.
    body.push_back(op(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_3, 0, 0));
    body.push_back(
        op(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_6, 0, 0, static_cast<int>(~rule.access)));
    body.push_back(op(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_6, 0, 2, 0));
    body.push_back(op(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, rule.allow ? 1 : 0));
    body.push_back(op(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
    const auto condition = [&](const Any& wanted, unsigned reg) {
        if (wanted)
            body.insert(body.begin(),
                        op(BPF_JMP | BPF_JNE | BPF_K,
                           reg,
                           0,
                           static_cast<int>(body.size()),
                           static_cast<int>(*wanted)));
    };
    condition(rule.minor, BPF_REG_5);
    condition(rule.major, BPF_REG_4);
    condition(rule.type, BPF_REG_2);
    code.insert(code.end(), body.begin(), body.end());
}

BpfCode program_of(const std::vector<Rule>& rules) {
    BpfCode code = {op(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, 0, 0),
                    op(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, BPF_REG_2, 0, 0),
                    op(BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_3, 0, 0, 16),
                    op(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, 0, 0, 0xffff),
                    op(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_4, BPF_REG_1, 4, 0),
                    op(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_5, BPF_REG_1, 8, 0)};
    for (const Rule& rule : rules)
        add_rule(code, rule);
    code.push_back(op(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0));
    code.push_back(op(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
    return code;
}

std::vector<DeviceQuestion> all_questions() {
    std::vector<DeviceQuestion> all;
    for (uint32_t type = 0; type < 4; ++type)
        for (uint32_t access = 0; access < 8; ++access)
            for (const uint32_t major : {1U, 10U, 231U})
                for (const uint32_t minor : {58U, 192U})
                    all.push_back({type, access, major, minor});
    return all;
}

std::vector<Rule> all_rules() {
    std::vector<Rule> all;
    for (const bool allow : {false, true})
        for (const auto& type : {Any{}, Any{BPF_DEVCG_DEV_CHAR}})
            for (const auto& major : {Any{}, Any{231U}})
                for (const auto& minor : {Any{}, Any{192U}})
                    for (const uint32_t access : {1U, 2U, 6U, 7U})
                        all.push_back({allow, type, major, minor, access});
    return all;
}

bool is_granted(const DeviceQuestion& q, DeviceNumber device) {
    return q.type == BPF_DEVCG_DEV_CHAR && (q.access & ~kAccessRw) == 0 &&
           q.major == device.major && q.minor == device.minor;
}

// All answers of a program, one bit a question.
std::vector<bool> answers(const BpfCode& code, const std::vector<DeviceQuestion>& questions) {
    std::vector<bool> all;
    for (const auto& q : questions)
        all.push_back(DeviceInterpreter::allows(code, q));
    return all;
}

std::vector<bool> either(std::vector<bool> all,
                         const std::vector<DeviceQuestion>& questions,
                         DeviceNumber device) {
    for (size_t i = 0; i < all.size(); ++i)
        all[i] = all[i] || is_granted(questions[i], device);
    return all;
}

TEST(DeviceProgram, AddsItsDevicesToEveryPairOfRulesAndNothingElse) {
    const auto questions = all_questions();
    const auto rules = all_rules();
    for (const Rule& first : rules) {
        for (const Rule& second : rules) {
            const BpfCode own = program_of({first, second});
            const BpfCode one = netns::with_device(own, kUverbs);
            const BpfCode two = netns::with_device(one, kRdmaCm);
            const auto before = answers(own, questions);
            const auto with_one = either(before, questions, kUverbs);
            ASSERT_EQ(answers(one, questions), with_one);
            ASSERT_EQ(answers(two, questions), either(with_one, questions, kRdmaCm));
        }
    }
}

TEST(DeviceProgram, IsRestoredInAnyOrder) {
    const BpfCode own = program_of(all_rules());
    const BpfCode both = netns::with_device(netns::with_device(own, kUverbs), kRdmaCm);
    for (const auto& [first, second] : {std::pair{kUverbs, kRdmaCm}, std::pair{kRdmaCm, kUverbs}}) {
        const BpfCode one = netns::without_device(both, first);
        EXPECT_FALSE(netns::allows_by_block(one, first));
        EXPECT_TRUE(netns::allows_by_block(one, second));
        EXPECT_TRUE(netns::same_code(netns::without_device(one, second), own));
    }
}

TEST(DeviceProgram, TwiceIsOnce) {
    const BpfCode own = program_of({});
    const BpfCode one = netns::with_device(own, kUverbs);
    EXPECT_TRUE(netns::same_code(netns::with_device(one, kUverbs), one));
    EXPECT_TRUE(netns::same_code(netns::without_device(own, kUverbs), own));
}

TEST(DeviceProgram, OnlyWholeBlocksAtTheBeginningCount) {
    const BpfCode one = netns::with_device(program_of({}), kUverbs);
    BpfCode behind = program_of({});
    behind.insert(behind.end(), one.begin(), one.end());
    EXPECT_FALSE(netns::allows_by_block(behind, kUverbs));
    EXPECT_TRUE(netns::same_code(netns::without_device(behind, kUverbs), behind));
    const BpfCode cut(one.begin(), one.begin() + 5);
    EXPECT_FALSE(netns::allows_by_block(cut, kUverbs));
    EXPECT_TRUE(netns::same_code(netns::without_device({}, kUverbs), {}));
}

TEST(DeviceProgram, WhatCannotBeLoadedAgainIsRefused) {
    BpfCode calling = program_of({});
    EXPECT_TRUE(netns::check_reloadable(calling));
    calling.insert(calling.begin(), op(BPF_JMP | BPF_CALL, 0, 0, 0, 5));
    BpfCode mapping = program_of({});
    mapping.insert(mapping.begin(),
                   {op(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_MAP_FD, 0, 7), op(0, 0, 0, 0, 0)});
    BpfCode counting = program_of({});  // a number whose other half looks like a call
    counting.insert(
        counting.begin(),
        {op(BPF_LD | BPF_IMM | BPF_DW, 2, 0, 0, 7), op(0, 0, 0, 0, BPF_JMP | BPF_CALL)});
    EXPECT_TRUE(netns::check_reloadable(counting));
    for (const BpfCode& code : {calling, mapping, BpfCode{}}) {
        const auto refused = netns::check_reloadable(code);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Code::Unsupported);
    }
}

}  // namespace
}  // namespace test
