// SPDX-License-Identifier: Apache-2.0
// The outside worlds that contract tests run against: fakes of several kernels, and the kernel of
// this machine. A test asks each the same; it is compiled once, and gets its outside at run time.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "netns/kernel/gid_events.h"
#include "netns/kernel_host.h"
#include "tests/fakes/fake_host.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace test {

using testing::Values;

class Outside {
  public:
    virtual ~Outside() = default;

    virtual netns::Host host() = 0;
    [[nodiscard]] virtual KernelTraits traits() const = 0;

    // Returns why tests of RDMA cannot run here; empty if they can.
    [[nodiscard]] virtual std::string lacks_rdma() const { return {}; }

    virtual Netns host_ns() = 0;
    // Returns a namespace with a process in it.
    virtual Netns container_ns() = 0;
    [[nodiscard]] virtual pid_t container_pid() const = 0;
    // Makes the container's process a zombie.
    virtual void end_container() = 0;
    virtual pid_t missing_pid() = 0;

    // Puts the container's process into a cgroup of its own, or into the test's.
    virtual void set_own_cgroup(bool own) = 0;
    // Gives the container's cgroup a program that allows no device.
    virtual void deny_devices() = 0;
    // Returns whether a process in the container's cgroup can open /dev/zero (minor 5) or /dev/full
    // (minor 7).
    virtual bool can_open(netns::DeviceNumber device) = 0;
    // Returns the limits of the container's cgroup for a device: "hca_handle=2 hca_object=max".
    virtual std::string rdma_max(const std::string& device) = 0;

    // Returns an Ethernet link of the host that can carry macvlans. It is up; its MTU is 1500.
    [[nodiscard]] virtual uint32_t parent() const = 0;
    // Makes it a port of a bridge, whose index it returns: no macvlan can stand on it any more.
    virtual uint32_t enslave_parent() = 0;
    // Gives a link another name, as udev does.
    virtual void add_altname(const Netns& ns, uint32_t index, const std::string& name) = 0;

    // Takes UDP 4791 in the container, as another program does.
    virtual void take_roce_port() = 0;
    // Open the verbs node of the device, as another program does, and close it again.
    virtual void open_device(const Netns& ns, uint32_t device) = 0;
    virtual void close_devices() = 0;

    // Ends what the rooms keep of namespaces.
    virtual void settle() = 0;

    // A folder for pins, and one for files.
    [[nodiscard]] std::string pin_path(const std::string& name) const {
        return dir_ / ("pins/" + name);
    }

    [[nodiscard]] std::string file_path(const std::string& name) const { return dir_ / name; }

  private:
    TempDir dir_;
};

enum class Kernel { V6_12, V7_2, V7_3 };

// A World as such a kernel makes it.
class FakeOutside : public Outside {
  public:
    explicit FakeOutside(Kernel kernel, netns::RdmaNetnsMode mode = netns::RdmaNetnsMode::Shared);

    World& world() { return fake_.world; }

    netns::Host host() override { return fake_.host(); }

    [[nodiscard]] KernelTraits traits() const override { return fake_.world.kernel; }

    Netns host_ns() override { return world().handle(world().host); }

    Netns container_ns() override { return world().handle(world().netns_of(World::kContainer)); }

    [[nodiscard]] pid_t container_pid() const override { return World::kContainer; }

    void end_container() override { world().processes[World::kContainer].zombie = true; }

    pid_t missing_pid() override { return 99999; }

    void set_own_cgroup(bool own) override { world().own_cgroups = own; }

    void deny_devices() override {}

    bool can_open(netns::DeviceNumber device) override;
    std::string rdma_max(const std::string& device) override;

    [[nodiscard]] uint32_t parent() const override { return World::kHostLink; }

    uint32_t enslave_parent() override;
    void add_altname(const Netns& ns, uint32_t index, const std::string& name) override;
    void take_roce_port() override;
    void open_device(const Netns& ns, uint32_t device) override;
    void close_devices() override;

    void settle() override { fake_.settle(); }

  private:
    FakeHost fake_;
};

// The kernel of this machine. The network and mount namespaces are private ones of the test
// program; with CONTRACT_ON_HOST=1, in a machine made for the tests, the network namespace is
// the machine's own (RDMA's exclusive mode wants that).
class KernelOutside : public Outside {
  public:
    KernelOutside();
    ~KernelOutside() override;
    KernelOutside(const KernelOutside&) = delete;
    KernelOutside& operator=(const KernelOutside&) = delete;
    KernelOutside(KernelOutside&&) = delete;
    KernelOutside& operator=(KernelOutside&&) = delete;

    // Each returns why its tests cannot run here; empty if they can. None is made where
    // missing() has a reason.
    static std::string missing();
    static std::string rdma_missing();
    static std::string cgroup_missing();
    static std::string device_cgroup_missing();

    netns::Host host() override { return kernel_->host(); }

    [[nodiscard]] KernelTraits traits() const override;

    [[nodiscard]] std::string lacks_rdma() const override { return rdma_missing(); }

    Netns host_ns() override;
    Netns container_ns() override;

    [[nodiscard]] pid_t container_pid() const override { return pid_; }

    void end_container() override;
    pid_t missing_pid() override;
    void set_own_cgroup(bool own) override;
    void deny_devices() override;
    bool can_open(netns::DeviceNumber device) override;
    std::string rdma_max(const std::string& device) override;

    [[nodiscard]] uint32_t parent() const override { return parent_; }

    uint32_t enslave_parent() override;
    void add_altname(const Netns& ns, uint32_t index, const std::string& name) override;
    void take_roce_port() override;
    void open_device(const Netns& ns, uint32_t device) override;

    void close_devices() override { opened_devices_.clear(); }

    // Closes the rooms' sockets, which keep namespaces.
    void settle() override { kernel_ = std::make_unique<netns::KernelHost>(); }

  private:
    std::unique_ptr<netns::KernelHost> kernel_;
    pid_t pid_ = -1;
    uint32_t parent_ = 0;
    std::vector<base::UniqueFd> opened_;
    std::vector<netns::GidEvents> opened_devices_;
};

// Makes a macvlan on the parent, in `ns`.
Result<> make_macvlan(Outside& outside,
                      const Netns& ns,
                      uint32_t index,
                      const std::string& name,
                      const netns::Mac& mac);

// Returns a name for an RDMA device that no earlier test had. Linux 7.2 removes an rxe some time after
// its netdev, and its name stays taken while no list has it.
std::string fresh_rdma_name();

// Makes an rxe on a macvlan of the container. Returns the namespace that it is in: in exclusive
// mode the host's.
Netns make_rxe(Outside& outside, uint32_t netdev, const std::string& name);

// The parameter of a suite: `name` ends the names of its tests, and `make` is called only if
// `missing` returns no reason.
template <class T>
struct OutsideFactory {
    std::string name;
    std::function<std::unique_ptr<T>()> make;
    std::string (*missing)() = [] { return std::string(); };

    // NOLINTNEXTLINE: GoogleTest's name
    friend void PrintTo(const OutsideFactory& factory, std::ostream* out) { *out << factory.name; }
};

OutsideFactory<Outside> fake(Kernel kernel,
                             netns::RdmaNetnsMode mode = netns::RdmaNetnsMode::Shared);

// `missing` is that of the suite.
OutsideFactory<Outside> kernel(std::string (*missing)() = KernelOutside::missing);

// A suite that asks each outside that it is instantiated with, if this machine can have it.
template <class T>
class OutsideTest : public testing::TestWithParam<OutsideFactory<T>> {
  protected:
    void SetUp() override {
        if (const std::string reason = this->GetParam().missing(); !reason.empty())
            GTEST_SKIP() << reason;
        outside_ = this->GetParam().make();
        prepare();
    }

    // Called once the outside is there.
    virtual void prepare() {}

    std::unique_ptr<T> outside_;
};

using ContractTest = OutsideTest<Outside>;

// Names the outsides in the names of the tests.
struct OutsideNames {
    template <class T>
    std::string operator()(const testing::TestParamInfo<OutsideFactory<T>>& info) const {
        return info.param.name;
    }
};

}  // namespace test
