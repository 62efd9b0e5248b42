// SPDX-License-Identifier: Apache-2.0
// The event for which netns/rdma.h waits when it waits for a GID. Without it the room would only
// look from time to time.
#include <gtest/gtest.h>

#include "netns/rdma.h"
#include "tests/contract/outside.h"

namespace test {
namespace {

TEST(GidEvents, TheKernelTellsOfANewGid) {
    if (const std::string reason = KernelOutside::rdma_missing(); !reason.empty())
        GTEST_SKIP() << reason;
    const std::string name = fresh_rdma_name();
    KernelOutside outside;
    const Netns host = outside.host_ns();
    auto rooms = outside.host();
    ASSERT_TRUE(
        rooms.rdma.add_link(host, {.name = name, .type = "rxe", .netdev = outside.parent()}));
    const auto device = rooms.rdma.find_by_name(host, name).value();
    ASSERT_TRUE(device);
    auto events = netns::GidEvents::open(host, rooms.rdma.uverbs_node(host, device->index).value());
    ASSERT_TRUE(rooms.links.add_address(host, outside.parent(), *netns::parse_cidr("10.9.0.1/24")));
    bool heard = false;
    for (const auto limit = base::Deadline::in(std::chrono::seconds(20));
         !heard && !limit.passed();)
        heard = events.wait(limit).value();
    EXPECT_TRUE(heard);
}

}  // namespace
}  // namespace test
