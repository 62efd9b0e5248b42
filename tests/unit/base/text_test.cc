// SPDX-License-Identifier: Apache-2.0
#include "netns/base/text.h"

#include <string>

#include <gtest/gtest.h>

namespace base {
namespace {

std::string column(const std::string& text) {
    return std::string(30, ' ') + text + "\n";
}

TEST(Text, Plurals) {
    EXPECT_EQ(number_of(0, "pool"), "0 pools");
    EXPECT_EQ(number_of(1, "pool"), "1 pool");
    EXPECT_EQ(number_of(2, "pool"), "2 pools");
}

TEST(Text, WrapsIntoAnyWidth) {
    EXPECT_EQ(wrap("one two three", 2, 9), "one two\n  three");
    EXPECT_EQ(wrap("one two three", 2, 15), "one two three");
    EXPECT_EQ(wrap("abcdefgh ij", 2, 5), "abcdefgh\n  ij") << "a long word stays whole";
    EXPECT_EQ(wrap("ab cd", 9, 5), "ab\n         cd") << "no room at all";
}

TEST(Help, ShortLinesStay) {
    EXPECT_EQ(wrap_help(""), "");
    EXPECT_EQ(wrap_help("one\n\n  two"), "one\n\n  two\n");
    EXPECT_EQ(wrap_help(std::string(80, 'x') + "\n"), std::string(80, 'x') + "\n");
}

TEST(Help, ADescriptionGoesOnBelowItself) {
    const std::string fifty = "123456789 123456789 123456789 123456789 1234567890";
    const std::string option = "  --size TEXT=64              ";
    ASSERT_EQ(option.size(), 30U);
    EXPECT_EQ(wrap_help(option + fifty + "\n"), option + fifty + "\n");
    EXPECT_EQ(wrap_help(option + fifty + " more words\n"),
              option + fifty + "\n" + column("more words"));
    EXPECT_EQ(wrap_help(option + fifty + "1 more\n"),
              option + fifty.substr(0, 39) + "\n" + column("12345678901 more"));
    EXPECT_EQ(wrap_help(column(fifty + " " + fifty + " end")),
              column(fifty) + column(fifty) + column("end"));
}

TEST(Help, NoLineBeginsWithAnOption) {
    const std::string text = "123456789 123456789 123456789 12345678 see --time for the rest of it";
    EXPECT_EQ(
        wrap_help(column(text)),
        column("123456789 123456789 123456789 12345678 see --time") + column("for the rest of it"));
    const std::string longer = "123456789 123456789 123456789 123456789 see --iterations";
    EXPECT_EQ(wrap_help(column(longer)),
              column("123456789 123456789 123456789 123456789") + column("see --iterations"));
}

TEST(Help, ExamplesStayWhole) {
    const std::string example = "  rdma-perf run server " + std::string(80, 'x') + " y\n";
    EXPECT_EQ(wrap_help(example), example);
    const std::string unbroken = std::string(120, 'x');
    EXPECT_EQ(wrap_help(column(unbroken)), column(unbroken));
}

TEST(Help, AParagraphGoesOnWithoutIndent) {
    const std::string half = std::string(39, 'x');
    EXPECT_EQ(wrap_help(half + " " + half + " " + half + "\n"),
              half + " " + half + "\n" + half + "\n");
}

}  // namespace
}  // namespace base
