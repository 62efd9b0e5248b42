// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/rdma-runtime/engine_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "netns/base/files.h"
#include "netns/base/json.h"
#include "tests/support/temp_dir.h"

namespace shim {
namespace {
std::string content(const std::string& path) {
    const auto text = base::RealFiles{}.read(path, 10000);
    return text ? *text : "-";
}

TEST(EngineLog, AsRuncWritesIt) {
    const std::string entry = log_entry("json", "2026-01-02T03:04:05Z", "a \"b\"\n\xff");
    ASSERT_EQ(entry.back(), '\n');
    const base::Json json = *base::parse_json(entry, "entry");
    EXPECT_EQ(json["level"], "error");
    EXPECT_EQ(json["time"], "2026-01-02T03:04:05Z");
    EXPECT_EQ(entry.find('\n'), entry.size() - 1) << "one line";
    EXPECT_EQ(log_entry("text", "T", "a \"b\""), "time=\"T\" level=error msg=\"a \\\"b\\\"\"\n");
    EXPECT_EQ(log_entry("", "T", "a"), "time=\"T\" level=error msg=\"a\"\n");
}

TEST(EngineLog, IsAppended) {
    const test::TempDir dir;
    tell_engine(dir / "log.json", "json", "one");
    tell_engine("file:" + dir / "log.json", "json", "two");
    const std::string text = content(dir / "log.json");
    const auto end = text.find('\n');
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ((*base::parse_json(text.substr(0, end), "one"))["msg"], "one");
    EXPECT_EQ((*base::parse_json(text.substr(end + 1), "two"))["msg"], "two");
}

TEST(EngineLog, WhereThereIsNone) {
    const test::TempDir dir;
    tell_engine("", "json", "x");
    tell_engine("journald:x", "json", "x");
    tell_engine(dir / "no/such/folder", "json", "x");
    const std::string fifo = dir / "fifo";  // nobody reads it: we do not wait
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    tell_engine(fifo, "json", "x");
}
}  // namespace
}  // namespace shim
