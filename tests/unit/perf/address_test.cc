// SPDX-License-Identifier: Apache-2.0
#include "perf/address/address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace perf {
namespace {

TEST(Address, OneValueForAddressAndGid) {
    const auto v4 = parse_address("10.9.0.1");
    ASSERT_TRUE(v4);
    EXPECT_TRUE(v4->is_v4());
    EXPECT_EQ(v4->text(), "10.9.0.1");
    EXPECT_EQ(v4->gid_text(), "0000:0000:0000:0000:0000:ffff:0a09:0001");
    EXPECT_EQ(parse_address(v4->gid_text()), v4);
    EXPECT_EQ(parse_address("::ffff:10.9.0.1"), v4);
}

TEST(Address, Kinds) {
    EXPECT_TRUE(parse_address("fe80::1")->is_link_local());
    EXPECT_FALSE(parse_address("fd00::1")->is_link_local());
    EXPECT_TRUE(parse_address("127.3.0.1")->is_loopback());
    EXPECT_TRUE(parse_address("::1")->is_loopback());
    EXPECT_FALSE(parse_address("::")->is_loopback());
    EXPECT_TRUE(parse_address("::")->is_zero());
}

TEST(Address, RefusesWhatIsNone) {
    for (const char* text : {"", "10.9.0", "10.9.0.1/24", "fe80::1%eth0", "x", "1:2:3:4:5:6:7:8:9"})
        EXPECT_FALSE(parse_address(text)) << text;
    EXPECT_FALSE(parse_address(std::string(100, '1')));
}

TEST(Address, SocketAddressesAndBack) {
    for (const char* text : {"10.9.0.1", "fd00::7"}) {
        SocketAddress address(*parse_address(text), 4791);
        EXPECT_EQ(from_sockaddr(address.get())->text(), text);
        EXPECT_EQ(ntohs(address.in().sin_port), 4791);
    }
    sockaddr_storage other{};
    other.ss_family = AF_UNIX;
    EXPECT_FALSE(from_sockaddr(reinterpret_cast<sockaddr*>(&other)));
    EXPECT_FALSE(from_sockaddr(nullptr));
}

}  // namespace
}  // namespace perf
