// SPDX-License-Identifier: Apache-2.0
// World: everything outside of our programs, as one value. Copy it before a run, compare it after:
// whatever was not undone shows. The Fake* classes (fake_host.h) act on it and refuse as the kernel
// does; tests/contract holds them to the kernel.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "netns/link.h"
#include "netns/process.h"
#include "netns/rdma.h"

namespace test {

using netns::Address;
using netns::NetnsId;

// A number that only grows. It is no part of the comparison: a kernel does not give numbers back.
struct Sequence {
    uint32_t next = 1;

    bool operator==(const Sequence&) const { return true; }
};

struct NetnsIdOrder {
    bool operator()(const NetnsId& a, const NetnsId& b) const {
        return a.dev != b.dev ? a.dev < b.dev : a.ino < b.ino;
    }
};

struct FakeLink {
    netns::Link link;
    std::vector<Address> addresses;
    bool bridge_port = false;  // its frames go to a master: it can carry no macvlan
    bool operator==(const FakeLink&) const = default;
};

struct FakeNetns {
    std::map<uint32_t, FakeLink> links;     // by index
    std::optional<uint32_t> default_route;  // index of its link
    bool open_connection = false;  // an orphaned TCP socket: keeps the namespace without a process
    bool foreign_4791 = false;     // somebody else's socket on UDP 4791
    bool in_our_hands = false;     // a handle of the running program; ends with settle()
    bool operator==(const FakeNetns&) const = default;
};

struct FakeGid {
    uint32_t index = 0;
    netns::Gid gid;
    netns::GidType type = netns::GidType::RoceV2;
    NetnsId ns;           // of the netdev
    uint32_t netdev = 0;  // its index there
    bool operator==(const FakeGid&) const = default;
};

struct FakeRdma {
    netns::RdmaDevice device;
    std::string type;     // "rxe", "siw"; anything else is hardware
    NetnsId owner;        // its RDMA namespace
    NetnsId netdev_ns;    // where the netdev of port 1 is
    uint32_t netdev = 0;  // its index there; 0: none
    std::vector<FakeGid> gids;
    netns::CharDevice uverbs;
    uint32_t contexts = 0;  // programs that have it open
    bool gsi_qp = true;
    bool operator==(const FakeRdma&) const = default;
};

struct FakeProcess {
    uint64_t start = 0;
    NetnsId ns;
    bool zombie = false;
    bool operator==(const FakeProcess&) const = default;
};

// What a kernel can do (facts: kernels 6.12, 7.2, 7.3).
struct KernelTraits {
    bool rdma = true;              // ib_core is loaded
    bool rxe_serves_netns = true;  // rxe opens UDP 4791 in its netdev's namespace (7.1)
    bool rxe_can_move = false;     // rxe can change its RDMA namespace (7.3)
    bool has_monitor = true;       // nldev MONITOR (6.12)
    bool makes_gids = true;        // false: addresses never reach the GID tables
    // A new link's index is looked up where it will live; before 6.15 in the host's namespace,
    // and one taken where it will live is EBUSY.
    bool lookup_in_target = true;
    bool operator==(const KernelTraits&) const = default;

    static KernelTraits v6_12();
    static KernelTraits v7_2();
    static KernelTraits v7_3();
};

struct World {
    KernelTraits kernel = KernelTraits::v7_2();
    netns::RdmaNetnsMode mode = netns::RdmaNetnsMode::Shared;
    NetnsId host;
    std::map<NetnsId, FakeNetns, NetnsIdOrder> namespaces;
    std::map<uint32_t, FakeRdma> rdma;            // by device index
    std::map<std::string, NetnsId> pins;          // ours
    std::map<std::string, NetnsId> engine_paths;  // mounts of the engine: each keeps a namespace
    std::map<pid_t, FakeProcess> processes;
    std::set<std::string> files;  // further paths that exist: bundles
    pid_t parent = 0;             // the engine
    std::string boot_id;
    Sequence inodes, link_indexes, rdma_indexes;
    bool operator==(const World&) const = default;

    // A host with lo (1) and an eth0 (2) that has 192.0.2.10/24 and the default route; an engine,
    // pid 1000; a container, pid 4711, whose namespace has lo (up) and the path
    // /run/netns/container1.
    static World standard(KernelTraits kernel = KernelTraits::v7_2());
    static constexpr pid_t kEngine = 1000;
    static constexpr pid_t kContainer = 4711;
    static constexpr uint32_t kHostLink = 2;
    static constexpr char kContainerPath[] = "/run/netns/container1";

    NetnsId add_netns();
    // Adds a process that lives in the namespace; the container's name for "a second container".
    void add_process(pid_t pid, NetnsId ns);
    // Adds a link as somebody else would; index 0 chooses the next. Returns its index.
    uint32_t add_link(NetnsId ns, netns::Link link);
    // Adds an RDMA device on a netdev as somebody else would. Returns its index.
    uint32_t add_rdma(NetnsId ns,
                      uint32_t netdev,
                      const std::string& name,
                      const std::string& type);

    [[nodiscard]] NetnsId netns_of(pid_t pid) const { return processes.at(pid).ns; }

    // Lets go what our program held, and lets vanish what nothing holds any more: namespaces
    // without process, path, pin or connection, with the virtual links and rxe devices in them;
    // hardware returns to the host. Call it when the program has ended, or before comparing.
    void settle();

    // The kernel's own consequences; used by the Fake* classes.
    [[nodiscard]] FakeNetns* find(const netns::Netns& ns);
    [[nodiscard]] FakeLink* find_link(NetnsId ns, uint32_t index);
    void destroy_link(NetnsId ns, uint32_t index);  // and what stands on it
    void drop_rdma_on(NetnsId ns, uint32_t netdev);
    // Puts an address' GID into the tables of all devices under the link; takes it out.
    void add_gid(NetnsId ns, uint32_t netdev, const netns::Gid& gid);
    void remove_gid(NetnsId ns, uint32_t netdev, const netns::Gid& gid);
    [[nodiscard]] bool sees(NetnsId ns, const FakeRdma& device) const;
    [[nodiscard]] netns::CharDevice free_uverbs() const;
    [[nodiscard]] netns::Netns handle(NetnsId id) const;  // without a descriptor
};

// A listing for test output.
std::string to_string(const World& world);
void PrintTo(const World& world, std::ostream* out);  // NOLINT: GoogleTest's name
// The lines of `after` that differ from `before`: "- was" and "+ is".
std::string difference(const World& before, const World& after);

// fe80::/64 from the MAC: the address that the kernel gives each link that comes up.
Address link_local_address(const netns::Mac& mac);

}  // namespace test
