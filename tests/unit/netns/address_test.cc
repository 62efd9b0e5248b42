// SPDX-License-Identifier: Apache-2.0
#include "netns/values/address.h"

#include <gtest/gtest.h>

namespace netns {
namespace {

Address cidr(const char* text) {
    const auto parsed = parse_cidr(text);
    EXPECT_TRUE(parsed) << text;
    return parsed.value_or(Address{});
}

TEST(Mac, IsParsedAndPrinted) {
    EXPECT_EQ(to_string(*parse_mac("02:00:5e:10:00:01")), "02:00:5e:10:00:01");
    EXPECT_EQ(to_string(*parse_mac("AA:bb:CC:dd:EE:ff")), "aa:bb:cc:dd:ee:ff");
    EXPECT_TRUE(parse_mac("03:00:00:00:00:00")->is_multicast());
    EXPECT_FALSE(parse_mac("02:00:00:00:00:00")->is_multicast());
    EXPECT_TRUE(parse_mac("00:00:00:00:00:00")->is_zero());
}

TEST(Mac, HasOneSpelling) {
    using namespace std::string_view_literals;
    for (const std::string_view text : {""sv,
                                        ":"sv,
                                        "02:00:5e:10:00"sv,
                                        "02:00:5e:10:00:01:"sv,
                                        "02:00:5e:10:00:01:02"sv,
                                        "02-00-5e-10-00-01"sv,
                                        "2:0:5e:10:0:1"sv,
                                        "0200.5e10.0001"sv,
                                        "02:00:5e:10:00:0g"sv,
                                        "02:00:5e:10:00:+1"sv,
                                        "02:00:5e:10:00: 1"sv,
                                        " 02:00:5e:10:00:01"sv,
                                        "02:00:5e:10:00:01\n"sv,
                                        "02:00:5e:10:00:0\0"sv,
                                        "02:00:5e:10:00\0:1"sv})
        EXPECT_FALSE(parse_mac(text)) << text;
}

TEST(Cidr, IsPrintedInTheCanonicalSpelling) {
    for (const auto& [text, canonical] : std::initializer_list<std::pair<const char*, const char*>>{
             {"10.9.0.1/24", "10.9.0.1/24"},
             {"0.0.0.0/0", "0.0.0.0/0"},
             {"255.255.255.255/32", "255.255.255.255/32"},
             {"fd00::1/64", "fd00::1/64"},
             {"FD00:0:0:0:0:0:0:1/64", "fd00::1/64"},
             {"::/0", "::/0"},
             {"2001:db8:0:0:1:0:0:1/128", "2001:db8::1:0:0:1/128"},
             {"::ffff:10.0.0.1/128", "::ffff:10.0.0.1/128"}})
        EXPECT_EQ(to_string(cidr(text)), canonical) << text;
}

TEST(Cidr, HostileTextIsNone) {
    using namespace std::string_view_literals;
    for (const std::string_view text : {""sv,
                                        "/"sv,
                                        "/24"sv,
                                        "10.9.0.1"sv,
                                        "10.9.0.1/"sv,
                                        "10.9.0.1/33"sv,
                                        "10.9.0.1/024"sv,
                                        "10.9.0.1/-1"sv,
                                        "10.9.0.1/+8"sv,
                                        "10.9.0.1/ 8"sv,
                                        "10.9.0.1/8 "sv,
                                        "10.9.0.1/0x8"sv,
                                        "10.9.0.1/4294967304"sv,
                                        "10.9.0.1/24/24"sv,
                                        "10.9.0.1/24,10.9.0.2/24"sv,
                                        "010.9.0.1/24"sv,
                                        "10.09.0.1/24"sv,
                                        "10.9.0.01/24"sv,
                                        "0x0a.9.0.1/24"sv,
                                        "10.9.1/24"sv,
                                        "10.9.0.0.1/24"sv,
                                        "10.9..1/24"sv,
                                        ".10.9.0.1/24"sv,
                                        "10.9.0.1./24"sv,
                                        "10.9.0.256/24"sv,
                                        "10.9.0.-1/24"sv,
                                        " 10.9.0.1/24"sv,
                                        "10.9.0.1\0/24"sv,
                                        "10.9.0.1/24\n"sv,
                                        "168362241/24"sv,
                                        "fd00::1/129"sv,
                                        "fd00::1::2/64"sv,
                                        "fd00:::1/64"sv,
                                        "fd00::1%eth0/64"sv,
                                        "[fd00::1]/64"sv,
                                        "fd00::10000/64"sv,
                                        "fd00::g/64"sv,
                                        "1:2:3:4:5:6:7/64"sv,
                                        "1:2:3:4:5:6:7:8:9/64"sv,
                                        ":1:2:3:4:5:6:7:8/64"sv,
                                        "fd00::1\0junk/64"sv,
                                        "eth0/24"sv})
        EXPECT_FALSE(parse_cidr(text)) << text;
    for (const char c : {':', '1'}) {
        std::string text(100000, c);
        text += "/64";
        EXPECT_FALSE(parse_cidr(text)) << c;
    }
}

TEST(Ip, HasItsFullPrefix) {
    EXPECT_EQ(parse_ip("10.9.0.1")->prefix, 32);
    EXPECT_EQ(parse_ip("fd00::1")->prefix, 128);
    EXPECT_EQ(ip_string(*parse_ip("fd00::1")), "fd00::1");
    EXPECT_FALSE(parse_ip("10.9.0.1/24"));
    EXPECT_EQ(address_bytes(Family::V4), 4U);
    EXPECT_EQ(address_bytes(Family::V6), 16U);
}

TEST(HostAddress, IsOneThatAnInterfaceCanHave) {
    for (const char* text : {"10.9.0.1/24",
                             "10.9.0.0/31",
                             "10.9.0.1/31",
                             "10.9.0.1/32",
                             "10.9.0.0/32",
                             "169.254.1.1/16",
                             "223.255.255.254/24",
                             "10.9.1.0/16",
                             "fd00::1/64",
                             "fe80::1/64",
                             "2001:db8::/64"})
        EXPECT_TRUE(is_host_address(cidr(text))) << text;
    for (const char* text : {"0.0.0.0/32",
                             "0.1.2.3/8",
                             "127.0.0.1/8",
                             "127.1.2.3/32",
                             "224.0.0.1/24",
                             "240.0.0.1/24",
                             "255.255.255.255/32",
                             "10.9.0.0/24",
                             "10.9.0.255/24",
                             "10.9.0.4/30",
                             "10.9.0.7/30",
                             "10.9.0.1/0",
                             "::/128",
                             "::1/128",
                             "ff02::1/64",
                             "::ffff:10.0.0.1/96",
                             "fd00::1/0"})
        EXPECT_FALSE(is_host_address(cidr(text))) << text;
}

TEST(LinkLocal, IsToldFromOthers) {
    EXPECT_TRUE(is_link_local(cidr("169.254.0.1/16")));
    EXPECT_TRUE(is_link_local(cidr("fe80::1/64")));
    EXPECT_TRUE(is_link_local(cidr("febf::1/64")));
    EXPECT_FALSE(is_link_local(cidr("fec0::1/64")));
    EXPECT_FALSE(is_link_local(cidr("169.253.0.1/16")));
}

TEST(Contains, LooksAtPrefixAndFamily) {
    EXPECT_TRUE(contains(cidr("10.9.0.0/16"), cidr("10.9.255.1/32")));
    EXPECT_FALSE(contains(cidr("10.9.0.0/16"), cidr("10.8.0.1/32")));
    EXPECT_TRUE(contains(cidr("0.0.0.0/0"), cidr("10.8.0.1/32")));
    EXPECT_FALSE(contains(cidr("0.0.0.0/0"), cidr("fd00::1/64")));
    EXPECT_TRUE(contains(cidr("fd00::/63"), cidr("fd00:0:0:1::9/64")));
    EXPECT_FALSE(contains(cidr("fd00::/64"), cidr("fd00:0:0:1::9/64")));
}

TEST(Advance, StaysInTheNetwork) {
    EXPECT_EQ(to_string(*advance(cidr("10.9.0.1/24"), 0)), "10.9.0.1/24");
    EXPECT_EQ(to_string(*advance(cidr("10.9.0.1/24"), 254)), "10.9.0.255/24");
    EXPECT_FALSE(advance(cidr("10.9.0.1/24"), 255));
    EXPECT_EQ(to_string(*advance(cidr("10.9.0.255/16"), 1)), "10.9.1.0/16");
    EXPECT_FALSE(advance(cidr("255.255.255.255/1"), 1));
    EXPECT_FALSE(advance(cidr("10.9.0.1/8"), UINT64_MAX));
    EXPECT_EQ(to_string(*advance(cidr("fd00::/64"), UINT64_MAX)), "fd00::ffff:ffff:ffff:ffff/64");
    EXPECT_FALSE(advance(cidr("fd00::1/64"), UINT64_MAX));
}

TEST(Gids, AreAddresses) {
    EXPECT_EQ(to_string(gid_of(cidr("10.9.0.1/24"))), "0000:0000:0000:0000:0000:ffff:0a09:0001");
    EXPECT_EQ(to_string(gid_of(cidr("fd00::1/64"))), "fd00:0000:0000:0000:0000:0000:0000:0001");
}

// The values of a kernel: see ports/1/gids/0 and node_guid of an rxe on this MAC.
TEST(Gids, AreMadeOfMacs) {
    const Mac mac = *parse_mac("02:00:5e:10:00:01");
    EXPECT_EQ(to_string(link_local_gid(mac)), "fe80:0000:0000:0000:0000:5eff:fe10:0001");
    EXPECT_EQ(eui64(mac), 0x00005efffe100001U);
    EXPECT_EQ(eui64(*parse_mac("52:54:00:12:34:56")), 0x505400fffe123456U);
}

TEST(Gids, HaveOneSpelling) {
    const char* text = "fe80:0000:0000:0000:0000:5eff:fe10:0001";
    EXPECT_EQ(to_string(*parse_gid(text)), text);
    EXPECT_TRUE(parse_gid("0000:0000:0000:0000:0000:0000:0000:0000")->is_zero());
    for (const char* wrong : {"",
                              "fe80::5eff:fe10:1",
                              "fe80:0000:0000:0000:0000:5eff:fe10:000",
                              "fe80:0000:0000:0000:0000:5eff:fe10:00011",
                              "fe80:0000:0000:0000:0000:5eff:fe10-0001",
                              "fe80:0000:0000:0000:0000:5eff:fe1:00001",
                              "fe80:0000:0000:0000:0000:5eff:fe10:000g"})
        EXPECT_FALSE(parse_gid(wrong)) << wrong;
}

}  // namespace
}  // namespace netns
