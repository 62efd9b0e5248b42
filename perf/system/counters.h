// SPDX-License-Identifier: Apache-2.0
// Counters of a device and its netdev, before and after a point: what changed, and whether that
// means that the point measured a disturbed network. Relies on sysfs (Documentation/ABI/stable/
// sysfs-class-infiniband and testing/sysfs-class-net-statistics of the kernel):
//
//   /sys/class/infiniband/DEV/ports/P/hw_counters/*   the driver's; where /sys has none, netlink's
//   /sys/class/infiniband/DEV/ports/P/counters/*      PortCounters of the IBTA; not of rxe and siw
//   /sys/class/net/NETDEV/statistics/*                if that netdev is in this namespace
//   ethtool -S NETDEV                                 of that, the pause frames
//
// All of them count everything that the port does, not only our queue pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perf/base/names.h"

namespace perf {

// "hw_counters/rcvd_seq_err", "ethtool/rx_prio3_pause": folder and name.
using Counters = std::map<std::string, uint64_t>;

struct CounterSource {
    std::string device;
    uint8_t port = 1;
    std::string netdev;  // empty: none
};

// Carries out a command of linux/ethtool.h on a netdev of this namespace. Returns 0, or errno.
using Ethtool = int (*)(const std::string& netdev, void* command);
int ask_ethtool(const std::string& netdev, void* command);

// What can be read; folders and files that are not there or cannot be read are left out.
// Code::BadInput for names that lead out of their folder.
Result<Counters> read_counters(const CounterSource& source,
                               const std::string& sysfs = "/sys",
                               Ethtool ethtool = ask_ethtool);

// The driver's by netlink, as `rdma statistic show link` has them. In a network namespace other
// than the first, sysfs shows a device of RDMA's shared mode without its counters (the kernel makes
// such an entry of GIDs and port state only: ib_core's "compat" devices, since 5.1). Empty: this
// kernel or namespace has no such device, or its driver counts nothing.
Counters port_statistics(const std::string& device, uint8_t port);

// What follows the header of a netlink message of nldev; lengths that are wrong end it.
Counters parse_statistics(std::span<const std::byte> payload);
// The index of the device that the message describes, if it is this one.
std::optional<uint32_t> parse_index(std::span<const std::byte> payload, const std::string& device);

// The priorities of a netdev of this namespace that have PFC, a bit for each (DCB, IEEE 802.1Qaz).
Result<uint8_t> pfc_of(const std::string& netdev);

// What follows the header of the answer of DCB; nothing if the driver does not say.
std::optional<uint8_t> parse_pfc(std::span<const std::byte> payload);

// By how much each counter grew. One that went back was reset by somebody: nothing is known of it.
Counters grown(const Counters& before, const Counters& after);

// What the counters that grew tell, each at most once:
// "retransmit": a packet went again, or was asked for again: lost, late or refused (RNR);
// "loss": a port or netdev dropped something; whose, it does not say;
// "congested": packets were marked on their way, a sender was told, or a port had to wait.
std::vector<std::string> flags_of(const Counters& grown);

// At most 1024 members, names in printable ASCII.
Result<Counters> parse_counters(const Json& json);

}  // namespace perf
