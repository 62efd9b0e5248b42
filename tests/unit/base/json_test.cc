// SPDX-License-Identifier: Apache-2.0
#include "netns/base/json.h"

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "netns/base/json_view.h"

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

// What the scanner takes for a value is what the library takes for it.
TEST(Json, TheGrammarIsTheLibrarys) {
    std::istringstream words(
        R"(-0 0 - +1 01 -01 1. .1 1.e1 1e 1e+ 1e5 1E-5 0.1e1 1e308 1e309 -1e400 1e-400
           9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616
           -9223372036854775808 -9223372036854775809 123456789012345678901234567890
           true tru truex True nul NaN Infinity 'a' {,} {a:1} {1:1} {"a"1} {"a":1,} [,1] [1,] []] [} {]
           [1/**/] " "\ "\x" "\u12" "\u12g4" "\"\\\/\b\f\n\r\t" "\u0000" "\u00e9\u20AC" "\ud83d\ude00"
           "\ud83d" "\ud83dx" "\ud83d\u0041" "\ude00" "\udbff\udfff" {"\u0061":1,"b":[{},[]]})");
    std::vector<std::string> texts{std::istream_iterator<std::string>(words), {}};
    for (const char* text : {"", "{} {}", "[1 2]", "// x\n1", "\f1", " \t\r\n1 \t\r\n"})
        texts.emplace_back(text);
    for (const char* text : {"{}", "", "\xef"})
        texts.push_back("\xef\xbb\xbf" + std::string(text));
    for (const char* text : {"\x1f",
                             "\x7f",
                             "\x80",
                             "\xc1\xbf",
                             "\xc2\x80",
                             "\xc3",
                             "\xe0\x9f\xbf",
                             "\xe0\xa0\x80",
                             "\xe2\x82",
                             "\xed\x9f\xbf",
                             "\xed\xa0\x80",
                             "\xef\xbf\xbf",
                             "\xf0\x8f\xbf\xbf",
                             "\xf0\x90\x80\x80",
                             "\xf4\x8f\xbf\xbf",
                             "\xf4\x90\x80\x80",
                             "\xf5\x80\x80\x80"})
        texts.push_back('"' + std::string(text) + '"');
    for (const std::string& text : texts) {
        const Json theirs = Json::parse(text, nullptr, false);
        const auto json = parse_json(text, "x");
        EXPECT_EQ(json.has_value(), !theirs.is_discarded()) << printable(text);
        EXPECT_EQ(json ? dump_json(*json) : "", theirs.is_discarded() ? "" : dump_json(theirs))
            << printable(text);
    }
    for (const size_t digits : {300, 301, 308, 309, 310})
        EXPECT_EQ(parse_json(std::string(digits, '9'), "x").has_value(), digits < 309) << digits;
}

TEST(Json, ARefusalNamesThePlace) {
    const auto why = [](std::string_view text) { return parse_json(text, "x").error().text; };
    EXPECT_EQ(why("[1,}"), "x is not valid JSON: unexpected '}' at byte 3");
    EXPECT_EQ(why("{\"a\":"), "x is not valid JSON: it ends too early at byte 5");
    EXPECT_EQ(why("\"a\\x\""), "x is not valid JSON: unknown escape at byte 2");
    EXPECT_EQ(why(std::string_view("{}\0", 3)),
              "x is not valid JSON: unexpected '\\x00' at byte 2");
    EXPECT_EQ(why(R"({"a":1,"\u0061":2})"), "x is not valid JSON: key 'a' twice in one object");
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

TEST(Json, MembersAreAppendedAsTheirValuesPrint) {
    std::string text = "{";
    append_member(text, "s", "{\"\n\xc3");
    append_member(text, "empty", std::string());
    append_member(text, "n", int8_t{-7});
    append_member(text, "most", UINT64_MAX);
    append_member(text, "least", INT64_MIN);
    append_member(text, "b", true);
    append_member(text, "none", std::vector<std::string>{});
    append_member(text, "\"", std::vector<std::string>{"[", "\""});
    text += '}';
    const Json same{{"s", "{\"\n\xc3"},
                    {"empty", ""},
                    {"n", -7},
                    {"most", UINT64_MAX},
                    {"least", INT64_MIN},
                    {"b", true},
                    {"none", Json::array()},
                    {"\"", Json::array({"[", "\""})}};
    EXPECT_EQ(text, dump_json(same));
}

TEST(Json, TheHeadOfAnObjectAlone) {
    const std::string text = R"({"a":{"end":1},"b":[2],"end":[)";
    const auto head = [](std::string_view end, std::string_view all) -> Result<std::string> {
        const auto nodes = TRY(scan_json(all, "x", end));
        return dump_json(JsonView(all, nodes).value());
    };
    EXPECT_EQ(*head("end", text), R"({"a":{"end":1},"b":[2]})");
    EXPECT_EQ(*head("end", R"({"a":1})"), R"({"a":1})");
    EXPECT_EQ(*head("end", R"({"end":1})"), "{}");
    EXPECT_FALSE(head("none", text)) << "it is cut off";
    EXPECT_FALSE(head("end", R"({"a":1,"a":2,"end":[)"));
    EXPECT_FALSE(head("end", R"({"a":[{"end":[)")) << "not the object's own";
    EXPECT_FALSE(head("end", ""));
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

TEST(JsonView, ReadsWhatATreeHas) {
    const std::string text = R"({"n":300,"neg":-1,"s":"x","b":true,"nil":null,"f":1.5,)"
                             R"("k\u0065y":[{"a":1},[2,{"b":[]},3],"\n"],"last":false})";
    const Json tree = *parse_json(text, "x");
    const auto nodes = scan_json(text, "x").value();
    const JsonView view(text, nodes);
    EXPECT_EQ(view.value(), tree);
    EXPECT_EQ(*required<int>(view, "n"), 300);
    EXPECT_EQ(*required<int8_t>(view, "neg"), -1);
    EXPECT_EQ(*required<std::string>(view, "s"), "x");
    EXPECT_TRUE(*required<bool>(view, "b"));
    EXPECT_FALSE(*required<bool>(view, "last"));
    EXPECT_FALSE(required<uint8_t>(view, "n"));
    EXPECT_FALSE(required<uint32_t>(view, "neg"));
    EXPECT_FALSE(required<bool>(view, "n"));
    EXPECT_FALSE(required<std::string>(view, "n"));
    EXPECT_EQ(*optional_member<int>(view, "nil", 7), 7);
    EXPECT_EQ(*optional_member<int>(view, "gone", 7), 7);
    EXPECT_EQ(*optional_member<int>(view, "n", 7), 300);
    EXPECT_FALSE(optional_member<int>(view, "s", 7));
    EXPECT_FALSE(optional_member<int>(*view.find("key"), "n", 7));
    for (const char* key : {"s", "b", "nil", "f", "key", "gone"})
        EXPECT_EQ(required<int>(view, key).error().text, required<int>(tree, key).error().text);
}

TEST(JsonView, GoesIntoListsAndMembers) {
    const std::string text = R"({"list":[{"a":1},[2,{"b":[]},3],"\n"],"last":[[]]})";
    const auto nodes = scan_json(text, "x").value();
    const auto list = JsonView(text, nodes).find("list");
    ASSERT_TRUE(list && list->is_array() && !list->is_object());
    const auto elements = list->elements();
    ASSERT_EQ(elements.size(), 3U);
    EXPECT_EQ(*required<int>(elements[0], "a"), 1);
    EXPECT_EQ(dump_json(elements[1].value()), R"([2,{"b":[]},3])");
    EXPECT_EQ(*as<int>(elements[1].elements()[2], "x"), 3);
    EXPECT_EQ(*as<std::string>(elements[2], "x"), "\n");
    EXPECT_FALSE(elements[1].find("b"));
    EXPECT_TRUE(elements[0].elements().empty());
    EXPECT_EQ(JsonView(text, nodes).find("last")->elements().size(), 1U);
    const auto members = elements[1].elements()[1].members();
    ASSERT_EQ(members.size(), 1U);
    EXPECT_EQ(members[0].first, "b");
    EXPECT_TRUE(members[0].second.is_array());
    EXPECT_TRUE(list->members().empty());
    EXPECT_FALSE(JsonView().find("a") || JsonView().is_array() || JsonView().is_null());
    EXPECT_TRUE(JsonView().value().is_null());
}
}  // namespace
}  // namespace base
