// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/free_vf.h"

#include <fmt/format.h>

#include "hook/state/store.h"
#include "netns/rdma.h"

namespace hook {

using netns::PciFunction;

namespace {
constexpr char kAttached[] = "attached";
constexpr char kSetUp[] = "being set up by rdmactl";
constexpr char kForVms[] = "bound to vfio-pci";
constexpr char kUp[] = "up on the host";
constexpr char kXdp[] = "with an XDP program on the host";
constexpr char kAddressed[] = "with addresses on the host";
constexpr char kOpen[] = "open by RDMA programs";
constexpr char kNoNetdev[] = "without a netdev on the host";
constexpr char kNoIpoib[] = "without an IPoIB netdev on the host";

// Returns whether the function lacks its IPoIB netdev: the driver of an InfiniBand adapter makes
// none.
Result<bool> lacks_ipoib(const PciFunction& function, Site& site) {
    if (!function.netdevs.empty() || function.rdma_names.empty())
        return false;
    const auto device = TRY(site.host.rdma.find_by_name(site.host_ns, function.rdma_names.front()));
    return device && device->infiniband;
}
}  // namespace

base::Error without_netdev(const std::string& rdma) {
    return base::make_error(base::Code::Unavailable,
                            "RDMA device '" + rdma + "' has no netdev on the host")
        .advise("set rdma.mode=host and rdma.device=" + rdma +
                ", which gives an adapter without one (EFA) as it is");
}

Result<> check_netdev(const PciFunction& pf, Site& site) {
    if (!pf.netdevs.empty())
        return {};
    auto error = base::make_error(base::Code::Unavailable,
                                  "PF " + pf.address + " has no netdev in the host's namespace");
    if (pf.driver.empty())
        return std::move(error).advise("bind its driver");
    if (TRY(lacks_ipoib(pf, site)))
        return std::move(error).advise(
            "run: modprobe ib_ipoib, which makes the netdevs of InfiniBand; else see where it is: "
            "ip -all netns exec ip link");
    return std::move(error).advise(
        "see where it is: ip -all netns exec ip link; a second function of a Socket Direct adapter "
        "has none: name the VFs of the first");
}

bool serves_vfs(const std::optional<netns::Link>& pf) {
    return pf && (pf->up || !pf->ethernet);
}

Result<> check_serves_vfs(const std::string& pf, const std::optional<netns::Link>& link) {
    if (serves_vfs(link))
        return {};
    return base::make_error(base::Code::Unavailable, "PF " + pf + " is down")
        .advise("run: ip link set " + pf + " up");
}

std::string vf_lease(const std::string& address) {
    return "vf-" + file_name(address);
}

std::string adapter_lease(const std::string& handle) {
    return "adapter-" + file_name(handle);
}

bool is_unusable(const std::string& why) {
    return why == kDriverless || why == kForVms;
}

std::string freed_by(const std::string& why, const PciFunction& function) {
    const std::string netdev = function.netdevs.empty() ? "NETDEV" : function.netdevs.front().name;
    if (why == kUp)
        return fmt::format(
            "run: ip link set {} down (/etc/rdma-hook/vfs-unmanaged keeps NetworkManager and "
            "systemd-networkd off VFs)",
            netdev);
    if (why == kXdp)
        return fmt::format("run: ip link set {} xdp off", netdev);
    if (why == kAddressed)
        return fmt::format("run: ip address flush dev {}", netdev);
    if (why == kOpen)
        return "end these programs: rdma resource show ctx";
    if (why == kNoIpoib)
        return "run: modprobe ib_ipoib";
    if (why == kDriverless && !function.pf.empty())
        return fmt::format("run: rdmactl vf enable {} COUNT, with as many as it has", function.pf);
    if (is_unusable(why))
        return "bind the driver that makes its netdev";
    return {};
}

Result<std::string> why_not_free(const std::string& address, Site& site, FreeVf& found) {
    auto function = TRY(site.host.sriov.find(address));
    if (!function)
        return std::string("gone");
    found.function = *std::move(function);
    const auto& netdevs = found.function.netdevs;
    if (found.function.driver.empty())
        return std::string(kDriverless);
    if (netdevs.empty() && found.function.driver == kDriverForVms)
        return std::string(kForVms);
    if (netdevs.empty())
        return std::string(TRY(lacks_ipoib(found.function, site)) ? kNoIpoib : kNoNetdev);
    if (netdevs.size() > 1)
        return std::string("with several netdevs");
    const auto link = TRY(site.host.links.find(site.host_ns, netdevs.front().index));
    if (!link)
        return std::string(kNoNetdev);
    if (link->up)
        return std::string(kUp);
    if (link->xdp)
        return std::string(kXdp);
    if (!TRY(site.host.links.addresses(site.host_ns, link->index)).empty())
        return std::string(kAddressed);
    for (const std::string& name : found.function.rdma_names) {
        const auto device = TRY(site.host.rdma.find_by_name(site.host_ns, name));
        if (device && TRY(site.host.rdma.user_contexts(site.host_ns, device->index)) > 0)
            return std::string(kOpen);
    }
    found.link = *link;
    return std::string();
}

Result<std::string> why_not_given(const std::string& address,
                                  const std::string& adapter,
                                  const std::set<std::string>& leases,
                                  Site& site,
                                  FreeVf& found) {
    if (leases.contains(adapter_lease(adapter)))
        return std::string(kSetUp);
    if (leases.contains(vf_lease(address)))
        return std::string(kAttached);
    return why_not_free(address, site, found);
}

}  // namespace hook
