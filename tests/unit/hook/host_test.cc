// SPDX-License-Identifier: Apache-2.0
// Mode host: devices of the host as they are, in the host's network and in others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/container/into_running.h"
#include "hook/rdmactl/command.h"
#include "tests/fakes/adapters.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using base::Code;
using base::Json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

using Annotations = std::map<std::string, std::string>;

// Adapters mlx5_0 (enp1s0, 10.1.0.1) and mlx5_1 (enp2s0), and eth0 without RDMA.
World two_hcas() {
    World world = World::standard(KernelTraits::v7_3());
    world.add_sriov("enp1s0", "0000:01:00.0", 0, Nic::Mlx5);
    world.add_sriov("enp2s0", "0000:02:00.0", 0, Nic::Mlx5);
    const auto first = world.netdev_of("0000:01:00.0");
    const auto address = *netns::parse_cidr("10.1.0.1/24");
    world.find_link(first->first, first->second)->addresses.push_back(address);
    world.add_gid(first->first, first->second, netns::gid_of(address));
    return world;
}

Annotations host_mode(const std::string& device, const Annotations& more = {}) {
    Annotations all{{"rdma.mode", "host"}, {"rdma.device", device}};
    all.insert(more.begin(), more.end());
    return all;
}

class HostMode : public Containers {
  protected:
    explicit HostMode(World world = two_hcas()) : Containers(std::move(world)) {
        options_.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
    }

    // A container of the host's network.
    Life beside(const std::string& id, Annotations annotations) {
        Life life = container(id, std::move(annotations));
        life.network = Life::kHostsNetwork;
        return life;
    }

    void expect_start(Life& life) {
        const auto started = life.start();
        ASSERT_TRUE(started) << started.error().message();
    }

    FakeRdma& device(const std::string& name) {
        for (auto& [index, each] : fake_.world.rdma) {
            if (each.device.name == name)
                return each;
        }
        throw std::runtime_error("no device " + name);
    }

    // attach.json.
    Json granted(const Life& life) {
        const std::string path =
            state_.path() + "/attach/" + hook::container_key(life.bundle()) + ".json";
        return base::parse_json(base::RealFiles{}.read(path, 1U << 20U).value(), path).value();
    }

    static std::vector<std::string> views(const Life& life) {
        std::vector<std::string> places;
        for (const Json& mount : life.spec()["mounts"]) {
            const auto place = mount["destination"].get<std::string>();
            if (place.starts_with("/sys/class/"))
                places.push_back(place);
        }
        return places;
    }

    size_t journals() {
        size_t count = 0;
        for (const std::string& path : state_.leftovers())
            count += path.starts_with("journals/") ? 1 : 0;
        return count;
    }

    hook::ctl::Options options_;
};

TEST_F(HostMode, ExactlyTheDeviceThatWasAskedForIsGiven) {
    Life one = container("one", host_mode("mlx5_1"));
    const World before = fake_.world;
    ASSERT_TRUE(one.precreate());
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
    ASSERT_TRUE(one.create_runtime());
    const netns::CharDevice node = device("mlx5_1").uverbs;
    EXPECT_THAT(one.nodes(), ElementsAre(node.path()));
    std::vector<std::pair<uint32_t, uint32_t>> allowed;
    for (const Json& rule : one.spec()["linux"]["resources"]["devices"]) {
        if (rule["allow"].get<bool>())
            allowed.emplace_back(rule["major"], rule["minor"]);
    }
    EXPECT_THAT(allowed, ElementsAre(std::pair{node.major, node.minor}));
    EXPECT_EQ(one.environment("RDMA_DEVICE"), "mlx5_1");
    EXPECT_EQ(one.environment("RDMA_NETDEV"), "enp2s0");
    EXPECT_EQ(one.environment("NCCL_IB_HCA"), "=mlx5_1");
    EXPECT_EQ(one.environment("UCX_NET_DEVICES"), "mlx5_1:1");
    EXPECT_EQ(one.spec()["process"]["rlimits"][0]["hard"], ~uint64_t{0});
    EXPECT_THAT(views(one), ElementsAre("/sys/class/infiniband", "/sys/class/infiniband_verbs"));
    const Json attachment = granted(one)["attachments"][0];
    EXPECT_EQ(attachment["mode"], "host");
    EXPECT_EQ(attachment["placement"], "host");
    EXPECT_EQ(attachment["rdma_cm"], false) << "it would look in the container's network";
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
}

TEST_F(HostMode, InTheHostsNetworkRdmaCmWorksToo) {
    Life one = beside("one", host_mode("mlx5_0"));
    expect_start(one);
    EXPECT_THAT(one.nodes(),
                ElementsAre(device("mlx5_0").uverbs.path(), "/dev/infiniband/rdma_cm"));
    EXPECT_EQ(one.environment("RDMA_GID"), "0000:0000:0000:0000:0000:ffff:0a01:0001");
    EXPECT_EQ(one.environment("RDMA_GID_INDEX"),
              std::to_string(granted(one)["attachments"][0]["gid_index"].get<int>()));
    EXPECT_EQ(granted(one)["attachments"][0]["addresses"][0], "10.1.0.1/24");
    EXPECT_TRUE(one.notes().empty());
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
}

TEST_F(HostMode, ADeviceHasSeveralNames) {
    for (const char* name : {"mlx5_1", "enp2s0", "0000:02:00.0"}) {
        Life one = container(name, host_mode(name));
        expect_start(one);
        EXPECT_EQ(one.environment("RDMA_DEVICE"), "mlx5_1") << name;
        EXPECT_TRUE(one.poststop());
    }
    expect_nothing_kept();
}

TEST_F(HostMode, SeveralAreAttachmentsInTheOrderInWhichTheyAreNamed) {
    Life one = container("one", host_mode("mlx5_1,enp1s0", {{"rdma.max_hca_objects", "100"}}));
    expect_start(one);
    EXPECT_EQ(one.environment("RDMA_DEVICE"), "mlx5_1");
    EXPECT_EQ(one.environment("RDMA_DEVICE_1"), "mlx5_0");
    EXPECT_EQ(one.environment("RDMA_NETDEV_1"), "enp1s0");
    EXPECT_EQ(one.environment("NCCL_IB_HCA"), "=mlx5_1,mlx5_0");
    EXPECT_EQ(one.environment("UCX_NET_DEVICES"), "mlx5_1:1,mlx5_0:1");
    EXPECT_EQ(fake_.world.processes.at(one.init).rdma_max.size(), 2U);
    EXPECT_EQ(journals(), 2U);
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
}

TEST_F(HostMode, AllLeavesOutWhatIsNotTheHostsOwn) {
    fake_.world.add_sriov("enp3s0", "0000:03:00.0", 2, Nic::Mlx5);
    fake_.world.add_rdma(fake_.world.host, World::kHostLink, "rxe0", "rxe");
    Life vf = container("vf", {{"rdma.mode", "vf"}, {"rdma.device", "enp3s0#0"}});
    expect_start(vf);
    Life rxe = container("rxe", {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}});
    expect_start(rxe);
    Life one = container("one", host_mode("all"));
    expect_start(one);
    EXPECT_EQ(one.environment("NCCL_IB_HCA"), "=mlx5_0,mlx5_1,mlx5_2,rxe0");
    for (Life* each : {&one, &vf, &rxe})
        EXPECT_TRUE(each->poststop());
    expect_nothing_kept();
}

TEST_F(HostMode, WhatIsNotTheHostsOwnIsRefusedWithTheReason) {
    fake_.world.add_sriov("enp3s0", "0000:03:00.0", 2, Nic::Mlx5);
    Life vf = container("vf", {{"rdma.mode", "vf"}, {"rdma.device", "enp3s0#0"}});
    expect_start(vf);
    Life rxe = container("rxe", {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}});
    expect_start(rxe);
    Life own = container("own", {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}});
    expect_start(own);

    const struct {
        std::string device;
        const char* says;
    } rows[] = {
        {"mlx5_4", "is a VF of 0000:03:00.0; name its PF"},
        {vf.environment("RDMA_DEVICE"), "is a container's; name another"},
        {rxe.environment("RDMA_DEVICE"), "goes with the containers for which rdma-hook made it"},
        {own.environment("RDMA_DEVICE"), "is another network's"},
        {"mlx5_7",
         "that is called 'mlx5_7'; name one or more of these in rdma.device: mlx5_0, mlx5_1"},
        {"0000:09:00.0", "that is called '0000:09:00.0'"}};

    for (const auto& [name, says] : rows) {
        Life one = container("c" + std::to_string(made_), host_mode(name));
        EXPECT_THAT(refusal(one).message(), HasSubstr(says)) << name;
    }
}

TEST_F(HostMode, NearMisses) {
    const struct {
        Annotations annotations;
        const char* says;
    } rows[] = {
        {host_mode("mlx5_0,enp1s0"), "rdma.device='mlx5_0,enp1s0' names mlx5_0 twice"},
        {host_mode("mlx5_0,mlx5_0"), "'mlx5_0' is there twice"},
        {host_mode("mlx5_0,all"), "'all' leaves no other to name"},
        {host_mode("mlx5_0,"), "rdma.device='mlx5_0,' is not acceptable"},
        {host_mode("enp1s0#0"),
         "rdma.device='enp1s0#0' is not acceptable: mode host gives whole devices; "
         "set rdma.device to 'all', or up to 16 devices"},
        {host_mode("eth0"), "the host has no RDMA device"},
        {{{"rdma.mode", "host"}},
         "needs a device, and there is no pool; set rdma.device to devices"},
        {host_mode("mlx5_0", {{"rdma.ip", "10.9.0.1/24"}}),
         "rdma.mode=host does not take rdma.ip='10.9.0.1/24'; remove it; host takes mode, pool, "
         "device"},
        {host_mode("all", {{"rdma.1.mode", "softroce"}}),
         "rdma.device='all' is 2 devices, and each has an index from 0 on: rdma.1.* is there, too; "
         "give rdma.1.* an index from 2 on"},
        {{{"rdma.15.mode", "host"}, {"rdma.15.device", "mlx5_0,mlx5_1"}},
         "rdma.15.device='mlx5_0,mlx5_1' is 2 devices, and each has an index from 15 on: the last "
         "is 15"},
        {host_mode("mlx5_0", {{"rdma.1.mode", "host"}, {"rdma.1.device", "enp1s0"}}),
         "attachments 0 and 1 both ask for mlx5_0"},
        {host_mode("mlx5_0", {{"rdma.1.mode", "host"}, {"rdma.1.device", "mlx5_0"}}),
         "attachments 0 and 1 both ask for mlx5_0"},
    };

    for (const auto& [annotations, says] : rows) {
        Life one = container("c" + std::to_string(made_), annotations);
        EXPECT_THAT(refusal(one).message(), HasSubstr(says));
        EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
    }
}

TEST_F(HostMode, TwoAttachmentsMayBeTwoDevices) {
    Life one = container(
        "one", host_mode("mlx5_0", {{"rdma.1.mode", "host"}, {"rdma.1.device", "mlx5_1"}}));
    expect_start(one);
    EXPECT_EQ(one.environment("NCCL_IB_HCA"), "=mlx5_0,mlx5_1");
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
}

TEST_F(HostMode, AnOptionalOneStartsWithoutADeviceThatIsNotThere) {
    Life one = container("one", host_mode("mlx5_9", {{"rdma.optional", "true"}}));
    expect_start(one);
    EXPECT_THAT(one.environment("RDMA_ERROR"), HasSubstr("mlx5_9"));
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
}

// The kernel opens a device in its own namespace alone.
TEST_F(HostMode, InModeExclusiveItIsForTheHostsNetwork) {
    fake_.world.mode = netns::RdmaNetnsMode::Exclusive;
    Life apart = container("apart", host_mode("mlx5_0"));
    const base::Error error = refusal(apart);
    EXPECT_EQ(error.code, Code::Unsupported);
    EXPECT_THAT(error.message(), HasSubstr("start the container with --network host"));
    Life one = beside("one", host_mode("mlx5_0"));
    expect_start(one);
    EXPECT_EQ(views(one).size(), 2U) << "that network's sysfs shows all of the host's";
    Life joins = container("joins", host_mode("mlx5_0"));
    EXPECT_EQ(refusal(joins).code, Code::Unsupported) << "the host's device is there, for others";
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
}

TEST_F(HostMode, AnotherModeBesideItIsRefusedInTheHostsNetwork) {
    Life one = beside(
        "one", host_mode("mlx5_0", {{"rdma.1.mode", "softroce"}, {"rdma.1.ip", "10.9.0.1/24"}}));
    EXPECT_THAT(refusal(one).message(), HasSubstr("cannot be combined with --network host"));
    Life two = container("two", one.annotations);
    expect_start(two);
    EXPECT_EQ(two.environment("RDMA_DEVICE"), "mlx5_0");
    EXPECT_EQ(two.environment("RDMA_NETDEV_1"), "rdma1");
    EXPECT_TRUE(two.poststop());
    expect_nothing_kept();
}

// ---- policy
TEST_F(HostMode, APolicyDeniesWhatItDoesNotList) {
    const auto asks = [&](const std::string& device) {
        Life one = container("one", host_mode(device));
        const auto done = one.precreate();
        if (done) {
            EXPECT_TRUE(one.create_runtime() && one.poststop());
            return std::string();
        }
        EXPECT_EQ(done.error().code, Code::Refused);
        return done.error().message();
    };
    auto& policy = state_.config().policy.emplace();
    policy.modes = {"softroce"};
    EXPECT_THAT(asks("mlx5_0"), HasSubstr("policy.modes does not allow rdma.mode='host'"));
    policy.modes = {"host"};
    EXPECT_THAT(asks("mlx5_0"), HasSubstr("policy.devices does not allow rdma.device='mlx5_0'"));
    policy.devices = {*hook::parse_device_spec("mlx5_0")};
    EXPECT_EQ(asks("mlx5_0"), "");
    EXPECT_THAT(asks("mlx5_0,mlx5_1"), HasSubstr("does not allow rdma.device='mlx5_1'"));
    EXPECT_THAT(asks("all"), HasSubstr("does not allow rdma.device='all'"));
    policy.devices = {*hook::parse_device_spec("all")};
    EXPECT_EQ(asks("mlx5_1"), "");
    EXPECT_EQ(asks("all"), "");
    policy.attachments = 1;
    EXPECT_EQ(asks("mlx5_1"), "");
    EXPECT_THAT(asks("mlx5_0,mlx5_1"),
                HasSubstr("policy.attachments does not allow 2 attachments"));
    EXPECT_THAT(asks("all"), HasSubstr("policy.attachments does not allow 16 attachments"));
}

// Whoever has these nodes may manage the fabric.
TEST_F(HostMode, UmadIsGivenByPolicyAlone) {
    device("mlx5_0").mad_nodes = {{"issm0", 231, 64}, {"umad0", 231, 0}};
    device("mlx5_1").mad_nodes = {{"umad1", 231, 1}};
    const Annotations asks = host_mode("mlx5_0", {{"rdma.umad", "on"}});
    Life without = container("without", asks);
    EXPECT_THAT(refusal(without).message(),
                HasSubstr("the default policy does not allow rdma.umad='on'; remove it, or let a "
                          "pool have it: \"policy\": {\"umad\": true} in the pool"));
    auto& policy = state_.config().policy.emplace();
    policy.modes = {"host"};
    policy.devices = {*hook::parse_device_spec("all")};
    Life denied = container("denied", asks);
    EXPECT_THAT(refusal(denied).message(), HasSubstr("policy.umad does not allow rdma.umad='on'"));
    policy.umad = true;

    Life one = beside("one", asks);
    expect_start(one);
    EXPECT_THAT(one.nodes(),
                ElementsAre(device("mlx5_0").uverbs.path(),
                            "/dev/infiniband/issm0",
                            "/dev/infiniband/umad0",
                            "/dev/infiniband/rdma_cm"));
    EXPECT_THAT(granted(one)["attachments"][0]["nodes"],
                ElementsAre(device("mlx5_0").uverbs.path(),
                            "/dev/infiniband/issm0",
                            "/dev/infiniband/umad0",
                            "/dev/infiniband/rdma_cm"));
    for (const char* number : {"231:0:", "231:64:"})
        EXPECT_THAT(state_.leftovers(),
                    Contains(AllOf(StartsWith(std::string("nodes/") + number),
                                   EndsWith("-" + hook::container_key(one.bundle())))));

    Life two = container("two", host_mode("mlx5_0,mlx5_1", {{"rdma.umad", "off"}}));
    expect_start(two);
    const auto gone = [&] {
        netns::Host host = fake_.host();
        hook::ctl::Options options = options_for(state_, "");
        const auto answer = hook::ctl::list(options, host);
        oci::Json all = oci::Json::array();
        for (const oci::Json& each : answer.value().json["containers"]) {
            if (each["id"] == one.id())
                all = each["stale"];
        }
        return all;
    };
    EXPECT_EQ(gone(), oci::Json::array());
    device("mlx5_0").device.node_guid += 1;
    EXPECT_EQ(gone(), oci::Json::array({"mlx5_0"})) << "once, and not for each node";
    device("mlx5_0").device.node_guid -= 1;
    EXPECT_THAT(two.nodes(),
                ElementsAre(device("mlx5_0").uverbs.path(), device("mlx5_1").uverbs.path()))
        << "policy alone gives nothing, and a device that is shared is not its nodes";
    for (Life* each : {&one, &two})
        EXPECT_TRUE(each->poststop());
    expect_nothing_kept();
}

TEST_F(HostMode, UmadOfADeviceThatHasNone) {
    auto& policy = state_.config().policy.emplace();
    policy.modes = {"host", "vf"};
    policy.devices = {*hook::parse_device_spec("all")};
    policy.umad = true;
    Life one = container("one", host_mode("mlx5_0", {{"rdma.umad", "on"}}));
    const base::Error error = refusal(one);
    EXPECT_EQ(error.code, Code::Unavailable);
    EXPECT_THAT(error.message(), HasSubstr("'mlx5_0' has no umad node; run: modprobe ib_umad"));
    Life vf =
        container("vf", {{"rdma.mode", "vf"}, {"rdma.device", "enp1s0"}, {"rdma.umad", "on"}});
    EXPECT_THAT(refusal(vf).message(), HasSubstr("rdma.mode=vf does not take rdma.umad='on'"));
}

TEST_F(HostMode, APodNeedsAPolicy) {
    Life one =
        container("one", host_mode("mlx5_0", {{"io.kubernetes.cri.container-type", "container"}}));
    EXPECT_THAT(refusal(one).message(), HasSubstr("a pod's rdma.* annotations are its author's"));
    auto& policy = state_.config().policy.emplace();
    policy.modes = {"host"};
    policy.devices = {*hook::parse_device_spec("mlx5_0")};
    expect_start(one);
    EXPECT_TRUE(one.poststop());
}

TEST_F(HostMode, APoolGivesAllItsDevices) {
    state_.add_pool("adapters", "host");
    state_.config().pools[0].devices = {*hook::parse_device_spec("enp2s0"),
                                        *hook::parse_device_spec("mlx5_0")};
    Life one = container("one", {{"rdma.mode", "host"}, {"rdma.pool", "adapters"}});
    expect_start(one);
    EXPECT_EQ(one.environment("NCCL_IB_HCA"), "=mlx5_1,mlx5_0");
    EXPECT_TRUE(one.poststop());
    Life two = container("two", host_mode("enp1s0", {{"rdma.pool", "adapters"}}));
    EXPECT_THAT(refusal(two).message(),
                HasSubstr("rdma.device='enp1s0' is not a device of pool adapters; choose one of "
                          "enp2s0, mlx5_0"));
}

TEST(HostPool, HasWholeDevicesAndNothingOfANetwork) {
    const auto said = [](const std::string& members) {
        const auto parsed =
            hook::parse_config(R"({"pools": {"a": {"mode": "host", )" + members + "}}}");
        return parsed ? std::string() : parsed.error().message();
    };
    EXPECT_EQ(said(R"("devices": ["mlx5_0", "0000:02:00.0"])"), "");
    EXPECT_EQ(said(R"("devices": ["all"], "default": true, "defaults": {"max_hca_objects": "9"})"),
              "");
    EXPECT_THAT(said(R"("devices": ["enp1s0#0"])"), HasSubstr("mode host gives whole devices"));
    for (const char* member : {R"("parents": ["eth0"])",
                               R"("range": "10.9.0.1-10.9.0.9/24")",
                               R"("exclude": ["mlx5_0"])",
                               R"("functions": ["0000:02:00.0"])",
                               R"("choose": "first")",
                               R"("bridge": "br0")",
                               R"("probe": true)"})
        EXPECT_THAT(said(member), HasSubstr("is not for a pool of mode host"));
}

// ---- sharing, and names that change hands
TEST_F(HostMode, ContainersShareTheDevicesJournal) {
    Life one = container("one", host_mode("mlx5_0"));
    Life two = beside("two", host_mode("all"));
    Life three = container("three", host_mode("enp1s0"));
    for (Life* each : {&one, &two, &three})
        expect_start(*each);
    EXPECT_EQ(journals(), 2U);
    EXPECT_EQ(granted(two)["attachments"][0]["rdma_cm"], true);
    EXPECT_EQ(granted(three)["attachments"][0]["rdma_cm"], false) << "each has its own network's";
    EXPECT_TRUE(one.poststop());
    EXPECT_TRUE(two.poststop());
    EXPECT_EQ(journals(), 1U);
    EXPECT_TRUE(three.poststop());
    expect_nothing_kept();
}

TEST_F(HostMode, ARenamedDeviceIsTheSame) {
    Life one = container("one", host_mode("mlx5_0"));
    expect_start(one);
    device("mlx5_1").device.name = "other";
    device("mlx5_0").device.name = "mlx5_1";
    device("other").device.name = "mlx5_0";
    EXPECT_EQ(collect(fake_, state_).trouble, std::vector<std::string>{});
    Life two = container("two", host_mode("mlx5_1"));
    expect_start(two);
    EXPECT_EQ(two.nodes(), one.nodes()) << "it is what the first one has";
    EXPECT_EQ(journals(), 1U);
    Life three = container("three", host_mode("mlx5_0"));
    expect_start(three);
    EXPECT_NE(three.nodes(), one.nodes());
    EXPECT_EQ(journals(), 2U);
    netns::Host host = fake_.host();
    options_.container = one.id();
    const auto stats = hook::ctl::stats(options_, host);
    ASSERT_TRUE(stats) << stats.error().message();
    EXPECT_EQ(stats->json["containers"][0]["attachments"][0]["device"], "mlx5_1");
    EXPECT_EQ(stats->json["containers"][0]["attachments"][0]["shared"], true);
    for (Life* each : {&one, &two, &three})
        EXPECT_TRUE(each->poststop());
    expect_nothing_kept();
}

TEST_F(HostMode, AnAdapterThatIsPulledOutIsNotGivenUnderItsName) {
    Life one = container("one", host_mode("mlx5_1"));
    one.plain = true;
    expect_start(one);
    const netns::CharDevice node = device("mlx5_1").uverbs;
    const std::string number = std::to_string(node.major) + ":" + std::to_string(node.minor);
    ASSERT_TRUE(fake_.world.processes.at(one.init).devices.contains(number));
    std::erase_if(fake_.world.rdma,
                  [](const auto& each) { return each.second.device.name == "mlx5_1"; });
    const uint32_t eth0 = World::kHostLink;
    fake_.world.add_rdma(fake_.world.host, eth0, "mlx5_1", "mlx5");
    ASSERT_EQ(device("mlx5_1").uverbs, node) << "the lowest free number";
    (void)collect(fake_, state_);
    netns::Host rooms = fake_.host();
    const hook::Store store{rooms.files, state_.path()};
    EXPECT_TRUE(hook::regrant({rooms, state_.config(), store}).containers.empty());
    EXPECT_FALSE(fake_.world.processes.at(one.init).devices.contains(number));
    Life two = container("two", host_mode("mlx5_1"));
    expect_start(two);
    EXPECT_EQ(two.environment("RDMA_NETDEV"), "eth0");
    EXPECT_EQ(journals(), 2U) << "it is another device";
    EXPECT_TRUE(one.poststop());
    EXPECT_TRUE(two.poststop());
    expect_nothing_kept();
}

// ---- devices without a netdev
class HostEfa : public HostMode {
  protected:
    HostEfa() : HostMode(world_with(Nic::Efa, KernelTraits::v7_2())) {}
};

TEST_F(HostEfa, HasNoInterface) {
    Life one = container("one", host_mode("efa_0"));
    expect_start(one);
    EXPECT_EQ(one.environment("RDMA_DEVICE"), "efa_0");
    EXPECT_EQ(one.environment("RDMA_NETDEV"), "");
    EXPECT_EQ(one.environment("RDMA_GID"), "");
    const Json attachment = granted(one)["attachments"][0];
    EXPECT_FALSE(attachment.contains("netdev")) << attachment;
    EXPECT_FALSE(attachment.contains("mac"));
    EXPECT_EQ(attachment["addresses"], Json::array());
    EXPECT_EQ(attachment["port_state"], "ACTIVE");
    netns::Host host = fake_.host();
    const auto listed = hook::ctl::list(options_, host);
    ASSERT_TRUE(listed) << listed.error().message();
    EXPECT_THAT(listed->text, HasSubstr("efa_0"));
    const auto stats = hook::ctl::stats(options_, host);
    ASSERT_TRUE(stats) << stats.error().message();
    EXPECT_FALSE(stats->trouble) << stats->text;
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
}

// Its GUID is zero, as the next one's.
TEST_F(HostEfa, AnotherOneWithTheSameNumberIsAnother) {
    Life one = container("one", host_mode("efa_0"));
    one.plain = true;
    expect_start(one);
    const netns::CharDevice node = device("efa_0").uverbs;
    fake_.world.unbind("0000:01:00.0");
    fake_.world.add_sriov("none", "0000:05:00.0", 0, Nic::Efa);
    ASSERT_EQ(device("efa_0").uverbs, node);
    ASSERT_EQ(device("efa_0").device.node_guid, 0U);
    EXPECT_THAT(collect(fake_, state_).trouble,
                testing::Contains(HasSubstr("is gone; restart the container")));
    EXPECT_TRUE(fake_.world.processes.at(one.init).devices.empty() ||
                !fake_.world.processes.at(one.init).devices.contains(
                    std::to_string(node.major) + ":" + std::to_string(node.minor)));
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
}

// ---- plain hooks
TEST_F(HostMode, PlainHooksInTheHostsNetwork) {
    Life one = beside("one", host_mode("mlx5_0"));
    one.plain = true;
    expect_start(one);
    const FakeProcess& init = fake_.world.processes.at(one.init);
    EXPECT_EQ(init.devices.size(), 2U) << "verbs node and rdma_cm";
    EXPECT_EQ(init.memlock.hard, ~uint64_t{0});
    EXPECT_TRUE(fake_.world.pins.empty());
    expect_start(one);  // prestart and createRuntime: once
    EXPECT_EQ(journals(), 1U);
    EXPECT_TRUE(one.poststop());
    expect_nothing_kept();
    Life two = beside("two", {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}});
    two.plain = true;
    const auto refused = two.start();
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("set rdma.mode=host"));
}

}  // namespace
}  // namespace test
