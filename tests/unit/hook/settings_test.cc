// SPDX-License-Identifier: Apache-2.0
// The files of settings for NCCL and UCX, which programs read that are started in a container
// later. What is there of the image or the user stays.
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/tree.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using oci::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Pair;

constexpr char kNccl[] = "/etc/nccl.conf";
constexpr char kUcx[] = "/etc/ucx/ucx.conf";

class Settings : public Containers {
  protected:
    Life life() {
        Life life = container("one", {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}});
        life.root = image_.path();
        return life;
    }

    // What is mounted in /etc from the state: place and text.
    std::map<std::string, std::string> mounted(const Life& life) const {
        std::map<std::string, std::string> found;
        for (const Json& mount : life.spec()["mounts"]) {
            const std::string source = mount.value("source", "");
            if (!source.starts_with(state_.path()) ||
                !mount["destination"].get<std::string>().starts_with("/etc/"))
                continue;
            EXPECT_THAT(mount["options"].dump(), HasSubstr("\"ro\""));
            std::stringstream text;
            text << std::ifstream(source).rdbuf();
            found[mount["destination"]] = text.str();
        }
        return found;
    }

    std::map<std::string, std::string> mounted_at_start() {
        Life one = life();
        const auto started = one.start();
        EXPECT_TRUE(started) << started.error().message();
        auto found = mounted(one);
        EXPECT_TRUE(one.poststop());
        expect_nothing_left();
        return found;
    }

    // Starts a container whose config.json has one more mount.
    std::map<std::string, std::string> mounted_beside(const std::string& destination) {
        Life one = life();
        one.mounts.push_back(
            {{"destination", destination}, {"type", "bind"}, {"source", "/somewhere"}});
        EXPECT_TRUE(one.start());
        auto found = mounted(one);
        EXPECT_TRUE(one.poststop());
        return found;
    }

    Tree image_;
};

TEST_F(Settings, HaveWhatTheEnvironmentHas) {
    image_.put_folder("/etc");
    Life one = life();
    ASSERT_TRUE(one.start());
    const std::string device = one.environment("RDMA_DEVICE");
    const std::string index = one.environment("RDMA_GID_INDEX");
    EXPECT_EQ(one.environment("NCCL_IB_GID_INDEX"), index);
    EXPECT_EQ(one.environment("UCX_IB_GID_INDEX"), index);
    const std::string head =
        "# RDMA of this container, by rdma-hook; the environment comes first\n";
    EXPECT_THAT(
        mounted(one),
        ElementsAre(
            Pair(kNccl, head + "NCCL_IB_HCA==" + device + "\nNCCL_IB_GID_INDEX=" + index + "\n"),
            Pair(kUcx,
                 head + "UCX_NET_DEVICES=" + device + ":1\nUCX_IB_GID_INDEX=" + index +
                     "\nUCX_UD_VERBS_ETH_DGID_CHECK=n\n")));
    EXPECT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Settings, AnIndexForAllDevicesIsOneThatAllHave) {
    image_.put_folder("/etc");
    Life one = container("two rails",
                         {{"rdma.mode", "softroce"},
                          {"rdma.ip", "10.9.0.1/24"},
                          {"rdma.1.mode", "softroce"},
                          {"rdma.1.ip", "none"}});
    one.root = image_.path();
    ASSERT_TRUE(one.start());
    ASSERT_NE(one.environment("RDMA_GID_INDEX"), one.environment("RDMA_GID_INDEX_1"));
    EXPECT_EQ(one.environment("NCCL_IB_GID_INDEX"), "");
    EXPECT_EQ(one.environment("UCX_IB_GID_INDEX"), "");
    for (const auto& [path, text] : mounted(one))
        EXPECT_THAT(text, testing::Not(HasSubstr("GID_INDEX"))) << path;
    EXPECT_TRUE(one.poststop());
}

// The runtime makes the mount points as empty files in the container's layer, which the next start
// finds.
TEST_F(Settings, TheMountPointsOfTheLastStartAreNoFilesOfTheImage) {
    image_.put(kNccl, "");
    image_.put(kUcx, "");
    EXPECT_THAT(mounted_at_start(), ElementsAre(Key(kNccl), Key(kUcx)));
}

TEST_F(Settings, AnImageWithoutFoldersGetsThem) {
    EXPECT_THAT(mounted_at_start(), ElementsAre(Key(kNccl), Key(kUcx)));
}

TEST_F(Settings, TheImagesOwnStay) {
    image_.put(kNccl, "NCCL_DEBUG=INFO\n");
    EXPECT_THAT(mounted_at_start(), ElementsAre(Key(kUcx)));
    image_.put(kUcx, "UCX_TLS=tcp\n");
    EXPECT_THAT(mounted_at_start(), IsEmpty());
}

TEST_F(Settings, TheUsersMountsStay) {
    image_.put_folder("/etc/ucx");
    EXPECT_THAT(mounted_beside(kNccl), ElementsAre(Key(kUcx)));
    EXPECT_THAT(mounted_beside("/etc/ucx/"), ElementsAre(Key(kNccl)));
    EXPECT_THAT(mounted_beside("/etc/../etc"), IsEmpty());
    EXPECT_THAT(mounted_beside("/etc/hosts"), ElementsAre(Key(kNccl), Key(kUcx)));
}

// Mounting there would fail the container's start, or lead elsewhere.
TEST_F(Settings, WhereNoFileCanBeMountedThereIsNone) {
    const std::function<void()> hostile[] = {
        [&] { image_.put_folder(kNccl); },
        [&] { image_.put_link(kNccl, "/usr/share/nccl.conf"); },
        [&] { image_.put_link(kNccl, "nccl.conf"); },
        [&] { EXPECT_EQ(::mkfifo(image_.at(kNccl).c_str(), 0600), 0); }};
    for (const auto& make : hostile) {
        image_.drop("/etc");
        image_.put_folder("/etc");
        make();
        EXPECT_THAT(mounted_at_start(), ElementsAre(Key(kUcx)));
    }
    image_.drop("/etc");
    image_.put_link("/etc/ucx", "/nowhere");
    EXPECT_THAT(mounted_at_start(), ElementsAre(Key(kNccl)));
    image_.drop("/etc");
    image_.put("/etc", "a file");
    EXPECT_THAT(mounted_at_start(), IsEmpty());
}

TEST_F(Settings, AFolderOfTheImageMayBeALinkWithinIt) {
    image_.put_folder("/usr/etc/ucx");
    image_.put_link("/etc", "usr/etc");
    EXPECT_THAT(mounted_at_start(), ElementsAre(Key(kNccl), Key(kUcx)));
}

TEST_F(Settings, WhatCannotBeSeenGetsNone) {
    image_.drop("");
    EXPECT_THAT(mounted_at_start(), IsEmpty());
}

TEST_F(Settings, AContainerWithoutItsRdmaHasNone) {
    image_.put_folder("/etc");
    Life one = life();
    one.annotations["rdma.optional"] = "true";
    one.annotations["rdma.parent"] = "eth7";
    ASSERT_TRUE(one.start());
    EXPECT_THAT(mounted(one), IsEmpty());
    EXPECT_TRUE(one.poststop());
    expect_nothing_left();
}

}  // namespace
}  // namespace test
