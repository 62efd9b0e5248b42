// SPDX-License-Identifier: Apache-2.0
// Resources that run out: the file system of the state is full, read-only or gone; there are no
// descriptors; inputs are huge; thousands of journals are left over. Each gives one clear line, and
// nothing stays.
#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hook/rdmactl/command.h"
#include "tests/unit/hook/containers.h"
#include "tests/unit/hook/way.h"

namespace test {
namespace {

const std::vector<std::string> kGrowing = {"write /", "create /", "make folder /", "make link /"};
const std::vector<std::string> kChanging = {"write /",
                                            "create /",
                                            "make folder /",
                                            "make link /",
                                            "remove /",
                                            "remove folder /",
                                            "rename /"};

void expect_line(const base::Result<>& done, const std::string& says) {
    ASSERT_FALSE(done);
    const std::string line = done.error().message();
    EXPECT_NE(line.find(says), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_LT(line.size(), 4096U) << line;
}

// ---- the state's file system
class StateDisk : public testing::TestWithParam<Way> {
  protected:
    StateDisk() : fake_(GetParam().world), life_(fake_, state_, "one") {
        take(GetParam(), life_, state_);
    }

    // As at the beginning, but for processes that came and went.
    void expect_start(World before) {
        fake_.settle();
        fake_.world.processes.erase(life_.init);
        before.processes.erase(life_.init);
        before.settle();
        EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
        EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
    }

    FakeHost fake_;
    StateDir state_;
    Life life_;
};

TEST_P(StateDisk, FullAtAnyWriteOfAnAttach) {
    const World before = fake_.world;
    int refusals = 0;
    for (int k = 0;; ++k) {
        SCOPED_TRACE(k);
        fake_.gate.fail_from(k, ENOSPC, kGrowing);
        const auto done = life_.attach();
        if (done)
            break;
        ++refusals;
        expect_line(done, "No space left on device");
        expect_start(before);
    }
    EXPECT_GE(refusals, 4) << "folder, record, journal, lease";
    fake_.gate.restart();
    EXPECT_TRUE(life_.plain || life_.create_runtime());
    EXPECT_TRUE(life_.poststop());
    expect_start(before);
}

TEST_P(StateDisk, FullAtTheEnd) {
    const World before = fake_.world;
    ASSERT_TRUE(life_.start());
    fake_.settle();
    fake_.gate.fail_from(0, ENOSPC, kGrowing);
    EXPECT_TRUE(life_.poststop());
    expect_start(before);
}

TEST_P(StateDisk, ReadOnly) {
    const World before = fake_.world;
    ASSERT_TRUE(life_.start() && life_.poststop());  // the folders are there
    expect_start(before);
    fake_.gate.fail_from(0, EROFS, kChanging);
    expect_line(life_.attach(), "Read-only file system");
    expect_start(before);
    ASSERT_TRUE(life_.start());
    fake_.settle();
    fake_.gate.fail_from(0, EROFS, kChanging);
    expect_line(life_.poststop(), "Read-only file system");
    fake_.settle();
    EXPECT_TRUE(collect(fake_, state_).trouble.empty());
    expect_start(before);
}

TEST_P(StateDisk, GoneWhileAContainerRuns) {
    ASSERT_TRUE(life_.start());
    fake_.settle();
    std::filesystem::remove_all(state_.path());
    const auto stopped = life_.poststop();
    if (!life_
             .plain)  // a plain hook is called for every container, and had nothing to do with most
        expect_line(stopped, state_.path() + " was deleted while they ran");
    EXPECT_FALSE(std::filesystem::exists(state_.path())) << "nothing is made at the end";
    Life next{fake_, state_, "two"};
    next.annotations = {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}};
    next.init = 4712;
    EXPECT_TRUE(next.start()) << "what comes after is as after a boot";
    EXPECT_TRUE(next.poststop());
}

std::vector<Way> one_of_each() {
    std::vector<Way> ways{plain_ways().front()};
    for (Way& way : all_ways()) {
        if (!way.refused && way.mode != ways.back().mode)
            ways.push_back(std::move(way));
    }
    return ways;
}

INSTANTIATE_TEST_SUITE_P(Ways, StateDisk, testing::ValuesIn(one_of_each()), kWayName);

using Resources = Containers;

// The one write of an end: somebody else stays.
TEST_F(Resources, OneOfTwoLeavesOnAFullDisk) {
    Life one = softroce("one", "10.9.0.1/24");
    Life two = softroce("two", "10.9.0.1/24");
    two.network = one.network;
    ASSERT_TRUE(one.start() && two.start());
    fake_.settle();
    fake_.gate.fail_from(0, ENOSPC, kGrowing);
    expect_line(one.poststop(), "No space left on device");
    EXPECT_EQ(fake_.world.rdma.size(), 1U) << "the other one's";
    fake_.settle();
    EXPECT_TRUE(two.poststop()) << "who died is no holder";
    expect_nothing_left();
}

// ---- descriptors
class FewDescriptors {
  public:
    explicit FewDescriptors(unsigned spare) {
        (void)::getrlimit(RLIMIT_NOFILE, &before_);
        const int lowest = ::dup(STDERR_FILENO);  // that is free
        (void)::close(lowest);
        rlimit few = before_;
        few.rlim_cur = static_cast<unsigned>(lowest) + spare;
        (void)::setrlimit(RLIMIT_NOFILE, &few);
    }

    ~FewDescriptors() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }

    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;
    FewDescriptors(FewDescriptors&&) = delete;
    FewDescriptors& operator=(FewDescriptors&&) = delete;

  private:
    rlimit before_{};
};

TEST_F(Resources, WithoutDescriptorsNothingIsAttached) {
    Life one = softroce("one", "10.9.0.1/24");
    // The engine has failed, and gc comes: to undo takes descriptors, too.
    const auto recover = [&] {
        const FakeProcess engine = fake_.world.processes.at(World::kEngine);
        fake_.settle();
        fake_.world.processes.erase(World::kEngine);
        EXPECT_TRUE(collect(fake_, state_).trouble.empty());
        fake_.world.processes[World::kEngine] = engine;
        expect_nothing_left();
    };
    // The undefined behaviour sanitizer wants descriptors of its own at the first sight of a type.
    ASSERT_TRUE(one.start() && one.poststop());
    for (int k = 0; k < 8; ++k) {
        fake_.settle();
        fake_.gate.fail_from(k, EMFILE);
        EXPECT_FALSE(one.precreate());
        recover();
    }
    std::filesystem::remove_all(state_.path());
    const World before = fake_.world;
    int refusals = 0;
    for (unsigned spare = 0; spare < 8; ++spare) {
        SCOPED_TRACE(spare);
        base::Result<> done;
        {
            const FewDescriptors few(spare);
            done = one.precreate();
        }
        if (done)
            break;
        ++refusals;
        expect_line(done, "Too many open files");
        recover();
        EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
    }
    EXPECT_GE(refusals, 2) << "at least a lock, and a file beside it";
    EXPECT_LT(refusals, 8) << "a few are enough";
}

// ---- sizes
TEST_F(Resources, HugeInputsAreRefusedInALine) {
    Life value = softroce("one", std::string(1U << 20U, '1'));
    expect_line(value.precreate(), "rdma.ip");
    Life key = softroce("two", "10.9.0.1/24");
    key.annotations["rdma." + std::string(1U << 20U, 'k')] = "x";
    expect_line(key.precreate(), "rdma.kkkk");
    Life spec = softroce("three", "10.9.0.1/24");
    spec.annotations["somebody.else/s"] = std::string(20U << 20U, 'x');
    expect_line(spec.precreate(), "config.json is larger than 4194304 bytes");
    Life plain = softroce("four", "10.9.0.1/24");
    plain.plain = true;
    plain.annotations["somebody.else/s"] = std::string(20U << 20U, 'x');
    expect_line(plain.start(), "container state is larger than 4259840 bytes");
    fake_.world.processes.erase(plain.init);
    Life fits = softroce("five", "10.9.0.1/24");
    fits.annotations["somebody.else/s"] = std::string(1U << 20U, 'x');
    EXPECT_TRUE(fits.start()) << "of somebody else's anything may be there";
    EXPECT_TRUE(fits.poststop());
    expect_nothing_left();
}

// ---- leftovers
constexpr int kStale = 2'000;

// Copies a journal under many keys; its holder is dead.
void multiply(const std::string& text, const std::string& akey, const std::string& folder) {
    for (int i = 0; i < kStale; ++i) {
        char fresh[32];
        (void)std::snprintf(
            fresh, sizeof fresh, "4-%x-abc", 0xe0000000U + static_cast<unsigned>(i));
        std::string copy = text;
        for (size_t at = copy.find(akey); at != std::string::npos; at = copy.find(akey, at))
            copy.replace(at, akey.size(), fresh);
        std::ofstream(folder + "/" + fresh + ".json") << copy;
    }
}

TEST_F(Resources, ThousandsOfStaleJournalsSlowNobodyAndAreCollected) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    const std::string folder = state_.path() + "/journals";
    const std::filesystem::path path = *std::filesystem::directory_iterator(folder);
    const std::string akey = path.stem();
    const std::string text = *base::RealFiles{}.read(path, 1U << 20U);
    ASSERT_TRUE(one.poststop());

    const auto looks_of_a_life = [&] {
        fake_.files.looks = 0;
        Life life = softroce("two", "10.9.0.2/24");
        EXPECT_TRUE(life.start() && life.poststop());
        return fake_.files.looks;
    };
    const int alone = looks_of_a_life();
    multiply(text, akey, folder);
    EXPECT_EQ(looks_of_a_life(), alone) << "an attach looks at pending/ alone";

    const auto collected = collect(fake_, state_);
    EXPECT_EQ(collected.journals.size(), static_cast<size_t>(kStale));
    EXPECT_TRUE(collected.trouble.empty());
    expect_nothing_left();
}

}  // namespace
}  // namespace test
