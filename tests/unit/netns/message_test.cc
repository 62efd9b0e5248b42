// SPDX-License-Identifier: Apache-2.0
// The one parser of netlink replies: recorded answers, and everything that a broken or hostile
// sender could make of them.
#include "netns/kernel/netlink/message.h"

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include "tests/unit/netns/recorded.h"

namespace netns::netlink {
namespace {

using test::bytes;
namespace recorded = test::recorded;

TEST(Message, WhatIsNoErrnoIsNoOutcome) {
    for (const int32_t number : {INT32_MIN, -4096, 1, INT32_MAX}) {
        nlmsgerr error{};
        error.error = number;
        const Bytes payload{reinterpret_cast<const uint8_t*>(&error), sizeof error};
        EXPECT_FALSE(parse_ack({.type = NLMSG_ERROR, .payload = payload})) << number;
        EXPECT_FALSE(parse_done({.type = NLMSG_DONE, .payload = payload})) << number;
    }
}

size_t use_attributes(Bytes bytes) {
    size_t seen = 0;
    const auto attributes = Attributes::parse(bytes);
    if (!attributes)
        return seen;
    for (const auto& [type, value] : attributes->all()) {
        seen += attributes->u8(type).value_or(0) + attributes->u32(type).value_or(0);
        seen += attributes->text(type).value_or("").size();
        seen += attributes->nested(type).all().size();
    }
    return seen;
}

// Uses everything that can be used, whatever the bytes are.
size_t use(Bytes datagram) {
    size_t seen = 0;
    const auto messages = split_datagram(datagram);
    if (!messages)
        return seen;
    for (const auto& message : *messages) {
        seen += parse_ack(message).has_value() + parse_done(message).has_value();
        // Whatever the header of the protocol is.
        for (const size_t header : {0U, 4U, 8U, 12U, 16U})
            seen += use_attributes(after_header(message.payload, header));
    }
    return seen;
}

TEST(Split, FindsTheMessagesOfADatagram) {
    const auto datagram = bytes(recorded::kAddresses6);
    const auto messages = split_datagram(datagram);
    ASSERT_TRUE(messages);
    ASSERT_EQ(messages->size(), 3U);
    EXPECT_EQ((*messages)[0].type, RTM_NEWADDR);
    EXPECT_EQ((*messages)[1].type, RTM_NEWADDR);
    EXPECT_EQ((*messages)[2].type, NLMSG_DONE);
    EXPECT_EQ((*messages)[0].sequence, 7U);
    EXPECT_TRUE(((*messages)[0].flags & NLM_F_MULTI) != 0);
    EXPECT_EQ((*messages)[0].payload.size(), 0x48U - 16U);
}

TEST(Split, RefusesWrongLengths) {
    EXPECT_TRUE(split_datagram({})->empty());
    for (const uint32_t length : {0U, 1U, 15U, 21U, 1000U, 0xffffffffU}) {
        auto datagram = bytes(recorded::kDone);
        std::memcpy(datagram.data(), &length, sizeof length);
        EXPECT_FALSE(split_datagram(datagram)) << length;
    }
}

TEST(AllParsers, StandEveryTruncation) {
    for (const auto& text : {recorded::kLink,
                             recorded::kAddresses6,
                             recorded::kRefusal,
                             recorded::kDevice,
                             recorded::kContexts}) {
        const auto whole = bytes(text);
        for (size_t size = 0; size < whole.size(); ++size) {
            // A copy of the exact size, so that a sanitizer sees each step too far.
            const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<long>(size));
            (void)use(cut);
        }
        EXPECT_GT(use(whole), 0U);
    }
}

TEST(AllParsers, StandEveryWrongByte) {
    for (const auto& text :
         {recorded::kLink, recorded::kRefusal, recorded::kQueuePairs, recorded::kContexts}) {
        const auto whole = bytes(text);
        for (size_t at = 0; at < whole.size(); ++at) {
            for (const int value : {0x00, 0x01, 0x03, 0x04, 0x7f, 0x80, 0xff}) {
                auto changed = whole;
                changed[at] = static_cast<uint8_t>(value);
                (void)use(changed);
            }
        }
    }
}

TEST(Attribute, ListsAreParsedAndMasked) {
    // Type 3 with the nested bit: a u32; type 1: "ab" NUL and junk; padding at the end.
    const auto list = bytes(
        "08000380"
        "2a000000"
        "0a000100"
        "616200"
        "646566"
        "0000");
    const auto attributes = Attributes::parse(list);
    ASSERT_TRUE(attributes);
    EXPECT_EQ(attributes->u32(3), 42U);
    EXPECT_EQ(attributes->text(1), "ab");
    EXPECT_FALSE(attributes->find(2));
    EXPECT_FALSE(attributes->u8(3)) << "a number of another width";
    EXPECT_FALSE(attributes->u64(3));
    EXPECT_TRUE(attributes->nested(2).all().empty());
}

TEST(Attribute, WrongLengthsAreRefused) {
    EXPECT_FALSE(Attributes::parse(bytes("030001002a000000"))) << "shorter than its header";
    EXPECT_FALSE(Attributes::parse(bytes("000001002a000000")));
    EXPECT_FALSE(Attributes::parse(bytes("090001002a000000"))) << "longer than the list";
    EXPECT_FALSE(Attributes::parse(bytes("0800"))) << "half a header";
    EXPECT_TRUE(Attributes::parse({})->all().empty());
    EXPECT_EQ(Attributes::parse(bytes("05000100ff"))->u8(1), 0xff) << "unpadded at the end";
}

TEST(Ack, CarriesTheKernelsSentence) {
    const auto datagram = bytes(recorded::kRefusal);
    const auto outcome = parse_ack(split_datagram(datagram)->front());
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->error, EOPNOTSUPP);
    EXPECT_EQ(outcome->extack, "Unknown device type");
}

TEST(Ack, StandsBehindTheRequestUnlessItIsCapped) {
    // The same refusal as an uncapped one: the header of the request is followed by its payload.
    auto whole = bytes(recorded::kRefusal);
    const std::vector<uint8_t> payload(0x34 - 16, 0xee);
    whole.insert(whole.begin() + 36, payload.begin(), payload.end());
    const uint32_t length = static_cast<uint32_t>(whole.size());
    std::memcpy(whole.data(), &length, sizeof length);
    whole[7] = 0x02;  // NLM_F_ACK_TLVS without NLM_F_CAPPED
    const auto outcome = parse_ack(split_datagram(whole)->front());
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->extack, "Unknown device type");
}

TEST(Ack, ZeroIsSuccessAndPositiveIsNonsense) {
    const auto success = bytes(recorded::kAck);
    EXPECT_EQ(parse_ack(split_datagram(success)->front())->error, 0);
    auto nonsense = success;
    nonsense[16] = 22;
    EXPECT_FALSE(parse_ack(split_datagram(nonsense)->front()));
}

TEST(Done, CarriesTheErrorOfADump) {
    const auto good = bytes(recorded::kDone);
    EXPECT_EQ(parse_done(split_datagram(good)->front())->error, 0);
    const auto bad = bytes(recorded::kUnknownDone);
    EXPECT_EQ(parse_done(split_datagram(bad)->front())->error, EINVAL);
    EXPECT_EQ(parse_done({.type = NLMSG_DONE, .flags = 0, .sequence = 0, .payload = {}})->error, 0);
}

TEST(Build, WhatIsWrittenIsRead) {
    Request request{RTM_NEWLINK, NLM_F_CREATE};
    ifinfomsg header{};
    header.ifi_index = 7;
    request.header(header).put(1, std::string("rdma0")).put(2, uint32_t{42}).begin(3);
    request.begin(4).put(5, Bytes{}).end().end();
    ASSERT_TRUE(request.complete());
    const auto* raw = reinterpret_cast<const uint8_t*>(request.raw());
    const auto messages = split_datagram({raw, request.raw()->nlmsg_len});
    ASSERT_TRUE(messages);
    EXPECT_EQ(messages->front().type, RTM_NEWLINK);
    EXPECT_EQ(messages->front().flags, NLM_F_REQUEST | NLM_F_CREATE);
    EXPECT_EQ(read_header<ifinfomsg>(messages->front().payload)->ifi_index, 7);
    const auto attributes =
        Attributes::parse(after_header(messages->front().payload, sizeof header));
    ASSERT_TRUE(attributes);
    EXPECT_EQ(attributes->text(1), "rdma0");
    EXPECT_EQ(attributes->u32(2), 42U);
    EXPECT_TRUE(attributes->nested(3).nested(4).find(5));
}

TEST(Build, WhatDoesNotFitIsIncomplete) {
    Request request{RTM_NEWLINK, 0};
    for (int i = 0; i < 100; ++i)
        request.put(1, std::string(1000, 'x'));
    EXPECT_FALSE(request.complete());
    Request open{RTM_NEWLINK, 0};
    open.begin(1);
    EXPECT_FALSE(open.complete());
}

}  // namespace
}  // namespace netns::netlink
