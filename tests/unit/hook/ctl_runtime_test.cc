// SPDX-License-Identifier: Apache-2.0
// rdmactl runtime configure: Docker, Podman, CRI-O, and the files themselves.
#include "tests/unit/hook/engine_folder.h"

namespace test {
namespace {

constexpr char kDaemon[] = "/etc/docker/daemon.json";
constexpr char kCrio[] = "/etc/crio/crio.conf.d/50-rdma-hook.conf";
constexpr char kPodman[] = "/etc/containers/containers.conf.d/50-rdma-hook.conf";

class RuntimeConfigure : public EngineFolder {};

TEST_F(RuntimeConfigure, MakesDaemonJson) {
    const auto answer = twice("docker");
    EXPECT_EQ(get(kDaemon),
              "{\n  \"runtimes\": {\n    \"rdma\": {\n      \"path\": \"/usr/bin/rdma-runtime\"\n"
              "    }\n  }\n}\n");
    EXPECT_EQ(answer.json["run"], "systemctl reload docker");
    EXPECT_EQ(answer.json["backup"], "");
    twice("docker", true);
    EXPECT_EQ(get(kDaemon), "(no file)");
}

TEST_F(RuntimeConfigure, KeepsWhatIsInDaemonJson) {
    const std::string before =
        "{\n    \"z-unknown\": [1, 18446744073709551615, 0.5],\n"
        "    \"runtimes\": {\n        \"nvidia\": {\n            \"path\": \"x\"\n        }\n    "
        "},\n"
        "    \"a\": null\n}\n";
    put(kDaemon, before);
    const auto answer = twice("docker");
    EXPECT_EQ(answer.json["backup"], std::string(kDaemon) + ".before-rdma-hook");
    EXPECT_EQ(get(std::string(kDaemon) + ".before-rdma-hook"), before);
    const auto now = base::parse_json(get(kDaemon), "now");
    ASSERT_TRUE(now);
    std::vector<std::string> names;
    for (const auto& [name, value] : now->items())
        names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"z-unknown", "runtimes", "a"}));
    EXPECT_EQ((*now)["z-unknown"][1], 18446744073709551615U);
    EXPECT_NE(get(kDaemon).find("\n    \"runtimes\""), std::string::npos) << "indented as before";
    twice("docker", true);
    EXPECT_EQ(*base::parse_json(get(kDaemon), "now"), *base::parse_json(before, "before"));
}

TEST_F(RuntimeConfigure, DryRunChangesNothing) {
    options_.dry_run = true;
    const auto answer = configure("docker");
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->json["changed"]);
    EXPECT_NE(answer->text.find("+    \"rdma\": {"), std::string::npos) << answer->text;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "etc"));
}

TEST_F(RuntimeConfigure, AnEmptyDaemonJsonIsOneWithoutSettings) {
    put(kDaemon, " \n");
    twice("docker");
    EXPECT_NE(get(kDaemon).find("rdma-runtime"), std::string::npos);
}

TEST_F(RuntimeConfigure, FollowsAnInstallationThatMoved) {
    put(kDaemon, R"({"runtimes":{"rdma":{"path":"/usr/local/bin/rdma-runtime"}}})");
    twice("docker");
    EXPECT_NE(get(kDaemon).find("/usr/bin/rdma-runtime"), std::string::npos);
}

TEST_F(RuntimeConfigure, WhatAnotherWroteIsLeftAlone) {
    const std::pair<const char*, const char*> table[] = {
        {R"({"runtimes":{"rdma":{"path":"/opt/other"}}})", "not rdma-hook's"},
        {R"({"runtimes":{"rdma":"x"}})", "not rdma-hook's"},
        {R"({"runtimes":{"rdma":{"path":["rdma-runtime"]}}})", "not rdma-hook's"},
        {R"({"runtimes":[]})", "`runtimes` is not a JSON object"},
        {"[1]", "is not a JSON object"},
        {"{\"a\":1,\"a\":2}", "twice"},
        {"{\"a\":1", "not valid JSON"},
        {"{\"a\":\"\xff\"}", "not valid JSON"}};
    for (const auto& [text, says] : table) {
        put(kDaemon, text);
        expect_refused("docker", kDaemon, says);
    }
    put(kDaemon, std::string(2U << 20U, ' '));
    expect_refused("docker", kDaemon, "larger than");
}

TEST_F(RuntimeConfigure, UnsetTakesNothingThatTheOperatorChanged) {
    const std::string ours = R"({"path":"/usr/bin/rdma-runtime"})";
    put(kDaemon, R"({"default-runtime":"rdma","runtimes":{"rdma":)" + ours + "}}");
    expect_refused("docker", kDaemon, "`default-runtime` is rdma", true);
    put(kDaemon,
        R"({"runtimes":{"rdma":{"path":"/usr/bin/rdma-runtime","runtimeArgs":["--debug"]}}})");
    expect_refused("docker", kDaemon, "more than rdmactl wrote", true);
    EXPECT_FALSE(configure("docker")->json["changed"]) << "but it serves";
    put(kDaemon, R"({"runtimes":{"rdma":)" + ours + R"(},"debug":true})");
    twice("docker", true);
    EXPECT_EQ(get(kDaemon), "{\"debug\":true}\n");
}

TEST_F(RuntimeConfigure, TheFileKeepsItsMode) {
    put(kDaemon, "{}");
    ASSERT_EQ(::chmod((dir_ / "etc/docker/daemon.json").c_str(), 0600), 0);
    twice("docker");

    struct stat st {};

    ASSERT_EQ(::stat((dir_ / "etc/docker/daemon.json").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777U, 0600U);
    ASSERT_EQ(::stat((dir_ / "etc/docker/daemon.json.before-rdma-hook").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777U, 0600U);
}

TEST_F(RuntimeConfigure, LinksAndFilesOfOthersAreNotTouched) {
    put("/etc/docker/real.json", "{}");
    std::filesystem::create_symlink("real.json", dir_ / "etc/docker/daemon.json");
    expect_refused("docker", kDaemon, "symbolic links are not followed");
    EXPECT_EQ(get("/etc/docker/real.json"), "{}");
    std::filesystem::remove(dir_ / "etc/docker/daemon.json");
    put(kDaemon, "{}");
    ASSERT_EQ(::chmod((dir_ / "etc/docker/daemon.json").c_str(), 0666), 0);
    expect_refused("docker", kDaemon, "can be written by others");
    std::filesystem::remove(dir_ / "etc/docker/daemon.json");
    std::filesystem::create_directory(dir_ / "etc/docker/daemon.json");
    expect_refused("docker", kDaemon, "not a regular file");
}

TEST_F(RuntimeConfigure, TwoAtOnceDoNotMix) {
    put(kDaemon, "{}");
    put(std::string(kDaemon) + ".before-rdma-hook.rdma-hook-new", "half");
    expect_refused("docker", kDaemon, "if no other rdmactl runs: rm ");
}

TEST_F(RuntimeConfigure, PodmanGetsTheDropInOfThePackage) {
    const auto answer = twice("podman");
    EXPECT_EQ(answer.json["run"], "");
    EXPECT_NE(get(kPodman).find("hooks_dir = [\""), std::string::npos);
    put(kPodman, get(kPodman) + "# mine\n");
    expect_refused("podman", kPodman, "not as rdma-hook has it");
    expect_refused("podman", kPodman, "not as rdma-hook has it", true);
    std::filesystem::remove(dir_.path() + kPodman);
    twice("podman");
    twice("podman", true);
    EXPECT_EQ(get(kPodman), "(no file)");
}

TEST_F(RuntimeConfigure, CrioGetsAFileOfOurs) {
    put_policy();
    put("/etc/crio/crio.conf", "[crio.runtime.runtimes.crun]\nruntime_path = \"/usr/bin/crun\"\n");
    EXPECT_EQ(twice("crio").json["run"], "systemctl restart crio");
    const std::string ours = get(kCrio);
    EXPECT_NE(ours.find("[crio.runtime.runtimes.rdma]\nruntime_path = \"/usr/bin/rdma-runtime\"\n"),
              std::string::npos);
    // CRI-O does not start with one that it does not know.
    EXPECT_EQ(ours.find("allowed_annotations"), std::string::npos);
    put(kCrio, ours + "[crio.api]\n");
    expect_refused("crio", kCrio, "settings that are not rdmactl's");
    put(kCrio, ours);
    twice("crio", true);
    EXPECT_EQ(get(kCrio), "(no file)");
    put("/etc/crio/crio.conf.d/90-mine.conf", "[crio.runtime.runtimes.rdma]\n");
    expect_refused("crio", kCrio, "90-mine.conf: the runtime rdma is not rdmactl's");
}

// Pods' authors choose their annotations: without a policy they would be root's.
TEST_F(RuntimeConfigure, EnginesOfKubernetesWantAPolicyFirst) {
    for (const std::string engine : {"containerd", "crio"}) {
        std::filesystem::remove_all(dir_ / "etc");
        for (const char* config : {"{}", R"({"pools":{}})", "{\n    \"log\": {}\n}\n"}) {
            put(hook::kConfigPath, config);
            expect_refused(engine,
                           hook::kConfigPath,
                           "rdmactl runtime configure --runtime=" + engine + " --starter-policy");
        }
        EXPECT_EQ(configure(engine).error().code, Code::Refused);
        EXPECT_TRUE(configure(engine, true)) << "--unset needs none";
        put(hook::kConfigPath, R"({"policy":[]})");
        expect_refused(engine, hook::kConfigPath, "policy");
    }
    EXPECT_TRUE(configure("docker")) << "whose annotations are root's";
}

TEST_F(RuntimeConfigure, AStarterPolicyAllowsNothing) {
    put(hook::kConfigPath, "{\n    \"log\": {\n        \"level\": \"debug\"\n    }\n}\n");
    options_.starter_policy = true;
    options_.dry_run = true;
    EXPECT_EQ(configure("containerd")->json["policy"], hook::kConfigPath);
    EXPECT_EQ(get(hook::kConfigPath).find("policy"), std::string::npos);
    options_.dry_run = false;
    const auto answer = twice("containerd");
    EXPECT_NE(answer.text.find("has a `policy` that allows nothing"), std::string::npos);
    EXPECT_EQ(get(hook::kConfigPath),
              "{\n    \"log\": {\n        \"level\": \"debug\"\n    },\n    \"policy\": {\n"
              "        \"modes\": []\n    }\n}\n");
    EXPECT_NE(get("/etc/containerd/config.toml").find("rdma-runtime"), std::string::npos);
    const auto config = hook::parse_config(get(hook::kConfigPath));
    ASSERT_TRUE(config) << config.error().message();
    ASSERT_TRUE(config->policy);
    EXPECT_TRUE(config->policy->modes.empty());
    // One that is there stays, and one is made where there is no file.
    put_policy();
    const std::string own = get(hook::kConfigPath);
    EXPECT_EQ(configure("containerd")->json["policy"], "");
    EXPECT_EQ(get(hook::kConfigPath), own);
    std::filesystem::remove_all(dir_ / "etc");
    twice("crio");
    EXPECT_NE(get(hook::kConfigPath).find("\"policy\""), std::string::npos);
}

TEST_F(RuntimeConfigure, MemlockIsDockersDefaultAndNothingElse) {
    options_.memlock = true;
    EXPECT_EQ(twice("docker").json["run"], "systemctl restart docker");
    EXPECT_EQ(get(kDaemon),
              "{\n  \"default-ulimits\": {\n    \"memlock\": {\n      \"Name\": \"memlock\",\n"
              "      \"Hard\": -1,\n      \"Soft\": -1\n    }\n  }\n}\n");
    options_.memlock = false;
    twice("docker");
    twice("docker", true);
    EXPECT_NE(get(kDaemon).find("memlock"), std::string::npos) << "--unset alone leaves it";
    options_.memlock = true;
    twice("docker", true);
    EXPECT_EQ(get(kDaemon), "(no file)");
}

TEST_F(RuntimeConfigure, OtherLimitsOfDockersStay) {
    options_.memlock = true;
    const std::string others =
        R"({"default-ulimits":{"nofile":{"Name":"nofile","Hard":64,"Soft":64}},"debug":true})";
    put(kDaemon, others);
    twice("docker");
    EXPECT_NE(get(kDaemon).find("\"Hard\":-1"), std::string::npos);
    twice("docker", true);
    EXPECT_EQ(get(kDaemon), others + "\n");
    put(kDaemon, R"({"default-ulimits":{"memlock":{"Soft":-1,"Hard":-1,"Name":"memlock"}}})");
    EXPECT_EQ(configure("docker")->json["changed"], false);
    const std::pair<const char*, const char*> table[] = {
        {R"({"default-ulimits":{"memlock":{"Name":"memlock","Hard":-1,"Soft":65536}}})",
         "`default-ulimits.memlock` is another limit"},
        {R"({"default-ulimits":{"memlock":-1}})", "is another limit"},
        {R"({"default-ulimits":[]})", "`default-ulimits` is not a JSON object"}};
    for (const auto& [text, says] : table) {
        put(kDaemon, text);
        expect_refused("docker", kDaemon, says);
        expect_refused("docker", kDaemon, says, true);
    }
}

TEST_F(RuntimeConfigure, MemlockOfPodmanIsAFileOfItsOwn) {
    constexpr char kMemlock[] = "/etc/containers/containers.conf.d/51-rdma-hook-memlock.conf";
    options_.memlock = true;
    const auto answer = twice("podman");
    EXPECT_NE(get(kMemlock).find("default_ulimits = [\"memlock=-1:-1\", {append=true}]\n"),
              std::string::npos);
    EXPECT_NE(answer.text.find("rootless Podman reads the file"), std::string::npos);
    EXPECT_EQ(get(kPodman), "(no file)");
    twice("podman", true);
    EXPECT_EQ(get(kMemlock), "(no file)");
    put(kMemlock, "[containers]\n");
    expect_refused("podman", kMemlock, "not as rdma-hook has it");
    expect_refused("podman", kMemlock, "not as rdma-hook has it", true);
}

TEST_F(RuntimeConfigure, MemlockOfEnginesWithoutADefaultIsRefusedWithTheWay) {
    options_.memlock = true;
    EXPECT_NE(configure("containerd").error().message().find("LimitMEMLOCK=infinity"),
              std::string::npos);
    EXPECT_NE(configure("crio").error().message().find("default_ulimits = "), std::string::npos);
    options_.runtime_name = "rdma-nvidia";
    EXPECT_NE(configure("docker").error().message().find("leave out --name"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(dir_ / "etc"));
}

TEST_F(RuntimeConfigure, KnowsFourEngines) {
    for (const bool memlock : {false, true}) {
        options_.memlock = memlock;
        EXPECT_EQ(configure("lxc").error().code, Code::Usage) << memlock;
    }
}

}  // namespace
}  // namespace test
