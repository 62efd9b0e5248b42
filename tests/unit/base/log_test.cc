// SPDX-License-Identifier: Apache-2.0
#include "netns/base/log.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace base::log {
namespace {

std::string text_of(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

// The log is the process's own: it says nothing to anybody after a test.
class LogTest : public testing::Test {
  protected:
    ~LogTest() override { open({}); }

    [[nodiscard]] Target target(Level level = Level::Info) const {
        return {.file = dir_ / "log", .level = level, .program = "test"};
    }

    test::TempDir dir_;
};

TEST_F(LogTest, WhereToIsAskedOnceAndAtTheFirstLine) {
    int asked = 0;
    open_later([&] {
        ++asked;
        return target();
    });
    set_container("c1");
    EXPECT_EQ(asked, 0);
    info("first");
    warning("second");
    EXPECT_EQ(asked, 1);
    const std::string text = text_of(dir_ / "log");
    EXPECT_NE(text.find(" test info container=c1 first\n"), std::string::npos) << text;
    EXPECT_NE(text.find(" test warning container=c1 second\n"), std::string::npos) << text;
}

TEST_F(LogTest, AuditLinesComeAtEveryLevelAndEndTheirFields) {
    open(target(Level::Error));
    set_container("c1");
    info("not at this level");
    audit("attach",
          "c2",
          {{"device", "rxe0"}, {"error", "no \"x\"\nevent=detach a\\"}, {"none", ""}});
    info("not at this level");
    const std::string text = text_of(dir_ / "log");
    EXPECT_NE(text.find(" test audit container=c2 event=attach device=rxe0 "
                        "error=\"no \\\"x\\\"\\x0aevent=detach a\\\\\" none=\"\"\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("not at this level"), std::string::npos) << text;
    EXPECT_EQ(container(), "c1");
}

TEST_F(LogTest, OpenIsTheLastWord) {
    open_later([&]() -> Target {
        ADD_FAILURE() << "asked";
        return {};
    });
    open(target());
    info("line");
    EXPECT_NE(text_of(dir_ / "log").find("line"), std::string::npos);
}

}  // namespace
}  // namespace base::log
