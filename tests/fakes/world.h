// SPDX-License-Identifier: Apache-2.0
// World: everything outside of our programs, as one value. Copy it before a run, compare it after:
// whatever was not undone shows. The Fake* classes (fake_host.h) act on it and refuse as the kernel
// does; tests/contract holds them to the kernel.
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
#include "netns/process.h"
#include "netns/rdma.h"
#include "netns/route.h"
#include "netns/sriov.h"
#include "netns/statistics.h"
#include "netns/tc_offload.h"

namespace test {

using netns::Address;
using netns::NetnsId;

// A number that only grows. It is no part of the comparison: a kernel does not give numbers back.
struct Sequence {
    uint32_t next = 1;

    bool operator==(const Sequence&) const { return true; }
};

// What nobody can read from outside, so that it is no part of the comparison either.
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
    uint16_t vlan = 0;         // of a VLAN
    std::string port = {};     // of an uplink "p0", of a representor "pf0vf3"
    netns::TcFeature tc_feature = {.on = false, .fixed = true};
    netns::TcRules tc_rules = {};
    netns::Counters counters = {};  // those that are not 0
    uint32_t receive_rules = 0;
    bool operator==(const FakeLink&) const = default;
};

struct FakeNetns {
    std::map<uint32_t, FakeLink> links;     // by index
    std::optional<uint32_t> default_route;  // index of its link
    std::vector<netns::Route> routes;       // that somebody added
    std::vector<netns::SourceRule> rules;
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
    uint32_t gid_slots = 256;  // of its table
    netns::CharDevice uverbs;
    uint32_t contexts = 0;         // programs that have it open
    std::set<pid_t> openers = {};  // processes that have its node open without a context
    bool gsi_qp = true;
    Unseen comes_up;  // its netdev has come up, and its port is not ACTIVE yet
    Unseen deaf;      // it is being registered: see stale_gid
    Unseen unlisted;  // and it is in sysfs alone: see unlisted_rdma
    std::string pci;  // the PCI function that it belongs to; empty: none
    netns::Counters counters = {};
    bool operator==(const FakeRdma&) const = default;
};

// A PCI function. Its netdev is the FakeLink whose link.device is the address, its RDMA device the
// FakeRdma whose pci is, wherever they are.
struct FakePci {
    std::string driver;          // bound; empty: none
    std::string driver_default;  // the only one that takes it
    std::string pf;              // of a VF: its PF's address
    uint32_t number = 0;         // of a VF
    uint32_t total_vfs = 0;      // of a PF
    uint32_t num_vfs = 0;
    bool autoprobe = true;  // of a PF: its new VFs are given to a driver
    int numa_node = -1;
    std::string local_cpus;
    netns::Mac own_mac;          // that its netdev has when the PF has set none
    netns::VfSettings settings;  // of a VF, kept by its PF
    Unseen mac_given;            // the MAC was set through the PF, and not by the VF itself
    Unseen in_reset;             // of a VF: it is not over yet
    bool ethernet = true;        // else InfiniBand

    // Of a PF: what its driver and its VFs are like; see adapters.h.
    std::set<std::string> quirks;
    uint32_t mbits = 0;        // speed of its link: no rate is above it
    std::string vf_driver;     // driver_default of its VFs
    std::string rdma_type;     // "mlx5": of its RDMA device; empty: it has none
    std::string vf_rdma_type;  // rdma_type of its VFs
    uint32_t vf_offset = 0;    // routing id of VF 0, from the PF's
    uint32_t vf_stride = 0;    // from VF to VF
    Sequence bound;            // which bind it is, of all binds
    bool operator==(const FakePci&) const = default;
};

// An e-switch, by the handle of its device. Its representors are links of the host.
struct FakeEswitch {
    netns::Eswitch eswitch;
    std::vector<netns::DevlinkPort> ports;  // in mode legacy those of the VFs are not shown
    bool busy = false;                      // refuses to change its mode
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
    std::set<std::string> devices;  // that its cgroup allows beside what the runtime did: "231:192"
    std::set<std::string> placed;   // "dev/infiniband/uverbs0"
    std::set<std::string> tmpfs;    // folders of its root that are: "dev"
    netns::Memlock memlock;
    bool operator==(const FakeProcess&) const = default;
};

// What a kernel can do (facts: kernels 6.12, 7.2, 7.3).
struct KernelTraits {
    bool rdma = true;              // ib_core is loaded
    bool rxe_serves_netns = true;  // rxe opens UDP 4791 in its netdev's namespace (7.1)
    bool rxe_can_move = false;     // rxe can change its RDMA namespace (7.3)
    bool has_monitor = true;       // nldev MONITOR (6.12)
    bool rdma_cgroup = true;       // cgroup v2 with the controller rdma
    bool cgroup2 = true;           // /sys/fs/cgroup is cgroup v2
    bool makes_gids = true;        // false: addresses never reach the GID tables
    // UDP 4791 is served where a child of the device's netdev is, too: hardware, and the lab's
    // double of it.
    bool rxe_serves_children = false;
    // A new link's index is looked up where it will live; before 6.15 in the host's namespace,
    // and one taken where it will live is EBUSY.
    bool lookup_in_target = true;
    bool operator==(const KernelTraits&) const = default;

    static KernelTraits v6_12();
    static KernelTraits v7_2();
    static KernelTraits v7_3();
};

// What whoever looks does not see, though it is there: as from a mount namespace of one's own, or
// after an umount.
struct Hidden {
    bool pins = false;        // our mounts of namespaces
    bool namespaces = false;  // no process and no mount leads to any
    bool rdma = false;        // devices
    bool paths = false;       // bundles, the engine's mounts of namespaces
    bool operator==(const Hidden&) const = default;
};

// What is compared of a World.
struct WorldState {
    KernelTraits kernel = KernelTraits::v7_2();
    netns::RdmaNetnsMode mode = netns::RdmaNetnsMode::Shared;
    NetnsId host;
    std::map<NetnsId, FakeNetns, NetnsIdOrder> namespaces;
    std::map<uint32_t, FakeRdma> rdma;            // by device index
    std::map<std::string, NetnsId> pins;          // ours
    std::map<std::string, NetnsId> engine_paths;  // mounts of the engine: each keeps a namespace
    std::map<pid_t, FakeProcess> processes;
    // Stations of the segment that answer for an address (without prefix), beside the links here.
    std::map<std::string, netns::Mac> owners;
    bool own_cgroups = true;      // else containers are in the engine's cgroup
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
    FakeOvs ovs;
    Sequence inodes, link_indexes, rdma_indexes, binds;
    bool operator==(const WorldState&) const = default;
};

struct World : WorldState {
    // Of a PCI function that was bound anew in between, the indexes of netdev and RDMA device do
    // not count: no kernel gives them back. Its names, its MAC and whatever else it has do.
    bool operator==(const World& other) const;

    // A host with lo (1) and an eth0 (2) that has 192.0.2.10/24 and the default route; an engine,
    // pid 1000; a container, pid 4711, whose namespace has lo (up) and the path
    // /run/netns/container1.
    static World standard(KernelTraits kernel = KernelTraits::v7_2());
    static constexpr pid_t kEngine = 1000;
    static constexpr pid_t kSelf = 999;
    static constexpr pid_t kContainer = 4711;
    static constexpr uint32_t kHostLink = 2;
    static constexpr uint32_t kDynamicVerbsMajor = 510;  // of verbs nodes beyond the first 32
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

    // Adds a PF with a netdev `name` (up, in the host's namespace) and `count` VFs with netdevs
    // (down, without addresses; name + "v0", ...), all in the host's namespace. Where the adapter
    // has RDMA each has an RDMA device, mlx5_0, mlx5_1, ... Addresses of the VFs: vf_address().
    void add_sriov(const std::string& name,
                   const std::string& address,
                   uint32_t count,
                   Nic nic = Nic::Igb);
    // Gives the device behind a handle ("pci/0000:01:00.0", "netdevsim/netdevsim1") an e-switch, in
    // mode legacy, whose uplink is the host's netdev `uplink`, and which has `vfs` VFs. A PCI PF's
    // are those that it has.
    void add_eswitch(const std::string& handle, uint32_t uplink, uint32_t vfs);
    // Gives it another number of VFs: ports, and their representors in mode switchdev. Without
    // e-switch nothing happens.
    void set_eswitch_vfs(const std::string& handle, uint32_t vfs);
    // Makes representors (netdevs of the host, down, with tc offload on), or takes them away.
    void set_eswitch_mode(const std::string& handle, netns::EswitchMode mode);
    // The representor of a port ("pf0vf0"), an index in the host's namespace; 0: none.
    [[nodiscard]] uint32_t representor(const std::string& handle, const std::string& port) const;

    // The address of VF `number`: of "0000:01:00.0" with Nic::Igb "0000:01:10.0", "0000:01:10.2";
    // with Nic::Mlx5 "0000:01:00.1", "0000:01:00.2".
    [[nodiscard]] std::string vf_address(const std::string& pf, uint32_t number) const;

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
    void drop_routes(NetnsId ns, uint32_t netdev);  // as a link takes them along, gone or down
    // Puts an address' GID into the tables of all devices under the link; takes it out.
    void add_gid(NetnsId ns, uint32_t netdev, const netns::Gid& gid);
    void remove_gid(NetnsId ns, uint32_t netdev, const netns::Gid& gid);
    void add_own_gids(NetnsId ns, uint32_t netdev);  // of its MAC and of its addresses
    void forget_gids(NetnsId ns, uint32_t netdev);   // all that it has in any table
    // Takes the RDMA device of a bond to another port, as drivers do at a failover
    // (mlx5_lag_get_roce_netdev); all are the host's.
    void fail_over(uint32_t device, uint32_t port);
    // Moves a link: it is down and has no addresses then, software RDMA on it is gone, hardware's
    // follows it.
    void move_link(NetnsId from, uint32_t index, NetnsId to, uint32_t new_index);
    // Puts a link up (with its link-local address) or down (without v6 addresses).
    void set_up(NetnsId ns, uint32_t index, bool up);
    void set_mac(NetnsId ns, uint32_t index, const netns::Mac& mac);
    // What some drivers do when the link goes down: see mac_by_down.
    void reset_vf(FakeLink& link);
    // Makes netdev and RDMA device of a function, under names of the kernel's; removes them.
    void bind(const std::string& address);
    void unbind(const std::string& address);
    void register_rdma(const std::string& address);  // that is bound and has none yet
    void name_by_udev(const std::string& address);   // a VF's netdev, where there is udev
    void set_num_vfs(const std::string& pf, uint32_t count);
    void register_netdev(const std::string& address);  // that is bound and has none yet
    // What the driver of a function, or of the PF of a VF, does: see adapters.h. The function by
    // its address, or by the device of its netdev.
    [[nodiscard]] bool has_quirk(const std::string& address, const std::string& quirk) const;
    [[nodiscard]] bool makes_no_netdev(const std::string& address) const;
    // A setting of its PF, or a bind, resets a VF; whether that is over, or will be in time.
    void reset_by_pf(const std::string& vf);
    bool out_of_reset(const std::string& address, base::Deadline deadline);
    // Namespace and index of a function's netdev.
    [[nodiscard]] std::optional<std::pair<NetnsId, uint32_t>> netdev_of(
        const std::string& address) const;
    // The index, or another if the namespace has it already.
    uint32_t free_index(NetnsId ns, uint32_t wanted);
    [[nodiscard]] bool sees(NetnsId ns, const FakeRdma& device) const;
    [[nodiscard]] netns::CharDevice free_uverbs() const;
    [[nodiscard]] netns::Netns handle(NetnsId id) const;  // without a descriptor
};

// Both without the indexes that are not to be compared: see World::operator==.
std::pair<World, World> comparable(const World& a, const World& b);

// Whether it stands on another link: macvlan, ipvlan, VLAN.
bool is_child(const FakeLink& link);

// Whether it is the representor of a port, and so not the netdev of the function behind
// link.device.
bool is_representor(const FakeLink& link);

// Whether a link of the namespace has the name, or has it as an altname.
bool name_taken(const FakeNetns& ns, const std::string& name);

// A listing for test output.
std::string to_string(const World& world);
void PrintTo(const World& world, std::ostream* out);  // NOLINT: GoogleTest's name
// The lines of `after` that differ from `before`: "- was" and "+ is".
std::string difference(const World& before, const World& after);

// fe80::/64 from the MAC: the address that the kernel gives each link that comes up.
Address link_local_address(const netns::Mac& mac);

}  // namespace test
