// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/move_link.h"

#include <fmt/format.h>

#include "hook/state/store.h"
#include "hook/steps/deadlines.h"
#include "hook/steps/vf_names.h"
#include "netns/link.h"
#include "netns/sriov.h"

namespace hook {

using base::Code;
using base::make_error;

namespace {
// The VF's netdev on the host. Its index is another's if somebody has bound the VF since.
Result<netns::Link> find_netdev(Site& site, const MoveLink::Args& args) {
    netns::Links& links = site.host.links;
    auto link = TRY(links.find(site.host_ns, args.host_index));
    if (!link || link->device != netns::device_of(args.vf)) {
        const auto function = TRY(site.host.sriov.find(args.vf));
        const bool there = function && !function->netdevs.empty();
        link =
            there ? TRY(links.find(site.host_ns, function->netdevs.front().index)) : std::nullopt;
    }
    if (!link)
        return make_error(Code::Unavailable,
                          "VF " + args.vf + " has no netdev in the host's namespace");
    return *std::move(link);
}
}  // namespace

Result<std::unique_ptr<Step>> MoveLink::load(const Json& json) {
    Args args;
    args.vf = TRY(base::required<std::string>(json, "vf"));
    args.host_name = TRY(base::required<std::string>(json, "host_name"));
    args.host_index = TRY(base::required<uint32_t>(json, "host_index"));
    args.host_mtu = TRY(base::required<uint32_t>(json, "host_mtu"));
    args.host_alias = TRY(base::required<std::string>(json, "host_alias"));
    args.name = TRY(base::required<std::string>(json, "name"));
    args.index = TRY(base::required<uint32_t>(json, "index"));
    args.mtu = TRY(base::required<uint32_t>(json, "mtu"));
    if (json.contains("mac")) {
        args.mac = netns::parse_mac(TRY(base::required<std::string>(json, "mac")));
        if (!args.mac)
            return make_error(Code::Internal, "move_link: broken MAC");
    }
    args.altnames = TRY(string_list(json, "altnames"));
    args.lease = TRY(lease_from_json(json));
    return make_step<MoveLink>(std::move(args));
}

std::string MoveLink::describe() const {
    return fmt::format("move netdev {} of VF {} into the container's namespace as {} (mtu {})",
                       args_.host_name,
                       args_.vf,
                       args_.name,
                       args_.mtu);
}

Result<> MoveLink::apply(Site& site) const {
    const netns::Link link = TRY(find_netdev(site, args_));
    netns::LinkChange change;
    change.index = args_.index;
    change.name = args_.name;
    change.alias = args_.host_name;
    change.mtu = args_.mtu;
    // Not even the MAC that it has: a driver whose PF has set one refuses every change.
    if (args_.mac && link.mac != *args_.mac)
        change.mac = args_.mac;
    TRY(site.host.links.move(site.host_ns, *site.container, link.index, change));
    // By a request of its own: a driver that is busy is asked again, and the move is not.
    return site.host.links.raise(*site.container, args_.index, base::Deadline::in(kReadyTimeout));
}

// RestoreVf, undone after this, sets what could not be set on the way.
Result<Undo> MoveLink::undo(Site& site) const {
    if (!site.container || !TRY(is_held(site, args_.lease)))
        return Undo::gone();
    netns::Links& links = site.host.links;
    const auto link = TRY(links.find_by_device(*site.container, netns::device_of(args_.vf)));
    if (!link)
        return Undo::gone();  // RestoreVf, undone next, finds it wherever it is
    TRY(drop_altnames(site, *site.container, *link, args_.altnames));
    netns::LinkChange change;
    change.name = args_.host_name;
    change.alias = args_.host_alias;
    change.mtu = args_.host_mtu;
    change.up = false;
    if (!TRY(links.find(site.host_ns, args_.host_index)))
        change.index = args_.host_index;
    if (TRY(links.find_by_name(site.host_ns, args_.host_name)))
        change.name = interim_name(args_.vf);
    auto moved = links.move(*site.container, site.host_ns, link->index, change);
    if (moved || moved.error().code != Code::Busy)
        return undone_by(std::move(moved));
    // Somebody took the name or the index since. What has moved all the same RestoreVf names.
    if (!TRY(links.find(*site.container, link->index)))
        return Undo::undone();
    change.index.reset();
    change.name = interim_name(args_.vf);
    return undone_by(links.move(*site.container, site.host_ns, link->index, change));
}

Json MoveLink::save() const {
    Json json = base::object({{"vf", args_.vf},
                              {"host_name", args_.host_name},
                              {"host_index", args_.host_index},
                              {"host_mtu", args_.host_mtu},
                              {"host_alias", args_.host_alias},
                              {"altnames", args_.altnames},
                              {"name", args_.name},
                              {"index", args_.index},
                              {"mtu", args_.mtu},
                              {"lease", to_json(args_.lease)}});
    if (args_.mac)
        json["mac"] = netns::to_string(*args_.mac);
    return json;
}

}  // namespace hook
