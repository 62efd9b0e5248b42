// SPDX-License-Identifier: Apache-2.0
// What links and RDMA devices have counted since they were made: of a link by rtnetlink
// (RTM_GETSTATS, 4.7), of an RDMA device by the files of its port 1 in sysfs. Read only.
//
// What this room knows of kernels, so that nobody else has to:
// - An RDMA device has two folders of counters: those that InfiniBand defines, of drivers with a
//   port management agent, and the driver's own (`hw_counters`), of the port and of the device.
//   Software devices have the second alone, or (siw) none.
// - port_xmit_data and port_rcv_data count words of 4 bytes.
// - A counter that the device does not have may be a file with a text for people.
// - In RDMA's exclusive mode a device is in the sysfs of its own namespace alone; in mode shared
//   that of another namespace has the device, but not its counters. Names are unique in all
//   namespaces together.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "netns/namespace.h"
#include "netns/rdma.h"

namespace netns {

using Counters = std::map<std::string, uint64_t>;

// What there is of every link, under the names of /sys/class/net/LINK/statistics.
inline constexpr std::array<const char*, 9> kLinkCounters = {"rx_packets",
                                                             "tx_packets",
                                                             "rx_bytes",
                                                             "tx_bytes",
                                                             "rx_errors",
                                                             "tx_errors",
                                                             "rx_dropped",
                                                             "tx_dropped",
                                                             "multicast"};

class Statistics {
  public:
    virtual ~Statistics() = default;

    // kLinkCounters of a link; Unavailable if it is not there.
    virtual Result<Counters> of_link(const Netns& ns, uint32_t index) = 0;
    // Whatever the device counts; Unavailable if it is not there. `ns`: from which it is seen.
    virtual Result<Counters> of_device(const Netns& ns, const RdmaDevice& device) = 0;
};

std::unique_ptr<Statistics> make_kernel_statistics();

}  // namespace netns
