// SPDX-License-Identifier: Apache-2.0
// Owners that the configuration may have. The tests' folder stands for "/", the test's user for
// root.
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/request/config.h"
#include "netns/base/owned_file.h"
#include "tests/support/temp_dir.h"

namespace hook {
namespace {

class ConfigFile : public testing::Test {
  protected:
    ConfigFile() {
        ::umask(022);
        EXPECT_EQ(::mkdir((dir_ / "etc").c_str(), 0755), 0);
        EXPECT_EQ(::mkdir((dir_ / "etc/rdma-hook").c_str(), 0755), 0);
        std::ofstream(dir_ / "etc/rdma-hook/config.json") << "{}";
    }

    base::Result<std::optional<std::string>> read(const std::string& path = kConfigPath) {
        return base::read_owned_file(path, {.root = dir_.path(), .owner = ::geteuid()});
    }

    void expect_bad(const std::string& says) {
        const auto text = read();
        ASSERT_FALSE(text) << says;
        EXPECT_EQ(text.error().code, Code::BadConfig);
        EXPECT_NE(text.error().message().find(says), std::string::npos) << text.error().message();
    }

    test::TempDir dir_;
};

TEST_F(ConfigFile, IsRead) {
    const auto text = read();
    ASSERT_TRUE(text) << text.error().message();
    EXPECT_EQ(*text, "{}");
}

TEST_F(ConfigFile, MissingFileOrFolderIsNoError) {
    EXPECT_EQ(read("/etc/rdma-hook/other.json")->has_value(), false);
    EXPECT_EQ(read("/nowhere/at/all.json")->has_value(), false);
    EXPECT_EQ(load_config("/nonexistent/rdma-hook.json")->state_dir, "/run/rdma-hook");
}

// In a user namespace root's files belong to the overflow uid.
TEST_F(ConfigFile, OfAUser) {
    const auto config = load_users_config("/nonexistent/rdma-hook.json", 1000, 0);
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->state_dir, "/run/user/1000/rdma-hook");
    EXPECT_TRUE(config->rootless);
    EXPECT_EQ(load_users_config("/nonexistent/rdma-hook.json", 0, 0)->state_dir, "/run/rdma-hook");
    EXPECT_FALSE(load_config("/nonexistent/rdma-hook.json")->rootless);
    Config roots;
    roots.log_file = "/var/log/rdma-hook.log";
    roots.log_level = base::log::Level::Debug;
    const Config users = as_users(roots, 1000);
    EXPECT_TRUE(users.rootless);
    EXPECT_EQ(users.state_dir, "/run/user/1000/rdma-hook");
    EXPECT_EQ(users.log_file, "");
    EXPECT_EQ(users.log_level, roots.log_level);

    struct stat root {};

    ASSERT_EQ(::stat("/", &root), 0);
    const auto others = load_users_config("/etc/passwd", 1000, root.st_uid + 1);
    ASSERT_FALSE(others);
    EXPECT_EQ(others.error().code, Code::BadConfig);
    EXPECT_NE(others.error().message().find("/ belongs to uid"), std::string::npos)
        << others.error().message();
}

// A missing setting is no error; a setting that cannot be read is one.
TEST_F(ConfigFile, TheRuntimeAlone) {
    EXPECT_EQ(*runtime_setting("/nonexistent/rdma-hook.json"), "");
    EXPECT_FALSE(runtime_setting("/etc/passwd"));
    EXPECT_FALSE(runtime_setting(dir_ / "etc/rdma-hook/config.json")) << "others may change it";
}

TEST_F(ConfigFile, TheLogAlone) {
    EXPECT_EQ(load_log_settings("/nonexistent/rdma-hook.json")->log_file, "");
    EXPECT_FALSE(load_log_settings(dir_ / "etc/rdma-hook/config.json")) << "others may change it";
    const auto config = parse_log_settings(
        R"({"pools":{"a":7},"policy":[],"new":1,"log":{"file":"/var/log/x","level":"error"}})");
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->log_file, "/var/log/x");
    EXPECT_EQ(config->log_level, base::log::Level::Error);
    EXPECT_EQ(parse_log_settings(R"({"state_dir":7})")->log_level, base::log::Level::Info);
    for (const char* text :
         {"[]", R"({"log":7})", R"({"log":{"file":"x"}})", R"({"log":{"level":"loud"}})"})
        EXPECT_FALSE(parse_log_settings(text)) << text;
}

TEST_F(ConfigFile, NobodyElseMayWrite) {
    const std::pair<const char*, mode_t> table[] = {{"etc/rdma-hook/config.json", 0664},
                                                    {"etc/rdma-hook/config.json", 0646},
                                                    {"etc/rdma-hook", 0775},
                                                    {"etc/rdma-hook", 01757},
                                                    {"etc", 0777}};
    for (const auto& [name, mode] : table) {
        const std::string path = dir_ / name;

        struct stat before {};

        ASSERT_EQ(::stat(path.c_str(), &before), 0);
        ASSERT_EQ(::chmod(path.c_str(), mode), 0);
        expect_bad(path + " can be written by others (mode ");
        ASSERT_EQ(::chmod(path.c_str(), before.st_mode), 0);
    }
    ASSERT_EQ(::chmod(dir_.path().c_str(), 0770), 0);
    expect_bad("run: chmod go-w " + dir_.path());
}

TEST_F(ConfigFile, BelongsToTheOwner) {
    const auto text =
        base::read_owned_file(kConfigPath, {.root = dir_.path(), .owner = ::geteuid() + 1});
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, Code::BadConfig);
    EXPECT_NE(text.error().text.find("belongs to uid"), std::string::npos);
    EXPECT_NE(text.error().fix.find("chown"), std::string::npos);
}

// root in a user namespace is the user outside, who types the command there.
TEST(OwnPaths, AreGivenToTheUserWhoseEngineCalls) {
    EXPECT_EQ(base::advise_to_own("/run/x", "700", true),
              "run: chown root /run/x && chmod 700 /run/x");
    EXPECT_EQ(base::advise_to_own("/run/user/1000/x\n", "go-w", false),
              "run: sudo chown USER /run/user/1000/x\\x0a && sudo chmod go-w "
              "/run/user/1000/x\\x0a");
}

TEST_F(ConfigFile, SymbolicLinksAreNotFollowed) {
    const std::string file = dir_ / "etc/rdma-hook/config.json";
    ASSERT_EQ(::rename(file.c_str(), (dir_ / "other").c_str()), 0);
    ASSERT_EQ(::symlink((dir_ / "other").c_str(), file.c_str()), 0);
    expect_bad("symbolic links are not followed");
    ASSERT_EQ(::rename((dir_ / "etc").c_str(), (dir_ / "usr").c_str()), 0);
    ASSERT_EQ(::symlink("usr", (dir_ / "etc").c_str()), 0);
    expect_bad("symbolic links are not followed");
}

TEST_F(ConfigFile, OnlyRegularFiles) {
    const std::string file = dir_ / "etc/rdma-hook/config.json";
    ASSERT_EQ(::unlink(file.c_str()), 0);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);  // must not block
    expect_bad("is not a regular file");
    ASSERT_EQ(::unlink(file.c_str()), 0);
    ASSERT_EQ(::mkdir(file.c_str(), 0755), 0);
    expect_bad("is not a regular file");
}

TEST_F(ConfigFile, IsBounded) {
    std::ofstream(dir_ / "etc/rdma-hook/config.json")
        << std::string(base::kMaxConfigBytes + 1, ' ');
    expect_bad("is larger than 1048576 bytes");
    std::ofstream(dir_ / "etc/rdma-hook/config.json") << std::string(base::kMaxConfigBytes, ' ');
    EXPECT_TRUE(read());
}

TEST_F(ConfigFile, OnlyPlainPaths) {
    for (const std::string path : {"",
                                   "x",
                                   "etc/rdma-hook/config.json",
                                   "/",
                                   "//etc",
                                   "/etc/",
                                   "/etc/./rdma-hook",
                                   "/etc/../etc"}) {
        const auto text = read(path);
        ASSERT_FALSE(text) << path;
        EXPECT_EQ(text.error().code, Code::BadConfig) << path;
    }
    EXPECT_FALSE(read(std::string("/etc\0x", 6)));
}
}  // namespace
}  // namespace hook
