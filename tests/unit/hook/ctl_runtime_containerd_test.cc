// SPDX-License-Identifier: Apache-2.0
// rdmactl runtime configure --runtime=containerd: lines at the end of a file that stays as it is.
#include "tests/unit/hook/engine_folder.h"

namespace test {
namespace {
constexpr char kMain[] = "/etc/containerd/config.toml";
constexpr char kPart[] = "/etc/containerd/conf.d/50-rdma-hook.toml";

class RuntimeContainerd : public EngineFolder {
  protected:
    RuntimeContainerd() { put_policy(); }

    // Before, it is a file that must come back as it was.
    void expect_there_and_back(const std::string& before, const std::string& has) {
        put(kMain, before);
        twice("containerd");
        const std::string now = get(kMain);
        EXPECT_TRUE(now.starts_with(before)) << now;
        EXPECT_NE(now.find(has), std::string::npos) << now;
        twice("containerd", true);
        EXPECT_EQ(get(kMain), before);
    }
};

TEST_F(RuntimeContainerd, MakesAFile) {
    const auto answer = twice("containerd");
    EXPECT_EQ(answer.json["run"], "systemctl restart containerd");
    const std::string text = get(kMain);
    EXPECT_TRUE(text.starts_with("# rdma-hook begin "));
    for (const char* line : {"\nversion = 2\n",
                             "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.rdma]\n",
                             "  pod_annotations = [\"rdma.*\"]\n",
                             "  container_annotations = [\"rdma.*\"]\n",
                             "    BinaryName = \"/usr/bin/rdma-runtime\"\n"})
        EXPECT_NE(text.find(line), std::string::npos) << line;
    twice("containerd", true);
    EXPECT_EQ(get(kMain), "(no file)");
}

TEST_F(RuntimeContainerd, TheRestStaysAsItIs) {
    const std::string head =
        "# mine\nversion = 2\n\n[plugins]\n  [plugins.\"io.containerd.grpc.v1.cri\"]\n"
        "    sandbox_image = \"x\"\n";
    const std::string runtimes = "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.";
    // Any entry takes the place of the runc that is built in.
    expect_there_and_back(head, runtimes + "runc]\n");
    const std::string with_runc =
        head + runtimes + "runc]\nruntime_type = \"io.containerd.runc.v2\"\n";
    expect_there_and_back(with_runc, "rdma]");
    put(kMain, with_runc);
    twice("containerd");
    EXPECT_EQ(get(kMain).rfind(runtimes + "runc]\n"), get(kMain).find(runtimes + "runc]\n"));
    expect_there_and_back(with_runc + runtimes + "runc.options]\nSystemdCgroup = true\n",
                          "rdma-runtime\"\n    SystemdCgroup = true\n");
    for (const char* version : {"version = 3\n", "version = 4\n"})
        expect_there_and_back(version, "[plugins.\"io.containerd.cri.v1.runtime\".containerd");
}

TEST_F(RuntimeContainerd, ADropInWhereTheyAreMerged) {
    for (const std::string version : {"version = 3\n", "version = 4\n"}) {
        const std::string before = version + "imports = ['/etc/containerd/conf.d/*.toml']\n";
        put(kMain, before);
        EXPECT_EQ(twice("containerd").json["file"], kPart);
        EXPECT_EQ(get(kMain), before);
        EXPECT_TRUE(get(kPart).starts_with("# rdma-hook begin "));
        EXPECT_NE(get(kPart).find("\n" + version), std::string::npos) << get(kPart);
        twice("containerd", true);
        EXPECT_EQ(get(kPart), "(no file)");
    }
    // Before version 3 it would take the place of all that the main file says.
    put(kMain, "version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n");
    const auto answer = twice("containerd");
    EXPECT_EQ(answer.json["file"], kMain);
    EXPECT_NE(answer.text.find("note: "), std::string::npos) << answer.text;
    EXPECT_EQ(get(kPart), "(no file)");
}

TEST_F(RuntimeContainerd, LinesThatWereChangedAreNotTakenOut) {
    put(kMain, "version = 2\n");
    twice("containerd");
    const std::string ours = get(kMain);
    put(kMain, std::string(ours).replace(ours.find("# rdma-hook end"), 0, "    Root = \"/x\"\n"));
    EXPECT_FALSE(configure("containerd")->json["changed"]) << "it serves";
    expect_refused("containerd", kMain, "have been changed since", true);
    put(kMain, std::string(ours).replace(ours.find("rdma-runtime"), 4, "xxxx"));
    expect_refused("containerd", kMain, "have been changed since");
    put(kMain, ours + "# mine, later\n");
    twice("containerd", true);
    EXPECT_EQ(get(kMain), "version = 2\n# mine, later\n");
}

TEST_F(RuntimeContainerd, RefusesWhatItDoesNotUnderstand) {
    const std::string cri = "[plugins.\"io.containerd.grpc.v1.cri\".containerd";
    const std::pair<std::string, const char*> table[] = {
        {"disabled_plugins = [\"cri\"]\n", "is of version 1"},
        {"version = 5\n", "is of version 5"},
        {"version = 2\nx = \n", "is not valid TOML: line 2"},
        {"version = 2\nversion = 2\n", "is not valid TOML"},
        {"version = 2\n" + cri + ".runtimes.rdma]\n", "the runtime rdma is not rdmactl's"},
        {"version = 2\nplugins = {}\n", "cannot be extended by lines at its end"},
        {"version = 2\n# rdma-hook begin 0\n", "do not go in pairs"},
        {"version = 2\n# rdma-hook begin 0\n# rdma-hook begin 0\n# rdma-hook end\n", "in pairs"}};
    for (const auto& [text, says] : table) {
        put(kMain, text);
        expect_refused("containerd", kMain, says);
    }
    put(kMain, "version = 2\n");
    twice("containerd");
    put(kMain, get(kMain) + cri + "]\ndefault_runtime_name = \"rdma\"\n");
    expect_refused("containerd", kMain, "`default_runtime_name` is rdma", true);
}

TEST_F(RuntimeContainerd, SaysThatThePluginIsDisabled) {
    for (const char* text : {"version = 2\ndisabled_plugins = [\"cri\"]",
                             "version = 3\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]"}) {
        put(kMain, text);
        EXPECT_NE(twice("containerd").text.find("disables the plugin cri"), std::string::npos)
            << text;
        twice("containerd", true);
    }
}

}  // namespace
}  // namespace test
