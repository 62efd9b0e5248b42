// SPDX-License-Identifier: Apache-2.0
// FakeHost: a Host over a World. Handles have no descriptor.
// Example:
//
//     FakeHost fake{World::standard()};
//     fake.gate.fail_call(3, EBUSY);
//     EXPECT_FALSE(attach(fake.host(), ...));
//     fake.settle();
//     EXPECT_EQ(fake.world, World::standard()) << difference(World::standard(), fake.world);
#pragma once

#include <map>
#include <memory>
#include <string>

#include "netns/base/files.h"
#include "netns/device_cgroup.h"
#include "netns/host.h"
#include "netns/launch.h"
#include "netns/neighbour.h"
#include "netns/placement.h"
#include "netns/sys_class.h"
#include "tests/fakes/fake_switch.h"
#include "tests/fakes/gate.h"
#include "tests/fakes/world.h"

namespace test {

class FakeNetnses : public Fake<netns::Netnses> {
  public:
    using Fake::Fake;

    Result<Netns> current() override;
    Result<Netns> open(const std::string& path) override;
    Result<Netns> open_process(pid_t pid) override;
    Result<std::optional<Netns>> open_pin(const std::string& path, NetnsId id) override;
    Result<uint64_t> cookie(const Netns& ns) override;
    Result<std::optional<Netns>> search(
        const std::function<Result<bool>(const Netns&)>& is_wanted) override;
    Result<Netns> make() override;
    Result<> pin(const Netns& ns, const std::string& path) override;
    Result<> unpin(const std::string& path) override;

  private:
    [[nodiscard]] std::optional<NetnsId> resolve(const std::string& path) const;
};

class FakeLinks : public Fake<netns::Links> {
  public:
    using Fake::Fake;

    Result<std::optional<netns::Link>> find(const Netns& ns, uint32_t index) override;
    Result<std::optional<netns::Link>> find_by_name(const Netns& ns,
                                                    const std::string& name) override;
    Result<bool> wait_until_free(const Netns& ns,
                                 const std::string& name,
                                 base::Deadline deadline) override;
    Result<std::vector<netns::Link>> list(const Netns& ns) override;
    Result<std::vector<uint32_t>> ports_of(const Netns& ns, uint32_t master) override;
    Result<std::vector<Address>> addresses(const Netns& ns, uint32_t index) override;
    Result<uint32_t> receive_rules(const Netns& ns, const std::string& name) override;
    Result<std::optional<uint32_t>> default_route_link(const Netns& ns) override;
    Result<> create_child(const Netns& host,
                          const Netns& target,
                          const netns::ChildSpec& spec) override;
    Result<> remove(const Netns& ns, uint32_t index) override;
    Result<std::optional<netns::Link>> find_by_device(const Netns& ns,
                                                      const std::string& device) override;
    Result<> move(const Netns& from,
                  const Netns& to,
                  uint32_t index,
                  const netns::LinkChange& change) override;
    Result<> change(const Netns& ns, uint32_t index, const netns::LinkChange& change) override;
    Result<> raise(const Netns& ns, uint32_t index, base::Deadline deadline) override;
    Result<> remove_altname(const Netns& ns, uint32_t index, const std::string& name) override;
    Result<> set_strict_arp(const Netns& ns, uint32_t index) override;
    Result<> add_address(const Netns& ns, uint32_t index, const Address& address) override;
    Result<> remove_address(const Netns& ns, uint32_t index, const Address& address) override;

  private:
    Result<> place_child(const Netns& host, const Netns& target, const netns::ChildSpec& spec);
    Result<> check_siblings(const FakeLink& parent, const netns::ChildSpec& spec);
    Result<> relocate(const Netns& from,
                      const Netns& to,
                      uint32_t index,
                      const netns::LinkChange& change);
    // Returns the link's index in `into`, or the kernel's refusal.
    Result<uint32_t> place(NetnsId into, FakeLink& link, const netns::LinkChange& change);
    // Sets one attribute after the other, as the kernel does.
    Result<> apply(NetnsId ns, uint32_t index, const netns::LinkChange& change);
    Result<> set_mac(NetnsId ns, const FakeLink& link, const netns::Mac& mac);
    uint32_t largest_mtu(const FakeLink& link);
};

class FakeSriov : public Fake<netns::Sriov> {
  public:
    using Fake::Fake;

    int netdev_waits = 0;  // the number of waits for a netdev that did not come

    Result<std::optional<netns::PciFunction>> find(const std::string& address) override;
    Result<std::optional<std::string>> find_vf(const std::string& pf, uint32_t number) override;
    Result<std::optional<std::string>> find_by_netdev(const std::string& name) override;
    Result<std::optional<std::string>> find_by_rdma(const std::string& name) override;
    Result<std::vector<netns::PciFunction>> list_pfs() override;
    Result<std::vector<netns::PciNetdev>> representors(const std::string& pf) override;
    Result<std::optional<netns::VfSettings>> settings(const Netns& host,
                                                      uint32_t pf,
                                                      uint32_t number) override;
    Result<> configure(const Netns& host,
                       uint32_t pf,
                       uint32_t number,
                       const netns::VfSettings& change,
                       base::Deadline deadline) override;
    Result<> set_num_vfs(const std::string& pf, uint32_t count) override;
    Result<std::optional<bool>> autoprobe(const std::string& pf) override;
    Result<> set_autoprobe(const std::string& pf, bool on) override;
    Result<> unbind(const std::string& address) override;
    Result<> bind(const std::string& address, const std::string& driver) override;
    Result<netns::PciNetdev> wait_for_netdev(const std::string& address,
                                             base::Deadline deadline) override;
    Result<std::string> wait_for_rdma(const std::string& address, base::Deadline deadline) override;
    Result<bool> wait_for_name(const std::string& address, base::Deadline deadline) override;

  private:
    // Returns the address of a VF of the PF with this netdev.
    Result<std::string> vf_of(const Netns& host, uint32_t pf, uint32_t number);
    Result<> write(const std::string& vf,
                   const std::string& what,
                   const netns::VfSettings& change,
                   base::Deadline deadline);
};

class FakeProcesses : public Fake<netns::Processes> {
  public:
    using Fake::Fake;

    std::set<pid_t> unreadable;  // processes that /proc shows nothing of
    bool too_many = false;       // too many descriptors to look at before a deadline
    int searches = 0;            // the number of searches among all descriptors

    Result<std::optional<netns::ProcessToken>> token(pid_t pid) override;
    Result<netns::Memlock> memlock(const netns::ProcessToken& process) override;
    Result<> set_memlock(const netns::ProcessToken& process, const netns::Memlock& limit) override;
    Result<std::vector<pid_t>> that_opened(uint32_t major,
                                           uint32_t minor,
                                           base::Deadline deadline) override;
    pid_t parent() override;
    pid_t self() override;
    Result<std::string> boot_id() override;
    Result<std::optional<uint64_t>> mount_namespace(pid_t pid) override;
    std::chrono::seconds uptime() override;
    bool exists(const std::string& path) override;

  private:
    // Returns the process if it is the same one and no zombie.
    Result<FakeProcess*> find(const netns::ProcessToken& process);
};

class FakeCgroups : public Fake<netns::Cgroups> {
  public:
    using Fake::Fake;

    Result<> check_rdma() override;
    Result<> limit_rdma(const netns::ProcessToken& process,
                        const Netns& ns,
                        const netns::RdmaLimit& limit) override;
};

class FakeDeviceCgroups : public Fake<netns::DeviceCgroups> {
  public:
    using Fake::Fake;

    Result<> check() override;
    Result<bool> allow(const netns::ProcessToken& init, netns::DeviceNumber device) override;
    Result<> forbid(const netns::ProcessToken& init, netns::DeviceNumber device) override;
    // A container's processes are those of its network namespace.
    Result<bool> contains(const netns::ProcessToken& init, pid_t process) override;
};

class FakePlacements : public Fake<netns::Placements> {
  public:
    using Fake::Fake;

    Result<> place(const netns::ContainerRoot& root, const netns::Placement& what) override;
    Result<> remove(const netns::ContainerRoot& root, const netns::Placement& what) override;
};

class FakeSysClasses : public Fake<netns::SysClasses> {
  public:
    using Fake::Fake;

    Result<std::optional<netns::ClassFolder>> look(
        const std::string& name, const std::vector<std::string>& devices) override;
};

// Programs that follow a test's script, in its order.
class FakePrograms : public netns::Programs {
  public:
    struct Started {
        NetnsId ns;
        netns::Program program;
    };

    std::vector<Started> started;
    std::vector<netns::ProgramEvent> script;  // at its end every deadline passes
    std::vector<size_t> killed;               // programs that had not ended

    Result<std::string> beside_us(const std::string& name) override;
    Result<size_t> start(const Netns& ns, const netns::Program& program) override;
    Result<netns::ProgramEvent> next(base::Deadline deadline) override;
    void kill(size_t program) override;

  private:
    std::set<size_t> ended_;
};

class FakeRoutes : public Fake<netns::Routes> {
  public:
    using Fake::Fake;

    Result<> add(const Netns& ns, const netns::Route& route) override;
    Result<> remove(const Netns& ns, const netns::Route& route) override;
    Result<> add_rule(const Netns& ns, const netns::SourceRule& rule) override;
    Result<> remove_rule(const Netns& ns, const netns::SourceRule& rule) override;
};

// Neighbours as World has them: see World::owners.
class FakeNeighbours : public Fake<netns::Neighbours> {
  public:
    using Fake::Fake;

    std::vector<std::string> announced;  // "10.9.0.1 at 02:..": nothing can take that back

    Result<> announce(const Netns& ns,
                      const netns::Station& station,
                      const std::vector<Address>& addresses) override;
    Result<std::optional<netns::Mac>> find_owner(const Netns& ns,
                                                 const netns::Station& station,
                                                 const Address& address,
                                                 base::Deadline deadline) override;
};

// Nodes of World's RDMA devices, and World::nodes.
class FakeCharNodes : public Fake<netns::CharNodes> {
  public:
    using Fake::Fake;

    int looks = 0;  // the number of calls

    Result<std::vector<uint32_t>> rdma_majors() override;
    Result<std::optional<netns::DeviceNumber>> at(const std::string& path) override;
};

// Statistics as World::counters has them; every rxe counts packets.
class FakeStatistics : public Fake<netns::Statistics> {
  public:
    using Fake::Fake;

    Result<netns::Counters> of_link(const Netns& ns, uint32_t index) override;
    Result<netns::Counters> of_device(const Netns& ns, const netns::RdmaDevice& device) override;
};

// World::cards, in their order.
class FakePciTree : public Fake<netns::PciTree> {
  public:
    using Fake::Fake;

    Result<std::vector<netns::PciCard>> cards() override;
    Result<std::optional<netns::PciPlace>> place(const std::string& address) override;
    Result<std::optional<uint16_t>> acs(const std::string& bridge) override;
};

// The real files of a test's own temporary folder, through the gate.
class GatedFiles : public base::Files {
  public:
    explicit GatedFiles(Gate& gate) : gate_(gate) {}

    int looks = 0;  // the number of files read and folders listed
    // Acts as another process as soon as a file has been read.
    std::function<void(const std::string& path)> after_read;
    std::map<std::string, std::string> labels;  // by path; the kernel is not asked

    Result<std::string> read(const std::string& path, size_t limit) override;
    using base::Files::write;
    Result<> write(const std::string& path, std::string_view content, base::Access access) override;
    Result<> create(const std::string& path, std::string_view content) override;
    Result<> remove(const std::string& path) override;
    Result<> rename(const std::string& from, const std::string& to) override;
    Result<std::vector<std::string>> list(const std::string& dir) override;
    Result<std::vector<std::string>> sweep(const std::string& dir) override;
    using base::Files::make_dir;
    Result<> make_dir(const std::string& path, base::Access access) override;
    Result<> make_link(const std::string& path, const std::string& target) override;
    Result<> set_label(const std::string& path, const std::string& label) override;
    Result<> remove_tree(const std::string& path) override;

  private:
    base::RealFiles real_;
    Gate& gate_;
};

class FakeRdmaDevices;  // tests/fakes/fake_rdma.h

class FakeHost {
  public:
    explicit FakeHost(World start = World::standard());
    FakeHost(const FakeHost&) = delete;
    FakeHost& operator=(const FakeHost&) = delete;
    FakeHost(FakeHost&&) = delete;
    FakeHost& operator=(FakeHost&&) = delete;
    ~FakeHost();

    netns::Host host();

    // Ends the program, by itself or by a Crash: its handles are closed. The next program may run.
    void settle() {
        world.settle();
        gate.restart();
    }

    World world;
    Gate gate;

  private:
    std::unique_ptr<FakeRdmaDevices> rdma_;

  public:
    FakeNetnses namespaces;
    FakeLinks links;
    FakeRdmaDevices& rdma;
    FakeProcesses processes;
    GatedFiles files;
    FakePrograms programs;
    FakeNeighbours neighbours;
    FakeRoutes routes;
    FakeSriov sriov;
    FakeCgroups cgroups;
    FakeDeviceCgroups device_cgroups;
    FakePlacements placements;
    FakeSysClasses classes;
    FakeDevlink devlink;
    FakeTcOffload tc;
    FakeOvsRoom ovs;
    FakeStatistics statistics;
    FakeCharNodes char_nodes;
    FakePciTree pci;
};

}  // namespace test
