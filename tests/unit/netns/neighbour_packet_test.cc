// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/neighbour_packet.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace netns {
namespace {

const Mac kOwn{{0x02, 0, 0x5e, 0x10, 0, 1}};
const Mac kOther{{0x02, 0, 0x5e, 0x10, 0, 2}};

std::string hex(const Frame& frame) {
    return fmt::format("{:02x}", fmt::join(frame, ""));
}

// By the layouts of RFC 826, RFC 5227 and RFC 4861; the checksums were computed apart.
TEST(NeighbourPacket, ArpAnnouncementAndProbe) {
    const Address address = *parse_cidr("10.9.0.1/24");
    EXPECT_EQ(hex(announcement(kOwn, address)),
              "ffffffffffff"
              "02005e100001"
              "0806"
              "00010800"
              "0604"
              "0001"
              "02005e100001"
              "0a090001"
              "000000000000"
              "0a090001");
    EXPECT_EQ(hex(probe(kOwn, address)),
              "ffffffffffff"
              "02005e100001"
              "0806"
              "00010800"
              "0604"
              "0001"
              "02005e100001"
              "00000000"
              "000000000000"
              "0a090001");
}

TEST(NeighbourPacket, AdvertisementAndSolicitation) {
    const Address address = *parse_cidr("fd00:9::1234:5678/64");
    EXPECT_EQ(hex(announcement(kOwn, address)),
              "333300000001"
              "02005e100001"
              "86dd"
              "60000000"
              "0020"
              "3a"
              "ff"
              "fd000009000000000000000012345678"
              "ff020000000000000000000000000001"
              "8800"
              "2b22"
              "20000000"
              "fd000009000000000000000012345678"
              "0201"
              "02005e100001");
    EXPECT_EQ(hex(probe(kOwn, address)),
              "3333ff345678"
              "02005e100001"
              "86dd"
              "60000000"
              "0018"
              "3a"
              "ff"
              "00000000000000000000000000000000"
              "ff0200000000000000000001ff345678"
              "8700"
              "be45"
              "00000000"
              "fd000009000000000000000012345678");
}

TEST(NeighbourPacket, ClaimsOfOthersAreHeard) {
    for (const char* text : {"10.9.0.1/24", "fd00:9::1/64"}) {
        const Address address = *parse_cidr(text);
        EXPECT_EQ(claimant(announcement(kOther, address), kOwn, address), kOther) << text;
        EXPECT_EQ(claimant(probe(kOther, address), kOwn, address), kOther)
            << "whoever asks at the same time wants it too";
    }
    // A reply is unicast, and its target is whoever asked.
    Frame reply = announcement(kOther, *parse_cidr("10.9.0.1/24"));
    reply[21] = 2;
    std::fill(reply.begin() + 32, reply.end(), 0);
    EXPECT_EQ(claimant(reply, kOwn, *parse_cidr("10.9.0.1/24")), kOther);
}

TEST(NeighbourPacket, OwnFramesOtherAddressesAndOtherQuestionsAreNot) {
    const Address v4 = *parse_cidr("10.9.0.1/24");
    const Address v6 = *parse_cidr("fd00:9::1/64");
    EXPECT_FALSE(claimant(announcement(kOwn, v4), kOwn, v4));
    EXPECT_FALSE(claimant(announcement(kOwn, v6), kOwn, v6));
    EXPECT_FALSE(claimant(announcement(kOther, *parse_cidr("10.9.0.2/24")), kOwn, v4));
    EXPECT_FALSE(claimant(announcement(kOther, *parse_cidr("fd00:9::2/64")), kOwn, v6));
    EXPECT_FALSE(claimant(announcement(kOther, v6), kOwn, v4));
    EXPECT_FALSE(claimant(announcement(kOther, v4), kOwn, v6));
    // Somebody with an address of his own asks for it: an ordinary resolution, no claim.
    Frame question = probe(kOther, v4);
    question[31] = 9;
    EXPECT_FALSE(claimant(question, kOwn, v4));
    Frame solicitation = probe(kOther, v6);
    solicitation[22] = 0xfe;
    EXPECT_FALSE(claimant(solicitation, kOwn, v6));
    // From behind a router.
    Frame routed = announcement(kOther, v6);
    routed[21] = 64;
    EXPECT_FALSE(claimant(routed, kOwn, v6));
}

TEST(NeighbourPacket, WhatIsCutShortIsNothing) {
    for (const char* text : {"10.9.0.1/24", "fd00:9::1/64"}) {
        const Address address = *parse_cidr(text);
        const Frame whole = probe(kOther, address);
        for (size_t size = 0; size < whole.size(); ++size) {
            const Frame cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
            EXPECT_FALSE(claimant(cut, kOwn, address)) << text << " of " << size;
        }
    }
}

}  // namespace
}  // namespace netns
