// SPDX-License-Identifier: Apache-2.0
// What becomes of a device while it is open.
#include "perf/verbs/device.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/perf/fake_verbs.h"

namespace perf {
namespace {

using test::FakeVerbs;

base::Result<Device> open_loopback(FakeVerbs& verbs) {
    return open_best_device(verbs, {}, {*parse_address("127.0.0.1")});
}

TEST(OpenDevice, IsThereUntilTheKernelSaysOtherwise) {
    FakeVerbs verbs;
    const auto device = open_loopback(verbs);
    ASSERT_TRUE(device) << device.error().message();
    EXPECT_FALSE(is_gone(*device));
    verbs.announce("rxe0", IBV_EVENT_PORT_ERR);
    verbs.announce("rxe0", IBV_EVENT_GID_CHANGE);
    EXPECT_FALSE(is_gone(*device));
    verbs.announce("rxe0", IBV_EVENT_PORT_ACTIVE);
    verbs.announce("rxe0", IBV_EVENT_DEVICE_FATAL);
    EXPECT_TRUE(is_gone(*device));
    EXPECT_TRUE(is_gone(*device)) << "and it does not come back";
    EXPECT_THAT(gone_error(*device).message(), testing::HasSubstr("the RDMA device rxe0 is gone"));
}

// A post may be refused before the event that tells why.
TEST(OpenDevice, WaitsForTheEventThatExplainsARefusal) {
    FakeVerbs verbs;
    const auto device = open_loopback(verbs);
    ASSERT_TRUE(device) << device.error().message();
    EXPECT_FALSE(is_gone(*device, std::chrono::milliseconds(1)));
    std::thread kernel([&] {
        verbs.announce("rxe0", IBV_EVENT_PORT_ERR);
        verbs.announce("rxe0", IBV_EVENT_DEVICE_FATAL);
    });
    EXPECT_TRUE(is_gone(*device, std::chrono::seconds(60)));
    kernel.join();
}

TEST(OpenDevice, KnowsThatItsPortIsDown) {
    FakeVerbs verbs;
    const auto device = open_loopback(verbs);
    ASSERT_TRUE(device) << device.error().message();
    EXPECT_FALSE(port_error(*device));
    verbs.take_link_down("rxe0");
    const auto error = port_error(*device);
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), testing::HasSubstr("port 1 of rxe0 is down"));
}

}  // namespace
}  // namespace perf
