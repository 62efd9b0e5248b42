// SPDX-License-Identifier: Apache-2.0
// The contract of netns/route.h.
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

using netns::Route;
using netns::SourceRule;

constexpr uint32_t kRailIndex = 0x40000021;
constexpr uint32_t kTable = 100042;

class RoutesContract : public ContractTest {
  protected:
    void prepare() override { make_rail(); }

    void make_rail() {
        auto& links = outside_->host().links;
        const netns::Mac mac{{2, 0, 0x5e, 0x10, 0, 0x21}};
        ASSERT_TRUE(make_macvlan(*outside_, ns(), kRailIndex, "rail0", mac));
        for (const char* address : {"10.9.9.1/24", "fd00:9::1/64"})
            ASSERT_TRUE(links.add_address(ns(), kRailIndex, *netns::parse_cidr(address)));
    }

    Netns ns() { return outside_->container_ns(); }

    netns::Routes& room() { return outside_->host().routes; }

    static Route route(const char* destination, const char* gateway, uint32_t table = kTable) {
        Route route{.family = netns::Family::V4, .link = kRailIndex, .table = table};
        if (*destination != '\0')
            route.destination = *netns::parse_cidr(destination);
        if (*gateway != '\0')
            route.gateway = *netns::parse_ip(gateway);
        const bool v6 = std::string(destination).find(':') != std::string::npos ||
                        std::string(gateway).find(':') != std::string::npos;
        if (v6)
            route.family = netns::Family::V6;
        return route;
    }

    static SourceRule rule(const char* source) {
        return {.source = *netns::parse_ip(source), .table = kTable, .priority = 1000};
    }
};

INSTANTIATE_TEST_SUITE_P(, RoutesContract, Values(fake(Kernel::V7_2), kernel()), OutsideNames());

TEST_P(RoutesContract, AddedOnceRemovedTwice) {
    for (const auto& [destination, gateway] : {std::pair{"10.9.9.0/24", ""},
                                               {"172.16.0.0/12", "10.9.9.254"},
                                               {"", "10.9.9.254"},
                                               {"fd00:9::/64", ""},
                                               {"fd00:77::/48", "fd00:9::fe"},
                                               {"", "fd00:9::fe"}}) {
        const Route wanted = route(destination, gateway);
        const auto added = room().add(ns(), wanted);
        ASSERT_TRUE(added) << destination << ": " << added.error().message();
        const auto again = room().add(ns(), wanted);
        ASSERT_FALSE(again) << destination;
        EXPECT_EQ(again.error().code, Code::Busy) << again.error().message();
        EXPECT_EQ(again.error().sys, EEXIST);
        EXPECT_TRUE(room().remove(ns(), wanted)) << destination;
        EXPECT_TRUE(room().remove(ns(), wanted)) << destination;
        EXPECT_TRUE(room().add(ns(), wanted)) << destination << ": it was not removed";
        EXPECT_TRUE(room().remove(ns(), wanted));
    }
}

TEST_P(RoutesContract, TheMainTableAndASource) {
    Route wanted = route("172.16.0.0/12", "10.9.9.254", netns::kMainTable);
    wanted.source = *netns::parse_ip("10.9.9.1");
    const auto added = room().add(ns(), wanted);
    ASSERT_TRUE(added) << added.error().message();
    EXPECT_FALSE(room().add(ns(), wanted));
    EXPECT_TRUE(room().remove(ns(), wanted));
}

TEST_P(RoutesContract, AGatewayThatIsNowhere) {
    const Error added = error_of(room().add(ns(), route("172.16.0.0/12", "192.0.2.77")));
    EXPECT_EQ(added.code, Code::BadInput) << added.message();
    EXPECT_EQ(added.sys, ENETUNREACH);
}

TEST_P(RoutesContract, ALinkThatIsGone) {
    Route lost = route("172.16.0.0/12", "");
    lost.link = 0x40000099;
    const Error added = error_of(room().add(ns(), lost));
    EXPECT_EQ(added.code, Code::Unavailable) << added.message();
    EXPECT_EQ(added.sys, ENODEV);
    EXPECT_TRUE(room().remove(ns(), lost));
}

TEST_P(RoutesContract, RoutesGoWithTheirLink) {
    const Route wanted = route("172.16.0.0/12", "10.9.9.254");
    ASSERT_TRUE(room().add(ns(), wanted));
    ASSERT_TRUE(outside_->host().links.remove(ns(), kRailIndex));
    EXPECT_TRUE(room().remove(ns(), wanted));
    make_rail();
    const auto added = room().add(ns(), wanted);
    EXPECT_TRUE(added) << "the old one is there still: " << added.error().message();
}

TEST_P(RoutesContract, RulesAddedOnceRemovedTwice) {
    for (const char* source : {"10.9.9.1", "fd00:9::1"}) {
        const SourceRule wanted = rule(source);
        const auto added = room().add_rule(ns(), wanted);
        ASSERT_TRUE(added) << added.error().message();
        const auto again = room().add_rule(ns(), wanted);
        ASSERT_FALSE(again) << source;
        EXPECT_EQ(again.error().code, Code::Busy) << again.error().message();
        EXPECT_EQ(again.error().sys, EEXIST);
        EXPECT_TRUE(room().remove_rule(ns(), wanted));
        EXPECT_TRUE(room().remove_rule(ns(), wanted));
    }
}

}  // namespace
}  // namespace test
