// SPDX-License-Identifier: Apache-2.0
// EFA: SRD, which loses nothing and keeps no order, and what else Amazon's adapter does in its own
// way. The fake does as libefa of rdma-core and the kernel's driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/perf/session_pair.h"

namespace perf {
namespace {

using test::FakeDevice;
using test::FakeVerbs;
using testing::HasSubstr;

FakeDevice efa_device(bool has_rdma = true) {
    FakeDevice device = test::loopback_device();
    device.vendor_id = 0x1d0f;
    device.is_efa = true;
    device.has_efa_rdma = has_rdma;
    device.max_inline = 32;
    device.mtu = 4096;
    device.max_reads = 0;
    return device;
}

Point srd_point(Verb verb, Mode mode, uint32_t size = 500) {
    return point(verb, mode, size, Transport::Srd);
}

base::Error efa_refusal(const Point& wanted, const FakeDevice& device = efa_device()) {
    FakeVerbs verbs({device});
    const auto result = run_one(verbs, wanted);
    EXPECT_FALSE(result);
    return result ? base::Error{} : result.error();
}

TEST(Srd, CarriesDataInAnyOrder) {
    for (const Verb verb : {Verb::Write, Verb::WriteImm, Verb::Read, Verb::Send, Verb::SendImm}) {
        for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
            for (const uint32_t size : {32U, 33U, 500U}) {  // SEND: inline, and not
                FakeVerbs verbs({efa_device()});
                const Point p = srd_point(verb, mode, size);
                ASSERT_TRUE(check_limits(p)) << describe(p);
                const auto result = run_one(verbs, p);
                ASSERT_TRUE(result) << describe(p) << ": " << result.error().message();
                EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
                EXPECT_EQ(result->checked.lost, 0U);
                EXPECT_EQ(result->inline_bytes, is_send(verb) && size == 32 ? 32U : 0U);
                EXPECT_EQ(verbs.posted_by_lists(), 0U) << "those carry SEND only";
                if (mode == Mode::Bandwidth) {
                    EXPECT_EQ(result->bandwidth->messages, 777U);
                    EXPECT_EQ(signal_of(result->point), 1U);
                }
            }
        }
    }
}

TEST(Srd, HasSeveralQueuePairsAndDirections) {
    for (const Verb verb : {Verb::Write, Verb::Read, Verb::Send}) {
        for (const Direction direction : {Direction::Reverse, Direction::Both}) {
            FakeVerbs verbs({efa_device()});
            Point p = srd_point(verb, Mode::Bandwidth);
            p.qps = 3;
            p.threads = 2;
            p.direction = direction;
            const auto result = run_one(verbs, p);
            ASSERT_TRUE(result) << describe(p) << ": " << result.error().message();
            EXPECT_FALSE(result->checked.wrong) << result->checked.wrong->mismatch.kind;
        }
    }
}

TEST(Srd, ShowsWrongData) {
    using test::Fault;
    for (const Fault fault : {Fault::BitFlip, Fault::Stale, Fault::Shift, Fault::Stray}) {
        for (const Verb verb : {Verb::Write, Verb::Read, Verb::Send}) {
            FakeVerbs verbs({efa_device()});
            verbs.inject(fault, 3);
            const auto result = run_one(verbs, srd_point(verb, Mode::Bandwidth));
            ASSERT_TRUE(result) << result.error().message();
            EXPECT_TRUE(result->checked.wrong) << name_of(verb) << " " << static_cast<int>(fault);
        }
    }
}

TEST(Srd, OfAnOlderAdapterCarriesSendOnly) {
    const base::Error error =
        efa_refusal(srd_point(Verb::Write, Mode::Bandwidth), efa_device(false));
    EXPECT_THAT(error.message(), HasSubstr("the device has no srd, or none for this verb"));
    EXPECT_THAT(error.fix, HasSubstr("use --verb send"));
    FakeVerbs verbs({efa_device(false)});
    EXPECT_TRUE(run_one(verbs, srd_point(Verb::Send, Mode::Bandwidth)));
}

TEST(Srd, IsOfEfaOnly) {
    FakeDevice other = efa_device();
    other.is_efa = false;
    other.vendor_id = 0x2c9;
    EXPECT_THAT(efa_refusal(srd_point(Verb::Send, Mode::Bandwidth), other).fix,
                HasSubstr("--transport rc elsewhere"));
    EXPECT_THAT(efa_refusal(point(Verb::Write, Mode::Bandwidth)).message(),
                HasSubstr("the device has no rc"));
}

TEST(Srd, HasLimits) {
    const base::Error long_one = efa_refusal(srd_point(Verb::Send, Mode::Bandwidth, 8193));
    EXPECT_THAT(long_one.message(), HasSubstr("8192 bytes at most, not of 8193"));
    EXPECT_THAT(long_one.fix, HasSubstr("--size"));
    Point inlined = srd_point(Verb::Write, Mode::Bandwidth, 16);
    inlined.inline_bytes = 16;
    EXPECT_THAT(efa_refusal(inlined).message(),
                HasSubstr("no inline data goes with write over srd"));
    for (const Verb verb : {Verb::FetchAdd, Verb::CompareSwap})
        EXPECT_FALSE(can_carry(Transport::Srd, verb));
    Point wanted = srd_point(Verb::Send, Mode::Bandwidth);
    wanted.signal = wanted.batch;
    EXPECT_FALSE(check_limits(wanted)) << "each message has a completion";
    wanted = srd_point(Verb::Read, Mode::Bandwidth);
    wanted.reads = 4;
    EXPECT_FALSE(check_limits(wanted));
    wanted = srd_point(Verb::Send, Mode::Latency);
    wanted.rate = 1000;
    EXPECT_FALSE(check_limits(wanted)) << "answers come in any order";
}

TEST(Efa, DatagramsHaveACompletionEach) {
    for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
        FakeVerbs verbs({efa_device()});
        const auto result = run_one(verbs, point(Verb::Send, mode, 64, Transport::Ud));
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_FALSE(result->checked.wrong);
        if (mode == Mode::Bandwidth) {
            EXPECT_EQ(signal_of(result->point), 1U);
        }
    }
}

}  // namespace
}  // namespace perf
