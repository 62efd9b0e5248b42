// SPDX-License-Identifier: Apache-2.0
// RdmaDevices finds, makes, moves and names RDMA devices. It uses nldev (netlink protocol
// NETLINK_RDMA, <rdma/rdma_netlink.h>; layout as in kernels 6.1 to 7.3). GID tables come from
// sysfs, and changes of them from the device's events.
//
// Facts about kernels:
// - NEWLINK finds the netdev by name in the namespace of the *socket*, and answers no index.
// - An unknown device index is EINVAL, not ENODEV.
// - In netns mode "exclusive" a device is visible only in its own namespace. A new rxe belongs to
//   the first namespace, wherever it was made, and has to be moved (rxe: since 7.3).
// - To move a device, the calling thread must be in the device's present namespace (since 5.1).
// - PORT_GET names the netdev only if it is in the namespace of the socket.
// - MLNX_OFED and DOCA hide a GID from readers outside its netdev's namespace: these see an empty
//   slot (core/cache.c, rdma_check_gid_user_access). Linux itself shows every GID to every reader.
// - Before 7.0 a device that is being registered does not hear of changes to netdevs. The MAC and
//   the addresses that a netdev gets then are missing in the device's GID table (9af0feae8016ba;
//   cache.c). Setting the netdev's MAC, even to the present one, adds them; bringing the netdev up
//   does not.
// - A RoCE port's state follows its netdev: up, and with a carrier (mlx5 main.c).
// - Deleting an rxe that is open blocks until the last user closes it (before 7.3).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "netns/base/clock.h"
#include "netns/char_nodes.h"
#include "netns/namespace.h"
#include "netns/values/address.h"
#include "netns/values/rdma_device.h"

namespace netns {

// A GID table entry to look for. Two netdevs on a device may have the same address in two VLANs;
// then the netdev decides.
struct WantedGid {
    // NOLINTNEXTLINE(google-explicit-constructor): mostly the GID is all that is known
    WantedGid(const Gid& wanted, std::string name = {}, std::optional<Netns> where = {})
        : gid(wanted), netdev(std::move(name)), netdev_ns(std::move(where)) {}

    Gid gid;
    std::string netdev;  // its name in its own namespace; empty: any
    // The netdev's namespace: MLNX_OFED shows a GID only to readers there. Nothing: the reader's
    // own.
    std::optional<Netns> netdev_ns;
};

// Room in the GID table of port 1.
struct GidSpace {
    uint32_t size = 0;         // usable slots: at most 256, because an address handle has 8 bits
                               // for the index (ibv_global_route)
    uint32_t free = 0;         // empty slots, counted up to what the caller asked for
    uint32_t per_address = 1;  // slots that an address takes: 2 where the port has RoCE v1, too
};

struct RdmaLinkSpec {
    std::string name;     // the new device's name, unique system-wide (else ENFILE)
    std::string type;     // "rxe", "siw"
    uint32_t netdev = 0;  // index of the netdev in the namespace
};

class RdmaDevices {
  public:
    virtual ~RdmaDevices() = default;

    // Returns the kernel's RDMA netns mode. Unavailable: the kernel has no RDMA (ib_core not
    // loaded); the error says which command loads it.
    virtual Result<RdmaNetnsMode> mode() = 0;

    // Returns the device whose port 1 has the netdev; nothing if there is none. `netdev` is an
    // index in `ns`. `name` is a hint: the device of that name is asked first.
    virtual Result<std::optional<RdmaDevice>> find_by_netdev(const Netns& ns,
                                                             uint32_t netdev,
                                                             const std::string& name) = 0;
    // Returns all devices that `ns` sees, in the order in which they were registered.
    virtual Result<std::vector<RdmaDevice>> list(const Netns& ns) = 0;
    // Returns all devices whose port 1 has the netdev: hardware, and any rxe or siw on it.
    virtual Result<std::vector<RdmaDevice>> list_on(const Netns& ns, uint32_t netdev) = 0;
    // Returns the device of that name as seen from `ns`; nothing if there is none.
    virtual Result<std::optional<RdmaDevice>> find_by_name(const Netns& ns,
                                                           const std::string& name) = 0;

    // Waits until `ns` sees no device of that name. False: it still sees one at the deadline.
    virtual Result<bool> wait_until_free(const Netns& ns,
                                         const std::string& name,
                                         base::Deadline deadline) = 0;

    // Returns the index of the netdev of the device's port 1, if it is in `ns`.
    virtual Result<std::optional<uint32_t>> netdev_of(const Netns& ns, uint32_t device) = 0;
    // Returns the type of a driver over a netdev ("rxe", "siw"); empty for hardware.
    virtual Result<std::string> software_type(const Netns& ns, const RdmaDevice& device) = 0;

    // Returns the name of the device's driver: "rxe", "siw"; of hardware the one that its bus has
    // bound to it ("mlx5_core", "mlx5_core.sf").
    virtual Result<std::string> driver(const Netns& ns, const RdmaDevice& device) = 0;
    // Returns the version of the driver's interface for its provider, in the device's verbs node;
    // nothing if there is no such node.
    virtual Result<std::optional<std::string>> provider_abi(const CharDevice& node) = 0;

    // Returns the software device of that type ("rxe", "siw") whose port 1 has the netdev; nothing
    // if there is none. A netdev may have one of each, beside its own hardware device.
    virtual Result<std::optional<RdmaDevice>> find_software(const Netns& ns,
                                                            uint32_t netdev,
                                                            const std::string& type) = 0;

    // Returns the device's verbs node. Loads ib_uverbs if need be.
    virtual Result<CharDevice> uverbs_node(const Netns& ns, uint32_t device) = 0;
    // Returns the name of the device whose verbs node has this number now (/sys/dev/char/*/ibdev),
    // in whatever namespace; nothing if there is none.
    virtual Result<std::optional<std::string>> device_of_node(const DeviceNumber& number) = 0;
    // Returns the nodes by which programs send management datagrams from the device's ports (umad),
    // and say that there is a subnet manager (issm), by name. None: ib_umad is not loaded, or the
    // ports have no such datagrams (iWARP). Of RoCE ports there is no issm.
    virtual Result<std::vector<CharDevice>> mad_nodes(const RdmaDevice& device) = 0;
    // Returns the connection manager's node. Loads rdma_ucm if need be.
    virtual Result<CharDevice> rdma_cm_node() = 0;

    // Returns the number of user contexts (open verbs nodes) that the kernel reports on the device.
    virtual Result<uint32_t> user_contexts(const Netns& ns, uint32_t device) = 0;
    // Returns whether the verbs node of a device of this driver ("rxe", "siw") may be open without
    // a context. user_contexts() does not count such an opening, and a deletion waits for it. The
    // answer is true if the module has more references than all of its visible devices have
    // contexts. A driver that takes its devices from under their users (rxe of 7.3) counts none.
    virtual Result<bool> open_without_context(const std::string& type) = 0;
    // Returns whether port 1 has its GSI QP, without which rdma_cm cannot connect. An rxe loses it
    // when it moves (7.3).
    virtual Result<bool> has_gsi_qp(const Netns& ns, uint32_t device) = 0;

    // Returns whether a socket in `ns` receives on UDP 4791. After a link was made there, this
    // shows whether the kernel's rxe serves this namespace (before 7.1 it does not).
    virtual Result<bool> roce_port_served(const Netns& ns) = 0;

    // Returns such an entry of type RoCE v2, the first one if any netdev will do; nothing if the
    // table has none.
    virtual Result<std::optional<GidEntry>> find_gid(const Netns& ns,
                                                     const RdmaDevice& device,
                                                     const WantedGid& wanted) = 0;
    // The same, but waits for the entry until the deadline, by the kernel's GID events. Timeout
    // names the GID. Unsupported: the port has no GIDs at all, since RoCE is switched off.
    virtual Result<GidEntry> wait_for_gid(const Netns& ns,
                                          const RdmaDevice& device,
                                          const WantedGid& wanted,
                                          base::Deadline deadline) = 0;

    // Waits until port 1 is ACTIVE, paced by events of links in the namespace of its netdev.
    // Returns its state then or at the deadline: "ACTIVE", "DOWN", "INIT", "ARMED".
    virtual Result<std::string> wait_for_active(const Netns& ns,
                                                uint32_t device,
                                                const Netns& netdev_ns,
                                                base::Deadline deadline) = 0;

    // Returns the room in the GID table; counts at most `enough` free slots. With 0 it counts
    // nothing and only looks for the error. Slots that MLNX_OFED hides from the host count as free.
    // Unsupported: the port has no GIDs at all, since RoCE is switched off.
    virtual Result<GidSpace> gid_space(const Netns& ns,
                                       const RdmaDevice& device,
                                       uint32_t enough) = 0;

    // Makes the link from inside `ns`. Busy: the netdev has one already (EEXIST), or the name is
    // taken (ENFILE).
    virtual Result<> add_link(const Netns& ns, const RdmaLinkSpec& spec) = 0;
    // Deletes the link (DELLINK); one that is gone is no error. While the device is open and its
    // driver counts that (open_without_context()), the call blocks and cannot be killed.
    virtual Result<> remove_link(const Netns& ns, uint32_t device) = 0;
    // Moves a device between namespaces (exclusive mode). Unsupported: the kernel's EOPNOTSUPP.
    virtual Result<> move(const Netns& from, const Netns& to, uint32_t device) = 0;
    // Renames a device in its namespace. Busy: the name is taken (EEXIST).
    virtual Result<> rename(const Netns& ns, uint32_t device, const std::string& name) = 0;
    // Waits until the device is gone by itself because its netdev was removed. Timeout: it stays.
    virtual Result<> wait_gone(const Netns& ns, uint32_t device, base::Deadline deadline) = 0;
};

std::unique_ptr<RdmaDevices> make_kernel_rdma_devices();

}  // namespace netns
