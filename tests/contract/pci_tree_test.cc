// SPDX-License-Identifier: Apache-2.0
// The contract of netns/pci_tree.h.
#include "netns/pci_tree.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "netns/values/pci_address.h"
#include "tests/contract/outside.h"

namespace test {
namespace {

class PciTreeContract : public ContractTest {
  protected:
    netns::PciTree& room() { return outside_->host().pci; }
};

INSTANTIATE_TEST_SUITE_P(, PciTreeContract, Values(fake(Kernel::V7_2), kernel()), OutsideNames());

// Of this host, whatever it has; many have none.
TEST_P(PciTreeContract, EachCardIsOnceAndInItsPlace) {
    const auto cards = room().cards();
    ASSERT_TRUE(cards) << cards.error().message();
    for (const netns::PciCard& card : *cards) {
        EXPECT_TRUE(netns::is_pci_address(card.address)) << card.address;
        EXPECT_TRUE(card.place.root.starts_with("pci")) << card.place.root;
        EXPECT_TRUE(std::ranges::all_of(card.place.bridges, netns::is_pci_address));
        EXPECT_GE(card.place.numa_node, -1);
        const auto place = room().place(card.address);
        ASSERT_TRUE(place) << place.error().message();
        EXPECT_EQ(*place, card.place);
    }
    const auto before = [](const netns::PciCard& a, const netns::PciCard& b) {
        return netns::is_before(a.address, b.address);
    };
    EXPECT_TRUE(std::ranges::is_sorted(*cards, before));
}

TEST_P(PciTreeContract, WhatIsNotThereHasNoPlace) {
    for (const char* address : {"ffff:ff:1f.7", "", "..", "../../../devices", "0000:00:00"}) {
        const auto place = room().place(address);
        ASSERT_TRUE(place) << place.error().message();
        EXPECT_FALSE(*place) << address;
        const auto acs = room().acs(address);
        ASSERT_TRUE(acs) << acs.error().message();
        EXPECT_FALSE(*acs) << address;
    }
}

}  // namespace
}  // namespace test
