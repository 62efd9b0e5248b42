// SPDX-License-Identifier: Apache-2.0
// The contract of netns/neighbour.h: two links of one segment, one in the container's namespace and
// one in the host's.
#include <cerrno>
#include <future>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::Station;
using namespace std::chrono_literals;

constexpr uint32_t kAsker = 0x40000011;
constexpr uint32_t kOwner = 0x40000012;

class NeighboursContract : public ContractTest {
  protected:
    void prepare() override {
        make(outside_->container_ns(), asker_, "ask0");
        make(outside_->host_ns(), owner_, "own0");
        for (const char* address : {"10.9.9.2/24", "fd00:9::2/64"})
            ASSERT_TRUE(
                host().links.add_address(outside_->host_ns(), kOwner, *netns::parse_cidr(address)));
    }

    void TearDown() override {
        if (outside_)
            (void)host().links.remove(outside_->host_ns(), kOwner);
    }

    void make(const Netns& where, const Station& station, const char* name) {
        const auto made = make_macvlan(*outside_, where, station.index, name, station.mac);
        ASSERT_TRUE(made) << made.error().message();
    }

    netns::Host host() { return outside_->host(); }

    base::Result<std::optional<netns::Mac>> ask(const char* address, Deadline deadline) {
        return host().neighbours.find_owner(
            outside_->container_ns(), asker_, *netns::parse_cidr(address), deadline);
    }

    Station asker_{kAsker, *netns::parse_mac("02:00:5e:10:00:11")};
    Station owner_{kOwner, *netns::parse_mac("02:00:5e:10:00:12")};
};

INSTANTIATE_TEST_SUITE_P(,
                         NeighboursContract,
                         Values(fake(Kernel::V7_2), kernel()),
                         OutsideNames());

TEST_P(NeighboursContract, WhoHasAnAddressIsFound) {
    for (const char* address : {"10.9.9.2/24", "fd00:9::2/64"}) {
        const auto owner = ask(address, Deadline::in(10s));
        ASSERT_TRUE(owner) << owner.error().message();
        ASSERT_TRUE(*owner) << address;
        EXPECT_EQ(**owner, owner_.mac) << address;
    }
}

TEST_P(NeighboursContract, NobodyHasAFreeOne) {
    for (const char* address : {"10.9.9.3/24", "fd00:9::3/64"}) {
        const auto owner = ask(address, Deadline::in(50ms));
        ASSERT_TRUE(owner) << owner.error().message();
        EXPECT_FALSE(*owner) << netns::to_string(**owner);
    }
}

TEST_P(NeighboursContract, ALinkThatIsGone) {
    asker_.index = 0x40000099;
    const Error owner = error_of(ask("10.9.9.2/24", Deadline::in(50ms)));
    EXPECT_EQ(owner.code, Code::Unavailable) << owner.message();
    EXPECT_EQ(owner.sys, ENODEV);
    const Error told = error_of(host().neighbours.announce(
        outside_->container_ns(), asker_, {*netns::parse_cidr("10.9.9.9/24")}));
    EXPECT_EQ(told.code, Code::Unavailable);
    EXPECT_EQ(told.sys, ENODEV);
}

// Not part of what fakes have: announcements.
class KernelNeighboursTest : public NeighboursContract {};

INSTANTIATE_TEST_SUITE_P(, KernelNeighboursTest, Values(kernel()), OutsideNames());

// An announcement is a claim too: whoever asks at that moment hears it.
TEST_P(KernelNeighboursTest, AnAnnouncementIsHeard) {
    for (const char* text : {"10.9.9.7/24", "fd00:9::7/64"}) {
        const auto address = *netns::parse_cidr(text);
        auto heard = std::async(std::launch::async, [&] {
            const auto room = netns::make_kernel_neighbours();
            return room->find_owner(outside_->host_ns(), owner_, address, Deadline::in(20s));
        });
        // The other thread may not listen yet: again until it has heard.
        do
            ASSERT_TRUE(host().neighbours.announce(outside_->container_ns(), asker_, {address}));
        while (heard.wait_for(10ms) != std::future_status::ready);
        const auto owner = heard.get();
        ASSERT_TRUE(owner) << owner.error().message();
        ASSERT_TRUE(*owner) << text;
        EXPECT_EQ(**owner, asker_.mac) << text;
    }
}

}  // namespace
}  // namespace test
