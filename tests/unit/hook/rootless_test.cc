// SPDX-License-Identifier: Apache-2.0
// Containers of a user's engine (rootless Podman): mode host, without anything that is root's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/container/in_config.h"
#include "hook/rdmactl/command.h"
#include "hook/steps/ovs_marks.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using base::Code;
using oci::Json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Keys = std::map<std::string, std::string>;

constexpr uint64_t kHardLimit = uint64_t{8} << 20U;

// Adapters mlx5_0 and mlx5_1, on enp1s0 and enp2s0.
World world_of_user() {
    World world = World::standard(KernelTraits::v7_3());
    world.add_sriov("enp1s0", "0000:01:00.0", 0, Nic::Mlx5);
    world.add_sriov("enp2s0", "0000:02:00.0", 0, Nic::Mlx5);
    world.processes.at(World::kEngine).memlock = {.soft = kHardLimit / 2, .hard = kHardLimit};
    return world;
}

Keys one_of_hosts(const std::string& device, const Keys& more = {}) {
    Keys all{{"rdma.mode", "host"}, {"rdma.device", device}};
    all.insert(more.begin(), more.end());
    return all;
}

class Rootless : public Containers {
  protected:
    Rootless() : Containers(world_of_user()) { state_.config().rootless = true; }

    // A container of the host's network, as rootless Podman writes its config.json: there are no
    // device rules, and /sys is the host's.
    Life beside(const std::string& id, Keys annotations) {
        Life life = container(id, std::move(annotations));
        life.network = Life::kHostsNetwork;
        life.denies_devices = false;
        life.mounts = Json::array({json_of(
            R"({"destination":"/sys","type":"bind","source":"/sys","options":["rbind","ro"]})")});
        return life;
    }

    // crun tells its hooks the bundle "/".
    Life with_user_namespace(const std::string& id) {
        Life life = beside(id, one_of_hosts("mlx5_0"));
        life.user_namespace = true;
        life.told = "/";
        return life;
    }

    static std::vector<std::string> places(const Life& life) {
        std::vector<std::string> all;
        for (const Json& mount : life.spec()["mounts"])
            all.push_back(mount["destination"]);
        return all;
    }

    Json attach_json(const Life& life) {
        const std::string path =
            state_.path() + "/attach/" + hook::container_key(life.bundle()) + ".json";
        return base::parse_json(base::RealFiles{}.read(path, 1U << 20U).value(), path).value();
    }
};

TEST_F(Rootless, TheHostsDeviceIsGivenAsByRoot) {
    Life one = beside("one", one_of_hosts("mlx5_1"));
    const World before = fake_.world;
    ASSERT_TRUE(one.precreate());
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
    ASSERT_TRUE(one.create_runtime());
    EXPECT_EQ(one.nodes().size(), 2U) << "verbs and rdma_cm";
    EXPECT_EQ(one.environment("RDMA_DEVICE"), "mlx5_1");
    EXPECT_EQ(one.environment("NCCL_IB_HCA"), "=mlx5_1");
    EXPECT_THAT(places(one),
                ElementsAre("/sys",
                            "/sys/class/infiniband",
                            "/sys/class/infiniband_verbs",
                            hook::kAttachFileInContainer));
    EXPECT_EQ(attach_json(one)["isolation"], "device nodes") << "it has no others, and makes none";
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
}

TEST_F(Rootless, InANetworkOfItsOwnToo) {
    Life one = container("one", one_of_hosts("all"));
    ASSERT_TRUE(one.start());
    EXPECT_EQ(one.nodes().size(), 2U) << "two of verbs; rdma_cm would look in the wrong network";
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
}

TEST_F(Rootless, TwoContainersShareADevice) {
    Life one = beside("one", one_of_hosts("mlx5_0"));
    Life two = beside("two", one_of_hosts("enp1s0"));
    ASSERT_TRUE(one.start());
    ASSERT_TRUE(two.start());
    EXPECT_EQ(two.environment("RDMA_DEVICE"), "mlx5_0");
    EXPECT_TRUE(one.poststop());
    EXPECT_THAT(state_.leftovers(), testing::Not(IsEmpty()));
    EXPECT_TRUE(two.poststop());
    expect_nothing_kept();
}

TEST_F(Rootless, EveryOtherModeIsRefusedWithWhatThereIsInstead) {
    const Keys rows[] = {
        {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}},
        {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}},
        {{"rdma.mode", "softiwarp"}, {"rdma.ip", "10.9.0.1/24"}},
        {{"rdma.mode", "shared"}, {"rdma.parent", "enp1s0"}, {"rdma.ip", "10.9.0.1/24"}},
        {{"rdma.mode", "vf"}, {"rdma.device", "enp1s0"}},
        {{"rdma.mode", "asap2"}, {"rdma.device", "enp1s0"}, {"rdma.bridge", "br0"}},
        one_of_hosts("mlx5_0", {{"rdma.1.mode", "softroce"}, {"rdma.1.ip", "10.9.0.1/24"}})};
    for (const Keys& annotations : rows) {
        Life one = container("c" + std::to_string(made_), annotations);
        const base::Error error = refusal(one);
        EXPECT_EQ(error.code, Code::Refused);
        EXPECT_THAT(error.message(),
                    AllOf(HasSubstr("a rootless engine"),
                          HasSubstr("set rdma.mode=host"),
                          HasSubstr("rdma-hook.org/hca=NAME")));
        EXPECT_THAT(state_.leftovers(), IsEmpty());
    }
}

// Its steps would change the container's cgroup.
TEST_F(Rootless, PlainHooksAreRefused) {
    Life one = beside("one", one_of_hosts("mlx5_0"));
    one.plain = true;
    const auto done = one.start();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::Refused);
    EXPECT_THAT(done.error().message(), HasSubstr("before its start"));
    EXPECT_THAT(fake_.world.processes.at(one.init).devices, IsEmpty());
    EXPECT_THAT(state_.leftovers(), IsEmpty());
}

TEST_F(Rootless, LimitsAreRefused) {
    Life one = beside("one", one_of_hosts("mlx5_0", {{"rdma.max_hca_objects", "100"}}));
    const base::Error error = refusal(one);
    EXPECT_EQ(error.code, Code::Refused);
    EXPECT_THAT(error.message(), HasSubstr("rdma.max_hca_* limits need an engine of root"));
}

// crun cannot raise the user's hard limit, and would fail.
TEST_F(Rootless, LockedMemoryIsTheUsersHardLimit) {
    Life one = beside("one", one_of_hosts("mlx5_0"));
    ASSERT_TRUE(one.start());
    EXPECT_EQ(one.spec()["process"]["rlimits"][0]["hard"], kHardLimit);
    EXPECT_EQ(one.spec()["process"]["rlimits"][0]["soft"], kHardLimit);
    EXPECT_THAT(one.notes(), ElementsAre(AllOf(HasSubstr("8388608 bytes"), HasSubstr("limits.d"))));
    EXPECT_TRUE(one.poststop());

    Life less = beside("less", one_of_hosts("mlx5_0", {{"rdma.memlock", "4096"}}));
    ASSERT_TRUE(less.start());
    EXPECT_EQ(less.spec()["process"]["rlimits"][0]["hard"], 4096);
    EXPECT_THAT(less.notes(), IsEmpty());
    EXPECT_TRUE(less.poststop());

    Life more = beside("more", one_of_hosts("mlx5_0", {{"rdma.memlock", "unlimited"}}));
    const base::Error error = refusal(more);
    EXPECT_EQ(error.code, Code::Refused);
    EXPECT_THAT(error.message(), HasSubstr("rdma.memlock is more than your hard limit"));
    expect_nothing_kept();

    fake_.world.processes.at(World::kEngine).memlock.hard = ~uint64_t{0};
    Life all = beside("all", one_of_hosts("mlx5_0"));
    ASSERT_TRUE(all.start());
    EXPECT_EQ(all.spec()["process"]["rlimits"][0]["hard"], ~uint64_t{0});
    EXPECT_THAT(all.notes(), IsEmpty());
    EXPECT_TRUE(all.poststop());
    expect_nothing_kept();
}

// podman run --userns keep-id
TEST_F(Rootless, AUserNamespaceOfItsOwnIsNoHindrance) {
    for (const char* told : {"", "/"}) {
        Life one = with_user_namespace("one");
        one.told = told;
        ASSERT_TRUE(one.start());
        EXPECT_EQ(one.nodes().size(), 2U);
        EXPECT_EQ(attach_json(one)["isolation"], "device nodes");
        EXPECT_TRUE(one.poststop());
        expect_nothing_kept();
    }
}

TEST_F(Rootless, GcSeesTheEndOfOneWithAUserNamespace) {
    Life one = with_user_namespace("one");
    ASSERT_TRUE(one.start());
    EXPECT_THAT(collect(fake_, state_).containers, IsEmpty());
    fake_.world.processes.erase(one.init);
    EXPECT_THAT(collect(fake_, state_).containers, ElementsAre(hook::container_key(one.bundle())));
    expect_nothing_kept();
}

// Podman's hook and the plain hooks are both installed.
TEST_F(Rootless, APlainHookThatIsNotToldTheBundleLeavesItToPrecreate) {
    Life one = with_user_namespace("one");
    ASSERT_TRUE(one.start());
    const auto before = state_.leftovers();
    one.plain = true;
    EXPECT_TRUE(one.create_runtime());
    EXPECT_EQ(state_.leftovers(), before);
    one.asked = {{"rdma.pool", "fast"}};
    const base::Error beside_it = error_of(one.create_runtime());
    EXPECT_THAT(beside_it.message(), HasSubstr("by annotation already"));
    EXPECT_EQ(state_.leftovers(), before);
}

TEST_F(Rootless, APlainHookThatIsNotToldTheBundleRefusesWhatWasNotPrepared) {
    Life one = with_user_namespace("one");
    ASSERT_TRUE(one.start());
    const auto before = state_.leftovers();
    for (const bool copied : {false, true}) {
        Life two = with_user_namespace("two");
        if (copied)
            two.annotations[hook::kMarker] = one.spec()["annotations"][hook::kMarker];
        two.plain = true;
        const base::Error error = error_of(two.start());
        EXPECT_EQ(error.code, Code::Refused);
        EXPECT_THAT(error.message(),
                    AllOf(HasSubstr("where config.json is"), HasSubstr("use runc")));
        EXPECT_EQ(state_.leftovers(), before);
    }
    Life three = with_user_namespace("three");
    three.annotations = {};
    three.plain = true;
    EXPECT_TRUE(three.start()) << "it asks for nothing";
}

TEST_F(Rootless, RootsContainersHaveNoUserNamespace) {
    state_.config().rootless = false;
    Life of_root = beside("of_root", one_of_hosts("mlx5_0"));
    of_root.user_namespace = true;
    EXPECT_THAT(refusal(of_root).message(), HasSubstr("leave out --userns"));
    expect_nothing_kept();
}

TEST_F(Rootless, IsolationIsNoneWithNodesByTheUsersOwnHand) {
    for (const char* source : {"/dev/infiniband", "/dev", "/dev/infiniband/uverbs0"}) {
        Life one = beside(source, one_of_hosts("mlx5_0"));
        one.mounts.push_back(Json{{"destination", "/x"}, {"type", "bind"}, {"source", source}});
        ASSERT_TRUE(one.start()) << source;
        EXPECT_EQ(attach_json(one)["isolation"], "none") << source;
        EXPECT_TRUE(one.poststop());
    }
    expect_nothing_kept();
}

TEST_F(Rootless, RootsPolicyHolds) {
    state_.config().policy.emplace().modes = {"softroce"};
    Life one = beside("one", one_of_hosts("mlx5_0"));
    EXPECT_THAT(refusal(one).message(), HasSubstr("policy.modes does not allow rdma.mode='host'"));
}

// The journals of root's containers are not in the user's folder.
TEST_F(Rootless, ItsGcLeavesThePortsOfRootsContainers) {
    fake_.world.ovs.installed = true;
    fake_.world.ovs.bridges["br0"] = {};
    netns::OvsPort port;
    port.name = "rep0";
    port.bridge = "br0";
    port.marks = hook::attachment_marks("4-1-0123456789ab");
    fake_.world.ovs.ports["rep0"] = port;
    EXPECT_THAT(collect(fake_, state_).trouble, IsEmpty());
    EXPECT_EQ(fake_.world.ovs.ports.count("rep0"), 1U);
    state_.config().rootless = false;
    (void)collect(fake_, state_);
    EXPECT_EQ(fake_.world.ovs.ports.count("rep0"), 0U) << "root's does remove it";
}

// The claim is in root's folder. The pool is in the configuration, and the netdev is not here.
TEST_F(Rootless, AnAdapterThatRootsPoolHasLentIsNotGiven) {
    const std::string function = "0000:03:00.0";
    fake_.world.add_sriov("enp3s0", function, 0, Nic::VfWithoutPf);
    StateDir roots;
    for (StateDir* each : {&roots, &state_}) {
        each->add_pool("lent", "vf");
        each->config().pools.back().functions = {{function, "", ""}};
    }
    Life before = beside("before", one_of_hosts("mlx5_2"));
    ASSERT_TRUE(before.start()) << "it is the host's";
    EXPECT_TRUE(before.poststop());

    Life lent{fake_, roots, "lent"};
    lent.init = 7000;
    lent.annotations = {{"rdma.mode", "vf"}, {"rdma.pool", "lent"}, {"rdma.ip", "10.9.0.1/24"}};
    fake_.world.set_up(fake_.world.host, fake_.world.netdev_of(function)->second, false);
    ASSERT_TRUE(lent.start());
    ASSERT_EQ(lent.environment("RDMA_DEVICE"), "mlx5_2");
    Life named = beside("named", one_of_hosts("mlx5_2"));
    EXPECT_THAT(refusal(named).message(), HasSubstr("'mlx5_2' is a container's"));
    Life all = container("all", one_of_hosts("all"));
    ASSERT_TRUE(all.start());
    EXPECT_EQ(all.nodes().size(), 2U);
    EXPECT_EQ(all.environment("RDMA_DEVICE_2"), "");
    EXPECT_TRUE(all.poststop());

    ASSERT_TRUE(lent.poststop());
    fake_.settle();
    fake_.world.set_up(fake_.world.host, fake_.world.netdev_of(function)->second, true);
    Life after = beside("after", one_of_hosts("mlx5_2"));
    EXPECT_TRUE(after.start());
    EXPECT_TRUE(after.poststop());
    expect_nothing_kept();
}

// A user may not even open the folder.
TEST_F(Rootless, ItsGcLeavesRecordsOfRuntimesToRoot) {
    netns::Host host = fake_.host();
    hook::ctl::Options options;
    options.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
    options.runtimes = "/dev/null";
    for (const bool dry_run : {false, true}) {
        options.dry_run = dry_run;
        state_.config().rootless = true;
        EXPECT_FALSE(hook::ctl::collect(options, host)->trouble);
        state_.config().rootless = false;
        EXPECT_TRUE(hook::ctl::collect(options, host)->trouble) << "root's does open it";
    }
}

TEST_F(Rootless, TheUsersFolderMayNotBeThere) {
    state_.config().state_dir = "/proc/run-user/rdma-hook";
    Life one = beside("one", one_of_hosts("mlx5_0"));
    EXPECT_THAT(refusal(one).message(), HasSubstr("loginctl enable-linger"));
}

}  // namespace
}  // namespace test
