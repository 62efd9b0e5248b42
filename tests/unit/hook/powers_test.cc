// SPDX-License-Identifier: Apache-2.0 The powers that an engine gives a container: read from
// config.json and the host, and judged before anything is attached.
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

    // Returns the refusal, which is the same by either way to attach; empty if it may start.
    std::string refused() {
        std::string text;
        for (const bool plain : {false, true}) {
            Life life{fake_, state_, "one"};
            life.annotations = {{"rdma.mode", "softroce"}, {"rdma.parent", "eth0"}};
            life.devices = devices_;
            life.rules = rules_;
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

    // A device rule like those of --device-cgroup-rule.
    void allow(const char* rule) {
        rules_ = Json::array();
        rules_.push_back(json_of(rule));
    }

    Json devices_ = Json::array();
    Json rules_ = Json::array();
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

// With CAP_MKNOD, which engines give, a rule is as good as a node.
TEST_F(PowersOfContainers, ADeviceRuleIsJudgedLikeItsNodes) {
    const struct {
        const char* rule;
        const char* says;
    } table[] = {
        {R"({"allow":true,"type":"c","major":231,"access":"rwm"})",
         "the default policy does not allow device rule c 231:* beside rdma.*; leave it out"},
        {R"({"allow":true,"type":"a","access":"rwm"})", "device rule c *:*"},
        {R"({"allow":true,"type":"c","major":510,"access":"w"})", "device rule c 510:*"},
        {R"({"allow":true,"type":"c","major":231,"minor":192,"access":"r"})",
         "device rule c 231:192"},
        {R"({"allow":true,"type":"c","access":"m"})", ""},
        {R"({"allow":true,"type":"c","major":509,"access":"rwm"})", ""},
    };

    for (const auto& row : table) {
        allow(row.rule);
        const std::string text = refused();
        EXPECT_EQ(text.empty(), std::string(row.says).empty()) << row.rule << ": " << text;
        EXPECT_NE(text.find(row.says), std::string::npos) << row.rule << ": " << text;
    }
}

TEST_F(PowersOfContainers, APolicyCanAllowDeviceRules) {
    policy().char_devices = {"/dev/infiniband/umad0"};
    allow(R"({"allow":true,"type":"c","major":231,"minor":0,"access":"rw"})");
    EXPECT_EQ(refused(), "") << "of a device that is listed";
    allow(R"({"allow":true,"type":"c","major":231,"minor":192,"access":"rw"})");
    EXPECT_NE(refused().find("policy.char_devices does not allow device rule c 231:192"),
              std::string::npos)
        << refused();
    allow(R"({"allow":true,"type":"c","major":231,"access":"rw"})");
    EXPECT_NE(refused().find("policy.privileged does not allow device rule c 231:*"),
              std::string::npos)
        << refused();
    policy().privileged = true;
    EXPECT_EQ(refused(), "");
}

TEST_F(PowersOfContainers, AttachFileSaysWhetherThereIsAFence) {
    const auto isolation = [&](bool denies = true) {
        Life life{fake_, state_, "one"};
        life.annotations = {{"rdma.mode", "softroce"}, {"rdma.parent", "eth0"}};
        life.rules = rules_;
        life.denies_devices = denies;
        EXPECT_TRUE(life.start());
        std::string file;
        for (const Json& mount : life.spec()["mounts"]) {
            if (mount["destination"] == "/run/rdma/attach.json")
                file = mount["source"];
        }
        const Json attach = *base::parse_json(*base::RealFiles{}.read(file, 1U << 20U), file);
        EXPECT_TRUE(life.poststop());
        return attach["isolation"].get<std::string>();
    };
    policy().privileged = true;
    EXPECT_EQ(isolation(), "device nodes");
    allow(R"({"allow":true,"type":"c","access":"r"})");
    EXPECT_EQ(isolation(), "none");
    allow(R"({"allow":true,"type":"c","major":10,"minor":229,"access":"rw"})");
    EXPECT_EQ(isolation(), "device nodes");
    // crun makes no device program where no rule is: every device may be opened.
    EXPECT_EQ(isolation(false), "none");
    rules_ = Json::array();
    EXPECT_EQ(isolation(false), "none");
}

// A pod's author is not root. What the engine is called by its annotations decides nothing else.
TEST_F(PowersOfContainers, APodIsRefusedWithoutAPolicyThatAllowsIt) {
    const std::map<std::string, std::string> engines[] = {
        {{"io.kubernetes.cri.container-type", "container"}}, {{"io.container.manager", "cri-o"}}};
    for (const auto& by : engines) {
        for (const bool plain : {false, true}) {
            state_.config().policy.reset();
            Life life{fake_, state_, "pod"};
            life.annotations = by;
            life.annotations.insert(
                {{"rdma.mode", "softroce"}, {"rdma.parent", "eth0"}, {"rdma.optional", "true"}});
            life.plain = plain;
            const Error done = error_of(life.start());
            EXPECT_EQ(done.code, base::Code::Refused);
            EXPECT_NE(done.message().find(
                          "a pod's rdma.* annotations are its author's and not root's, and "
                          "/etc/rdma-hook/config.json has no `policy`"),
                      std::string::npos)
                << done.message();
            EXPECT_NE(done.message().find("--starter-policy"), std::string::npos);
            expect_nothing_left();
            policy().modes.clear();
            EXPECT_FALSE(life.start()) << "which allows nothing";
            expect_nothing_left();
            policy();
            EXPECT_TRUE(life.start());
            EXPECT_TRUE(life.poststop());
        }
    }
}

// Podman writes annotations of CRI-O's, too; whoever starts its containers is root.
TEST_F(PowersOfContainers, PodmansContainerIsNoPod) {
    Life life{fake_, state_, "one"};
    life.annotations = {{"rdma.mode", "softroce"},
                        {"io.container.manager", "libpod"},
                        {"io.kubernetes.cri-o.TTY", "false"},
                        {"io.kubernetes.cri-o.Created", "2026-01-01T00:00:00Z"}};
    EXPECT_TRUE(life.start());
}

}  // namespace
}  // namespace test
