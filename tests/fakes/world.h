// SPDX-License-Identifier: Apache-2.0
// World: everything outside of the programs under test, as one value. Copy it before a run and
// compare it afterwards: any part that was not undone shows. The Fake* classes (fake_host.h) act on
// it and refuse as the kernel does; tests/contract holds them to the kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "netns/base/clock.h"
#include "netns/cgroup.h"
#include "netns/char_nodes.h"
#include "netns/devlink.h"
#include "netns/link.h"
#include "netns/ovs.h"
#include "netns/pci_tree.h"
#include "netns/process.h"
#include "netns/route.h"
#include "netns/sriov.h"
#include "netns/statistics.h"
#include "netns/tc_offload.h"
#include "netns/values/rdma_device.h"

namespace test {

using netns::Address;
using netns::NetnsId;

// A number that only grows. Comparisons ignore it: a kernel does not give numbers back.
struct Sequence {
    uint32_t next = 1;

    bool operator==(const Sequence&) const { return true; }
};

// A state that is invisible from outside, so that comparisons ignore it, too.
struct Unseen {
    bool value = false;

    bool operator==(const Unseen&) const { return true; }
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
    uint16_t vlan = 0;         // VLAN links: the tag
    std::string port = {};     // "p0" of an uplink, "pf0vf3" of a representor
    netns::TcFeature tc_feature = {.on = false, .fixed = true};
    netns::TcRules tc_rules = {};
    netns::Counters counters = {};  // only those that are not 0
    uint32_t receive_rules = 0;
    bool operator==(const FakeLink&) const = default;
};

struct FakeNetns {
    std::map<uint32_t, FakeLink> links;     // by index
    std::optional<uint32_t> default_route;  // index of its link
    std::vector<netns::Route> routes;       // routes that somebody added
    std::vector<netns::SourceRule> rules;
    bool open_connection = false;  // an orphaned TCP socket: keeps the namespace without a process
    bool foreign_4791 = false;     // another program's socket on UDP 4791
    bool in_our_hands = false;     // the running program has a handle; ends with settle()
    bool operator==(const FakeNetns&) const = default;
};

struct FakeGid {
    uint32_t index = 0;
    netns::Gid gid;
    netns::GidType type = netns::GidType::RoceV2;
    NetnsId ns;           // the netdev's
    uint32_t netdev = 0;  // the netdev's index there
    bool operator==(const FakeGid&) const = default;
};

struct FakeRdma {
    netns::RdmaDevice device;
    std::string type;     // "rxe", "siw"; any other is hardware
    NetnsId owner;        // its RDMA namespace
    NetnsId netdev_ns;    // the namespace of the netdev of port 1
    uint32_t netdev = 0;  // the netdev's index there; 0: none
    std::vector<FakeGid> gids;
    uint32_t gid_slots = 256;  // the size of its GID table
    netns::CharDevice uverbs;
    std::vector<netns::CharDevice> mad_nodes = {};  // while ib_umad is loaded
    uint32_t contexts = 0;                          // the number of programs that have it open
    std::set<pid_t> openers = {};  // processes that have its node open without a context
    bool gsi_qp = true;
    Unseen comes_up;  // its netdev has come up, and its port is not ACTIVE yet
    Unseen deaf;      // it is being registered: see stale_gid
    Unseen unlisted;  // only sysfs has it so far: see unlisted_rdma
    std::string pci;  // the PCI function that it belongs to; empty: none
    netns::Counters counters = {};
    bool operator==(const FakeRdma&) const = default;
};

// A PCI function. Its netdev is the FakeLink with the address as its link.device. Its RDMA device
// is the FakeRdma with the address as its pci. Both may be anywhere.
struct FakePci {
    std::string driver;          // the bound driver; empty: none
    std::string driver_default;  // the only driver that takes it
    std::string pf;              // VF: its PF's address
    uint32_t number = 0;         // VF: its number
    uint32_t total_vfs = 0;      // PF: the most VFs that it can have
    uint32_t num_vfs = 0;
    bool autoprobe = true;  // PF: its new VFs get a driver
    int numa_node = -1;
    std::string local_cpus;
    netns::Mac own_mac;          // the netdev's MAC while the PF has set none
    netns::VfSettings settings;  // VF: kept by its PF
    Unseen mac_given;            // the MAC was set through the PF, and not by the VF itself
    Unseen in_reset;             // VF: its reset is not over yet
    bool ethernet = true;        // false: InfiniBand

    // PF: the behaviour of its driver and its VFs; see adapters.h.
    std::set<std::string> quirks;
    uint32_t mbits = 0;        // the speed of its link: no rate is above it
    std::string vf_driver;     // driver_default of its VFs
    std::string rdma_type;     // the type of its RDMA device, "mlx5"; empty: it has none
    std::string vf_rdma_type;  // rdma_type of its VFs
    uint32_t vf_offset = 0;    // routing id of VF 0, from the PF's
    uint32_t vf_stride = 0;    // from VF to VF
    Sequence bound;            // the number of its bind, among all binds
    bool operator==(const FakePci&) const = default;
};

// An e-switch, by the handle of its device. Its representors are links of the host.
struct FakeEswitch {
    netns::Eswitch eswitch;
    std::vector<netns::DevlinkPort> ports;  // without those of the VFs in mode legacy
    bool busy = false;                      // it refuses to change its mode
    bool operator==(const FakeEswitch&) const = default;
};

// Open vSwitch and its database.
struct FakeOvs {
    bool installed = false;  // there is a socket
    bool server = true;      // ovsdb-server answers
    bool daemon = true;      // ovs-vswitchd acts
    netns::OvsSettings settings;
    std::map<std::string, netns::OvsBridge> bridges;  // without their ports
    std::map<std::string, netns::OvsPort> ports;      // by name
    bool operator==(const FakeOvs&) const = default;
};

// An adapter that World::add_sriov() adds; each is a row of adapters.cc.
enum class Nic {
    Igb,
    Mlx5,
    Mlx5New,
    Ofed,
    BluefieldHost,
    Ice,
    Irdma,
    Iwarp,
    RoceOff,
    Bnxt,
    IbMlx5,
    VfWithoutPf,
    Efa,
};

struct FakeProcess {
    uint64_t start = 0;
    NetnsId ns;
    uint64_t mounts = 0;  // its mount namespace; 0: the host's
    bool zombie = false;
    std::map<std::string, netns::RdmaLimit> rdma_max;  // of its cgroup, by device
    std::set<std::string> devices;  // allowed by its cgroup beside the runtime's rules: "231:192"
    std::set<std::string> placed;   // "dev/infiniband/uverbs0"
    std::set<std::string> tmpfs;    // folders of its root that are tmpfs: "dev"
    netns::Memlock memlock;
    bool operator==(const FakeProcess&) const = default;
};

// The abilities of a kernel (facts: kernels 6.12, 7.2, 7.3).
struct KernelTraits {
    bool rdma = true;              // ib_core is loaded
    bool rxe_serves_netns = true;  // rxe opens UDP 4791 in its netdev's namespace (7.1)
    bool rxe_can_move = false;     // rxe can change its RDMA namespace (7.3)
    bool has_monitor = true;       // nldev MONITOR (6.12)
    bool rdma_cgroup = true;       // cgroup v2 with the controller rdma
    bool cgroup2 = true;           // /sys/fs/cgroup is cgroup v2
    bool makes_gids = true;        // false: addresses never reach the GID tables
    // UDP 4791 is also served where a child of the device's netdev is. That holds for hardware, and
    // for the lab's double of it.
    bool rxe_serves_children = false;
    // A new link's index is looked up in its target namespace. Before 6.15 it is looked up in the
    // host's namespace, and an index that is taken in the target is EBUSY.
    bool lookup_in_target = true;
    bool operator==(const KernelTraits&) const = default;

    static KernelTraits v6_12();
    static KernelTraits v7_2();
    static KernelTraits v7_3();
};

// Parts of the world that exist but are hidden from the program. It may run in a mount namespace of
// its own, or after an umount.
struct Hidden {
    bool pins = false;        // rdma-hook's mounts of namespaces
    bool namespaces = false;  // no process and no mount leads to any
    bool rdma = false;        // RDMA devices
    bool paths = false;       // bundles, the engine's mounts of namespaces
    bool operator==(const Hidden&) const = default;
};

// The part of a World that is compared.
struct WorldState {
    KernelTraits kernel = KernelTraits::v7_2();
    netns::RdmaNetnsMode mode = netns::RdmaNetnsMode::Shared;
    NetnsId host;
    std::map<NetnsId, FakeNetns, NetnsIdOrder> namespaces;
    std::map<uint32_t, FakeRdma> rdma;            // by device index
    std::map<std::string, NetnsId> pins;          // rdma-hook's
    std::map<std::string, NetnsId> engine_paths;  // mounts of the engine: each keeps a namespace
    std::map<pid_t, FakeProcess> processes;
    // Stations of the segment that answer for an address (without prefix), beside the links here.
    std::map<std::string, netns::Mac> owners;
    bool own_cgroups = true;      // false: containers are in the engine's cgroup
    std::set<std::string> files;  // further paths that exist: bundles
    pid_t parent = 0;             // the engine
    pid_t self = 0;               // the program itself
    std::string boot_id;
    std::chrono::seconds uptime{1000};
    Hidden hidden;
    // Character devices of the host, by path, beside verbs nodes.
    std::map<std::string, netns::DeviceNumber> nodes = {{"/dev/null", {1, 3}}};
    std::map<std::string, FakePci> pci;            // by address
    std::map<std::string, FakeEswitch> eswitches;  // by devlink handle
    std::vector<netns::PciCard> cards;             // in the order of their addresses
    std::map<std::string, uint16_t> acs;           // of bridges, by address
    FakeOvs ovs;
    Sequence inodes, link_indexes, rdma_indexes, binds;
    bool operator==(const WorldState&) const = default;
};

struct World : WorldState {
    // A PCI function may be bound again in between. The indexes of its netdev and RDMA device then
    // do not count: no kernel gives them back. Its names, its MAC and everything else count.
    bool operator==(const World& other) const;

    // True if what comparisons ignore of devices and functions (Unseen) is the same, too.
    [[nodiscard]] bool is_exactly(const World& other) const;

    // Returns a host with lo (1), and eth0 (2) with 192.0.2.10/24 and the default route. It has an
    // engine, pid 1000, and a container, pid 4711. The container's namespace has lo (up) and the
    // path /run/netns/container1.
    static World standard(KernelTraits kernel = KernelTraits::v7_2());
    static constexpr pid_t kEngine = 1000;
    static constexpr pid_t kSelf = 999;
    static constexpr pid_t kContainer = 4711;
    static constexpr uint32_t kHostLink = 2;
    static constexpr uint32_t kDynamicVerbsMajor = 510;  // of verbs nodes beyond the first 32
    static constexpr char kContainerPath[] = "/run/netns/container1";

    NetnsId add_netns();
    // Adds a process that lives in the namespace: for a test, a second container.
    void add_process(pid_t pid, NetnsId ns);
    // Adds a link as another program would; index 0 chooses the next. Returns its index.
    uint32_t add_link(NetnsId ns, netns::Link link);
    // Adds an RDMA device on a netdev as another program would. Returns its index.
    uint32_t add_rdma(NetnsId ns,
                      uint32_t netdev,
                      const std::string& name,
                      const std::string& type);

    // Adds a PF with a netdev `name` (up), and `count` VFs with netdevs (down, without addresses;
    // name + "v0", ...). All are in the host's namespace. If the adapter has RDMA, each has an RDMA
    // device, mlx5_0, mlx5_1, ... For addresses of the VFs see vf_address().
    void add_sriov(const std::string& name,
                   const std::string& address,
                   uint32_t count,
                   Nic nic = Nic::Igb);
    // Gives the device behind a handle ("pci/0000:01:00.0", "netdevsim/netdevsim1") an e-switch in
    // mode legacy. Its uplink is the host's netdev `uplink`, and it has `vfs` VFs. For a PCI PF
    // these are the VFs that it has.
    void add_eswitch(const std::string& handle, uint32_t uplink, uint32_t vfs);
    // Changes the number of its VFs: ports, and their representors in mode switchdev. Does nothing
    // without an e-switch.
    void set_eswitch_vfs(const std::string& handle, uint32_t vfs);
    // Makes representors (netdevs of the host, down, with tc offload on), or removes them.
    void set_eswitch_mode(const std::string& handle, netns::EswitchMode mode);
    // Returns the representor of a port ("pf0vf0"), an index in the host's namespace; 0: none.
    [[nodiscard]] uint32_t representor(const std::string& handle, const std::string& port) const;

    // Returns the address of VF `number`. For "0000:01:00.0" with Nic::Igb: "0000:01:10.0",
    // "0000:01:10.2". With Nic::Mlx5: "0000:01:00.1", "0000:01:00.2".
    [[nodiscard]] std::string vf_address(const std::string& pf, uint32_t number) const;

    [[nodiscard]] NetnsId netns_of(pid_t pid) const { return processes.at(pid).ns; }

    // Releases what the program held, and removes everything that nothing holds any more. That is
    // namespaces without process, path, pin or connection, with the virtual links and rxe devices
    // in them. Hardware returns to the host. Call it when the program has ended, or before
    // comparing.
    void settle();

    // The kernel's own consequences; used by the Fake* classes.
    [[nodiscard]] FakeNetns* find(const netns::Netns& ns);
    [[nodiscard]] FakeLink* find_link(NetnsId ns, uint32_t index);
    // Returns the process if it is the same one; nullptr for a zombie, unless `dead`.
    [[nodiscard]] FakeProcess* find_process(const netns::ProcessToken& token, bool dead = false);
    void destroy_link(NetnsId ns, uint32_t index);  // also removes the links on it
    void drop_rdma_on(NetnsId ns, uint32_t netdev);
    void drop_routes(NetnsId ns, uint32_t netdev);  // as when the link goes or is down
    // Both act on the tables of all devices under the link: they add an address' GID, and take it
    // out.
    void add_gid(NetnsId ns, uint32_t netdev, const netns::Gid& gid);
    void remove_gid(NetnsId ns, uint32_t netdev, const netns::Gid& gid);
    void add_own_gids(NetnsId ns, uint32_t netdev);  // GIDs of its MAC and of its addresses
    void forget_gids(NetnsId ns, uint32_t netdev);   // all its GIDs in any table
    // Moves the RDMA device of a bond to another port, as drivers do at a failover
    // (mlx5_lag_get_roce_netdev). All are in the host's namespace.
    void fail_over(uint32_t device, uint32_t port);
    // Moves a link: it is then down and has no addresses. Software RDMA on it is gone, hardware's
    // follows it.
    void move_link(NetnsId from, uint32_t index, NetnsId to, uint32_t new_index);
    // Puts a link up (with its link-local address) or down (without v6 addresses).
    void set_up(NetnsId ns, uint32_t index, bool up);
    void set_mac(NetnsId ns, uint32_t index, const netns::Mac& mac);
    // Resets the VF, as some drivers do when the link goes down: see mac_by_down.
    void reset_vf(FakeLink& link);
    // Both act on netdev and RDMA device of a function: they make them under names of the kernel's,
    // and remove them.
    void bind(const std::string& address);
    void unbind(const std::string& address);
    void register_rdma(const std::string& address);  // a bound function without one
    void name_by_udev(const std::string& address);   // a VF's netdev, where there is udev
    void set_num_vfs(const std::string& pf, uint32_t count);
    void register_netdev(const std::string& address);  // a bound function without one
    // True if the driver of a function, or of a VF's PF, has the quirk: see adapters.h. `address`:
    // the function's address, or the device of its netdev.
    [[nodiscard]] bool has_quirk(const std::string& address, const std::string& quirk) const;
    [[nodiscard]] bool makes_no_netdev(const std::string& address) const;
    // Begins a VF's reset, after a setting of its PF or a bind. out_of_reset(): true if it is over,
    // or will be in time.
    void reset_by_pf(const std::string& vf);
    bool out_of_reset(const std::string& address, base::Deadline deadline);
    // Returns namespace and index of a function's netdev.
    [[nodiscard]] std::optional<std::pair<NetnsId, uint32_t>> netdev_of(
        const std::string& address) const;
    // Returns the index, or another if the namespace has it already.
    uint32_t free_index(NetnsId ns, uint32_t wanted);
    [[nodiscard]] bool sees(NetnsId ns, const FakeRdma& device) const;
    [[nodiscard]] netns::CharDevice free_uverbs() const;
    [[nodiscard]] netns::Netns handle(NetnsId id) const;  // without a descriptor
};

// Returns both without the indexes that are not to be compared: see World::operator==.
std::pair<World, World> comparable(const World& a, const World& b);

// True if the link stands on another one: macvlan, ipvlan, VLAN.
bool is_child(const FakeLink& link);

// True if the link represents a port. Then it is not the netdev of the function behind link.device.
bool is_representor(const FakeLink& link);

// True if a link of the namespace has the name, or has it as an altname.
bool name_taken(const FakeNetns& ns, const std::string& name);

// Lists the world for test output.
std::string to_string(const World& world);
void PrintTo(const World& world, std::ostream* out);  // NOLINT: GoogleTest's name
// Returns the lines of `after` that differ from `before`: "- was" and "+ is".
std::string difference(const World& before, const World& after);

// Returns the address in fe80::/64 from the MAC: the kernel gives it to each link that comes up.
Address link_local_address(const netns::Mac& mac);

}  // namespace test
