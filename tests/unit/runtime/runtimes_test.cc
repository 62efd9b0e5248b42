// SPDX-License-Identifier: Apache-2.0
// A container belongs to the runtime that created it, whatever the configuration says later.
#include "hook/state/runtimes.h"

#include "tests/unit/runtime/shim_fixture.h"

namespace shim {
namespace {

// Stand for runc and crun: programs that root alone can change.
constexpr char kUsual[] = "/usr/bin/true";
constexpr char kOther[] = "/usr/bin/env";

class ServedBy : public Shim {
  protected:
    ServedBy() {
        config_.runtime = kUsual;
        write_spec({});
    }

    // Returns the program that gets the call.
    std::string server_of(Words words) {
        low_level_.calls.clear();
        (void)serve_words(words);
        return low_level_.calls.empty() ? "" : low_level_.calls.back();
    }

    std::string server_of_create(const std::string& id, const std::string& root = "") {
        low_level_.calls.clear();
        Words argv = {"rdma-runtime", "create", "--bundle", bundle_, id};
        if (!root.empty())
            argv.insert(argv.begin() + 1, {"--root", root});
        (void)serve(by_name(argv), around());
        return low_level_.calls.empty() ? "" : low_level_.calls.back();
    }

    hook::Runtimes runtimes() { return hook::Runtimes{host_, runtimes_}; }

    // The processes that made containers have ended.
    void creators_end() {
        fake_.world.processes.erase(fake_.world.self);
        fake_.world.self += 10000;
        fake_.world.add_process(fake_.world.self, fake_.world.host);
    }

    const std::string other_ = std::string("become ") + *find_runtime(kOther);
    const std::string usual_ = std::string("become ") + *find_runtime(kUsual);
    const std::string nobodys_ = "become " + *find_runtime("");
};

TEST_F(ServedBy, ABrokenConfigurationChangesNothing) {
    config_.runtime = kOther;
    EXPECT_EQ(server_of_create("c1"), other_);
    broken_ = true;
    for (const Words& words : {Words{"kill", "--all", "c1", "TERM"},
                               Words{"exec", "--tty", "--process", "/p", "c1"},
                               Words{"start", "c1"},
                               Words{"state", "c1"},
                               Words{"update", "--resources", "-", "c1"},
                               Words{"checkpoint", "c1"},
                               Words{"delete", "--force", "c1"}})
        EXPECT_EQ(server_of(words), other_) << words[0];
    EXPECT_EQ(server_of_create("c2"), other_) << "as the latest, while nothing better is known";
    config_.runtime = kUsual;
    broken_ = false;
    EXPECT_EQ(server_of_create("c3"), usual_);
    EXPECT_EQ(server_of({"kill", "c2", "TERM"}), other_);
}

TEST_F(ServedBy, AnotherSettingIsForNewContainers) {
    EXPECT_EQ(server_of_create("c1"), usual_);
    config_.runtime = kOther;
    EXPECT_EQ(server_of_create("c2"), other_);
    EXPECT_EQ(server_of({"kill", "c1", "TERM"}), usual_);
    EXPECT_EQ(server_of({"kill", "c2", "TERM"}), other_);
    EXPECT_EQ(server_of({"kill", "c3", "TERM"}), other_) << "not made by us";
}

TEST_F(ServedBy, AContainerWithRdmaToo) {
    config_.runtime = kOther;
    start();
    EXPECT_THAT(low_level_.calls, ElementsAre(std::string("run ") + *find_runtime(kOther)));
    config_.runtime = kUsual;
    low_level_.script = [](const Words&) { return 0; };
    EXPECT_EQ(server_of({"delete", "c1"}), std::string("run ") + *find_runtime(kOther));
    broken_ = true;
    EXPECT_EQ(server_of({"delete", "c1"}), other_);
}

// Several runtimes of Docker, each with a program of its own below rdma-runtime.
TEST_F(ServedBy, TheProgramThatItsCallNamed) {
    named_ = kOther;
    EXPECT_EQ(server_of_create("c1"), other_);
    EXPECT_EQ(low_level_.words[0], "rdma-runtime");
    EXPECT_EQ(low_level_.words[1], "create") << "it gets no word of ours";
    named_.reset();
    EXPECT_EQ(server_of_create("c2"), usual_);
    EXPECT_EQ(server_of({"kill", "c1", "TERM"}), other_) << "by whatever name";
    named_ = kOther;
    EXPECT_EQ(server_of({"kill", "c2", "TERM"}), usual_);
    EXPECT_EQ(server_of({"features"}), other_) << "of no container";
    named_ = kUsual;  // somebody has configured the name differently
    EXPECT_EQ(server_of({"exec", "c1"}), other_);
    EXPECT_EQ(server_of({"delete", "c1"}), other_);
}

TEST_F(ServedBy, OneThatWasNamedIsNobodysDefault) {
    EXPECT_EQ(server_of_create("c1"), usual_);
    named_ = kOther;
    broken_ = true;
    EXPECT_EQ(server_of_create("c2"), other_) << "no configuration is needed";
    named_.reset();
    EXPECT_EQ(server_of_create("c3"), usual_) << "the latest that the configuration chose";
}

// Another program would make another container: one without a GPU, say.
TEST_F(ServedBy, OneThatIsNamedAndCannotBeCalledHasNoSubstitute) {
    for (const std::string bad :
         {"/nonexistent/runc", "runc", "", "../usr/bin/env", "/etc/passwd"}) {
        named_ = bad;
        EXPECT_EQ(server_of_create("c1"), "") << bad;
        write_spec({{"rdma.mode", "softroce"}});
        EXPECT_EQ(server_of_create("c1"), "") << bad;
        EXPECT_EQ(server_of({"features"}), "") << bad;
        EXPECT_EQ(fake_.world, world_) << test::difference(world_, fake_.world);
        write_spec({});
    }
    EXPECT_THAT(told(), HasSubstr("/etc/passwd is not a program"));
}

// Docker has a root for each of its names, and an id may be in both.
TEST_F(ServedBy, EachRootHasItsOwn) {
    EXPECT_EQ(server_of_create("c1", "/run/one"), usual_);
    config_.runtime = kOther;
    EXPECT_EQ(server_of_create("c1", "/run/two"), other_);
    for (const auto& [root, who] : {std::pair{"/run/one", usual_}, std::pair{"/run/two", other_}}) {
        low_level_.calls.clear();
        (void)serve({"rdma-runtime", "--root", root, "kill", "c1", "TERM"}, around());
        EXPECT_THAT(low_level_.calls, ElementsAre(who));
    }
}

TEST_F(ServedBy, AnIdThatIsUsedAgain) {
    EXPECT_EQ(server_of_create("c1", "/run/one"), usual_);
    config_.runtime = kOther;
    EXPECT_EQ(server_of_create("c1", "/run/one"), usual_) << "it may be on its way";
    creators_end();
    fake_.world.files.insert("/run/one/c1");
    EXPECT_EQ(server_of_create("c1", "/run/one"), usual_) << "which says that it is there";
    creators_end();
    fake_.world.files.erase("/run/one/c1");
    EXPECT_EQ(server_of_create("c1", "/run/one"), other_);
}

// Nobody else can serve it: runc would say that there is no such container.
TEST_F(ServedBy, OneThatOthersCanChangeIsNotCalled) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs a program of root's";
    const std::string mine = dir_ / "crun";
    ASSERT_TRUE(files_.write(mine, "#!/bin/true", base::Access::Readable));
    ASSERT_EQ(::chmod(mine.c_str(), 0755), 0);
    config_.runtime = mine;
    EXPECT_EQ(server_of_create("c1"), "become " + mine);
    ASSERT_EQ(::chmod(mine.c_str(), 0775), 0);
    EXPECT_EQ(server_of({"kill", "c1", "TERM"}), "");
    EXPECT_THAT(told(), HasSubstr("the runtime of container c1: " + mine));
    EXPECT_THAT(told(), HasSubstr("chmod go-w"));
    EXPECT_EQ(server_of_create("c2"), nobodys_) << "a new one has no need of it";
}

TEST_F(ServedBy, WhatCannotBeReadIsNotThere) {
    config_.runtime = kOther;
    EXPECT_EQ(server_of_create("c1"), other_);
    config_.runtime = kUsual;
    const auto names = files_.list(runtimes_);
    for (const std::string& name : *names)
        ASSERT_TRUE(files_.write(runtimes_ + "/" + name, "{\"format\": 2}"));
    EXPECT_EQ(server_of({"kill", "c1", "TERM"}), usual_);
    broken_ = true;
    EXPECT_EQ(server_of({"kill", "c1", "TERM"}), nobodys_);
}

TEST_F(ServedBy, WhereNothingCanBeKeptTheConfigurationDecides) {
    runtimes_ = "/proc/no/such/folder";
    config_.runtime = kOther;
    EXPECT_EQ(server_of_create("c1"), other_);
    EXPECT_EQ(server_of({"kill", "c1", "TERM"}), other_);
}

TEST_F(ServedBy, GarbageIsWhatNoRuntimeHas) {
    EXPECT_TRUE(runtimes().forget_gone()->empty()) << "before the first";
    (void)server_of_create("c1", "/run/one");
    (void)server_of_create("c2", "/run/one");
    (void)server_of_create("c3");
    fake_.world.files.insert("/run/one/c1");
    EXPECT_TRUE(runtimes().forget_gone()->empty()) << "they are being created";
    creators_end();
    EXPECT_EQ(runtimes().forget_gone()->size(), 2U);
    EXPECT_TRUE(runtimes().find("/run/one", "c1"));
    EXPECT_FALSE(runtimes().find("/run/one", "c2"));
    EXPECT_FALSE(runtimes().find("", "c3"));
    EXPECT_TRUE(runtimes().last());
}

}  // namespace
}  // namespace shim
