// SPDX-License-Identifier: Apache-2.0
// RDMA devices, by nldev (netlink protocol NETLINK_RDMA, <rdma/rdma_netlink.h>; layout as in
// kernels 6.1 to 7.3), their GID tables by sysfs, and their events.
//
// What this room knows of kernels, so that nobody else has to:
// - NEWLINK finds the netdev by name in the namespace of the *socket* and answers no index.
// - An unknown device index is EINVAL, not ENODEV.
// - In netns mode "exclusive" a new rxe belongs to the first namespace, wherever it was made, and
//   has to be moved (rxe: since 7.3); a device is visible only in its own namespace.
// - The move wants the calling thread in the device's present namespace (since 5.1).
// - PORT_GET names the netdev only if it is in the namespace of the socket.
// - MLNX_OFED and DOCA hide a GID from readers outside its netdev's namespace: these see an empty
//   slot (core/cache.c, rdma_check_gid_user_access). Linux itself shows every GID to every reader.
// - Before 7.0 a device that is being registered does not hear of netdevs: what they are given then
//   (MAC, addresses) is missing in its GID table. It is told again when the netdev's MAC is set,
//   also to the one that it has; not when the netdev comes up (9af0feae8016ba; cache.c).
// - A RoCE port's state follows its netdev: up, and with a carrier (mlx5 main.c).
// - Deleting an rxe that somebody has open blocks until they close it (before 7.3).
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

namespace netns {

enum class RdmaNetnsMode { Shared, Exclusive };

struct RdmaDevice {
    uint32_t index = 0;  // RDMA_NLDEV_ATTR_DEV_INDEX: stable for the device's life, system-wide
    std::string name;
    uint64_t node_guid = 0;  // host order; as `rdma dev show` prints it
    bool iwarp = false;      // its port has one GID, of its MAC, and none of addresses
    bool operator==(const RdmaDevice&) const = default;
};

// The state of a port that carries traffic, as sysfs spells it.
inline constexpr char kActivePort[] = "ACTIVE";

// A character device: /dev/infiniband/<name>.
struct CharDevice {
    std::string name;  // "uverbs0", "rdma_cm"
    uint32_t major = 0;
    uint32_t minor = 0;
    bool operator==(const CharDevice&) const = default;

    [[nodiscard]] std::string path() const { return "/dev/infiniband/" + name; }
};

enum class GidType { RoceV1, RoceV2, InfiniBand };

// An entry of a GID table that is looked for. Two netdevs on a device may have one address, in two
// VLANs: then the netdev tells.
struct WantedGid {
    // NOLINTNEXTLINE(google-explicit-constructor): mostly a GID is all that is known
    WantedGid(const Gid& wanted, std::string name = {}, std::optional<Netns> where = {})
        : gid(wanted), netdev(std::move(name)), netdev_ns(std::move(where)) {}

    Gid gid;
    std::string netdev;  // its name in its own namespace; empty: any
    // That namespace: MLNX_OFED shows a GID to readers there alone. Nothing: the reader's own.
    std::optional<Netns> netdev_ns;
};

struct GidEntry {
    uint32_t index = 0;
    Gid gid;
    GidType type = GidType::RoceV2;
    std::string netdev;  // the netdev's name in its own namespace
};

// Room in the GID table of port 1.
struct GidSpace {
    uint32_t size = 0;         // slots that can be used: of more than 256 the first 256, because
                               // an address handle has 8 bits for the index (ibv_global_route)
    uint32_t free = 0;         // empty ones, counted as far as the asker needs
    uint32_t per_address = 1;  // slots that an address takes: 2 where the port has RoCE v1, too
};

struct RdmaLinkSpec {
    std::string name;     // wanted RDMA device name, unique system-wide (ENFILE else)
    std::string type;     // "rxe", "siw"
    uint32_t netdev = 0;  // index of the netdev in the namespace
};

class RdmaDevices {
  public:
    virtual ~RdmaDevices() = default;

    // Unavailable, with the command that mends it, if the kernel has no RDMA (ib_core not loaded).
    virtual Result<RdmaNetnsMode> mode() = 0;

    // The device whose port 1 has the netdev `netdev` of `ns`; nothing if there is none. `name` is
    // a hint: the device of that name is asked first.
    virtual Result<std::optional<RdmaDevice>> find_by_netdev(const Netns& ns,
                                                             uint32_t netdev,
                                                             const std::string& name) = 0;
    // All devices whose port 1 has the netdev: hardware, and an rxe and a siw that somebody made.
    virtual Result<std::vector<RdmaDevice>> list_on(const Netns& ns, uint32_t netdev) = 0;
    // The device of that name as seen from `ns`; nothing if there is none.
    virtual Result<std::optional<RdmaDevice>> find_by_name(const Netns& ns,
                                                           const std::string& name) = 0;

    // Whether `ns` sees no device of that name, or sees none any more at the deadline.
    virtual Result<bool> wait_until_free(const Netns& ns,
                                         const std::string& name,
                                         base::Deadline deadline) = 0;

    // The netdev of the device's port 1, if it is in `ns`.
    virtual Result<std::optional<uint32_t>> netdev_of(const Netns& ns, uint32_t device) = 0;
    // The type of a driver over a netdev ("rxe", "siw"); empty: hardware.
    virtual Result<std::string> software_type(const Netns& ns, const RdmaDevice& device) = 0;

    // The software device of that type ("rxe", "siw") whose port 1 has the netdev; nothing if there
    // is none. A netdev may have one of each, and hardware of its own beside them.
    virtual Result<std::optional<RdmaDevice>> find_software(const Netns& ns,
                                                            uint32_t netdev,
                                                            const std::string& type) = 0;

    // The verbs node. Loads ib_uverbs if need be.
    virtual Result<CharDevice> uverbs_node(const Netns& ns, uint32_t device) = 0;
    // The name of the device whose verbs node has the number now (/sys/dev/char/*/ibdev), whatever
    // namespace it is in; nothing if there is none.
    virtual Result<std::optional<std::string>> device_of_node(const DeviceNumber& number) = 0;
    // The connection manager's node. Loads rdma_ucm if need be.
    virtual Result<CharDevice> rdma_cm_node() = 0;

    // How many user contexts (open verbs nodes) the kernel reports on the device.
    virtual Result<uint32_t> user_contexts(const Netns& ns, uint32_t device) = 0;
    // Whether somebody may have the verbs node of a device of this driver ("rxe", "siw") open
    // without a context: user_contexts() does not count that, and a deletion waits for it. The
    // module's references beyond the contexts of all of its devices that we see. A driver that
    // takes its devices from under their users (rxe of 7.3) counts none.
    virtual Result<bool> open_without_context(const std::string& type) = 0;
    // Whether port 1 has its GSI QP, without which rdma_cm cannot connect (lost when rxe
    // moves, 7.3).
    virtual Result<bool> has_gsi_qp(const Netns& ns, uint32_t device) = 0;

    // Whether something in `ns` receives on UDP 4791: after a link was made there this tells
    // whether the kernel's rxe serves this namespace (it does not before 7.1).
    virtual Result<bool> roce_port_served(const Netns& ns) = 0;

    // The first such entry of type RoCE v2; nothing if the table has none.
    virtual Result<std::optional<GidEntry>> find_gid(const Netns& ns,
                                                     const RdmaDevice& device,
                                                     const WantedGid& wanted) = 0;
    // The same, waiting for the kernel's GID events until the deadline; Timeout names the GID.
    // Unsupported: the port has no GIDs at all, since RoCE is switched off.
    virtual Result<GidEntry> wait_for_gid(const Netns& ns,
                                          const RdmaDevice& device,
                                          const WantedGid& wanted,
                                          base::Deadline deadline) = 0;

    // The state of port 1 ("ACTIVE", "DOWN", "INIT", "ARMED") as soon as it is ACTIVE, else as it
    // is at the deadline. Paced by events of links in the namespace of its netdev.
    virtual Result<std::string> wait_for_active(const Netns& ns,
                                                uint32_t device,
                                                const Netns& netdev_ns,
                                                base::Deadline deadline) = 0;

    // Counts at most `enough` free slots. Unsupported: the port has no GIDs at all, since RoCE is
    // switched off. What MLNX_OFED hides from the host counts as free.
    virtual Result<GidSpace> gid_space(const Netns& ns,
                                       const RdmaDevice& device,
                                       uint32_t enough) = 0;

    // Makes the link from inside `ns`. Busy: EEXIST, the netdev has one already; ENFILE, name
    // taken.
    virtual Result<> add_link(const Netns& ns, const RdmaLinkSpec& spec) = 0;
    // Deletes it (DELLINK); one that is gone is no error. Blocks, and cannot be killed, while the
    // device is open and its driver counts that (open_without_context()).
    virtual Result<> remove_link(const Netns& ns, uint32_t device) = 0;
    // Moves a device between namespaces (exclusive mode). Unsupported: the kernel's EOPNOTSUPP.
    virtual Result<> move(const Netns& from, const Netns& to, uint32_t device) = 0;
    // Renames a device in its namespace. Busy: the name is taken (EEXIST).
    virtual Result<> rename(const Netns& ns, uint32_t device, const std::string& name) = 0;
    // Waits until the device is gone by itself (its netdev was removed). Timeout if it stays.
    virtual Result<> wait_gone(const Netns& ns, uint32_t device, base::Deadline deadline) = 0;
};

std::unique_ptr<RdmaDevices> make_kernel_rdma_devices();

}  // namespace netns
