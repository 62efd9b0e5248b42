// SPDX-License-Identifier: Apache-2.0
// rdmactl runtime configure --name --low-level, and rdmactl runtime list: several runtimes side by
// side, each with a program of its own below rdma-runtime.
#include <gmock/gmock.h>

#include "tests/unit/hook/engine_folder.h"

namespace test {
namespace {
using base::Code;
using testing::HasSubstr;

constexpr char kDockerFile[] = "/etc/docker/daemon.json";
constexpr char kContainerdFile[] = "/etc/containerd/config.toml";
constexpr char kCrioFile[] = "/etc/crio/crio.conf.d/50-rdma-hook.conf";
constexpr char kNvidiaProgram[] = "/etc/rdma-hook/rdma-runtime.d/rdma-nvidia";
constexpr char kCrunProgram[] = "/etc/rdma-hook/rdma-runtime.d/rdma-crun";

class RuntimeNamed : public EngineFolder {
  protected:
    RuntimeNamed() {
        put_policy();
        put_program("/usr/bin/nvidia-container-runtime");
        put_program("/usr/local/bin/crun");
        put_program("/usr/bin/rdma-runtime");
        options_.runtimes = dir_ / "run/runtimes";
        options_.load_config = [] { return hook::Config{}; };
    }

    void name(const std::string& name, const std::string& low_level) {
        options_.runtime_name = name;
        options_.low_level = low_level;
    }

    hook::ctl::Answer add(const std::string& engine,
                          const std::string& runtime,
                          const std::string& low_level) {
        name(runtime, low_level);
        return twice(engine);
    }

    hook::ctl::Answer take(const std::string& engine, const std::string& runtime) {
        name(runtime, "");
        return twice(engine, true);
    }

    hook::ctl::Answer list() {
        netns::Host host = fake_.host();
        auto answer = hook::ctl::runtime_list(options_, host);
        EXPECT_TRUE(answer);
        return *answer;
    }

    // "ENGINE NAME LOW-LEVEL" of each.
    std::vector<std::string> listed() {
        std::vector<std::string> all;
        const auto answer = list();
        for (const auto& each : answer.json["runtimes"])
            all.push_back(each["engine"].get<std::string>() + " " +
                          each["name"].get<std::string>() + " " +
                          each["low_level"].get<std::string>());
        return all;
    }
};

TEST_F(RuntimeNamed, SeveralInDaemonJson) {
    add("docker", "rdma", "");
    const auto answer = add("docker", "rdma-nvidia", "nvidia-container-runtime");
    EXPECT_EQ(answer.json["program"], kNvidiaProgram);
    EXPECT_EQ(answer.json["low_level"], "/usr/bin/nvidia-container-runtime");
    EXPECT_THAT(answer.text, HasSubstr("calls /usr/bin/nvidia-container-runtime"));
    add("docker", "rdma-crun", "/usr/local/bin/crun");
    EXPECT_EQ(get(kDockerFile),
              "{\n  \"runtimes\": {\n"
              "    \"rdma\": {\n      \"path\": \"/usr/bin/rdma-runtime\"\n    },\n"
              "    \"rdma-nvidia\": {\n      \"path\": \"" +
                  std::string(kNvidiaProgram) +
                  "\"\n    },\n"
                  "    \"rdma-crun\": {\n      \"path\": \"" +
                  kCrunProgram + "\"\n    }\n  }\n}\n");
    EXPECT_EQ(get(kNvidiaProgram),
              "#!/usr/bin/rdma-runtime --low-level=/usr/bin/nvidia-container-runtime\n");
    EXPECT_EQ(get(kCrunProgram), "#!/usr/bin/rdma-runtime --low-level=/usr/local/bin/crun\n");

    struct stat st {};

    ASSERT_EQ(::stat((dir_.path() + kCrunProgram).c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777U, 0755U);
    take("docker", "rdma-nvidia");
    EXPECT_EQ(get(kNvidiaProgram), "(no file)");
    EXPECT_THAT(
        listed(),
        testing::UnorderedElementsAre("docker rdma ", "docker rdma-crun /usr/local/bin/crun"));
    take("docker", "rdma");
    take("docker", "rdma-crun");
    EXPECT_EQ(get(kDockerFile), "(no file)");
    EXPECT_EQ(list().text, "no engine has a runtime of rdma-hook\n");
}

TEST_F(RuntimeNamed, SeveralAmongTheLinesOfOneEngine) {
    for (const auto& [engine, file, table] :
         {std::tuple{"containerd", kContainerdFile, "containerd.runtimes."},
          std::tuple{"crio", kCrioFile, "[crio.runtime.runtimes."}}) {
        add(engine, "rdma", "");
        const std::string one = get(file);
        add(engine, "rdma-nvidia", "nvidia-container-runtime");
        for (const char* runtime : {"rdma]\n", "rdma-nvidia]\n"})
            EXPECT_THAT(get(file), HasSubstr(std::string(table) + runtime));
        EXPECT_THAT(get(file), HasSubstr("\"/usr/bin/rdma-runtime\"\n"));
        EXPECT_THAT(get(file), HasSubstr("\"" + std::string(kNvidiaProgram) + "\"\n"));
        EXPECT_THAT(listed(),
                    testing::ElementsAre(
                        std::string(engine) + " rdma ",
                        std::string(engine) + " rdma-nvidia /usr/bin/nvidia-container-runtime"));
        take(engine, "rdma-nvidia");
        EXPECT_EQ(get(file), one);
        take(engine, "rdma");
        EXPECT_EQ(get(file), "(no file)");
        EXPECT_EQ(get(kNvidiaProgram), "(no file)");
    }
}

TEST_F(RuntimeNamed, AnotherProgramForAName) {
    add("docker", "rdma-x", "crun");
    name("rdma-x", "nvidia-container-runtime");
    const std::string before = get(kDockerFile);
    const auto answer = configure("docker");
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->json["run"], "") << "the engine need not read its file again";
    EXPECT_TRUE(answer->json["changed"]);
    EXPECT_EQ(get(kDockerFile), before);
    EXPECT_EQ(listed()[0], "docker rdma-x /usr/bin/nvidia-container-runtime");
}

TEST_F(RuntimeNamed, DryRunChangesNothing) {
    options_.dry_run = true;
    name("rdma-crun", "crun");
    const auto answer = configure("docker");
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_THAT(answer->text, HasSubstr("+    \"rdma-crun\": {"));
    EXPECT_THAT(answer->text, HasSubstr("rdma-crun would change: calls /usr/local/bin/crun"));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "etc/docker"));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "etc/rdma-hook/rdma-runtime.d"));
}

TEST_F(RuntimeNamed, NamesAndProgramsThatAreRefused) {
    put("/usr/bin/text", "x");
    put_program("/usr/bin/open");
    ASSERT_EQ(::chmod((dir_ / "usr/bin/open").c_str(), 0777), 0);
    std::filesystem::create_symlink("rdma-runtime", dir_ / "usr/bin/alias");
    const std::string longest(33, 'a');
    const std::tuple<std::string, std::string, Code, const char*> rows[] = {
        {"runc", "crun", Code::Usage, "no name for a runtime"},
        {"nvidia", "crun", Code::Usage, "no name for a runtime"},
        {"rdma-", "crun", Code::Usage, "no name for a runtime"},
        {"rdma-X", "crun", Code::Usage, "no name for a runtime"},
        {"rdma-a/b", "crun", Code::Usage, "no name for a runtime"},
        {"rdma-" + longest, "crun", Code::Usage, "no name for a runtime"},
        {"", "crun", Code::Usage, "no name for a runtime"},
        {"rdma", "crun", Code::Usage, "the configuration names the program"},
        {"rdma-x", "", Code::Usage, "--low-level PROGRAM"},
        {"rdma-x", "crun --debug", Code::Usage, "no program's path"},
        {"rdma-x", "/usr/bin/$(x)", Code::Usage, "no program's path"},
        {"rdma-x", "bin/crun", Code::BadConfig, "give an absolute path"},
        {"rdma-x", "no-such-runtime", Code::Unavailable, "/usr/local/bin"},
        {"rdma-x", "/opt/no-such", Code::Unavailable, "install it"},
        {"rdma-x", "text", Code::BadConfig, "is not a program"},
        {"rdma-x", "/usr/bin", Code::BadConfig, "is not a program"},
        {"rdma-x", "open", Code::Refused, "chmod go-w"},
        {"rdma-x", "rdma-runtime", Code::BadInput, "rdma-runtime itself"},
        {"rdma-x", "/usr/bin/alias", Code::BadInput, "rdma-runtime itself"},
    };
    for (const auto& [runtime, low_level, code, says] : rows) {
        name(runtime, low_level);
        const auto answer = configure("docker");
        ASSERT_FALSE(answer) << runtime << " " << low_level;
        EXPECT_EQ(answer.error().code, code) << answer.error().message();
        EXPECT_THAT(answer.error().message(), HasSubstr(says));
        EXPECT_FALSE(std::filesystem::exists(dir_ / "etc/docker"));
        EXPECT_FALSE(std::filesystem::exists(dir_ / "etc/rdma-hook/rdma-runtime.d"));
    }
    add("docker", "rdma-crun", "crun");
    name("rdma-x", kCrunProgram);
    EXPECT_THAT(configure("docker").error().message(), HasSubstr("rdma-runtime itself"));
    put_program("/usr/bin/" + std::string(100, 'x'));
    name("rdma-x", std::string(100, 'x'));
    EXPECT_EQ(configure("docker").error().code, Code::Unsupported);
    name("rdma-x", "crun");
    EXPECT_THAT(configure("podman").error().message(), HasSubstr("leave out --name"));
}

TEST_F(RuntimeNamed, WhatAnotherWroteIsLeftAlone) {
    name("rdma-crun", "crun");
    put(kDockerFile, R"({"runtimes":{"rdma-crun":{"path":"/opt/other"}}})");
    expect_refused("docker", kDockerFile, "`runtimes.rdma-crun` is not rdma-hook's");
    EXPECT_EQ(get(kCrunProgram), "(no file)");
    put(kDockerFile,
        R"({"default-runtime":"rdma-crun","runtimes":{"rdma-crun":{"path":")" +
            std::string(kCrunProgram) + R"("}}})");
    name("rdma-crun", "");
    expect_refused("docker", kDockerFile, "`default-runtime` is rdma-crun", true);
}

// An engine's shim calls the program until its last container is removed.
TEST_F(RuntimeNamed, AProgramStaysAsLongAsItIsCalled) {
    add("docker", "rdma-crun", "crun");
    add("containerd", "rdma-crun", "crun");
    take("docker", "rdma-crun");
    EXPECT_NE(get(kCrunProgram), "(no file)") << "containerd has it still";
    netns::Host host = fake_.host();
    const hook::Runtimes runtimes{host, options_.runtimes};
    fake_.world.files.insert("/run/x/c1");
    const hook::Served served{.root = "/run/x",
                              .id = "c1",
                              .runtime = std::filesystem::canonical(dir_ / "usr/local/bin/crun"),
                              .creator = {.pid = 1, .start = 9}};
    ASSERT_TRUE(runtimes.remember(served, false));
    name("rdma-crun", "");
    expect_refused("containerd", kContainerdFile, "container c1 runs by /usr/local/bin/crun", true);
    EXPECT_NE(get(kCrunProgram), "(no file)");
    fake_.world.files.erase("/run/x/c1");
    take("containerd", "rdma-crun");
    EXPECT_EQ(get(kCrunProgram), "(no file)");
}

TEST_F(RuntimeNamed, TheListSaysWhatCannotBeCalled) {
    add("docker", "rdma", "");
    add("docker", "rdma-crun", "crun");
    add("docker", "rdma-nvidia", "nvidia-container-runtime");
    EXPECT_FALSE(list().trouble);
    std::filesystem::remove(dir_ / "usr/bin/nvidia-container-runtime");
    std::filesystem::remove(dir_.path() + kCrunProgram);
    put(kContainerdFile, "version = \n");
    const auto answer = list();
    EXPECT_TRUE(answer.trouble);
    EXPECT_THAT(answer.text, HasSubstr("rdma-crun: " + std::string(kCrunProgram) + " is missing"));
    EXPECT_THAT(answer.text, HasSubstr("rdma-nvidia: open the program"));
    EXPECT_THAT(answer.text, HasSubstr("--name rdma-nvidia --unset"));
    EXPECT_THAT(answer.text,
                HasSubstr("containerd: /etc/containerd/config.toml is not valid TOML"));
    put(kCrunProgram, "#!/bin/sh\n");
    EXPECT_THAT(list().text, HasSubstr("is not as rdmactl writes it"));
}

}  // namespace
}  // namespace test
