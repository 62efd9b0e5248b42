// SPDX-License-Identifier: Apache-2.0
// The fake's own machinery: what no kernel can be asked about.
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/fakes/fake_host.h"
#include "tests/fakes/fake_rdma.h"
#include "tests/support/temp_dir.h"

namespace test {
namespace {

constexpr uint32_t kIndex = 0x40000001;

class Faked : public testing::Test {
  protected:
    netns::ChildSpec spec() const {
        return {.parent = World::kHostLink,
                .index = kIndex,
                .name = "rdma0",
                .mac = *netns::parse_mac("02:00:5e:10:00:01"),
                .mtu = 1500};
    }

    Netns container() { return fake_.world.handle(fake_.world.netns_of(World::kContainer)); }

    Netns host_ns() { return fake_.world.handle(fake_.world.host); }

    Result<> create() { return fake_.links.create_child(host_ns(), container(), spec()); }

    FakeHost fake_;
    const World start_ = fake_.world;
};

TEST_F(Faked, AWorldIsComparedAndItsDifferenceNamed) {
    EXPECT_EQ(fake_.world, start_);
    ASSERT_TRUE(create());
    EXPECT_FALSE(fake_.world == start_);
    EXPECT_NE(difference(start_, fake_.world).find("+ netns"), std::string::npos);
    EXPECT_NE(to_string(fake_.world).find("rdma0"), std::string::npos);
    ASSERT_TRUE(fake_.links.remove(container(), kIndex));
    EXPECT_EQ(fake_.world, start_) << difference(start_, fake_.world);
}

TEST_F(Faked, AFailedCallHasNoEffect) {
    fake_.gate.fail_call(0, EBUSY);
    const auto done = create();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().sys, EBUSY);
    EXPECT_EQ(fake_.world, start_);
    EXPECT_TRUE(create()) << "only the one call fails";
    EXPECT_EQ(fake_.gate.mutating_calls(), 2);
}

TEST_F(Faked, FailingOnIsForGood) {
    fake_.gate.fail_from(1, EIO);
    EXPECT_TRUE(create());
    EXPECT_FALSE(fake_.links.remove(container(), kIndex));
    EXPECT_FALSE(fake_.links.remove(container(), kIndex));
}

TEST_F(Faked, ALieHasItsEffect) {
    fake_.gate.lie_call(0, EIO);
    EXPECT_FALSE(create());
    EXPECT_TRUE(fake_.links.find(container(), kIndex).value());
}

TEST_F(Faked, ADeadProgramChangesNothingMore) {
    fake_.gate.crash_call(0);
    EXPECT_THROW((void)create(), Crash);
    EXPECT_FALSE(create());
    EXPECT_EQ(fake_.world, start_);
    fake_.settle();
    EXPECT_TRUE(create());
}

TEST_F(Faked, ACrashAfterTheCallKeepsItsEffect) {
    fake_.gate.crash_after(0);
    EXPECT_THROW((void)create(), Crash);
    EXPECT_TRUE(fake_.links.find(container(), kIndex).value());
}

TEST_F(Faked, FilesPassTheSameGate) {
    const TempDir dir;
    fake_.gate.fail_call(1, ENOSPC);
    EXPECT_TRUE(create());
    EXPECT_FALSE(fake_.files.write(dir / "a", "x"));
    EXPECT_TRUE(base::is_missing(fake_.files.read(dir / "a", 10).error()));
    EXPECT_TRUE(fake_.files.write(dir / "a", "x"));
    EXPECT_EQ(fake_.gate.calls().back(), "write " + (dir / "a"));
}

TEST_F(Faked, QuestionsAreNotCounted) {
    (void)fake_.links.list(container());
    (void)fake_.rdma.mode();
    (void)fake_.namespaces.open(World::kContainerPath);
    EXPECT_EQ(fake_.gate.mutating_calls(), 0);
}

TEST_F(Faked, AMadeNamespaceVanishesUnlessItIsPinned) {
    ASSERT_TRUE(fake_.namespaces.make());
    fake_.settle();
    EXPECT_EQ(fake_.world, start_) << difference(start_, fake_.world);
    const auto made = fake_.namespaces.make();
    ASSERT_TRUE(made);
    ASSERT_TRUE(fake_.namespaces.pin(*made, "/run/pin"));
    fake_.settle();
    EXPECT_TRUE(fake_.namespaces.open_pin("/run/pin", made->id()).value());
    ASSERT_TRUE(fake_.namespaces.unpin("/run/pin"));
    EXPECT_TRUE(fake_.links.find(*made, 1).value()) << "the handle still holds it";
    fake_.settle();
    EXPECT_EQ(fake_.world, start_);
}

TEST_F(Faked, AnOrphanedConnectionKeepsANamespace) {
    ASSERT_TRUE(create());
    ASSERT_TRUE(
        fake_.rdma.add_link(container(), {.name = "rxe1", .type = "rxe", .netdev = kIndex}));
    const Netns ns = container();
    fake_.world.find(ns)->open_connection = true;
    fake_.world.processes.erase(World::kContainer);
    fake_.world.engine_paths.clear();
    fake_.settle();
    EXPECT_TRUE(fake_.links.find(ns, kIndex).value());
    EXPECT_TRUE(fake_.rdma.find_by_name(host_ns(), "rxe1").value());
    fake_.world.find(ns)->open_connection = false;
    fake_.settle();
    EXPECT_FALSE(fake_.links.find(ns, kIndex).value());
    EXPECT_FALSE(fake_.rdma.find_by_name(host_ns(), "rxe1").value());
    EXPECT_FALSE(fake_.world.namespaces.contains(ns.id()));
}

TEST_F(Faked, ADeviceInUseOutlivesItsNetdev) {
    ASSERT_TRUE(create());
    ASSERT_TRUE(
        fake_.rdma.add_link(container(), {.name = "rxe1", .type = "rxe", .netdev = kIndex}));
    const uint32_t index = fake_.rdma.find_by_name(host_ns(), "rxe1").value()->index;
    fake_.world.rdma[index].contexts = 1;
    EXPECT_FALSE(fake_.rdma.remove_link(container(), index)) << "the kernel would not return";
    ASSERT_TRUE(fake_.links.remove(container(), kIndex));
    EXPECT_EQ(fake_.rdma.wait_gone(container(), index, base::Deadline::in({})).error().code,
              base::Code::Timeout);
    fake_.world.rdma[index].contexts = 0;
    fake_.settle();
    EXPECT_EQ(fake_.world, start_) << difference(start_, fake_.world);
}

TEST_F(Faked, AParentTakesItsChildrenWithIt) {
    ASSERT_TRUE(create());
    ASSERT_TRUE(
        fake_.rdma.add_link(container(), {.name = "rxe1", .type = "rxe", .netdev = kIndex}));
    fake_.world.destroy_link(fake_.world.host, World::kHostLink);
    EXPECT_FALSE(fake_.links.find(container(), kIndex).value());
    EXPECT_TRUE(fake_.world.rdma.empty());
}

}  // namespace
}  // namespace test
