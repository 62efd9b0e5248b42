// SPDX-License-Identifier: Apache-2.0
// A container's /sys/class shows its own RDMA devices.
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/unit/hook/life.h"

namespace test {
namespace {

using oci::Json;

Json mount(const std::string& destination, const std::string& type) {
    return {{"destination", destination}, {"type", type}, {"source", "/x"}};
}

class Hiding : public testing::Test {
  protected:
    Life life(const std::string& id, const std::string& ip = "10.9.0.1/24") {
        Life life{fake_, state_, id};
        life.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", ip}};
        return life;
    }

    // The host's folder that is mounted over one of the container's /sys/class; empty if none is.
    static std::string source(const Life& life, const std::string& folder) {
        for (const Json& mount : life.spec()["mounts"]) {
            if (mount["destination"] != "/sys/class/" + folder)
                continue;
            EXPECT_EQ(mount["options"], Json::array({"bind", "ro", "nosuid", "nodev", "noexec"}));
            return mount["source"];
        }
        return {};
    }

    // Returns its entries: "name -> target", or "name: content".
    static std::set<std::string> shown(const Life& life, const std::string& folder) {
        std::set<std::string> entries;
        const std::string dir = source(life, folder);
        if (dir.empty())
            return {"the host's"};
        EXPECT_EQ(std::filesystem::status(dir).permissions(), std::filesystem::perms(0755));
        for (const auto& entry : std::filesystem::directory_iterator(dir)) {
            const std::string name = entry.path().filename();
            entries.insert(entry.is_symlink()
                               ? name + " -> " + std::filesystem::read_symlink(entry).string()
                               : name);
        }
        return entries;
    }

    void expect_nothing_left() {
        fake_.settle();
        EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
    }

    FakeHost fake_;
    StateDir state_;
};

using Shown = std::set<std::string>;

TEST_F(Hiding, AContainerSeesItsOwnDeviceWhoeverElseIsThere) {
    fake_.world.add_rdma(fake_.world.host, World::kHostLink, "rxe_admin", "rxe");
    Life one = life("one");
    ASSERT_TRUE(one.start());
    const std::string device = one.environment("RDMA_DEVICE");
    EXPECT_EQ(shown(one, "infiniband"),
              (Shown{device + " -> ../../devices/virtual/infiniband/" + device}));
    EXPECT_EQ(shown(one, "infiniband_verbs"),
              (Shown{"abi_version", "uverbs1 -> ../../devices/virtual/infiniband_verbs/uverbs1"}));
    EXPECT_EQ(source(one, "infiniband_mad"), "") << "there is no such folder to mount over";
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Hiding, AViewThatIsLeftOverStopsNoStart) {
    Life one = life("one");
    ASSERT_TRUE(one.start());
    const std::string dir = source(one, "infiniband");
    ASSERT_TRUE(one.poststop());
    ASSERT_TRUE(fake_.files.make_dir(dir));
    ASSERT_TRUE(fake_.files.make_link(dir + "/another", "../x"));
    ASSERT_TRUE(fake_.files.write(dir + "/../infiniband_verbs", "no folder"));
    const auto started = one.start();
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_EQ(shown(one, "infiniband").size(), 1U);
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Hiding, AllDevicesOfOneContainerAreSeen) {
    Life one = life("one");
    one.annotations["rdma.1.mode"] = "softroce";
    one.annotations["rdma.1.ip"] = "10.9.1.1/24";
    ASSERT_TRUE(one.start());
    EXPECT_EQ(shown(one, "infiniband").size(), 2U);
    EXPECT_EQ(shown(one, "infiniband_verbs").size(), 3U) << "and abi_version";
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Hiding, WhoSharesHasFoldersOfItsOwn) {
    Life one = life("one");
    Life two = life("two");
    two.init = World::kContainer + 1;
    ASSERT_TRUE(one.start());
    ASSERT_TRUE(two.start());
    EXPECT_EQ(shown(one, "infiniband"), shown(two, "infiniband"));
    EXPECT_NE(source(one, "infiniband"), source(two, "infiniband"));
    ASSERT_TRUE(one.poststop());
    EXPECT_EQ(shown(two, "infiniband").size(), 1U);
    ASSERT_TRUE(two.poststop());
    expect_nothing_left();
}

TEST_F(Hiding, AnotherStartOfTheSameBundleSeesItsNewDevice) {
    Life one = life("one");
    ASSERT_TRUE(one.start());
    const auto before = shown(one, "infiniband");
    fake_.world.processes.erase(one.init);
    ASSERT_TRUE(one.start());
    EXPECT_EQ(shown(one, "infiniband").size(), 1U);
    EXPECT_NE(shown(one, "infiniband"), before);
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Hiding, AFolderOfTheUsersOwnIsLeftAlone) {
    for (const char* destination :
         {"/sys", "/sys/class", "/sys/class/infiniband/", "//sys/devices"}) {
        Life one = life("one");
        one.mounts.push_back(mount(destination, "bind"));
        ASSERT_TRUE(one.start()) << destination;
        EXPECT_EQ(source(one, "infiniband_verbs"), "") << destination;
        ASSERT_TRUE(one.poststop());
        fake_.world.add_process(one.init, fake_.world.engine_paths.at(World::kContainerPath));
    }
    Life one = life("one");
    one.mounts = Json::array();
    ASSERT_TRUE(one.start()) << "no /sys at all";
    EXPECT_EQ(shown(one, "infiniband"), Shown{"the host's"});
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Hiding, OtherMountsBelowSysDoNotMatter) {
    Life one = life("one");
    one.mounts.push_back(mount("/sys/fs/cgroup", "cgroup"));
    ASSERT_TRUE(one.start());
    EXPECT_EQ(shown(one, "infiniband").size(), 1U);
    ASSERT_TRUE(one.poststop());
}

TEST_F(Hiding, InExclusiveModeTheKernelHides) {
    fake_.world.kernel = KernelTraits::v7_3();
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    Life one = life("one");
    ASSERT_TRUE(one.start());
    EXPECT_EQ(shown(one, "infiniband"), Shown{"the host's"});
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

}  // namespace
}  // namespace test
