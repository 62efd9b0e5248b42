// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/restore_vf.h"

#include <fmt/format.h>

#include "hook/state/store.h"
#include "hook/steps/deadlines.h"
#include "hook/steps/vf_names.h"

namespace hook {

using base::Code;
using base::make_error;
using netns::PciFunction;

namespace {
// With a new netdev on the host, wherever the old one was: an unbind takes it away there.
Result<std::optional<PciFunction>> bind_again(Site& site, const RestoreVf::Args& args) {
    netns::Sriov& sriov = site.host.sriov;
    TRY(sriov.unbind(args.vf));
    TRY(sriov.bind(args.vf, args.driver));
    TRY(sriov.wait_for_netdev(args.vf, base::Deadline::in(kBindTimeout)));
    return sriov.find(args.vf);
}

// The VF with its driver and its netdev on the host, or nothing if it is not ours to repair.
Result<std::optional<PciFunction>> find_on_host(Site& site, const RestoreVf::Args& args) {
    netns::Sriov& sriov = site.host.sriov;
    auto function = TRY(sriov.find(args.vf));
    if (function && function->driver.empty()) {
        TRY(sriov.bind(args.vf, args.driver));
        function = TRY(sriov.find(args.vf));
    }
    if (!function || function->driver != args.driver)
        return std::optional<PciFunction>{};
    if (!function->netdevs.empty())
        return function;
    // Of a container that could move it on, nobody knows where it is.
    if (site.net_admin || !sriov.wait_for_netdev(args.vf, base::Deadline::in(kReturnTimeout)))
        return bind_again(site, args);
    return sriov.find(args.vf);
}
}  // namespace

Result<std::unique_ptr<Step>> RestoreVf::load(const Json& json) {
    Args args;
    args.vf = TRY(base::required<std::string>(json, "vf"));
    args.driver = TRY(base::required<std::string>(json, "driver"));
    args.name = TRY(base::required<std::string>(json, "name"));
    args.alias = TRY(base::required<std::string>(json, "alias"));
    const auto mac = netns::parse_mac(TRY(base::required<std::string>(json, "mac")));
    if (!mac)
        return make_error(Code::Internal, "restore_vf: broken MAC");
    args.mac = *mac;
    args.mtu = TRY(base::required<uint32_t>(json, "mtu"));
    args.rdma = TRY(base::required<std::string>(json, "rdma"));
    args.node_guid = TRY(base::required<uint64_t>(json, "node_guid"));
    args.rebound = TRY(base::required<bool>(json, "rebound"));
    args.altnames = TRY(string_list(json, "altnames"));
    args.lease = TRY(lease_from_json(json));
    return make_step<RestoreVf>(std::move(args));
}

std::string RestoreVf::describe() const {
    return fmt::format("remember VF {} as it is: {}, {}, mtu {}",
                       args_.vf,
                       args_.name,
                       netns::to_string(args_.mac),
                       args_.mtu);
}

Result<> RestoreVf::apply(Site&) const {
    return {};
}

Result<bool> RestoreVf::needs_rebind(Site& site, const PciFunction& function) const {
    if (function.netdevs.empty())
        return false;
    const auto link = TRY(site.host.links.find(site.host_ns, function.netdevs.front().index));
    // Not of a holder who could, but of somebody who entered its namespace.
    const bool is_altered =
        link && (link->promiscuous || link->xdp ||
                 TRY(site.host.links.receive_rules(site.host_ns, link->name)) != 0);
    if (!args_.rebound && !site.net_admin && !is_altered)
        return false;
    if (link)
        // Before anything: gc would bind it again and again.
        TRY(free_netdev_name(site, args_.vf, *link, args_.name));
    // Promiscuous mode, receive rules, XDP, sizes of rings: what a netdev can be set to is without
    // end and stays with it in every namespace. A new one has none of it.
    if (site.net_admin || is_altered)
        return true;
    if (link && link->mac != args_.mac)
        return true;
    if (args_.rdma.empty() || function.rdma_names.empty())
        return false;
    const auto device = TRY(rdma_device_of(site, args_.vf));
    return device && device->node_guid != args_.node_guid;
}

Result<netns::Mac> RestoreVf::mend_link(Site& site, const PciFunction& function) const {
    if (function.netdevs.empty())
        return make_error(Code::Unavailable, "VF " + args_.vf + " has lost its netdev again");
    const uint32_t index = function.netdevs.front().index;
    const auto link = TRY(site.host.links.find(site.host_ns, index));
    if (!link)
        return make_error(Code::Unavailable, "the netdev of VF " + args_.vf + " is gone");
    TRY(free_netdev_name(site, args_.vf, *link, args_.name));
    // Its namespace died without us: the kernel brings them along.
    TRY(drop_altnames(site, site.host_ns, *link, args_.altnames));
    netns::LinkChange change;
    if (link->name != args_.name)
        change.name = args_.name;
    if (link->alias != args_.alias)
        change.alias = args_.alias;
    if (link->mtu != args_.mtu)
        change.mtu = args_.mtu;
    if (link->up || change != netns::LinkChange{})
        change.up = false;
    if (change == netns::LinkChange{})
        return link->mac;
    TRY(site.host.links.change(site.host_ns, index, change));
    // A netdev that goes down may take over the MAC that its PF has set.
    const auto now = TRY(site.host.links.find(site.host_ns, index));
    return now ? now->mac : args_.mac;
}

// Which MAC a VF has is the PF's to say in the end: a driver whose PF has set one takes no other.
Result<> RestoreVf::mend_mac(Site& site, const PciFunction& function, netns::Mac present) const {
    const uint32_t index = function.netdevs.front().index;
    if (present == args_.mac)
        return {};
    netns::LinkChange change;
    change.mac = args_.mac;
    change.up = false;
    auto done = site.host.links.change(site.host_ns, index, change);
    if (done)
        return done;
    const auto pf = TRY(site.host.sriov.find(function.pf));
    if (!pf || pf->netdevs.empty())
        return done;
    const auto settings =
        TRY(site.host.sriov.settings(site.host_ns, pf->netdevs.front().index, function.number));
    return settings && settings->mac == present ? Result<>{} : std::move(done);
}

Result<> RestoreVf::mend_rdma(Site& site) const {
    if (args_.rdma.empty())
        return {};
    TRY(site.host.sriov.wait_for_rdma(args_.vf, base::Deadline::in(kReturnTimeout))
            .context("RDMA device " + args_.rdma + " has not come back")
            .advise("it may need a moment; then run: rdmactl gc"));
    return name_rdma_device(site, args_.vf, args_.rdma);
}

Result<Undo> RestoreVf::undo(Site& site) const {
    if (!TRY(is_held(site, args_.lease)))
        return Undo::gone();
    auto function = TRY(find_on_host(site, args_));
    if (!function)
        return Undo::gone();
    if (TRY(needs_rebind(site, *function))) {
        function = TRY(bind_again(site, args_));
        if (!function)
            return Undo::gone();
    }
    const netns::Mac present = TRY(mend_link(site, *function));
    TRY(mend_mac(site, *function, present));
    return undone_by(mend_rdma(site));
}

Json RestoreVf::save() const {
    return base::object({{"vf", args_.vf},
                         {"driver", args_.driver},
                         {"name", args_.name},
                         {"alias", args_.alias},
                         {"altnames", args_.altnames},
                         {"mac", netns::to_string(args_.mac)},
                         {"mtu", args_.mtu},
                         {"rdma", args_.rdma},
                         {"node_guid", args_.node_guid},
                         {"rebound", args_.rebound},
                         {"lease", to_json(args_.lease)}});
}

}  // namespace hook
