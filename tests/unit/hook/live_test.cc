// SPDX-License-Identifier: Apache-2.0
// Plain hooks: what a container is granted while its init waits, and who is refused.
#include <filesystem>

#include "hook/container/in_config.h"
#include "hook/container/into_running.h"
#include "tests/unit/hook/life.h"

namespace test {
namespace {

class LiveTest : public testing::Test {
  protected:
    LiveTest() {
        life_.plain = true;
        life_.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}};
    }

    FakeProcess& process() { return fake_.world.processes.at(World::kContainer); }

    void start() {
        const auto done = life_.start();
        ASSERT_TRUE(done) << done.error().message();
    }

    base::Error refusal() {
        const auto done = life_.start();
        EXPECT_FALSE(done);
        EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
        return done ? base::Error{} : done.error();
    }

    // The poststop hook of a runtime that no longer knows the bundle.
    base::Result<> end() {
        netns::Host host = fake_.host();
        const hook::Call call{.host = host, .config = hook::ReadOnce{[&] {
                                                return base::Result<hook::Config>{state_.config()};
                                            }}};
        const oci::Json state{{"ociVersion", "1.2.0"}, {"id", life_.id()}, {"bundle", "/gone"}};
        return hook::plain_poststop(state.dump(), call);
    }

    hook::Regranted regrant() {
        netns::Host host = fake_.host();
        const hook::Context context{host, state_.config(), hook::Store{host.files, state_.path()}};
        return hook::regrant(context);
    }

    FakeHost fake_;
    StateDir state_;
    Life life_{fake_, state_, "one"};
};

TEST_F(LiveTest, GrantsNodesDevicesMemlockAndAttachFile) {
    start();
    EXPECT_EQ(process().placed,
              (std::set<std::string>{
                  "dev/infiniband/uverbs0", "dev/infiniband/rdma_cm", "run/rdma/attach.json"}));
    EXPECT_EQ(process().devices.size(), 2U);
    EXPECT_EQ(process().memlock.hard, ~uint64_t{0});
    EXPECT_TRUE(life_.poststop());
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

TEST_F(LiveTest, MemlockIsWhatThePolicyAllows) {
    life_.annotations["rdma.parent"] = "eth0";
    state_.config().policy = hook::Policy{};
    state_.config().policy->modes = {"softroce"};
    state_.config().policy->parents = {"eth0"};
    state_.config().policy->addresses = {*netns::parse_cidr("10.9.0.0/16")};
    const netns::Memlock engines = process().memlock;
    start();
    EXPECT_EQ(process().memlock, engines) << "a policy that does not say";
    EXPECT_TRUE(life_.poststop());
    state_.config().policy->memlock_max = 1U << 20U;
    start();
    EXPECT_EQ(process().memlock, (netns::Memlock{.soft = 1U << 20U, .hard = 1U << 20U}));
}

TEST_F(LiveTest, PrestartAndCreateRuntimeAttachOnce) {
    start();
    const World once = fake_.world;
    EXPECT_TRUE(life_.create_runtime());
    EXPECT_EQ(fake_.world, once) << difference(once, fake_.world);
}

TEST_F(LiveTest, TheHostsDeviceMayBeAskedForTwiceInTwoWays) {
    life_.annotations = {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}};
    start();
    const World once = fake_.world;
    life_.asked = {{"rdma.parent", "eth0"}};
    const auto again = life_.create_runtime();
    EXPECT_TRUE(again) << again.error().message();
    EXPECT_EQ(fake_.world, once) << difference(once, fake_.world);
}

TEST_F(LiveTest, WithoutAnnotationsNothingIsTouched) {
    life_.annotations = {{"somebody", "else"}};
    const World before = fake_.world;
    start();
    EXPECT_EQ(fake_.world, before);
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

TEST_F(LiveTest, CgroupV1IsRefused) {
    fake_.world.kernel.cgroup2 = false;
    const base::Error error = refusal();
    EXPECT_EQ(error.code, Code::Unsupported);
    EXPECT_NE(error.message().find("cgroup v2"), std::string::npos) << error.message();
}

TEST_F(LiveTest, WithoutCgroupV2AnOptionalOneStartsWithout) {
    fake_.world.kernel.cgroup2 = false;
    life_.annotations["rdma.optional"] = "true";
    start();
    EXPECT_EQ(process().placed, std::set<std::string>{"run/rdma/attach.json"});
    EXPECT_TRUE(life_.poststop());
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

TEST_F(LiveTest, WithoutAPlaceForNodesAllIsTakenBack) {
    process().tmpfs.erase("dev");
    const World before = fake_.world;
    EXPECT_EQ(refusal().code, Code::Unsupported);
    fake_.settle();
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
    life_.annotations["rdma.optional"] = "true";
    start();
    EXPECT_TRUE(process().devices.empty());
    EXPECT_EQ(process().placed, std::set<std::string>{"run/rdma/attach.json"});
}

TEST_F(LiveTest, LimitsAreSetAsEverywhere) {
    life_.annotations["rdma.max_hca_handles"] = "2";
    start();
    ASSERT_EQ(process().rdma_max.size(), 1U);
    EXPECT_EQ(process().rdma_max.begin()->second.handles, 2U);
}

TEST_F(LiveTest, TheHostsNetworkIsRefused) {
    process().ns = fake_.world.host;
    EXPECT_EQ(refusal().code, Code::Refused);
}

TEST_F(LiveTest, ABundleThatOthersCanWriteIsRefused) {
    ASSERT_TRUE(life_.precreate());
    std::filesystem::permissions(life_.bundle(), std::filesystem::perms::all);
    const Error done = error_of(life_.create_runtime());
    EXPECT_EQ(done.code, Code::Refused) << done.message();
}

TEST_F(LiveTest, TheEndOfARunningContainerIsNotBelieved) {
    start();
    const Error done = error_of(end());
    EXPECT_EQ(done.code, Code::Busy);
    process().zombie = true;
    EXPECT_TRUE(end()) << "found by its id";
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

TEST_F(LiveTest, TheEndOfAContainerThatHadNothingMakesNothing) {
    std::filesystem::remove_all(state_.config().state_dir);
    EXPECT_TRUE(end());
    EXPECT_FALSE(std::filesystem::exists(state_.config().state_dir));
}

TEST_F(LiveTest, RegrantGivesBackWhatWasTakenAway) {
    start();
    EXPECT_TRUE(regrant().containers.empty());
    const std::set<std::string> devices = process().devices;
    process().devices.clear();  // as systemctl daemon-reload
    EXPECT_EQ(regrant().containers.size(), 1U);
    EXPECT_EQ(process().devices, devices);
}

// A record that a later version wrote, after a downgrade: what is not a device is not read.
TEST_F(LiveTest, RegrantGivesBackDevicesBesideGrantsThatItDoesNotKnow) {
    start();
    const std::set<std::string> devices = process().devices;
    netns::Host host = fake_.host();
    const hook::Store store{host.files, state_.path()};
    auto container = store.load_container(hook::container_key(life_.bundle())).value();
    ASSERT_TRUE(container);
    container->grants.insert(container->grants.begin(), oci::Json{{"kind", "of_tomorrow"}});
    ASSERT_TRUE(store.save_container(*container));
    process().devices.clear();
    const hook::Regranted done = regrant();
    EXPECT_TRUE(done.trouble.empty());
    EXPECT_EQ(process().devices, devices);
}

TEST_F(LiveTest, RegrantLeavesTheDeadAlone) {
    start();
    process().zombie = true;
    const hook::Regranted done = regrant();
    EXPECT_TRUE(done.containers.empty());
    EXPECT_TRUE(done.trouble.empty());
}

TEST_F(LiveTest, RegrantGoesOnWhereOneCannotBeLookedAt) {
    start();
    Life two{fake_, state_, "two"};
    two.plain = true;
    two.network = "/run/netns/two";
    two.init = 5002;
    two.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.2/24"}};
    fake_.world.engine_paths[two.network] = fake_.world.add_netns();
    ASSERT_TRUE(two.start());
    const auto granted = [&](pid_t init) { return fake_.world.processes.at(init).devices.size(); };
    for (const auto& [hidden, other] : {std::pair{life_.init, two.init}, {two.init, life_.init}}) {
        fake_.world.processes.at(life_.init).devices.clear();
        fake_.world.processes.at(two.init).devices.clear();
        fake_.processes.unreadable = {hidden};
        const hook::Regranted done = regrant();
        EXPECT_EQ(done.trouble.size(), 1U);
        EXPECT_EQ(granted(hidden), 0U);
        EXPECT_EQ(granted(other), 2U);
    }
}

// A CDI device that is a pool brings the pool's annotations.
class PoolDeviceTest : public LiveTest {
  protected:
    PoolDeviceTest() {
        state_.add_pool("fast", "softroce");
        state_.add_pool("slow", "softroce");
        state_.config().pools[1].defaults = {{"mtu", "1400"}};
        life_.annotations = {{"rdma.ip", "10.9.0.1/24"}};
        life_.asked = {{"rdma.mode", "softroce"}, {"rdma.pool", "fast"}};
    }
};

TEST_F(PoolDeviceTest, IsAttachedAndGivenBack) {
    start();
    EXPECT_EQ(process().devices.size(), 2U);
    EXPECT_TRUE(life_.create_runtime()) << "the same asked twice";
    process().zombie = true;
    EXPECT_TRUE(end());
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

TEST_F(PoolDeviceTest, AnAnnotationMayNotContradictIt) {
    life_.annotations["rdma.pool"] = "slow";
    const base::Error error = refusal();
    EXPECT_EQ(error.code, Code::Refused);
    EXPECT_NE(error.message().find("rdma.pool='slow'"), std::string::npos) << error.message();
    life_.annotations["rdma.pool"] = "fast";
    start();
}

TEST_F(PoolDeviceTest, ASecondPoolIsRefused) {
    start();
    const World once = fake_.world;
    life_.asked["rdma.pool"] = "slow";
    const Error second = error_of(life_.create_runtime());
    EXPECT_EQ(second.code, Code::Refused);
    EXPECT_EQ(fake_.world, once) << difference(once, fake_.world);
}

TEST_F(PoolDeviceTest, IsRefusedBesideAnAttachThatWasPrepared) {
    life_.plain = false;
    life_.asked = {};
    life_.annotations["rdma.mode"] = "softroce";
    ASSERT_TRUE(life_.start());
    life_.annotations = {{hook::kMarker, life_.spec()["annotations"][hook::kMarker]},
                         {"rdma.ip", "10.9.0.1/24"}};
    life_.asked = {{"rdma.pool", "fast"}};
    life_.plain = true;
    EXPECT_FALSE(life_.start());
}

}  // namespace
}  // namespace test
