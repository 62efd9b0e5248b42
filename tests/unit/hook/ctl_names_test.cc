// SPDX-License-Identifier: Apache-2.0
// What engines call a container, read from files as they write them, and from hostile ones; and
// which container a text names.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/rdmactl/find.h"
#include "tests/support/temp_dir.h"

namespace test {
namespace {
using hook::ctl::CalledAs;
using hook::ctl::Known;
using hook::ctl::Names;
using testing::HasSubstr;

const std::string kId(64, 'a');
const std::string kOther(64, 'b');
constexpr char kStorage[] = "/var/lib/containers/storage/overlay-containers";
constexpr char kTasks[] = "/run/containerd/io.containerd.runtime.v2.task";

class CtlNames : public testing::Test {
  protected:
    void put(const std::string& path, const std::string& text) {
        const std::filesystem::path file = dir_.path() + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    // Another program each time: nothing is remembered.
    std::string name(const std::string& bundle, const std::string& id = kId) {
        Names names{files_, dir_.path()};
        const CalledAs called = names.of(id, bundle);
        return called.engine + ":" + called.name;
    }

    void put_docker(const std::string& folder, const std::string& name) {
        put(folder + "/containers/" + kId + "/config.v2.json",
            R"({"StreamConfig":{},"State":{"Running":true},"ID":")" + kId + R"(","Name":")" + name +
                R"("})");
    }

    std::string podman_ = std::string(kStorage) + "/" + kId + "/userdata";
    std::string docker_ = std::string(kTasks) + "/moby/" + kId;
    TempDir dir_;
    base::RealFiles files_;
};

TEST_F(CtlNames, OfPodman) {
    EXPECT_EQ(name(podman_), "podman:") << "no file at all";
    put(std::string(kStorage) + "/containers.json",
        R"([{"id":")" + kOther + R"(","names":["other"]},
            {"id":")" +
            kId + R"(","names":["server"],"image":"x","metadata":"{\"name\":\"y\"}"}])");
    EXPECT_EQ(name(podman_), "podman:server");
    EXPECT_EQ(name(podman_, ""), "podman:server") << "the bundle has the id";
    put(std::string(kStorage) + "/containers.json", "[]");
    put(std::string(kStorage) + "/volatile-containers.json",
        R"([{"id":")" + kId + R"(","names":["brief"]}])");
    EXPECT_EQ(name(podman_), "podman:brief") << "podman run --rm";
    EXPECT_EQ(name("/srv/storage/vfs-containers/" + kId + "/userdata"), "podman:")
        << "another storage has files of its own";
}

TEST_F(CtlNames, OfDocker) {
    EXPECT_EQ(name(docker_), "docker:");
    put_docker("/var/lib/docker", "/server");
    EXPECT_EQ(name(docker_), "docker:server");
    put("/etc/docker/daemon.json", R"({"data-root":"/srv/docker"})");
    EXPECT_EQ(name(docker_), "docker:") << "its data is elsewhere";
    put_docker("/srv/docker", "/moved");
    EXPECT_EQ(name(docker_), "docker:moved");
    put("/etc/docker/daemon.json", "{");
    EXPECT_EQ(name(docker_), "docker:server") << "a daemon.json that Docker refuses, too";
    EXPECT_EQ(name(std::string("/run/docker/containerd/daemon/io.containerd.runtime.v2.task") +
                   "/moby/" + kId),
              "docker:server")
        << "with a containerd of its own";
}

TEST_F(CtlNames, OfContainerdAndCrio) {
    const std::string pod = std::string(kTasks) + "/k8s.io/" + kId;
    put(pod + "/config.json",
        R"({"annotations":{"io.kubernetes.cri.container-name":"app",
            "io.kubernetes.cri.sandbox-name":"web-0"}})");
    EXPECT_EQ(name(pod), "containerd:web-0/app");
    const std::string nerdctl = std::string(kTasks) + "/default/" + kId;
    put(nerdctl + "/config.json", R"({"annotations":{"nerdctl/name":"server"}})");
    EXPECT_EQ(name(nerdctl), "containerd:server");
    EXPECT_EQ(name(std::string(kTasks) + "/default/mine", "mine"), "containerd:mine")
        << "whoever uses ctr chooses the id";
    const std::string crio = "/run/containers/storage/overlay-containers/" + kId + "/userdata";
    put(crio + "/config.json",
        R"({"annotations":{"io.kubernetes.cri-o.SandboxID":"x","io.kubernetes.pod.name":"web-0",
            "io.kubernetes.container.name":"app"}})");
    EXPECT_EQ(name(crio), "crio:web-0/app");
    EXPECT_EQ(name("/tmp/bundle"), ":") << "bare runc has no names";
    EXPECT_EQ(name(""), ":");
}

// Nothing of this is a name, and none of it keeps a verb from its work.
TEST_F(CtlNames, HostileFilesGiveNoName) {
    const std::string storage = std::string(kStorage) + "/containers.json";
    for (const std::string& text : {std::string(),
                                    std::string("{"),
                                    std::string("7"),
                                    std::string(R"({"names":["x"]})"),
                                    std::string(R"([7,null,[],{},{"id":7,"names":"x"}])"),
                                    R"([{"id":")" + kId + R"(","names":[]}])",
                                    R"([{"id":")" + kId + R"(","names":[7]}])",
                                    R"([{"id":")" + kId + R"(","names":["a\u001b[31m"]}])",
                                    R"([{"id":")" + kId + R"(","names":["a b"]}])",
                                    R"([{"id":")" + kId + R"(","names":["../x"]}])",
                                    R"([{"id":")" + kId + R"(","names":[""]}])",
                                    std::string(9U << 20U, ' ')}) {
        put(storage, text);
        EXPECT_EQ(name(podman_), "podman:") << text.substr(0, 80);
    }
    for (const char* bad : {"/a\\nb", "/-x", "/", "", "/a/b"}) {
        put_docker("/var/lib/docker", bad);
        EXPECT_EQ(name(docker_), "docker:") << bad;
    }
    put("/var/lib/docker/containers/" + kId + "/config.v2.json",
        R"({"ID":")" + kOther + R"(","Name":"/x"})");
    EXPECT_EQ(name(docker_), "docker:") << "the file is of another container";
    put("/etc/docker/daemon.json", R"({"data-root":"relative"})");
    EXPECT_EQ(name(std::string(kTasks) + "/moby/..", ".."), "docker:") << "no path from an id";
    const std::string pod = std::string(kTasks) + "/k8s.io/" + kId;
    put(pod + "/config.json", R"({"annotations":{"nerdctl/name":"a\u0007"}})");
    EXPECT_EQ(name(pod), "containerd:");
}

Known known(const std::string& engine, const std::string& name, const std::string& id) {
    return {.key = "k" + id, .id = id, .called = {.engine = engine, .name = name}};
}

TEST(CtlFind, ByNameByEngineAndByTheBeginningOfAnId) {
    const std::vector<Known> all = {known("docker", "server", "1234"),
                                    known("podman", "server", "1256"),
                                    known("podman", "12", "99"),
                                    known("", "", "7777")};
    const auto id = [&](const std::string& text) {
        const auto chosen = hook::ctl::choose(all, text);
        EXPECT_TRUE(chosen) << text << ": " << chosen.error().message();
        return chosen && *chosen ? (*chosen)->id : "";
    };
    EXPECT_EQ(id("docker:server"), "1234");
    EXPECT_EQ(id("podman:server"), "1256");
    EXPECT_EQ(id("podman:125"), "1256") << "the beginning of an id, of one engine";
    EXPECT_EQ(id("12"), "99") << "a whole name before the beginning of an id";
    EXPECT_EQ(id("123"), "1234");
    EXPECT_EQ(id("k7777"), "7777") << "a key";
    EXPECT_EQ(id("7"), "7777");
    EXPECT_EQ(id("nobody"), "");
    EXPECT_EQ(id("crio:server"), "");
    EXPECT_EQ(id("host:18515"), "") << "no engine's word: perhaps a host";
    EXPECT_EQ(hook::ctl::label_of(all[0]), "server");
    EXPECT_EQ(hook::ctl::label_of(all[3]), "7777");
}

TEST(CtlFind, SeveralAreListed) {
    const std::vector<Known> all = {known("docker", "server", "1234"),
                                    known("podman", "server", "1256"),
                                    known("", "", "7777")};
    for (const auto& [text, says] :
         {std::pair{"server", "docker:server (1234), podman:server (1256); give ENGINE:NAME"},
          {"12", "docker:server (1234), podman:server (1256)"},
          {"", "podman:server (1256), 7777"}}) {
        const auto chosen = hook::ctl::choose(all, text);
        ASSERT_FALSE(chosen) << text;
        EXPECT_EQ(chosen.error().code, base::Code::Usage);
        EXPECT_THAT(chosen.error().message(), HasSubstr("several containers"));
        EXPECT_THAT(chosen.error().message(), HasSubstr(says));
    }
    const auto many =
        hook::ctl::choose(std::vector<Known>(9, known("docker", "server", "1234")), "server");
    EXPECT_THAT(many.error().message(), HasSubstr("..."));
}

}  // namespace
}  // namespace test
