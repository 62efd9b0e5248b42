// SPDX-License-Identifier: Apache-2.0
#include "netns/base/error.h"

#include <cerrno>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "netns/base/result.h"

namespace base {
namespace {
TEST(Error, NumbersThatNobodyKnowsAreNumbers) {
    EXPECT_EQ(sys_error(-EINVAL, "post").sys, EINVAL) << "as some user space drivers answer";
    EXPECT_NE(sys_error(99999, "post").message().find("errno 99999"), std::string::npos);
    EXPECT_EQ(sys_error(EPERM, "").message(), "Operation not permitted") << "a number alone";
    EXPECT_EQ(sys_error(EPERM, "").in("open it").message(), "open it: Operation not permitted");
}

TEST(Error, MessageGoesFromTheOutsideIn) {
    Error error = sys_error(EBUSY, "move link rdma0");
    error.extack = "device is\nbusy";
    Error framed = std::move(error).in("attach").in("container a1").advise("run: rdmactl gc");
    EXPECT_EQ(
        framed.message(),
        "container a1: attach: move link rdma0: Device or resource busy (device is\\x0abusy); "
        "run: rdmactl gc");
}

TEST(Error, InnermostAdviceStays) {
    Error error = make_error(Code::Refused, "no").advise("inner").advise("outer");
    EXPECT_EQ(error.fix, "inner");
}

TEST(Error, PrintableEscapesAndCuts) {
    EXPECT_EQ(printable("a\x1b[0m"), "a\\x1b[0m");
    EXPECT_EQ(printable("abcdef", 3), "abc...");
}

// The filter of a confined process answers so to a call that is not listed.
TEST(Error, WhatIsNotImplementedMayHaveBeenRefused) {
    EXPECT_EQ(
        sys_error(ENOSYS, "open /run/x").message(),
        "open /run/x: Function not implemented (if the program's own filter refused it, dmesg "
        "has type=1326)");
}

TEST(Result, JoinKeepsBoth) {
    Result<> both = join(make_error(Code::Busy, "first"), make_error(Code::Kernel, "second"));
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().message(), "first; also second");
    EXPECT_TRUE(join({}, {}));
    EXPECT_EQ(join({}, make_error(Code::Kernel, "second")).error().message(), "second");
}

Result<int> half(int n) {
    if (n % 2 != 0)
        return make_error(Code::BadInput, "odd");
    return n / 2;
}

Result<int> quarter(int n) {
    return TRY(half(TRY(half(n))));
}

TEST(Result, TryTakesOrReturns) {
    EXPECT_EQ(*quarter(8), 2);
    EXPECT_EQ(quarter(6).error().text, "odd");
    EXPECT_EQ(quarter(6).context("here").error().message(), "here: odd");
}

TEST(Result, ALoopOverTheValueOfATemporaryKeepsIt) {
    const auto owned = std::make_shared<int>(1);
    const auto make = [&] { return Result(std::vector{owned}); };
    for ([[maybe_unused]] const auto& each : make().value())
        EXPECT_EQ(owned.use_count(), 2);
    for ([[maybe_unused]] const auto& each : *make())
        EXPECT_EQ(owned.use_count(), 2);
}
}  // namespace
}  // namespace base
