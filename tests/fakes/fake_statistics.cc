// SPDX-License-Identifier: Apache-2.0
// The fake of netns/statistics.h. Codes and errno values are the kernel room's: see tests/contract.
#include <algorithm>
#include <cerrno>

#include "tests/fakes/fake_host.h"

namespace test {

using base::Code;

Result<netns::Counters> FakeStatistics::of_link(const Netns& ns, uint32_t index) {
    const FakeLink* link = world_.find_link(ns.id(), index);
    if (link == nullptr)
        return coded(
            Code::Unavailable, ENODEV, "ask for the counters of link " + std::to_string(index));
    netns::Counters counters = link->counters;
    for (const char* name : netns::kLinkCounters)
        counters.emplace(name, 0);
    return counters;
}

Result<netns::Counters> FakeStatistics::of_device(const Netns& ns,
                                                  const netns::RdmaDevice& device) {
    const auto found = std::ranges::find_if(world_.rdma, [&](const auto& entry) {
        return entry.second.device.name == device.name && world_.sees(ns.id(), entry.second);
    });
    if (found == world_.rdma.end())
        return coded(Code::Unavailable, ENOENT, "RDMA device " + device.name + " is not there");
    netns::Counters counters = found->second.counters;
    if (found->second.type == "rxe") {
        counters.emplace("sent_pkts", 0);
        counters.emplace("rcvd_pkts", 0);
    }
    return counters;
}

}  // namespace test
