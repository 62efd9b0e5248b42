// SPDX-License-Identifier: Apache-2.0
#include "netns/base/json.h"

#include <gtest/gtest.h>

namespace base {
namespace {
TEST(Json, KeepsOrderAndUnknownMembers) {
    const std::string text = R"({"z":1,"a":{"k":[true,null,1.5]},"big":18446744073709551615})";
    const auto value = parse_json(text, "text");
    ASSERT_TRUE(value);
    EXPECT_EQ(dump_json(*value), text);
}

TEST(Json, RefusesWhatTheLibraryLetsPass) {
    EXPECT_NE(parse_json(R"({"a":1,"b":{"a":2},"a":3})", "x").error().text.find("'a' twice"),
              std::string::npos);
    EXPECT_TRUE(parse_json(R"([{"a":1},{"a":2}])", "x"));
    EXPECT_FALSE(parse_json(std::string(100, '[') + std::string(100, ']'), "x"));
    EXPECT_FALSE(parse_json(std::string(200000, '['), "x"));
    for (const auto* text : {"", "{", "{\"a\":}", "nul", "{} {}", "\"\xff\""})
        EXPECT_FALSE(parse_json(text, "x")) << text;
}

// An object of many members is looked through by a set, a small one by the eye: both must see.
TEST(Json, AKeyTwiceIsSeenInSmallAndLargeObjects) {
    for (const int members : {1, 31, 32, 33, 500}) {
        std::string text = "{";
        for (int i = 0; i < members; ++i)
            text += "\"k" + std::to_string(i) + "\":{\"k0\":[" + std::to_string(i) + "]},";
        const auto good = parse_json(text + "\"last\":0}", "x");
        ASSERT_TRUE(good) << members;
        EXPECT_EQ(good->size(), static_cast<size_t>(members) + 1);
        EXPECT_EQ(dump_json(*good), text + "\"last\":0}");
        EXPECT_FALSE(parse_json(text + "\"k0\":0}", "x")) << members;
        EXPECT_FALSE(parse_json(text + "\"k" + std::to_string(members - 1) + "\":0}", "x"));
    }
}

// A hundred thousand annotations fit into a config.json: they must not cost the square of that.
TEST(Json, ManyMembersAreReadInLinearTime) {
    constexpr int kMembers = 200000;  // their square would take minutes
    std::string text = "{";
    for (int i = 0; i < kMembers; ++i)
        text += "\"k" + std::to_string(i) + "\":0,";
    const auto value = parse_json(text + "\"last\":0}", "x");
    ASSERT_TRUE(value);
    EXPECT_EQ(value->size(), static_cast<size_t>(kMembers) + 1);
}

// Every byte, alone and in the middle; each kind of value, empty and not; the ends of the numbers.
TEST(Json, TheTextIsTheLibrarysOwn) {
    Json all = Json::array();
    for (int byte = 0; byte < 256; ++byte) {
        const std::string text(1, static_cast<char>(byte));
        all.push_back(text);
        all.push_back("before" + text + "after");
        all.push_back(Json{{"key" + text, text}});
    }
    for (const char* text :
         {"", "plain", "\u00e9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xc3", "\xed\xa0\x80"})
        all.push_back(text);
    for (const char* text : {"null",
                             "true",
                             "false",
                             "0",
                             "-1",
                             "9223372036854775807",
                             "-9223372036854775808",
                             "18446744073709551615",
                             "0.1",
                             "1e300",
                             "-0.0",
                             "{}",
                             "[]",
                             R"([[],{},[{}],{"":{"":[]}}])"})
        all.push_back(*parse_json(text, "x"));
    const auto library = [](const Json& value) {
        return value.dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    // Each character at each place of a text that is looked at eight bytes at a time.
    for (int c = 0; c < 256; ++c) {
        for (size_t at = 0; at < 17; ++at)
            all.push_back(std::string(at, 'x') + static_cast<char>(c) + std::string(16 - at, 'y'));
    }
    for (const Json& value : all)
        EXPECT_EQ(dump_json(value), library(value));
    EXPECT_EQ(dump_json(all), library(all));
}

TEST(Json, TheHeadOfAnObjectAlone) {
    const std::string text = R"({"a":{"end":1},"b":[2],"end":[)";
    EXPECT_EQ(dump_json(*parse_json_before("end", text, "x")), R"({"a":{"end":1},"b":[2]})");
    EXPECT_EQ(dump_json(*parse_json_before("end", R"({"a":1})", "x")), R"({"a":1})");
    EXPECT_EQ(dump_json(*parse_json_before("end", R"({"end":1})", "x")), "{}");
    EXPECT_FALSE(parse_json_before("none", text, "x")) << "it is cut off";
    EXPECT_FALSE(parse_json_before("end", R"({"a":1,"a":2,"end":[)", "x"));
    EXPECT_FALSE(parse_json_before("end", R"({"a":[{"end":[)", "x")) << "not the object's own";
    EXPECT_FALSE(parse_json_before("end", "", "x"));
}

TEST(Json, TypedAccess) {
    const Json object = *parse_json(R"({"n":300,"neg":-1,"s":"x","b":true,"nil":null})", "x");
    EXPECT_EQ(*required<int>(object, "n"), 300);
    EXPECT_FALSE(required<uint8_t>(object, "n"));
    EXPECT_FALSE(required<uint32_t>(object, "neg"));
    EXPECT_FALSE(required<int>(object, "b"));
    EXPECT_FALSE(required<std::string>(object, "n"));
    EXPECT_EQ(required<std::string>(object, "gone").error().text, "'gone' is missing (a string)");
    EXPECT_EQ(*optional_member<int>(object, "nil", 7), 7);
    EXPECT_FALSE(optional_member<int>(object, "s", 7));
    EXPECT_FALSE(required<int>(Json::array(), "n"));
}
}  // namespace
}  // namespace base
