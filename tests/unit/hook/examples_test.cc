// SPDX-License-Identifier: Apache-2.0
// The engines' files in examples/ are what rdmactl runtime configure writes.
#include <array>

#include <gmock/gmock.h>

#include "netns/base/text.h"
#include "tests/unit/hook/documents.h"
#include "tests/unit/hook/engine_folder.h"

namespace test {
namespace {

class Examples : public EngineFolder {};

TEST_F(Examples, AreWhatRdmactlWrites) {
    constexpr char kContainerd[] = "/etc/containerd/config.toml";
    // The engine, its file, what stands there before, and the example.
    const std::array<const char*, 4> table[] = {
        {"containerd", kContainerd, "", "examples/kubernetes/containerd-config.toml"},
        {"containerd",
         kContainerd,
         "version = 3\n",
         "examples/kubernetes/containerd-2-config.toml"},
        {"crio",
         "/etc/crio/crio.conf.d/50-rdma-hook.conf",
         "",
         "examples/kubernetes/crio-50-rdma-hook.conf"}};
    put_policy();
    for (const auto& [engine, path, before, example] : table) {
        put(path, before);
        twice(engine);
        EXPECT_EQ(get(path), source_file(example)) << example;
    }
}

TEST_F(Examples, ThePageAboutContainerdShowsVersion3) {
    const std::string example = source_file("examples/kubernetes/containerd-2-config.toml");
    std::string shown;
    for (const std::string_view line : base::lines_of(example)) {
        if (!line.empty() && !line.starts_with('#'))
            shown += "    " + std::string(line) + "\n";
    }
    EXPECT_THAT(source_file("docs/engines/containerd.md"), testing::HasSubstr("\n" + shown + "\n"));
}

// The policy of examples/kubernetes/config.json allows what examples/kubernetes/pod.yaml asks for.
TEST_F(Examples, ThePolicyAllowsThePod) {
    const auto config = hook::parse_config(source_file("examples/kubernetes/config.json"));
    ASSERT_TRUE(config) << config.error().message();
    hook::Annotations asked;
    for (const std::string& line :
         find_all(source_file("examples/kubernetes/pod.yaml"), "\n    (rdma\\.[a-z]+: [^\n]+)")) {
        const size_t colon = line.find(": ");
        asked.emplace(line.substr(0, colon), line.substr(colon + 2));
    }
    ASSERT_EQ(asked.size(), 2U);
    const auto judged = [&]() -> base::Result<> {
        return hook::check_policy(TRY(hook::parse_request(asked, *config)), *config, {});
    };
    const auto allowed = judged();
    EXPECT_TRUE(allowed) << allowed.error().message();
    asked["rdma.parent"] = "eth1";
    EXPECT_FALSE(judged());
}

// The page about Docker shows the same file.
TEST_F(Examples, ThePagesDaemonJsonIs) {
    twice("docker");
    const auto found = find_all(source_file("docs/engines/docker.md"),
                                "(    \\{\n      \"runtimes\"[^]*?\n    \\}\n)");
    ASSERT_EQ(found.size(), 1U);
    const auto shown = base::parse_json(found[0], "docker.md");
    ASSERT_TRUE(shown) << shown.error().message();
    EXPECT_EQ(*shown, *base::parse_json(get("/etc/docker/daemon.json"), "written"));
}

}  // namespace
}  // namespace test
