// SPDX-License-Identifier: Apache-2.0
// FakeHost: a Host over a World. Handles have no descriptor. Example:
//
//     FakeHost fake{World::standard()};
//     fake.gate.fail_call(3, EBUSY);
//     EXPECT_FALSE(attach(fake.host(), ...));
//     fake.settle();
//     EXPECT_EQ(fake.world, World::standard()) << difference(World::standard(), fake.world);
#pragma once

#include <string>

#include "netns/host.h"
#include "tests/fakes/gate.h"
#include "tests/fakes/world.h"

namespace test {

using base::Result;
using netns::Netns;

// What the rooms answer: an errno, and the code that the caller acts on.
inline base::Error coded(base::Code code, int number, std::string text) {
    base::Error error = base::sys_error(number, std::move(text));
    error.code = code;
    return error;
}

class FakeNetnses : public netns::Netnses {
  public:
    FakeNetnses(World& world, Gate& gate) : world_(world), gate_(gate) {}

    Result<Netns> current() override;
    Result<Netns> open(const std::string& path) override;
    Result<Netns> open_process(pid_t pid) override;
    Result<std::optional<Netns>> open_pin(const std::string& path, NetnsId id) override;
    Result<Netns> make() override;
    Result<> pin(const Netns& ns, const std::string& path) override;
    Result<> unpin(const std::string& path) override;

  private:
    [[nodiscard]] std::optional<NetnsId> resolve(const std::string& path) const;

    World& world_;
    Gate& gate_;
};

class FakeLinks : public netns::Links {
  public:
    FakeLinks(World& world, Gate& gate) : world_(world), gate_(gate) {}

    Result<std::optional<netns::Link>> find(const Netns& ns, uint32_t index) override;
    Result<std::optional<netns::Link>> find_by_name(const Netns& ns,
                                                    const std::string& name) override;
    Result<std::vector<netns::Link>> list(const Netns& ns) override;
    Result<std::vector<Address>> addresses(const Netns& ns, uint32_t index) override;
    Result<std::optional<uint32_t>> default_route_link(const Netns& ns) override;
    Result<> create_macvlan(const Netns& host,
                            const Netns& target,
                            const netns::MacvlanSpec& spec) override;
    Result<> remove(const Netns& ns, uint32_t index) override;
    Result<> add_address(const Netns& ns, uint32_t index, const Address& address) override;
    Result<> remove_address(const Netns& ns, uint32_t index, const Address& address) override;

  private:
    Result<> place_macvlan(const Netns& host, const Netns& target, const netns::MacvlanSpec& spec);

    World& world_;
    Gate& gate_;
};

class FakeRdmaDevices : public netns::RdmaDevices {
  public:
    FakeRdmaDevices(World& world, Gate& gate) : world_(world), gate_(gate) {}

    Result<netns::RdmaNetnsMode> mode() override;
    Result<std::optional<netns::RdmaDevice>> find_by_netdev(const Netns& ns,
                                                            uint32_t netdev,
                                                            const std::string& name) override;
    Result<std::optional<netns::RdmaDevice>> find_by_name(const Netns& ns,
                                                          const std::string& name) override;
    Result<netns::CharDevice> uverbs_node(const Netns& ns, uint32_t device) override;
    Result<netns::CharDevice> rdma_cm_node() override;
    Result<uint32_t> user_contexts(const Netns& ns, uint32_t device) override;
    Result<bool> has_gsi_qp(const Netns& ns, uint32_t device) override;
    Result<bool> roce_port_served(const Netns& ns) override;
    Result<std::optional<netns::GidEntry>> find_gid(const Netns& ns,
                                                    const netns::RdmaDevice& device,
                                                    const netns::Gid& gid) override;
    Result<netns::GidEntry> wait_for_gid(const Netns& ns,
                                         const netns::RdmaDevice& device,
                                         const netns::Gid& gid,
                                         base::Deadline deadline) override;
    Result<> add_link(const Netns& ns, const netns::RdmaLinkSpec& spec) override;
    Result<> remove_link(const Netns& ns, uint32_t device) override;
    Result<> move(const Netns& from, const Netns& to, uint32_t device) override;
    Result<> wait_gone(const Netns& ns, uint32_t device, base::Deadline deadline) override;

  private:
    // The device, if `ns` sees it; else the kernel's EINVAL.
    Result<FakeRdma*> see(const Netns& ns, uint32_t device);
    Result<> make_link(const Netns& ns, const netns::RdmaLinkSpec& spec);
    Result<> change_owner(const Netns& from, const Netns& to, uint32_t device);

    World& world_;
    Gate& gate_;
};

class FakeProcesses : public netns::Processes {
  public:
    explicit FakeProcesses(World& world) : world_(world) {}

    Result<std::optional<netns::ProcessToken>> token(pid_t pid) override;
    pid_t parent() override;
    Result<std::string> boot_id() override;
    bool exists(const std::string& path) override;

  private:
    World& world_;
};

// Programs that do what a test wrote down beforehand, in that order.
class FakePrograms : public netns::Programs {
  public:
    struct Started {
        NetnsId ns;
        netns::Program program;
    };

    std::vector<Started> started;
    std::vector<netns::ProgramEvent> script;  // when it is at its end, every deadline passes
    std::vector<size_t> killed;               // that had not ended

    Result<std::string> beside_us(const std::string& name) override;
    Result<size_t> start(const Netns& ns, const netns::Program& program) override;
    Result<netns::ProgramEvent> next(base::Deadline deadline) override;
    void kill(size_t program) override;

  private:
    std::set<size_t> ended_;
};

// The real files of a test's own temporary folder, through the gate.
class GatedFiles : public base::Files {
  public:
    explicit GatedFiles(Gate& gate) : gate_(gate) {}

    Result<std::string> read(const std::string& path, size_t limit) override;
    using base::Files::write;
    Result<> write(const std::string& path, std::string_view content, base::Access access) override;
    Result<> create(const std::string& path, std::string_view content) override;
    Result<> remove(const std::string& path) override;
    Result<> rename(const std::string& from, const std::string& to) override;
    Result<std::vector<std::string>> list(const std::string& dir) override;
    Result<> make_dir(const std::string& path) override;

  private:
    base::RealFiles real_;
    Gate& gate_;
};

class FakeHost {
  public:
    explicit FakeHost(World start = World::standard())
        : world(std::move(start)),
          namespaces(world, gate),
          links(world, gate),
          rdma(world, gate),
          processes(world),
          files(gate) {}

    FakeHost(const FakeHost&) = delete;
    FakeHost& operator=(const FakeHost&) = delete;
    FakeHost(FakeHost&&) = delete;
    FakeHost& operator=(FakeHost&&) = delete;
    ~FakeHost() = default;

    netns::Host host() { return {namespaces, links, rdma, processes, files, programs}; }

    // The program has ended, by itself or by a Crash: its handles are closed. The next one may run.
    void settle() {
        world.settle();
        gate.restart();
    }

    World world;
    Gate gate;
    FakeNetnses namespaces;
    FakeLinks links;
    FakeRdmaDevices rdma;
    FakeProcesses processes;
    GatedFiles files;
    FakePrograms programs;
};

}  // namespace test
