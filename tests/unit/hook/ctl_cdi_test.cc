// SPDX-License-Identifier: Apache-2.0
// rdmactl cdi: which devices there are for everybody, and what engines read of them.
#include <algorithm>
#include <fstream>

#include "hook/command.h"
#include "hook/rdmactl/command.h"
#include "runtime-config/oci/spec.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

class CtlCdi : public Containers {
  protected:
    CtlCdi() {
        ::umask(022);
        options_.cdi_output = dir_ / "cdi";
        options_.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
    }

    uint32_t add(const std::string& name, const std::string& type) {
        return fake_.world.add_rdma(fake_.world.host, World::kHostLink, name, type);
    }

    base::Result<hook::ctl::Answer> generate() {
        netns::Host host = fake_.host();
        return hook::ctl::cdi_generate(options_, host);
    }

    [[nodiscard]] std::string file(const std::string& name) const {
        return options_.cdi_output + "/" + name;
    }

    // Returns whether a file was changed.
    bool changes() {
        const auto answer = generate();
        EXPECT_TRUE(answer) << answer.error().message();
        return std::ranges::any_of(answer->json["files"], [](const base::Json& each) {
            return each["changed"].get<bool>();
        });
    }

    base::Json spec(const std::string& name = "rdma-hook.json") {
        std::ifstream in(file(name));
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        auto json = base::parse_json(text, "spec");
        return json ? *json : base::Json();
    }

    std::vector<std::string> names() {
        netns::Host host = fake_.host();
        const auto answer = hook::ctl::cdi_list(options_, host);
        EXPECT_TRUE(answer) << answer.error().message();
        std::vector<std::string> all;
        for (const auto& device : answer->json["devices"])
            all.push_back(device["name"]);
        return all;
    }

    using Names = std::vector<std::string>;

    TempDir dir_;
    hook::ctl::Options options_;
};

TEST_F(CtlCdi, ADeviceForEachHca) {
    const uint32_t hca = add("mlx5_0", "mlx5");
    const auto answer = generate();
    ASSERT_TRUE(answer) << answer.error().message();
    const std::string node = "/dev/infiniband/" + fake_.world.rdma.at(hca).uverbs.name;
    const base::Json nodes = base::Json::array({{{"path", node}, {"permissions", "rw"}}});
    const std::vector<std::string> all = {"NCCL_IB_HCA==mlx5_0", "UCX_NET_DEVICES=mlx5_0:1"};
    std::vector<std::string> one = {"RDMA_DEVICE=mlx5_0", "RDMA_NETDEV=eth0"};
    one.insert(one.end(), all.begin(), all.end());
    const base::Json expected{
        {"cdiVersion", "0.3.0"},
        {"kind", "rdma-hook.org/hca"},
        {"devices",
         base::Json::array(
             {{{"name", "mlx5_0"}, {"containerEdits", {{"env", one}, {"deviceNodes", nodes}}}},
              {{"name", "all"}, {"containerEdits", {{"env", all}, {"deviceNodes", nodes}}}}})},
        {"containerEdits",
         {{"deviceNodes",
           base::Json::array({{{"path", "/dev/infiniband/rdma_cm"}, {"permissions", "rw"}}})}}}};
    EXPECT_EQ(spec(), expected) << spec().dump(2);
    EXPECT_FALSE(changes());
    EXPECT_EQ(names(), Names{"rdma-hook.org/hca=mlx5_0"});

    struct stat st {};

    ASSERT_EQ(::stat(file("rdma-hook.json").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777U, 0644U);
}

TEST_F(CtlCdi, TheVersionIsTheLowestThatWillDo) {
    add("0roce", "mlx5");
    ASSERT_TRUE(generate());
    EXPECT_EQ(spec()["cdiVersion"], "0.5.0");
}

TEST_F(CtlCdi, WhatIsNotForEverybodyIsNotListed) {
    add("mlx5_0", "mlx5");
    Life one = container("one", {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}});
    ASSERT_TRUE(one.start());
    add("all", "mlx5");          // a name with another meaning
    add("white space", "mlx5");  // and one that CDI does not have
    EXPECT_EQ(names(), Names{"rdma-hook.org/hca=mlx5_0"});
    ASSERT_TRUE(one.poststop());
}

TEST_F(CtlCdi, WhatWasMadeForAContainerOnTheHostIsNotEither) {
    Life one = container("one", {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}});
    ASSERT_TRUE(one.start());
    EXPECT_EQ(names(), Names{});
    ASSERT_TRUE(one.poststop());
    const auto rxe = add("rxe0", "rxe");
    EXPECT_EQ(names(), Names{"rdma-hook.org/hca=rxe0"}) << "the administrator's is " << rxe;
}

TEST_F(CtlCdi, WithoutDevicesThereIsNoFile) {
    const uint32_t hca = add("mlx5_0", "mlx5");
    ASSERT_TRUE(generate());
    fake_.world.rdma.erase(hca);
    EXPECT_TRUE(changes());
    EXPECT_FALSE(std::filesystem::exists(file("rdma-hook.json")));
    EXPECT_FALSE(changes());
}

TEST_F(CtlCdi, PrintsInsteadOfWriting) {
    add("mlx5_0", "mlx5");
    options_.cdi_output = "-";
    EXPECT_EQ(generate()->json["specs"][0]["kind"], "rdma-hook.org/hca");
    EXPECT_FALSE(std::filesystem::exists(dir_ / "cdi"));
}

TEST_F(CtlCdi, AFolderOfOthersIsLeftAlone) {
    add("mlx5_0", "mlx5");
    std::filesystem::create_directory(dir_ / "cdi");
    ASSERT_EQ(::chmod((dir_ / "cdi").c_str(), 0777), 0);
    EXPECT_EQ(generate().error().code, Code::Refused);
}

TEST_F(CtlCdi, AllIsAllThatThereAre) {
    add("mlx5_0", "mlx5");
    add("mlx5_1", "mlx5");
    ASSERT_TRUE(generate());
    const base::Json all = spec()["devices"][2];
    EXPECT_EQ(all["name"], "all");
    EXPECT_EQ(all["containerEdits"]["deviceNodes"].size(), 2U);
    EXPECT_EQ(
        all["containerEdits"]["env"],
        base::Json::array({"NCCL_IB_HCA==mlx5_0,mlx5_1", "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1"}));
}

TEST_F(CtlCdi, AnAdapterWithoutANetdevIsListed) {
    fake_.world.add_sriov("none", "0000:05:00.0", 0, Nic::Efa);
    ASSERT_TRUE(generate());
    EXPECT_EQ(spec()["devices"][0]["containerEdits"]["env"][0], "RDMA_DEVICE=efa_0");
    EXPECT_EQ(spec()["devices"][0]["containerEdits"]["env"].size(), 3U);
}

// The containers of the host's network can open them.
TEST_F(CtlCdi, InModeExclusiveTheyAreListedToo) {
    add("mlx5_0", "mlx5");
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    EXPECT_EQ(names(), Names{"rdma-hook.org/hca=mlx5_0"});
}

TEST_F(CtlCdi, APoolBringsPlainHooks) {
    state_.add_pool("fast", "vf");
    state_.add_pool("a b", "vf");
    EXPECT_TRUE(changes());
    const base::Json env = base::Json::array({oci::kHookPath});
    const base::Json create{{"hookName", "createRuntime"},
                            {"path", "/usr/bin/rdma-hook"},
                            {"args",
                             {"rdma-hook",
                              "createRuntime",
                              "--annotation",
                              "rdma.mode=vf",
                              "--annotation",
                              "rdma.pool=fast"}},
                            {"env", env},
                            {"timeout", 60}};
    const base::Json stop{{"hookName", "poststop"},
                          {"path", "/usr/bin/rdma-hook"},
                          {"args", {"rdma-hook", "poststop"}},
                          {"env", env},
                          {"timeout", 60}};
    const base::Json expected{
        {"cdiVersion", "0.3.0"},
        {"kind", "rdma-hook.org/pool"},
        {"devices",
         base::Json::array(
             {{{"name", "fast"},
               {"containerEdits", {{"hooks", base::Json::array({create, stop})}}}}})}};
    EXPECT_EQ(spec("rdma-hook-pool.json"), expected) << spec("rdma-hook-pool.json").dump(2);
    EXPECT_FALSE(std::filesystem::exists(file("rdma-hook.json")));
    EXPECT_EQ(names(), Names{"rdma-hook.org/pool=fast"});
    EXPECT_FALSE(changes());

    // rdma-hook takes the arguments in the file.
    std::vector<std::string> args = create["args"];
    args.erase(args.begin());
    const auto command = hook::parse_command(args);
    ASSERT_TRUE(command) << command.error().message();
    EXPECT_EQ(command->annotations,
              (hook::Annotations{{"rdma.mode", "vf"}, {"rdma.pool", "fast"}}));
}

TEST_F(CtlCdi, PoolsAreThereInModeExclusiveToo) {
    add("mlx5_0", "mlx5");
    state_.add_pool("9fast", "vf");
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    EXPECT_EQ(names(), (Names{"rdma-hook.org/hca=mlx5_0", "rdma-hook.org/pool=9fast"}));
    EXPECT_TRUE(changes());
    EXPECT_EQ(spec("rdma-hook-pool.json")["cdiVersion"], "0.5.0");
}

}  // namespace
}  // namespace test
