// SPDX-License-Identifier: Apache-2.0
// What an engine gives a container beside what we do: found out from config.json and the host, and
// judged before anything is attached.
#include <gtest/gtest.h>

#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using oci::Json;

class PowersOfContainers : public Containers {
  protected:
    PowersOfContainers() {
        fake_.world.nodes["/dev/infiniband/umad0"] = {.major = 231, .minor = 0};
    }

    // A policy that allows what the container asks for by annotation.
    hook::Policy& policy() {
        auto& policy = state_.config().policy;
        if (!policy)
            policy.emplace();
        policy->modes = {"softroce"};
        policy->parents = {"eth0"};
        return *policy;
    }

    void give(const char* path, int major, int minor) {
        devices_ = Json::array();
        devices_.push_back({{"path", path}, {"type", "c"}, {"major", major}, {"minor", minor}});
    }

    // What it is refused with, by either way to attach; nothing if it may start.
    std::string refused() {
        std::string text;
        for (const bool plain : {false, true}) {
            Life life{fake_, state_, "one"};
            life.annotations = {{"rdma.mode", "softroce"}, {"rdma.parent", "eth0"}};
            life.devices = devices_;
            life.plain = plain;
            if (const auto done = life.start(); !done) {
                EXPECT_EQ(done.error().code, base::Code::Refused);
                text = done.error().message();
            } else {
                EXPECT_TRUE(life.poststop());
            }
            expect_nothing_left();
        }
        return text;
    }

    Json devices_ = Json::array();
};

TEST_F(PowersOfContainers, AnUsualContainerCostsNoLook) {
    give("/dev/fuse", 10, 229);
    EXPECT_EQ(refused(), "");
    policy().char_devices = {"/dev/infiniband/umad0"};
    EXPECT_EQ(refused(), "");
    EXPECT_EQ(fake_.char_nodes.looks, 0);
}

TEST_F(PowersOfContainers, ANodeBeyondTheFirst32IsFoundUnderAnyName) {
    give("/dev/foo", World::kDynamicVerbsMajor, 8);
    EXPECT_NE(refused().find("--device /dev/foo (510:8)"), std::string::npos) << refused();
    give("/dev/foo", World::kDynamicVerbsMajor - 1, 8);
    EXPECT_EQ(refused(), "") << "somebody else's device";
}

TEST_F(PowersOfContainers, ANodeIsNotWhatItIsCalled) {
    policy().char_devices = {"/dev/infiniband/umad0"};
    give("/dev/infiniband/umad0", 231, 0);
    EXPECT_EQ(refused(), "");
    give("/dev/foo", 231, 0);
    EXPECT_EQ(refused(), "");
    give("/dev/infiniband/umad0", 231, 197);
    EXPECT_NE(refused().find("policy.char_devices does not allow --device /dev/infiniband/umad0 "
                             "(231:197)"),
              std::string::npos)
        << refused();
}

}  // namespace
}  // namespace test
