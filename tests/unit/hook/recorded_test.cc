// SPDX-License-Identifier: Apache-2.0
// State that an earlier build wrote: tests/data/journals has a file for each way to attach, with
// the container's record on its first line and a journal on each of the others. This build reads
// each, writes it with the same bytes, and undoes it. RDMA_RECORD=1 adds the files of new ways; a
// file that is there is never written again, because it speaks for the build that wrote it.
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "hook/container/end.h"
#include "hook/steps/executor.h"
#include "tests/unit/hook/documents.h"
#include "tests/unit/hook/way.h"

namespace test {
namespace {

constexpr char kFolder[] = "tests/data/journals/";
constexpr char kRoot[] = "/recorded";  // stands for the test's own folder, in the files

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

std::string content(const std::string& path) {
    return base::RealFiles{}.read(path, 1U << 20U).value();
}

class Recorded : public testing::TestWithParam<Way> {
  protected:
    Recorded() : fake_(GetParam().world), host_(fake_.host()), store_(host_.files, state_.path()) {
        take(GetParam(), life_, state_);
        if (!std::filesystem::exists(file()))
            record();
        std::ifstream lines(file());
        for (std::string line; std::getline(lines, line);)
            (journals_.empty() && record_.empty() ? record_ : journals_.emplace_back()) =
                replaced(line, kRoot, root());
        EXPECT_TRUE(store_.open());
    }

    [[nodiscard]] static std::string file() {
        return std::string(SOURCE_DIR "/") + kFolder + GetParam().name + ".jsonl";
    }

    [[nodiscard]] std::string root() const {
        return std::filesystem::path(state_.path()).parent_path();
    }

    // Lives on a host of its own, and writes down what is then in the folder of state.
    void record() {
        if (std::getenv("RDMA_RECORD") == nullptr)
            throw std::runtime_error(file() + " is missing: run this test with RDMA_RECORD=1");
        FakeHost fake{GetParam().world};
        Life life{fake, state_, "one"};
        take(GetParam(), life, state_);
        if (const auto done = life.start(); !done)
            throw std::runtime_error(done.error().message());
        const std::string key = store_.container_keys().value().front();
        std::ofstream lines(file());
        lines << replaced(content(store_.folder("containers") + "/" + key + ".json"), root(), kRoot)
              << '\n';
        const auto container = store_.load_container(key).value();
        for (const std::string& akey : container->attachments)
            lines << replaced(content(store_.journal_path(akey)), root(), kRoot) << '\n';
        lines.close();
        std::filesystem::remove_all(state_.path());
    }

    static std::string member(const std::string& line, const char* key) {
        return base::required<std::string>(base::parse_json(line, "a line").value(), key).value();
    }

    // Puts the files where this build looks for them.
    hook::Container load_record() {
        const std::string key = member(record_, "key");
        const std::string path = store_.folder("containers") + "/" + key + ".json";
        EXPECT_TRUE(host_.files.write(path, record_));
        return *store_.load_container(key).value();
    }

    hook::Journal load(const std::string& line) {
        const std::string akey = member(line, "key");
        EXPECT_TRUE(host_.files.write(store_.journal_path(akey), line));
        return *load_journal(store_, akey).value();
    }

    // The namespace of the container, which the runtime or the engine made.
    netns::Netns container_ns(const hook::Container& container) {
        if (GetParam().network.empty() || GetParam().network == Life::kHostsNetwork)
            return host_.namespaces.make().value();
        auto ns = host_.namespaces.open(GetParam().network).value();
        EXPECT_EQ(ns.id(), container.netns.value_or(ns.id()));
        return ns;
    }

    FakeHost fake_;
    netns::Host host_;
    StateDir state_;
    hook::Store store_;
    Life life_{fake_, state_, "one"};
    std::string record_;
    std::vector<std::string> journals_;
};

TEST_P(Recorded, IsReadAndWrittenWithTheSameBytes) {
    const hook::Container container = load_record();
    for (const base::Json& grant : container.grants)
        EXPECT_EQ(base::dump_json(save_step(hook::load_step(grant).value())),
                  base::dump_json(grant));
    EXPECT_TRUE(store_.save_container(container));
    EXPECT_EQ(content(store_.folder("containers") + "/" + container.key + ".json"), record_);
    for (const std::string& line : journals_) {
        const hook::Journal journal = load(line);
        EXPECT_TRUE(save_journal(store_, journal));
        EXPECT_EQ(content(store_.journal_path(journal.key)), line);
    }
}

class RecordedUndo : public Recorded {};

TEST_P(RecordedUndo, LeavesNothing) {
    World before = fake_.world;
    {
        const hook::Container container = load_record();
        hook::Site site{.host = host_,
                        .host_ns = host_.namespaces.current().value(),
                        .container = container_ns(container)};
        for (const std::string& line : journals_) {
            const auto done = run(load(line).steps, site);
            ASSERT_TRUE(done) << done.error().message();
        }
        // While the container is there.
        const auto grants = hook::grants_of(container).value();
        const World ungranted = fake_.world;
        ASSERT_TRUE(run(grants, site));
        EXPECT_EQ(fake_.world == ungranted, grants.empty());
        EXPECT_EQ(undo_all(grants, site).value().answer == hook::Undo::Answer::Undone,
                  !grants.empty());
        EXPECT_EQ(fake_.world, ungranted) << difference(ungranted, fake_.world);
        ASSERT_TRUE(run(grants, site));
    }
    fake_.settle();
    for (World* world : {&fake_.world, &before}) {
        world->processes.erase(life_.init);
        world->processes.erase(World::kEngine);
        world->settle();
    }
    for (const std::string& line : collect(fake_, state_).trouble)
        ADD_FAILURE() << line;
    fake_.settle();
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

// All that a PF may be asked to set, beyond what vf_ways() ask.
std::vector<Way> settings_ways() {
    const auto world_with = [](Nic nic) {
        World world = World::standard(KernelTraits::v7_3());
        world.add_sriov("enp1s0", "0000:01:00.0", 2, nic);
        return world;
    };
    World trusting = world_with(Nic::Mlx5);
    trusting.pci.at(trusting.vf_address("0000:01:00.0", 0)).settings.trust = true;
    for (auto& [address, function] : trusting.pci)
        function.quirks.erase("no_1ad");
    return {{.name = "vf_all_settings",
             .world = std::move(trusting),
             .annotations = {{"rdma.mode", "vf"},
                             {"rdma.device", "enp1s0"},
                             {"rdma.vlan", "7"},
                             {"rdma.vlan_proto", "802.1ad"},
                             {"rdma.min_tx_rate", "100"},
                             {"rdma.max_tx_rate", "500"},
                             {"rdma.trust", "off"},
                             {"rdma.link_state", "on"}}},
            {.name = "vf_infiniband_guids",
             .world = world_with(Nic::IbMlx5),
             .annotations = {{"rdma.mode", "vf"},
                             {"rdma.device", "enp1s0"},
                             {"rdma.node_guid", "00:11:22:33:44:55:66:77"},
                             {"rdma.port_guid", "00:11:22:33:44:55:66:78"},
                             {"rdma.link_state", "auto"}}}};
}

std::vector<Way> recorded_ways() {
    std::vector<Way> all = all_ways();
    std::erase_if(all, [](const Way& way) { return way.refused; });
    // The grants of a plain hook are the same in each mode.
    for (Way& way : plain_ways()) {
        if (way.name == "plain_softroce_macvlan" || way.name == "plain_softroce_two_rails")
            all.push_back(std::move(way));
    }
    for (Way& way : running_ways()) {
        if (way.name == "running_softroce_macvlan")
            all.push_back(std::move(way));
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Ways, Recorded, testing::ValuesIn(recorded_ways()), kWayName);
INSTANTIATE_TEST_SUITE_P(Settings, Recorded, testing::ValuesIn(settings_ways()), kWayName);
// No GUID that a PF was given can be taken back.
INSTANTIATE_TEST_SUITE_P(Ways, RecordedUndo, testing::ValuesIn(recorded_ways()), kWayName);

TEST(RecordedFiles, HaveEachKindOfStep) {
    std::set<std::string> kinds;
    for (const Way& way : recorded_ways()) {
        const std::string text = source_file(kFolder + way.name + ".jsonl");
        for (const std::string& kind : find_all(text, R"x("kind":"([a-z_]+)")x"))
            kinds.insert(kind);
    }
    const std::string state = source_file("hook/STATE.md");
    const std::string steps = state.substr(state.find("\n## Steps\n"));
    for (const std::string& kind : find_all(steps, R"(\n\| `([a-z_]+)` \|)"))
        EXPECT_TRUE(kinds.contains(kind)) << kind;
}

}  // namespace
}  // namespace test
