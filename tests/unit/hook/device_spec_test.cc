// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "hook/request/values.h"

namespace hook {
namespace {

DeviceSpec spec(const char* text) {
    const auto parsed = parse_device_spec(text);
    EXPECT_TRUE(parsed) << text;
    return parsed.value_or(DeviceSpec{});
}

TEST(DeviceSpec, OneSpellingInAndOut) {
    for (const char* text : {"enp1s0",
                             "mlx5_0",
                             "0000:3b:00.0",
                             "0000:3b:00.0#2",
                             "auxiliary/mlx5_core.sf.4",
                             "enp1s0#0",
                             "enp1s0#0-3,5",
                             "enp1s0#0-3,5-7,9,65535",
                             "all"})
        EXPECT_EQ(to_string(spec(text)), text);
    EXPECT_EQ(spec("enp1s0#0-3,5").vfs, (std::vector<VfRange>{{0, 3}, {5, 5}}));
    EXPECT_TRUE(spec("enp1s0").vfs.empty());
}

TEST(DeviceSpec, NothingElse) {
    for (const char* text :
         {"",        "#1",           "lo",    "enp1s0#", "enp1s0#,",     "e#1,",
          "e#3-1",   "e#1-1",        "e#1,1", "e#2,1",   "e#0-3,3",      "e#01",
          "e#65536", "e#-1",         "e#1#2", "a b",     "e# 1",         "0000:3b:00.8",
          "3b:00.0", "0000:3B:00.0", "e#1-",  "e#0x1",   "0000:3b:20.0", "e#1;2",
          "a/b/c",   "a/",           "/b",    "a/..",    "../b"})
        EXPECT_FALSE(parse_device_spec(text)) << text;
}

TEST(DeviceSpec, Numbers) {
    EXPECT_TRUE(has_number(spec("e"), 9));
    EXPECT_TRUE(has_number(spec("e#0-3,5"), 3));
    EXPECT_FALSE(has_number(spec("e#0-3,5"), 4));
    EXPECT_FALSE(has_number(spec("e#0-3,5"), 6));
}

TEST(DeviceSpec, Inside) {
    const std::vector<DeviceSpec> outer = {spec("a"), spec("b#0-3,5")};
    for (const char* text : {"a", "a#7", "b#0", "b#1-2,5", "b#0-3,5"})
        EXPECT_TRUE(lies_inside(spec(text), outer)) << text;
    for (const char* text : {"b", "b#4", "b#3-5", "c", "b#0,6"})
        EXPECT_FALSE(lies_inside(spec(text), outer)) << text;
    EXPECT_FALSE(lies_inside(spec("a"), {}));
    for (const char* text : {"all", "c", "b#9"})
        EXPECT_TRUE(lies_inside(spec(text), {spec("a"), spec("all")})) << text;
    EXPECT_FALSE(lies_inside(spec("all"), outer));
}

}  // namespace
}  // namespace hook
