// SPDX-License-Identifier: Apache-2.0
// The two outside worlds that every contract test runs against: fakes of several kernels, and the
// kernel of this machine. A test asks both the same.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "netns/kernel/gid_events.h"
#include "netns/kernel_host.h"
#include "tests/fakes/eight_gpus.h"
#include "tests/fakes/fake_host.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace test {

enum class Kernel { V6_12, V7_2, V7_3 };

KernelTraits traits_of(Kernel kernel);

// A World as such a kernel makes it.
template <Kernel kKernel, netns::RdmaNetnsMode kMode = netns::RdmaNetnsMode::Shared>
class FakeOutside {
  public:
    FakeOutside() : fake_(World::standard(traits_of(kKernel))) {
        fake_.world.mode = kMode;
        fake_.world.cards = eight_gpus();
    }

    static std::string name() {
        static constexpr const char* kNames[] = {"Fake6_12", "Fake7_2", "Fake7_3"};
        return std::string(kNames[static_cast<int>(kKernel)]) +
               (kMode == netns::RdmaNetnsMode::Exclusive ? "Exclusive" : "");
    }

    // Each returns why its tests cannot run here; empty if they can.
    static std::string missing() { return {}; }

    static std::string rdma_missing() { return {}; }

    static std::string cgroup_missing() { return {}; }

    static std::string device_cgroup_missing() { return {}; }

    netns::Host host() { return fake_.host(); }

    [[nodiscard]] KernelTraits traits() const { return fake_.world.kernel; }

    Netns host_ns() { return fake_.world.handle(fake_.world.host); }

    // Returns a namespace with a process in it.
    Netns container_ns() { return fake_.world.handle(fake_.world.netns_of(World::kContainer)); }

    static pid_t container_pid() { return World::kContainer; }

    // Makes the container's process a zombie.
    void end_container() { fake_.world.processes[World::kContainer].zombie = true; }

    static pid_t missing_pid() { return 99999; }

    // Puts the container's process into a cgroup of its own, or into the test's.
    void set_own_cgroup(bool own) { fake_.world.own_cgroups = own; }

    // Gives the container's cgroup a program that allows no device.
    void deny_devices() {}

    // Returns whether a process in the container's cgroup can open /dev/zero (minor 5) or /dev/full
    // (minor 7).
    bool can_open(netns::DeviceNumber device) {
        return fake_.world.processes[World::kContainer].devices.contains(
            std::to_string(device.major) + ":" + std::to_string(device.minor));
    }

    // Returns the limits of the container's cgroup for a device: "hca_handle=2 hca_object=max".
    std::string rdma_max(const std::string& device) {
        const auto text = [](std::optional<uint32_t> limit) {
            return limit ? std::to_string(*limit) : "max";
        };
        const auto& limit = fake_.world.processes[World::kContainer].rdma_max[device];
        return "hca_handle=" + text(limit.handles) + " hca_object=" + text(limit.objects);
    }

    // Returns an Ethernet link of the host that can carry macvlans. It is up; its MTU is 1500.
    static uint32_t parent() { return World::kHostLink; }

    // Makes it a port of a bridge, whose index it returns: no macvlan can stand on it any more.
    uint32_t enslave_parent() {
        netns::Link bridge;
        bridge.name = "bridge0";
        bridge.kind = "bridge";
        const uint32_t index = fake_.world.add_link(fake_.world.host, bridge);
        FakeLink& port = *fake_.world.find_link(fake_.world.host, parent());
        port.bridge_port = true;
        port.link.master = index;
        return index;
    }

    // Takes UDP 4791 in the container, as another program does.
    void take_roce_port() { fake_.world.find(container_ns())->foreign_4791 = true; }

    // Open the verbs node of the device, as another program does, and close it again.
    void open_device(const Netns& /*ns*/, uint32_t device) { ++fake_.world.rdma[device].contexts; }

    void close_devices() {
        for (auto& [index, device] : fake_.world.rdma)
            device.contexts = 0;
    }

    // A folder for pins, and one for files.
    std::string pin_path(const std::string& name) { return dir_ / "pins/" + name; }

    std::string file_path(const std::string& name) { return dir_ / name; }

    void settle() { fake_.settle(); }

    // Gives a link another name, as udev does.
    void add_altname(const Netns& ns, uint32_t index, const std::string& name) {
        fake_.world.find_link(ns.id(), index)->link.altnames.push_back(name);
    }

  protected:
    World& world() { return fake_.world; }

  private:
    TempDir dir_;
    FakeHost fake_;
};

// The kernel of this machine. The network and mount namespaces are private ones of the test
// program; with CONTRACT_ON_HOST=1, in a machine made for the tests, the network namespace is
// the machine's own (RDMA's exclusive mode wants that).
class KernelOutside {
  public:
    KernelOutside();
    ~KernelOutside();
    KernelOutside(const KernelOutside&) = delete;
    KernelOutside& operator=(const KernelOutside&) = delete;
    KernelOutside(KernelOutside&&) = delete;
    KernelOutside& operator=(KernelOutside&&) = delete;

    static std::string name() { return "Kernel"; }

    static std::string missing();
    static std::string rdma_missing();
    static std::string cgroup_missing();
    static std::string device_cgroup_missing();

    netns::Host host() { return kernel_->host(); }

    [[nodiscard]] static KernelTraits traits();
    Netns host_ns();
    Netns container_ns();

    [[nodiscard]] pid_t container_pid() const { return pid_; }

    void end_container();
    static pid_t missing_pid();
    void set_own_cgroup(bool own);
    static void deny_devices();
    static bool can_open(netns::DeviceNumber device);
    static std::string rdma_max(const std::string& device);

    [[nodiscard]] uint32_t parent() const { return parent_; }

    uint32_t enslave_parent();
    void take_roce_port();
    void open_device(const Netns& ns, uint32_t device);
    static void add_altname(const Netns& ns, uint32_t index, const std::string& name);

    void close_devices() { opened_devices_.clear(); }

    std::string pin_path(const std::string& name) { return dir_ / "pins/" + name; }

    std::string file_path(const std::string& name) { return dir_ / name; }

    // Closes the rooms' sockets, which keep namespaces.
    void settle() { kernel_ = std::make_unique<netns::KernelHost>(); }

  private:
    TempDir dir_;
    std::unique_ptr<netns::KernelHost> kernel_;
    pid_t pid_ = -1;
    uint32_t parent_ = 0;
    std::vector<base::UniqueFd> opened_;
    std::vector<netns::GidEvents> opened_devices_;
};

// Makes a macvlan on the parent, in `ns`.
template <class Outside>
Result<> make_macvlan(Outside& outside,
                      const Netns& ns,
                      uint32_t index,
                      const std::string& name,
                      const netns::Mac& mac) {
    return outside.host().links.create_child(outside.host_ns(),
                                             ns,
                                             {.parent = outside.parent(),
                                              .index = index,
                                              .name = name,
                                              .mac = mac,
                                              .mtu = 1400,
                                              .type = {}});
}

// Makes an rxe on a macvlan of the container. Returns the namespace that it is in: in exclusive
// mode the host's.
template <class Outside>
Netns make_rxe(Outside& outside, uint32_t netdev, const std::string& name) {
    netns::Host host = outside.host();
    const Netns ns = outside.container_ns();
    EXPECT_TRUE(make_macvlan(outside, ns, netdev, "rdma0", {{2, 0, 0x5e, 0x10, 0, 1}}));
    const auto added = host.rdma.add_link(ns, {.name = name, .type = "rxe", .netdev = netdev});
    EXPECT_TRUE(added) << added.error().message();
    return host.rdma.mode().value() == netns::RdmaNetnsMode::Exclusive ? outside.host_ns() : ns;
}

// A suite that asks one outside, if this machine can have it.
template <class Outside>
class ContractTest : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = Outside::missing(); !reason.empty())
            GTEST_SKIP() << reason;
    }
};

// Names the outsides in the names of the tests.
struct OutsideNames {
    template <class Outside>
    static std::string GetName(int) {  // NOLINT: GoogleTest's name
        return Outside::name();
    }
};

}  // namespace test
