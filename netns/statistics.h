// SPDX-License-Identifier: Apache-2.0
// Statistics reads the counters of links and RDMA devices, which count since the device was made. A
// link's come by rtnetlink (RTM_GETSTATS, 4.7), an RDMA device's from the files of its port 1 in
// sysfs. Read only.
//
// Facts about kernels:
// - An RDMA device has two folders of counters. One has those that InfiniBand defines, for drivers
//   with a port management agent. The other has the driver's own (`hw_counters`), of the port and
//   of the device. Software devices have only the second, or (siw) none.
// - port_xmit_data and port_rcv_data count words of 4 bytes.
// - The file of a counter that the device does not have may hold a text for people.
// - In RDMA's exclusive mode a device is only in the sysfs of its own namespace. In mode shared the
//   sysfs of another namespace has the device, but not its counters. Names are unique over all
//   namespaces.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "netns/namespace.h"
#include "netns/values/rdma_device.h"

namespace netns {

// Values by name.
using Counters = std::map<std::string, uint64_t>;

// The counters of every link, under their names in /sys/class/net/LINK/statistics.
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

    // Returns kLinkCounters of a link. Unavailable: there is no such link.
    virtual Result<Counters> of_link(const Netns& ns, uint32_t index) = 0;
    // Returns all counters of the device. `ns` is the namespace from which it is seen. Unavailable:
    // there is no such device.
    virtual Result<Counters> of_device(const Netns& ns, const RdmaDevice& device) = 0;
};

std::unique_ptr<Statistics> make_kernel_statistics();

}  // namespace netns
