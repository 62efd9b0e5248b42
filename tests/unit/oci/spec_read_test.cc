// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime-config/oci/spec.h"
#include "tests/unit/oci/fixtures.h"

namespace oci {
namespace {
Spec fixture(const std::string& name) {
    auto spec = Spec::parse(test::oci_fixture(name));
    EXPECT_TRUE(spec) << name << ": " << spec.error().message();
    return std::move(spec).value();
}

TEST(SpecRead, KeepsEveryFixture) {
    for (const char* name : test::kSpecFixtures) {
        const auto tree = base::parse_json(test::oci_fixture(name), name);
        ASSERT_TRUE(tree) << name;
        const auto again = base::parse_json(fixture(name).text(), name);
        ASSERT_TRUE(again) << name;
        EXPECT_EQ(base::dump_json(*again), base::dump_json(*tree)) << name;
    }
}

TEST(SpecRead, KeepsWhatNobodyReadsByteForByte) {
    const std::string filter = R"({ "a" : [1.50, "\u0041"],"args":[ ] })";
    const std::string text = R"({"linux":{"seccomp":)" + filter + "}}";
    EXPECT_EQ(test::parsed_spec(text).text(), text);
    EXPECT_FALSE(Spec::parse(R"({"linux":{"seccomp":{"a":[],"a":[]}}})")) << "a key twice";
    EXPECT_FALSE(Spec::parse(R"({"linux":{"seccomp":[1,]}})"));
    EXPECT_FALSE(Spec::parse(R"({"linux":{"seccomp":["\ud800"]}})"));
}

struct Expected {
    const char* file;
    Network::Kind kind;
    const char* path;
    bool user_namespace;
    bool privileged;
};

TEST(SpecRead, KnowsWhereTheNetworkIsAndWhatIsAllowed) {
    const Expected table[] = {
        {"docker.json", Network::Kind::Private, "", false, false},
        {"minimal.json", Network::Kind::Host, "", false, false},
        {"podman-bridge.json",
         Network::Kind::Path,
         "/run/netns/netns-5f0c2d8e-9f7c-4b52-8c5e-0a4f7b0d2a11",
         false,
         false},
        {"podman-network-container.json", Network::Kind::Path, "/proc/4711/ns/net", false, false},
        {"podman-network-host.json", Network::Kind::Host, "", false, false},
        {"podman-network-none.json", Network::Kind::Private, "", false, false},
        {"podman-privileged.json",
         Network::Kind::Path,
         "/run/netns/netns-0d7b6c34-7ad2-4e0d-a1f3-6f6f1d1c9b42",
         false,
         true},
        {"podman-selinux-ulimit.json", Network::Kind::Path, "/run/netns/netns-2b6a", false, false},
        {"podman-userns.json", Network::Kind::Private, "", true, false},
    };
    for (const auto& row : table) {
        const Spec spec = fixture(row.file);
        EXPECT_EQ(spec.network().kind, row.kind) << row.file;
        EXPECT_EQ(spec.network().path, row.path) << row.file;
        EXPECT_EQ(spec.has_user_namespace(), row.user_namespace) << row.file;
        EXPECT_EQ(spec.privileged(), row.privileged) << row.file;
    }
}

TEST(SpecRead, AnnotationsLabelsAndLimits) {
    const auto annotations = fixture("podman-bridge.json").annotations();
    EXPECT_EQ(annotations.at("rdma.mode"), "softroce");
    EXPECT_EQ(annotations.at("rdma.ip"), "10.9.0.1/24");
    EXPECT_EQ(annotations.at("io.container.manager"), "libpod");
    EXPECT_TRUE(fixture("minimal.json").annotations().empty());
    EXPECT_EQ(fixture("podman-selinux-ulimit.json").mount_label(),
              "system_u:object_r:container_file_t:s0:c1,c2");
    EXPECT_EQ(fixture("docker.json").mount_label(), "");
    EXPECT_TRUE(fixture("podman-selinux-ulimit.json").has_memlock());
    EXPECT_FALSE(fixture("podman-bridge.json").has_memlock());
}

TEST(SpecRead, NullCountsAsAbsent) {
    const Spec spec =
        test::parsed_spec(R"({"annotations":null,"linux":{"namespaces":null,"devices":null,
        "resources":null,"mountLabel":null},"process":{"env":null,"rlimits":null},"mounts":null,
        "hooks":{"prestart":null}})");
    EXPECT_TRUE(spec.annotations().empty());
    EXPECT_EQ(spec.network().kind, Network::Kind::Host);
    EXPECT_FALSE(spec.has_memlock());
}

// Annotations of containerd's CRI, CRI-O and the kubelet, and those of Podman under the same names.
TEST(SpecRead, WhoMadeItForAPod) {
    for (const char* name : test::kSpecFixtures)
        EXPECT_EQ(fixture(name).pods_engine(), "") << name;

    const struct {
        const char* text;
        const char* engine;
    } table[] = {
        {R"({"annotations":{"io.kubernetes.cri.container-type":"sandbox"}})", "containerd"},
        {R"({"annotations":{"io.kubernetes.pod.name":"x"}})", "containerd"},
        {R"({"linux":{"cgroupsPath":"kubepods-pod1.slice:cri-containerd:x"}})", "containerd"},
        {R"({"linux":{"cgroupsPath":"/kubepods/besteffort/pod1/x"}})", "containerd"},
        {R"({"annotations":{"io.container.manager":"cri-o"}})", "crio"},
        {R"({"annotations":{"io.kubernetes.pod.name":"x","io.container.manager":"cri-o"}})",
         "crio"},
        {R"({"annotations":{"io.container.manager":"libpod","io.kubernetes.cri-o.TTY":"false",
            "io.kubernetes.cri-o.Metadata":"{}"}})",
         "crio"},
        {R"({"annotations":{"io.container.manager":"libpod","io.kubernetes.cri-o.TTY":"false",
            "io.kubernetes.cri-o.Created":"2026","io.kubernetes.cri-o.SandboxID":"x",
            "io.kubernetes.cri-o.ContainerType/server":"container"}})",
         ""},
        {R"({"annotations":{"rdma.mode":"vf"},"linux":{"cgroupsPath":"system.slice:docker:x"}})",
         ""},
        {R"({"linux":{"cgroupsPath":7}})", ""},
    };

    for (const auto& row : table)
        EXPECT_EQ(test::parsed_spec(row.text).pods_engine(), row.engine) << row.text;
}

TEST(SpecRead, RedirectedHookOutput) {
    EXPECT_FALSE(fixture("podman-bridge.json").redirects_hook_output());
    for (const char* key : {"run.oci.hooks.stdout", "run.oci.hooks.stderr"})
        EXPECT_TRUE(test::parsed_spec(std::string(R"({"annotations":{")") + key + R"(":"/x"}})")
                        .redirects_hook_output());
}

// The last rule that speaks of all character devices decides.
TEST(SpecRead, PrivilegedMeansAllDevicesAndSysAdmin) {
    const struct {
        const char* rules;
        bool privileged;
    } table[] = {
        {R"([])", false},
        {R"([{"allow":true,"access":"rwm"}])", true},
        {R"([{"allow":true,"type":"a","access":"rwm"}])", true},
        {R"([{"allow":true,"type":"c","major":-1,"minor":-1,"access":"rw"}])", true},
        {R"([{"allow":true,"type":"b","access":"rwm"}])", false},
        {R"([{"allow":true,"access":"r"}])", false},
        {R"([{"allow":true}])", false},
        {R"([{"allow":true,"major":10,"access":"rwm"}])", false},
        {R"([{"allow":true,"access":"rwm"},{"allow":false,"access":"rwm"}])", false},
        {R"([{"allow":false,"access":"rwm"},{"allow":true,"access":"rwm"}])", true},
        {R"([{"allow":true,"access":"rwm"},{"allow":false,"access":"m"}])", true},
        {R"([{"allow":true,"access":"rwm"},{"allow":false}])", false},
    };

    for (const auto& row : table) {
        const std::string start = R"({"linux":{"resources":{"devices":)";
        const std::string text =
            start + row.rules + R"(}},"process":{"capabilities":{"bounding":[)";
        EXPECT_EQ(test::parsed_spec(text + R"("CAP_KILL","CAP_SYS_ADMIN"]}}})").privileged(),
                  row.privileged)
            << row.rules;
        EXPECT_FALSE(test::parsed_spec(text + R"("CAP_KILL"]}}})").privileged()) << row.rules;
    }
}

TEST(SpecRead, TheRootIsAsItIsSpelt) {
    const auto root_of = [](const std::string& text) { return Spec::parse(text)->root("/bundle"); };
    EXPECT_EQ(root_of(R"({"root":{"path":"rootfs"}})"), "/bundle/rootfs");
    EXPECT_EQ(root_of(R"({"root":{"path":"/var/merged"}})"), "/var/merged");
    for (const char* none : {R"({})", R"({"root":null})", R"({"root":{"path":7}})"})
        EXPECT_EQ(root_of(none), "") << none;
}

TEST(SpecRead, CapabilitiesOfAnySet) {
    const auto spec = Spec::parse(R"({"process":{"capabilities":{"bounding":["CAP_CHOWN"],
        "ambient":["CAP_NET_RAW"],"effective":["CAP_CHOWN"]}}})");
    ASSERT_TRUE(spec) << spec.error().message();
    EXPECT_EQ(spec->capabilities(), (std::vector<std::string>{"CAP_CHOWN", "CAP_NET_RAW"}));
    EXPECT_TRUE(Spec::parse("{}")->capabilities().empty());
    // crun gives the container these as well.
    EXPECT_EQ(
        Spec::parse(R"({"process":{"capabilities":{"bounding":["cap_net_raw","Cap_Chown"]}}})")
            ->capabilities(),
        (std::vector<std::string>{"CAP_CHOWN", "CAP_NET_RAW"}));
}

TEST(SpecRead, RdmaNodesOfTheEngine) {
    const auto spec = Spec::parse(R"({"linux":{"devices":[
        {"path":"/dev/fuse","type":"c","major":10,"minor":229},
        {"path":"/dev/infiniband/rdma_cm","type":"c","major":10,"minor":122},
        {"path":"/dev/infiniband/uverbs0","type":"c","major":231,"minor":192},
        {"path":"/dev/other","type":"u","major":231,"minor":0},
        {"path":"/dev/shm/../infiniband/umad40","type":"c","major":510,"minor":8},
        {"path":"/dev/infiniband/disk","type":"b","major":231,"minor":1}]}})");
    ASSERT_TRUE(spec) << spec.error().message();
    const auto text_of = [](const std::vector<DeviceNode>& nodes) {
        std::string text;
        for (const auto& node : nodes)
            text += node.path + " " + std::to_string(node.major) + ":" +
                    std::to_string(node.minor) + "\n";
        return text;
    };
    EXPECT_EQ(text_of(spec->rdma_nodes({})),
              "/dev/infiniband/uverbs0 231:192\n/dev/other 231:0\n"
              "/dev/shm/../infiniband/umad40 510:8\n");
    EXPECT_TRUE(spec->has_dynamic_majors());
    EXPECT_TRUE(Spec::parse("{}")->rdma_nodes({}).empty());
    EXPECT_FALSE(Spec::parse("{}")->has_dynamic_majors());
}

// Whoever starts a container chooses the path in it; mknod(2) takes 12 bits of a major.
TEST(SpecRead, RdmaNodesByNumberWhateverTheyAreCalled) {
    const struct {
        const char* node;
        bool dynamic;
        bool found;
    } table[] = {
        {R"("path":"/dev/foo","type":"c","major":510,"minor":8)", true, true},
        {R"("path":"/dev/foo","type":"c","major":509,"minor":8)", true, false},
        {R"("path":"/dev/foo","type":"b","major":510,"minor":8)", false, false},
        {R"("path":"/dev/foo","type":"c","major":4327,"minor":8)", true, true},
        {R"("path":"/dev/foo","type":"c","major":4294967527,"minor":8)", false, true},
        {R"("path":"/dev/infiniband/rdma_cm","type":"c","major":231,"minor":192)", false, true},
        {R"("path":"/dev/fuse","type":"c","major":10,"minor":229)", false, false},
        {R"("path":"/dev/foo","type":"c")", false, false},
    };

    for (const auto& row : table) {
        const std::string start = R"({"linux":{"devices":[{)";
        const Spec spec = test::parsed_spec(start + row.node + "}]}}");
        EXPECT_EQ(spec.has_dynamic_majors(), row.dynamic) << row.node;
        EXPECT_EQ(spec.rdma_nodes({231, 510}).size(), row.found ? 1U : 0U) << row.node;
    }
}

// A rule opens what it lets be read or written, as far as no later one denies it.
TEST(SpecRead, RulesThatOpenRdmaDevices) {
    const struct {
        const char* rules;
        const char* opened;
    } table[] = {
        {R"()", ""},
        {R"({"allow":true,"type":"c","major":231,"access":"rwm"})", "231:*"},
        {R"({"allow":true,"type":"c","major":231,"access":"r"})", "231:*"},
        {R"({"allow":true,"type":"c","major":231,"minor":-1,"access":"w"})", "231:*"},
        {R"({"allow":true,"type":"c","major":231})", "231:*"},
        {R"({"allow":true,"type":"c","major":231,"minor":5,"access":"rw"})", "231:5"},
        {R"({"allow":true,"type":"c","minor":5,"access":"rw"})", "*:5"},
        {R"({"allow":true,"type":"c","major":510,"access":"rw"})", "510:*"},
        {R"({"allow":true,"type":"c","major":509,"access":"rw"})", ""},
        {R"({"allow":true,"access":"rwm"})", "*:*"},
        {R"({"allow":true,"type":"a","major":10,"access":"rw"})", "*:*"},
        {R"({"allow":true,"type":"c","access":"r"},{"allow":true,"type":"c","access":"w"})", "*:*"},
        {R"({"allow":true,"type":"c","access":"m"},{"allow":true,"type":"b","access":"rwm"})", ""},
        {R"({"allow":true,"type":"c","major":10,"access":"rwm"})", ""},
        {R"({"allow":true,"type":"c","major":231,"access":"rw"},{"allow":false,"access":"rwm"})",
         ""},
        {R"({"allow":true,"type":"c","major":231,"access":"rw"},{"allow":false})", ""},
        {R"({"allow":true,"type":"c","major":231,"access":"rw"},
            {"allow":false,"type":"c","major":231,"access":"w"})",
         "231:*"},
        {R"({"allow":true,"type":"c","major":231,"access":"rw"},
            {"allow":false,"type":"c","major":231,"minor":192,"access":"rw"})",
         "231:*"},
        {R"({"allow":true,"type":"c","major":231,"minor":192,"access":"rw"},
            {"allow":false,"type":"c","major":231,"minor":192,"access":"r"},
            {"allow":false,"type":"c","major":231,"access":"w"})",
         ""},
        {R"({"allow":true,"type":"c","access":"rw"},
            {"allow":false,"type":"c","major":231,"access":"rw"})",
         "*:*"},
        {R"({"allow":true,"type":"c","access":"rw"},
            {"allow":false,"type":"c","major":231,"access":"rw"},
            {"allow":false,"type":"c","major":510,"access":"rw"})",
         ""},
        {R"({"allow":false,"access":"rwm"},{"allow":true,"type":"c","major":231,"access":"rw"})",
         "231:*"},
    };

    const auto text = [](const std::optional<uint32_t>& number) {
        return number ? std::to_string(*number) : "*";
    };
    for (const auto& row : table) {
        const std::string start = R"({"linux":{"resources":{"devices":[)";
        const Spec spec = test::parsed_spec(start + row.rules + "]}}}");
        std::string opened;
        for (const DeviceRange& range : spec.rdma_rules({231, 510}))
            opened += text(range.major) + ":" + text(range.minor);
        EXPECT_EQ(opened, row.opened) << row.rules;
    }
}

TEST(SpecRead, RulesOfEnginesOpenNoRdmaDevices) {
    for (const char* name : test::kSpecFixtures) {
        Spec spec = fixture(name);
        EXPECT_TRUE(spec.rdma_rules({510}).empty()) << name;
        EXPECT_EQ(spec.has_dynamic_majors(), spec.privileged()) << name;
        ASSERT_TRUE(
            spec.add_device({.path = "/dev/infiniband/uverbs0", .major = 231, .minor = 192}));
        EXPECT_TRUE(spec.rdma_rules({510}).empty()) << name << ": the rule of a node";
    }
}
}  // namespace
}  // namespace oci
