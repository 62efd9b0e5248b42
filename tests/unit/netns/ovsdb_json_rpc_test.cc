// SPDX-License-Identifier: Apache-2.0
// Where messages of OVSDB's JSON-RPC end in a stream, and what they are.
#include <gtest/gtest.h>

#include "netns/kernel/ovsdb/json_rpc.h"

namespace netns::ovsdb {
namespace {

constexpr char kReply[] = R"({"id":1,"result":[{"rows":[]}],"error":null})";
constexpr char kTricky[] = R"({"id":2,"result":["}{][\"\\",{"a":"\\\"}"}],"error":null})";

// All messages in the bytes, which come `step` at a time.
std::vector<std::string> split(std::string_view bytes, size_t step) {
    Splitter splitter;
    std::vector<std::string> all;
    for (size_t at = 0; at < bytes.size(); at += step) {
        splitter.append(bytes.substr(at, step));
        for (;;) {
            const auto next = splitter.next();
            EXPECT_TRUE(next) << next.error().message();
            if (!next || !*next)
                break;
            all.push_back(**next);
        }
    }
    return all;
}

// The error of the first message; the code of none is Usage.
Code refusal(std::string_view bytes) {
    Splitter splitter;
    splitter.append(bytes);
    const auto next = splitter.next();
    return next ? Code::Usage : next.error().code;
}

Kind kind_of(const std::string& text) {
    return read_message(text).value().kind;
}

TEST(OvsdbSplitter, MessagesEndWhereverTheReadsDo) {
    const std::string stream = std::string(" \n") + kReply + kTricky + "\r\n\t" + kReply;
    const std::vector<std::string> expected = {kReply, kTricky, kReply};
    for (const size_t step : {1UL, 2UL, 7UL, 64UL, stream.size()})
        EXPECT_EQ(split(stream, step), expected) << step;
}

TEST(OvsdbSplitter, HalfAMessageIsNone) {
    const std::string half(kTricky, sizeof kTricky - 2);
    EXPECT_TRUE(split(half, 5).empty());
    EXPECT_TRUE(split("  \n", 1).empty());
}

TEST(OvsdbSplitter, WhatIsNoObjectIsRefusedAtOnce) {
    for (const char* bytes : {"HTTP/1.1 400", "[1]", "}", "\"{\"", "1", "\xff"})
        EXPECT_EQ(refusal(bytes), Code::Internal) << bytes;
}

TEST(OvsdbSplitter, DepthAndLengthAreBounded) {
    const auto nested = [](size_t depth) {
        return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
    };
    EXPECT_EQ(split(nested(Splitter::kMaxDepth), 999).size(), 1U);
    EXPECT_EQ(refusal(nested(Splitter::kMaxDepth + 1)), Code::Internal);
    std::string longest = "{\"a\":\"";
    longest.resize(Splitter::kMaxMessage - 2, 'x');
    EXPECT_EQ(split(longest + "\"}", size_t{64} << 10).size(), 1U);
    EXPECT_EQ(refusal(longest + "x\"}"), Code::Internal);
    EXPECT_EQ(refusal(longest + "xxx"), Code::Internal) << "its end need not have come";
}

TEST(OvsdbMessage, KindsAreToldApart) {
    EXPECT_EQ(kind_of(kReply), Kind::Reply);
    EXPECT_EQ(kind_of(R"({"id":1,"result":null})"), Kind::Reply);
    EXPECT_EQ(kind_of(R"({"id":1,"result":null,"error":"canceled"})"), Kind::Failure);
    EXPECT_EQ(kind_of(R"({"id":1,"error":{"error":"unknown database"}})"), Kind::Failure);
    EXPECT_EQ(kind_of(R"({"id":"echo","method":"echo","params":[]})"), Kind::Echo);
    EXPECT_EQ(kind_of(R"({"id":null,"method":"update","params":[null,{}]})"), Kind::Other);
    EXPECT_EQ(kind_of(R"({"method":"update","params":[null,{}]})"), Kind::Other);
    EXPECT_EQ(kind_of(R"({"id":null,"method":"locked","params":["x"]})"), Kind::Other);
    EXPECT_EQ(kind_of(R"({"id":4,"method":"steal"})"), Kind::Other);
}

TEST(OvsdbMessage, WhatIsNoMessageIsRefused) {
    for (const char* text : {"{}",
                             "{]",
                             "{\"id\":1}",
                             "{\"id\":1,\"error\":null}",
                             "{\"method\":7}",
                             "{\"id\":1,\"id\":2,\"result\":[]}",
                             "[]"}) {
        const auto message = read_message(text);
        ASSERT_FALSE(message) << text;
        EXPECT_EQ(message.error().code, Code::Internal) << text;
    }
}

TEST(OvsdbMessage, RequestsAndEchoesAreWritten) {
    EXPECT_EQ(encode_request("transact", Json::array({"Open_vSwitch"}), 7),
              R"({"method":"transact","params":["Open_vSwitch"],"id":7})");
    const auto echo = read_message(R"({"id":"e","method":"echo","params":["a",1]})").value();
    EXPECT_EQ(encode_echo(echo), R"({"result":["a",1],"error":null,"id":"e"})");
}

}  // namespace
}  // namespace netns::ovsdb
