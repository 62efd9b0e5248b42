// SPDX-License-Identifier: Apache-2.0
// What adapters demand, refuse or ignore and a software device does not: client and server over a
// fake provider that does the same.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/command/options.h"
#include "tests/unit/perf/session_pair.h"

namespace perf {
namespace {

using test::FakeDevice;
using test::FakeVerbs;
using testing::HasSubstr;

bool any_relaxed(FakeVerbs& verbs) {
    return std::ranges::any_of(
        verbs.accesses(), [](int access) { return (access & IBV_ACCESS_RELAXED_ORDERING) != 0; });
}

bool all_relaxed(FakeVerbs& verbs) {
    return std::ranges::all_of(
        verbs.accesses(), [](int access) { return (access & IBV_ACCESS_RELAXED_ORDERING) != 0; });
}

TEST(Ordering, IsRelaxedUnlessAskedOtherwise) {
    for (const Verb verb : kVerbs) {
        for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
            FakeVerbs relaxed;
            const auto result = run_one(relaxed, point(verb, mode));
            ASSERT_TRUE(result) << result.error().message();
            EXPECT_FALSE(result->checked.wrong);
            EXPECT_EQ(result->server_ordering, Ordering::Relaxed);
            EXPECT_GE(relaxed.accesses().size(), 2U);
            EXPECT_TRUE(all_relaxed(relaxed));
        }
    }
    FakeVerbs strict;
    Point wanted = point(Verb::Write, Mode::Bandwidth);
    wanted.ordering = Ordering::Strict;
    const auto result = run_one(strict, wanted);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->server_ordering, Ordering::Strict);
    EXPECT_FALSE(any_relaxed(strict));
}

TEST(Ordering, OfAnOldKernelIsStrictAndNoError) {
    FakeVerbs verbs;
    verbs.have_old_kernel();
    const auto result = run_one(verbs, point(Verb::Write, Mode::Bandwidth));
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_FALSE(any_relaxed(verbs));
}

}  // namespace
}  // namespace perf
