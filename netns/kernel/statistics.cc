// SPDX-License-Identifier: Apache-2.0
#include "netns/statistics.h"

#include <cerrno>

#include <linux/netlink.h>

#include "netns/kernel/netlink/socket.h"
#include "netns/kernel/statistics_message.h"
#include "netns/kernel/sysfs.h"

namespace netns {

using netlink::Request;

namespace {
// The time for which the kernel answers from memory; it is no counter.
constexpr char kLifespan[] = "lifespan";

Result<> add_folder(Counters& all, const SysTree& device, const std::string& folder) {
    for (const std::string& name : TRY(device.list(folder))) {
        const auto text = TRY(device.read(folder + "/" + name));
        const auto value = text && name != kLifespan ? parse_counter(*text) : std::nullopt;
        if (value)
            all[name] = *value;
    }
    return {};
}

Result<std::optional<SysTree>> device_folder(const Netns& ns, const RdmaDevice& device) {
    const std::string path = "class/infiniband/" + device.name;
    auto folder = TRY(TRY(SysTree::host()).enter(path));
    if (!folder)
        folder = TRY(TRY(SysTree::of(ns)).enter(path));
    return folder;
}

class KernelStatistics : public Statistics {
  public:
    Result<Counters> of_link(const Netns& ns, uint32_t index) override {
        const std::string what = "ask for the counters of link " + std::to_string(index);
        Request request = counters_request(index);
        auto reply = TRY(sockets_.get(ns))->get(request, what);
        if (!reply && reply.error().sys == ENODEV)
            return std::move(reply).error().as(Code::Unavailable);
        if (auto counters = parse_counters(TRY(std::move(reply))))
            return *std::move(counters);
        return make_error(Code::Internal, what + ": the kernel answers without counters");
    }

    Result<Counters> of_device(const Netns& ns, const RdmaDevice& device) override {
        const auto folder = TRY(device_folder(ns, device));
        if (!folder)
            return base::sys_error(ENOENT,
                                   "RDMA device " + base::printable(device.name) + " is not there")
                .as(Code::Unavailable);
        Counters all;
        for (const char* counters : {"hw_counters", "ports/1/counters", "ports/1/hw_counters"})
            TRY(add_folder(all, *folder, counters));
        return all;
    }

  private:
    netlink::Sockets sockets_{NETLINK_ROUTE};
};
}  // namespace

std::unique_ptr<Statistics> make_kernel_statistics() {
    return std::make_unique<KernelStatistics>();
}

}  // namespace netns
