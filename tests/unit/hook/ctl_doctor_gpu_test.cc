// SPDX-License-Identifier: Apache-2.0
// rdmactl doctor gpu: the table, and what keeps GPUs and adapters from each other's memory.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "hook/rdmactl/command.h"
#include "tests/fakes/eight_gpus.h"
#include "tests/fakes/fake_host.h"
#include "tests/support/temp_dir.h"

namespace test {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kTable[] =
    R"(GPU  ADDRESS       DRIVER  NODE  N0    N1    N2    N3    N4    N5    N6    N7
0    0000:0f:00.0  nvidia  0     NODE  PXB*  PXB   NODE  NODE  SYS   SYS   SYS
1    0000:10:00.0  nvidia  0     NODE  PXB   PXB*  NODE  NODE  SYS   SYS   SYS
2    0000:43:00.0  nvidia  0     NODE  NODE  NODE  PIX*  PIX   SYS   SYS   SYS
3    0000:44:00.0  nvidia  0     NODE  NODE  NODE  PIX   PIX*  SYS   SYS   SYS
4    0000:85:00.0  nvidia  1     SYS   SYS   SYS   SYS   SYS   PXB*  PXB   NODE
5    0000:86:00.0  nvidia  1     SYS   SYS   SYS   SYS   SYS   PXB   PXB*  NODE
6    0000:c1:00.0  nvidia  1     SYS   SYS   SYS   SYS   SYS   NODE  NODE  PHB*
7    0000:c2:00.0  nvidia  1     SYS   SYS   SYS   SYS   SYS   NODE  NODE  PHB*

ADAPTER  ADDRESS       NODE  DEVICE
N0       0000:04:00.0  0     mlx5_7
N1       0000:14:00.0  0     mlx5_0
)";

class DoctorGpu : public testing::Test {
  protected:
    DoctorGpu() {
        options_.mode = "gpu";
        options_.host_root = dir_ / "host";
        options_.load_config = [] { return hook::Config{}; };
        fake_.world.cards = eight_gpus();
        put("/proc/sys/kernel/osrelease", "6.12.48+deb13-amd64\n");
        put("/proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07\n");
    }

    void put(const std::string& path, const std::string& text) {
        const std::filesystem::path file = options_.host_root + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    hook::ctl::Answer examine() {
        const World before = fake_.world;
        netns::Host host = fake_.host();
        auto answer = hook::ctl::doctor(options_, host);
        EXPECT_TRUE(answer) << answer.error().message();
        EXPECT_EQ(fake_.world, before);
        return answer ? *answer : hook::ctl::Answer{};
    }

    // "STATUS ID: why -> fix" of each check.
    std::vector<std::string> said() {
        std::vector<std::string> all;
        const auto answer = examine();
        for (const auto& check : answer.json["checks"])
            all.push_back(check["status"].get<std::string>() + " " +
                          check["id"].get<std::string>() + ": " + check["why"].get<std::string>() +
                          " -> " + check["fix"].get<std::string>());
        return all;
    }

    // The line about one subject.
    std::string said_of(const std::string& id) {
        for (const std::string& line : said()) {
            if (line.find(" " + id + ": ") != std::string::npos)
                return line;
        }
        return "none";
    }

    TempDir dir_;
    FakeHost fake_{World::standard()};
    hook::ctl::Options options_;
};

TEST_F(DoctorGpu, TheTable) {
    const auto answer = examine();
    EXPECT_FALSE(answer.trouble);
    EXPECT_THAT(answer.text, testing::StartsWith(kTable));
    const auto& gpu = answer.json["gpus"][2];
    EXPECT_EQ(gpu["address"], "0000:43:00.0");
    EXPECT_EQ(gpu["nearest"], "0000:45:00.0");
    EXPECT_EQ(gpu["distances"]["0000:45:00.0"], "PIX");
    EXPECT_EQ(gpu["vendor"], "10de");
    EXPECT_EQ(answer.json["adapters"].size(), 8U) << "a VF is where its PF is";
}

TEST_F(DoctorGpu, AHealthyHost) {
    EXPECT_THAT(said(),
                ElementsAre("ok gpu: each of 8 GPUs has an adapter at its host bridge -> ",
                            "ok peer_memory: nvidia: dma-buf, by the open kernel modules -> ",
                            "ok iommu: no IOMMU translates for GPUs and adapters -> ",
                            "ok acs: no bridge between a GPU and its adapter redirects (ACS) -> "));
}

TEST_F(DoctorGpu, ManyAdaptersAreSeveralTables) {
    for (int i = 10; i < 30; ++i) {
        netns::PciCard card = fake_.world.cards[1];
        card.address = "10000:" + std::to_string(i) + ":00.0";
        card.rdma_names = {"rocep" + std::to_string(i) + "s0f0np0"};
        card.driver = "a_driver_with_a_long_name";
        fake_.world.cards.push_back(card);
    }
    fake_.world.cards[2].driver = "a_driver_with_a_long_name";
    const auto answer = examine();
    std::istringstream text(answer.text);
    size_t heads = 0;
    for (std::string line; std::getline(text, line) && !line.starts_with("*");) {
        EXPECT_LT(line.size(), 100U) << line;
        heads += line.starts_with("GPU") ? 1 : 0;
    }
    EXPECT_EQ(heads, 4U);
    EXPECT_EQ(answer.json["adapters"].size(), 28U);
}

TEST_F(DoctorGpu, WaysToGpuMemory) {
    put("/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07\n");
    EXPECT_THAT(said_of("peer_memory"),
                HasSubstr("warning peer_memory: nvidia: neither nvidia_peer"));
    EXPECT_THAT(said_of("peer_memory"), HasSubstr(" -> modprobe nvidia_peermem"));
    for (const char* path : {"/sys/module/nvidia_peermem", "/sys/kernel/mm/memory_peers/nv_mem"}) {
        fake_.world.files.insert(options_.host_root + path);
        EXPECT_EQ(said_of("peer_memory"),
                  "ok peer_memory: nvidia: " + std::string(path) + " is there -> ");
        fake_.world.files.erase(options_.host_root + path);
    }
    put("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64\n");
    put("/proc/sys/kernel/osrelease", "5.10.0\n");
    EXPECT_THAT(said_of("peer_memory"), HasSubstr("warning peer_memory: nvidia"));
    for (netns::PciCard& card : fake_.world.cards) {
        if (card.driver == "nvidia")
            card.driver = "amdgpu";
    }
    EXPECT_THAT(said_of("peer_memory"), HasSubstr("amdgpu: dma-buf needs Linux 5.12"));
    fake_.world.files.insert(options_.host_root + "/sys/kernel/mm/memory_peers/amdkfd");
    EXPECT_THAT(said_of("peer_memory"), HasSubstr("ok peer_memory: amdgpu: peer memory of amdkfd"));
    fake_.world.files.clear();
    put("/proc/sys/kernel/osrelease", "6.1.0\n");
    EXPECT_EQ(said_of("peer_memory"), "ok peer_memory: amdgpu: dma-buf -> ");
}

TEST_F(DoctorGpu, AnIommuThatTranslates) {
    fake_.world.cards[2].iommu = "DMA-FQ";
    fake_.world.cards[4].iommu = "DMA";
    EXPECT_THAT(said_of("iommu"),
                HasSubstr("warning iommu: an IOMMU translates for 0000:0f:00.0, 0000:14:00.0: "));
    EXPECT_THAT(said_of("iommu"), HasSubstr(" -> boot with iommu=pt"));
}

TEST_F(DoctorGpu, BridgesThatRedirect) {
    // On the way, without a redirect; above the switch; and at adapters that are no GPU's nearest.
    fake_.world.acs = {{"0000:42:04.0", 0x01}, {"0000:40:01.1", 0x1d}, {"0000:00:03.1", 0x1d}};
    EXPECT_THAT(said_of("acs"), HasSubstr("ok acs: "));
    fake_.world.acs["0000:42:00.0"] = 0x1d;
    fake_.world.acs["0000:12:04.0"] = 0x04;
    EXPECT_THAT(said_of("acs"),
                HasSubstr("to the processor, at 0000:12:04.0, 0000:42:00.0 -> setpci"));
    fake_.world.acs = {{"0000:c0:01.1", 0x1d}};
    EXPECT_THAT(said_of("acs"), HasSubstr("ok acs: ")) << "the processor is on the way in any case";
}

TEST_F(DoctorGpu, GpusFarFromAdapters) {
    std::erase_if(fake_.world.cards,
                  [](const netns::PciCard& card) { return card.address == "0000:c3:00.0"; });
    EXPECT_THAT(said()[0],
                HasSubstr("warning gpu: GPU 6 (0000:c1:00.0) has no adapter at its host bridge: "
                          "mlx5_4 is nearest, NODE"));
    EXPECT_THAT(said()[1], HasSubstr("GPU 7 (0000:c2:00.0)")) << "and is for mlx5_5";
    EXPECT_THAT(said()[1], HasSubstr("mlx5_5 is nearest"));
    fake_.world.cards[2].driver.clear();
    EXPECT_THAT(said()[0], HasSubstr("GPU 0 (0000:0f:00.0) has no driver"));
}

TEST_F(DoctorGpu, HostsWithoutTheOneOrTheOther) {
    auto& cards = fake_.world.cards;
    const auto all = cards;
    std::erase_if(cards, [](const netns::PciCard& card) { return card.rdma_names.empty(); });
    EXPECT_THAT(said(), ElementsAre("skipped gpu: the host has no GPU -> "));
    cards = all;
    std::erase_if(cards, [](const netns::PciCard& card) { return !card.rdma_names.empty(); });
    EXPECT_THAT(said(), ElementsAre(HasSubstr("warning gpu: the host has no RDMA adapter")));
    cards.clear();
    EXPECT_THAT(said(), ElementsAre("skipped gpu: the host has no GPU -> "));
}

}  // namespace
}  // namespace test
