// SPDX-License-Identifier: Apache-2.0
// Files of another version, broken or renamed ones: left as they are, byte for byte, said by gc and
// list, and in nobody's way. And hook/STATE.md has every member of ours.
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hook/rdmactl/command.h"
#include "tests/unit/hook/containers.h"
#include "tests/unit/hook/documents.h"
#include "tests/unit/hook/way.h"

namespace test {
namespace {

class Format : public Containers {
  protected:
    Format() {
        options_.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
        options_.runtimes = state_.path() + "/runtimes";
    }

    [[nodiscard]] std::string only_file(const std::string& folder) const {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(state_.path() + "/" + folder))
            found.push_back(entry.path());
        EXPECT_EQ(found.size(), 1U) << folder;
        return found.empty() ? "" : found.front();
    }

    static std::string content(const std::string& path) {
        const auto text = base::RealFiles{}.read(path, 1U << 20U);
        return text ? *text : text.error().message();
    }

    // The file becomes one of a version to come.
    static std::string make_foreign(const std::string& path) {
        const std::string old = R"("format":1)";
        std::string text = content(path);
        text.replace(text.find(old), old.size(), R"("format":2,"new":{"x":[1]})");
        EXPECT_TRUE(base::RealFiles{}.write(path, text));
        return text;
    }

    std::vector<std::string> gc() {
        netns::Host host = fake_.host();
        const auto answer = hook::ctl::collect(options_, host);
        EXPECT_TRUE(answer) << answer.error().message();
        return answer ? answer->json["trouble"].get<std::vector<std::string>>()
                      : std::vector<std::string>{};
    }

    hook::ctl::Answer list() {
        netns::Host host = fake_.host();
        const auto answer = hook::ctl::list(options_, host);
        EXPECT_TRUE(answer) << answer.error().message();
        return answer ? *answer : hook::ctl::Answer{};
    }

    // gc names the file, its version and the way out, once.
    void expect_reported(const std::string& path) {
        const auto trouble = gc();
        ASSERT_EQ(trouble.size(), 1U) << testing::PrintToString(trouble);
        EXPECT_NE(trouble[0].find(path + ": it is of format 2"), std::string::npos) << trouble[0];
        EXPECT_NE(trouble[0].find("rdmactl gc of the version that wrote it"), std::string::npos);
        EXPECT_NE(list().text.find("it is of format 2"), std::string::npos) << list().text;
    }

    hook::ctl::Options options_;
};

TEST_F(Format, AJournalOfAnotherVersionIsLeftWithAllThatItOwns) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    const std::string path = only_file("journals");
    const std::string lease = only_file("leases");
    const std::string foreign = make_foreign(path);
    Life two = softroce("two", "10.9.0.2/24");
    ASSERT_TRUE(two.start());
    fake_.world.processes.erase(one.init);
    fake_.world.processes.erase(two.init);
    expect_reported(path);
    EXPECT_EQ(content(path), foreign);
    EXPECT_TRUE(std::filesystem::exists(lease));
    EXPECT_EQ(fake_.world.pins.size(), 1U);
    EXPECT_EQ(fake_.world.rdma.size(), 1U) << "the other one's is undone, and this one's is not";

    Life three = softroce("three", "10.9.0.3/24");
    EXPECT_TRUE(three.start()) << "it is in nobody's way";
    EXPECT_TRUE(three.poststop());
    Life again = softroce("four", "10.9.0.1/24");
    EXPECT_EQ(again.precreate().error().code, base::Code::Busy) << "what it claims is claimed";
    Life joiner = softroce("five", "10.9.0.1/24");
    joiner.network = one.network;
    const Error refused = error_of(joiner.precreate());
    EXPECT_NE(refused.message().find(path), std::string::npos) << refused.message();
    EXPECT_EQ(content(path), foreign);
}

TEST_F(Format, TheEndOfAContainerLeavesAJournalOfAnotherVersion) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    const std::string path = only_file("journals");
    const std::string foreign = make_foreign(path);
    const Error stopped = error_of(one.poststop());
    EXPECT_NE(stopped.message().find("it is of format 2"), std::string::npos);
    EXPECT_EQ(content(path), foreign);
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
}

TEST_F(Format, ARecordOfAnotherVersionIsLeftInEitherFolder) {
    for (const bool committed : {false, true}) {
        Life one = softroce(committed ? "committed" : "pending", "10.9.0.1/24");
        ASSERT_TRUE(committed ? one.start() : one.precreate());
        const std::string path = only_file(committed ? "containers" : "pending");
        const std::string foreign = make_foreign(path);
        fake_.world.processes.erase(one.init);
        expect_reported(path);
        EXPECT_EQ(fake_.world.rdma.size(), 1U) << "its attachment may be in use";
        Life two = softroce("two", "10.9.0.2/24");
        EXPECT_TRUE(two.start()) << "it is in nobody's way";
        EXPECT_TRUE(two.poststop());
        const Error again = error_of(one.precreate());
        EXPECT_NE(again.message().find(path), std::string::npos);
        EXPECT_EQ(content(path), foreign);
        // The version that wrote it comes and undoes it.
        std::string text = foreign;
        text.replace(text.find("\"format\":2"), 10, "\"format\":1");
        ASSERT_TRUE(base::RealFiles{}.write(path, text));
        if (!committed)
            fake_.world.processes.erase(World::kEngine);
        EXPECT_TRUE(gc().empty());
        expect_nothing_left();
        if (!committed)
            fake_.world.add_process(World::kEngine, fake_.world.host);
    }
}

TEST_F(Format, WhatIsBrokenOrRenamedIsLeftToo) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    const std::string path = only_file("journals");
    const std::string text = content(path);
    fake_.world.processes.erase(one.init);
    for (const std::string& broken :
         {std::string(),
          text.substr(0, text.size() / 2),
          std::string("[]"),
          std::string("{}"),
          replace_matches(text, R"("holders":\[[^\]]*\])", R"("holders":null)")}) {
        ASSERT_TRUE(base::RealFiles{}.write(path, broken));
        EXPECT_FALSE(gc().empty()) << broken;
        EXPECT_EQ(content(path), broken);
    }
    // A step that ends in the middle, behind a text that is not short, is an error and no leak.
    for (const auto& [name, gone] : {std::pair{"name", "vlan"}, std::pair{"type", "node_guid"}}) {
        const auto broken =
            replace_matches(text,
                            fmt::format(R"x("{}":"[^"]*"(.*)"{}":)x", name, gone),
                            fmt::format(R"x("{}":"{}"$1"x":)x", name, std::string(64, 'n')));
        ASSERT_NE(broken, text);
        ASSERT_TRUE(base::RealFiles{}.write(path, broken));
        EXPECT_FALSE(gc().empty()) << broken;
    }
    // A journal's key leads to its pin: another's must not be undone by it.
    const std::string renamed = path.substr(0, path.rfind('/')) + "/4-f0000009-abc.json";
    ASSERT_TRUE(base::RealFiles{}.remove(path));
    ASSERT_TRUE(base::RealFiles{}.write(renamed, text));
    const auto trouble = gc();
    ASSERT_EQ(trouble.size(), 1U);
    EXPECT_NE(trouble[0].find(renamed), std::string::npos) << trouble[0];
    EXPECT_NE(trouble[0].find("another key"), std::string::npos) << trouble[0];
    EXPECT_EQ(content(renamed), text);
}

// This version reads the seeds of the fuzz targets, except those that stand for a later version.
TEST_F(Format, SeedsAreUnderstood) {
    netns::Host host = fake_.host();
    const hook::Store store{host.files, state_.path()};
    ASSERT_TRUE(store.open());
    const std::string akey = "4-f0000001-abcdef012345";
    int understood = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(SOURCE_DIR "/tests/fuzz/seeds/journal")) {
        ASSERT_TRUE(base::RealFiles{}.write(store.journal_path(akey), content(entry.path())));
        const auto journal = hook::load_journal(store, akey);
        EXPECT_EQ(journal.has_value(), entry.path().filename() != "young")
            << entry.path() << (journal ? "" : journal.error().message());
        understood += journal ? 1 : 0;
    }
    for (const auto& entry :
         std::filesystem::directory_iterator(SOURCE_DIR "/tests/fuzz/seeds/container_record")) {
        ASSERT_TRUE(
            base::RealFiles{}.write(store.folder("pending") + "/k.json", content(entry.path())));
        const auto container = store.load_container("k");
        EXPECT_EQ(container.has_value(), entry.path().filename() != "young") << entry.path();
        if (!container)
            continue;
        EXPECT_TRUE(hook::grants_of(**container)) << entry.path();
        ++understood;
    }
    EXPECT_GE(understood, 6);
}

// Every member of a journal was there from the first version on: one without is nobody's.
TEST_F(Format, AJournalThatLacksAMemberIsNotGuessedAt) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    const std::string path = only_file("journals");
    std::string text = content(path);
    const std::string made = R"("made":true,)";
    ASSERT_NE(text.find(made), std::string::npos) << text;
    text.erase(text.find(made), made.size());
    ASSERT_TRUE(base::RealFiles{}.write(path, text));
    fake_.world.processes.erase(one.init);
    ASSERT_EQ(gc().size(), 1U);
    EXPECT_EQ(content(path), text);
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
}

// ---- the document
void add_members(const base::Json& json, std::set<std::string>& names) {
    for (const auto& [name, value] : json.items()) {
        // By AKEY.
        if (json.is_object() && !hook::is_attachment_key(name))
            names.insert(name);
        if (value.is_structured() && name != "request")
            add_members(value, names);
        if (name == "kind")
            names.insert(value.get<std::string>());
    }
}

TEST(FormatDocument, HasEveryMemberOfEveryWayToAttach) {
    std::set<std::string> names;
    for (const auto& ways : {all_ways(), plain_ways(), running_ways()}) {
        for (const Way& way : ways) {
            FakeHost fake{way.world};
            StateDir state;
            Life life{fake, state, "one"};
            take(way, life, state);
            life.annotations["rdma.max_hca_objects"] = "200";
            if (!life.start())
                continue;
            for (const char* folder : {"journals", "containers"}) {
                for (const auto& entry :
                     std::filesystem::directory_iterator(state.path() + "/" + folder))
                    add_members(
                        base::parse_json(base::RealFiles{}.read(entry.path(), 1U << 20U).value(),
                                         "state")
                            .value(),
                        names);
            }
        }
    }
    EXPECT_GT(names.size(), 80U);
    const std::string text = source_file("hook/STATE.md");
    for (const std::string& name : names)
        EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << name;
    // And of the steps no more.
    for (const std::string& kind : find_all(text, R"(\n\| `([a-z_]+)` \|)"))
        EXPECT_TRUE(names.contains(kind)) << kind;
}

}  // namespace
}  // namespace test
