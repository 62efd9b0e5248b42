// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime-config/oci/spec.h"
#include "tests/unit/oci/fixtures.h"

namespace oci {
namespace {
constexpr uint64_t kUnlimited = UINT64_MAX;

Json tree(const Spec& spec) {
    return base::parse_json(spec.text(), "edited").value();
}

Result<> edit_all(Spec& spec) {
    spec.set_network_path("/run/rdma-hook/netns/a");
    TRY(spec.add_device({.path = "/dev/infiniband/uverbs3", .major = 231, .minor = 195}));
    TRY(spec.add_device({.path = "/dev/infiniband/rdma_cm", .major = 10, .minor = 122}));
    spec.set_memlock(kUnlimited, true);
    spec.add_env("RDMA_DEVICE", "rxe0");
    spec.add_file_mount("/run/rdma-hook/attach/a.json", "/run/rdma/attach.json");
    spec.add_hook("createRuntime",
                  {.path = "/usr/bin/rdma-hook", .args = {"rdma-hook", "x"}, .timeout_s = 30});
    spec.add_hook("poststop", {.path = "/usr/bin/rdma-hook", .args = {"rdma-hook"}});
    spec.set_annotation("rdma-hook/attached", "yes");
    return {};
}

// Every member that was there is there again, in its place among those that were there.
void expect_kept(const Json& before, const Json& after, const std::string& place) {
    if (!before.is_object() || !after.is_object())
        return;
    auto next = after.begin();
    for (const auto& [key, value] : before.items()) {
        while (next != after.end() && next.key() != key)
            ++next;
        ASSERT_NE(next, after.end()) << place << "." << key << " is gone or moved";
        expect_kept(value, *next, place + "." + key);
    }
}

TEST(SpecEdit, KeepsWhatItDoesNotKnowAndItsOrder) {
    for (const char* name : test::kSpecFixtures) {
        Spec spec = test::parsed_spec(test::oci_fixture(name));
        const Json before = tree(spec);
        ASSERT_TRUE(edit_all(spec)) << name;
        expect_kept(before, tree(spec), name);
        for (const char* untouched : {"root", "hostname", "ociVersion"})
            EXPECT_EQ(tree(spec).value(untouched, Json{}), before.value(untouched, Json{})) << name;
    }
}

TEST(SpecEdit, TwiceIsOnce) {
    for (const char* name : test::kSpecFixtures) {
        Spec spec = test::parsed_spec(test::oci_fixture(name));
        ASSERT_TRUE(edit_all(spec));
        const std::string once = spec.text();
        ASSERT_TRUE(edit_all(spec));
        EXPECT_EQ(spec.text(), once) << name;
        Spec again = test::parsed_spec(once);
        ASSERT_TRUE(edit_all(again));
        EXPECT_EQ(again.text(), once) << name;
    }
}

TEST(SpecEdit, NetworkPath) {
    Spec none = test::parsed_spec(test::oci_fixture("podman-network-none.json"));
    none.set_network_path("/run/x");
    EXPECT_EQ(none.network().kind, Network::Kind::Path);
    EXPECT_EQ(none.network().path, "/run/x");
    EXPECT_EQ(tree(none)["linux"]["namespaces"].size(), 6U);
    Spec bridge = test::parsed_spec(test::oci_fixture("podman-bridge.json"));
    bridge.set_network_path("/run/y");
    EXPECT_EQ(bridge.network().path, "/run/y");
}

TEST(SpecEdit, OurRuleFollowsADenyAll) {
    for (const char* name : {"podman-bridge.json", "docker.json"}) {
        Spec spec = test::parsed_spec(test::oci_fixture(name));
        const size_t rules = tree(spec)["linux"]["resources"]["devices"].size();
        ASSERT_TRUE(
            spec.add_device({.path = "/dev/infiniband/uverbs0", .major = 231, .minor = 192}));
        const Json list = tree(spec)["linux"]["resources"]["devices"];
        ASSERT_EQ(list.size(), rules + 1) << name;
        EXPECT_EQ(base::dump_json(list.back()),
                  R"({"allow":true,"type":"c","major":231,"minor":192,"access":"rw"})");
        EXPECT_EQ(base::dump_json(tree(spec)["linux"]["devices"].back()),
                  R"({"path":"/dev/infiniband/uverbs0","type":"c","major":231,"minor":192,)"
                  R"("fileMode":438,"uid":0,"gid":0})");
    }
}

// A rule is added unless the last one that speaks of the device allows reading and writing.
TEST(SpecEdit, RulesThatDecideTheDevice) {
    const struct {
        const char* rules;
        bool enough;
    } table[] = {
        {R"([])", false},
        {R"([{"allow":true,"type":"c","major":231,"minor":192,"access":"rwm"}])", true},
        {R"([{"allow":true,"type":"c","major":231,"access":"rw"}])", true},
        {R"([{"allow":true,"type":"c","major":231,"minor":null,"access":"rw"}])", true},
        {R"([{"allow":true,"type":"c","major":231,"minor":193,"access":"rw"}])", false},
        {R"([{"allow":true,"type":"b","major":231,"minor":192,"access":"rw"}])", false},
        {R"([{"allow":true,"type":"c","major":231,"minor":192,"access":"m"}])", false},
        {R"([{"allow":true,"type":"c","major":231,"minor":192}])", false},
        {R"([{"allow":true,"type":"c","major":231,"minor":192,"access":"rw"},
             {"allow":false,"access":"rwm"}])",
         false},
        {R"([{"allow":true,"type":"c","major":231,"minor":192,"access":"rw"},
             {"allow":false,"type":"c","major":10,"minor":229,"access":"rwm"}])",
         true},
    };

    for (const auto& row : table) {
        Spec spec = test::parsed_spec(std::string(R"({"linux":{"resources":{"devices":)") +
                                      row.rules + "}}}");
        const size_t before = tree(spec)["linux"]["resources"]["devices"].size();
        ASSERT_TRUE(
            spec.add_device({.path = "/dev/infiniband/uverbs0", .major = 231, .minor = 192}));
        EXPECT_EQ(tree(spec)["linux"]["resources"]["devices"].size(), before + (row.enough ? 0 : 1))
            << row.rules;
    }
}

TEST(SpecEdit, ANodeThatIsThereMustBeTheSameDevice) {
    const std::string start = R"({"linux":{"devices":[{"path":"/dev/infiniband//uverbs0",)";
    Spec same =
        test::parsed_spec(start + R"("type":"c","major":231,"minor":192,"fileMode":384}]}})");
    ASSERT_TRUE(same.add_device({.path = "/dev/infiniband/uverbs0", .major = 231, .minor = 192}));
    EXPECT_EQ(tree(same)["linux"]["devices"].size(), 1U);
    EXPECT_EQ(tree(same)["linux"]["devices"][0]["fileMode"], 384);
    for (const char* other : {R"("type":"c","major":231,"minor":193)",
                              R"("type":"b","major":231,"minor":192)",
                              R"("type":"p")",
                              R"("type":"c")",
                              R"("type":"c","major":-25,"minor":192)"}) {
        Spec spec = test::parsed_spec(start + other + "}]}}");
        const auto done =
            spec.add_device({.path = "/dev/infiniband/uverbs0", .major = 231, .minor = 192});
        ASSERT_FALSE(done) << other;
        EXPECT_EQ(done.error().code, base::Code::Refused);
        EXPECT_NE(done.error().text.find("/dev/infiniband/uverbs0"), std::string::npos);
        EXPECT_FALSE(done.error().fix.empty());
    }
}

TEST(SpecEdit, MemlockOfTheUserStaysUnlessReplaced) {
    Spec spec = test::parsed_spec(test::oci_fixture("podman-selinux-ulimit.json"));
    const std::string before = spec.text();
    spec.set_memlock(kUnlimited, false);
    EXPECT_EQ(spec.text(), before);
    spec.set_memlock(kUnlimited, true);
    EXPECT_EQ(
        base::dump_json(tree(spec)["process"]["rlimits"].back()),
        R"({"type":"RLIMIT_MEMLOCK","hard":18446744073709551615,"soft":18446744073709551615})");
    EXPECT_EQ(tree(spec)["process"]["rlimits"].size(), 3U);
    Spec bare = test::parsed_spec(test::oci_fixture("podman-bridge.json"));
    bare.set_memlock(65536, false);
    EXPECT_TRUE(bare.has_memlock());
}

TEST(SpecEdit, AnEnvironmentVariableThatIsSetStays) {
    Spec spec = test::parsed_spec(
        R"({"process":{"env":["RDMA_DEVICE_X=1","RDMA_DEVICE=","RDMA_NETDEV"]}})");
    spec.add_env("RDMA_DEVICE", "rxe0");
    spec.add_env("RDMA_NETDEV", "rdma0");
    EXPECT_EQ(base::dump_json(tree(spec)["process"]["env"]),
              R"(["RDMA_DEVICE_X=1","RDMA_DEVICE=","RDMA_NETDEV","RDMA_NETDEV=rdma0"])");
}

TEST(SpecEdit, MountsHooksAndAnnotations) {
    Spec spec = test::parsed_spec(
        R"({"mounts":[{"destination":"/run"}],"hooks":{"prestart":[{"path":"/a"}]}})");
    spec.add_file_mount("/h/a.json", "/run/rdma/attach.json");
    spec.add_hook("poststop", {.path = "/b", .args = {"b", "poststop"}, .timeout_s = 30});
    spec.set_annotation("k", "v");
    EXPECT_EQ(spec.text(),
              R"({"mounts":[{"destination":"/run"},{"destination":"/run/rdma/attach.json",)"
              R"("type":"bind","source":"/h/a.json",)"
              R"("options":["bind","ro","nosuid","nodev","noexec"]}],)"
              R"("hooks":{"prestart":[{"path":"/a"}],"poststop":[{"path":"/b",)"
              R"("args":["b","poststop"],"env":["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],)"
              R"("timeout":30}]},"annotations":{"k":"v"}})");
}

TEST(SpecEdit, MountsOfRdmaNodes) {
    const std::pair<const char*, bool> table[] = {{"/dev", true},
                                                  {"/dev/", true},
                                                  {"/", true},
                                                  {"//", true},
                                                  {"/dev/infiniband", true},
                                                  {"/dev//infiniband/uverbs0", true},
                                                  {"/run/../dev/infiniband", true},
                                                  {"/dev/null", false},
                                                  {"/dev/infiniband2", false},
                                                  {"tmpfs", false},
                                                  {"/home/u/dev", false}};
    for (const auto& [source, is] : table) {
        const std::string text =
            std::string(R"({"mounts":[{"destination":"/x","source":")") + source + "\"}]}";
        EXPECT_EQ(test::parsed_spec(text).binds_rdma_nodes(), is) << source;
    }
    EXPECT_FALSE(test::parsed_spec(R"({"mounts":[{"destination":"/x"}]})").binds_rdma_nodes());
    EXPECT_FALSE(test::parsed_spec("{}").binds_rdma_nodes());
}

TEST(SpecEdit, MountsNearAPath) {
    const std::pair<const char*, bool> table[] = {{"/etc", true},
                                                  {"/etc/", true},
                                                  {"etc", true},
                                                  {"/etc/libibverbs.d", true},
                                                  {"/etc/libibverbs.d/", true},
                                                  {"/etc/libibverbs.d/rxe.driver", true},
                                                  {"/etc/./libibverbs.d", true},
                                                  {"/etc//libibverbs.d", true},
                                                  {"/etc/.", true},
                                                  {"/run/../etc", true},
                                                  {"/etc/libibverbs.d/x/..", true},
                                                  {"/", false},
                                                  {"/etc/..", false},
                                                  {"/etc/../run", false},
                                                  {"/etc/libibverbs", false},
                                                  {"/etc/libibverbs.d2", false},
                                                  {"/etc/.libibverbs.d", false},
                                                  {"/etc/..libibverbs.d", false},
                                                  {"/run/.containerenv", false},
                                                  {"/run/...", false}};
    for (const auto& [destination, near] : table) {
        const std::string text =
            std::string(R"({"mounts":[{"destination":")") + destination + "\"}]}";
        EXPECT_EQ(test::parsed_spec(text).mounts_near("/etc/libibverbs.d"), near) << destination;
    }
}

TEST(SpecEdit, TheRuntimesOwnSysfs) {
    const struct {
        const char* mounts;
        bool own;
    } table[] = {
        {R"([{"destination":"/sys","type":"sysfs"}])", true},
        {R"([{"destination":"/sys/","type":"sysfs"},{"destination":"/sys/fs/cgroup"}])", true},
        {R"([{"destination":"/sys","type":"sysfs"},{"destination":"/sys/classes"}])", true},
        {R"([])", false},
        {R"([{"destination":"/sys","type":"bind"}])", false},
        {R"([{"destination":"/sys"}])", false},
        {R"([{"destination":"/sys","type":"sysfs"},{"destination":"/sys","type":"bind"}])", false},
        {R"([{"destination":"/sys","type":"sysfs"},{"destination":"/sys/class"}])", false},
        {R"([{"destination":"/sys","type":"sysfs"},{"destination":"/sys/class/net/x"}])", false},
        {R"([{"destination":"/sys","type":"sysfs"},{"destination":"/a/../sys//devices"}])", false},
    };

    for (const auto& row : table) {
        const std::string text =
            R"({"ociVersion":"1.2.0","mounts":)" + std::string(row.mounts) + "}";
        EXPECT_EQ(test::parsed_spec(text).has_own_sysfs(), row.own) << row.mounts;
    }
    EXPECT_FALSE(test::parsed_spec(R"({"ociVersion":"1.2.0"})").has_own_sysfs());
    const Spec bound =
        test::parsed_spec(R"({"mounts":[{"destination":"/sys","type":"bind","source":"/sys/"}]})");
    EXPECT_FALSE(bound.has_own_sysfs()) << "the user's wish";
    EXPECT_TRUE(bound.has_own_sysfs(true)) << "rootless: the engine's";
    EXPECT_FALSE(test::parsed_spec(R"({"mounts":[{"destination":"/sys","source":"/x"}]})")
                     .has_own_sysfs(true));
    EXPECT_FALSE(test::parsed_spec(R"({"mounts":[{"destination":"/sys","source":"/sys"}],)"
                                   R"("annotations":{"io.podman.annotations.privileged":"TRUE"}})")
                     .has_own_sysfs(true));
    EXPECT_TRUE(test::parsed_spec(test::oci_fixture("podman-bridge.json")).has_own_sysfs());
    EXPECT_FALSE(test::parsed_spec(test::oci_fixture("podman-privileged.json")).has_own_sysfs());
}
}  // namespace
}  // namespace oci
