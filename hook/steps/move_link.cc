// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/move_link.h"

#include <algorithm>

#include <fmt/format.h>

#include "hook/steps/deadlines.h"
#include "hook/store.h"
#include "netns/link.h"
#include "netns/sriov.h"

namespace hook {

using base::Code;
using base::make_error;

namespace {
// A name for a netdev whose own is taken on the host: its PCI address, of which there is one.
std::string interim_name(std::string address) {
    address = netns::device_of(address);
    std::erase_if(address, [](char c) { return c == ':' || c == '.'; });
    constexpr size_t kMost = 13;  // of an interface's 15
    return "vf" + address.substr(address.size() - std::min(address.size(), kMost));
}

Result<uint32_t> index_of(Site& site, const std::string& vf) {
    const auto function = TRY(site.host.sriov.find(vf));
    if (!function || function->netdevs.empty())
        return make_error(Code::Unavailable, "VF " + vf + " has no netdev in the host's namespace");
    return function->netdevs.front().index;
}

Result<std::optional<netns::Mac>> mac_of(Site& site, uint32_t index) {
    const auto link = TRY(site.host.links.find(site.host_ns, index));
    return link ? std::optional{link->mac} : std::nullopt;
}
}  // namespace

Result<std::unique_ptr<Step>> MoveLink::load(const Json& json) {
    Args args;
    args.vf = TRY(base::required<std::string>(json, "vf"));
    args.host_name = TRY(base::required<std::string>(json, "host_name"));
    args.host_index = TRY(base::required<uint32_t>(json, "host_index"));
    args.rebound = TRY(base::required<bool>(json, "rebound"));
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
    const uint32_t now = args_.rebound ? TRY(index_of(site, args_.vf)) : args_.host_index;
    netns::LinkChange change;
    change.index = args_.index;
    change.name = args_.name;
    change.alias = args_.host_name;
    change.mtu = args_.mtu;
    // Not even the MAC that it has: a driver whose PF has set one refuses every change.
    if (args_.mac && TRY(mac_of(site, now)) != args_.mac)
        change.mac = args_.mac;
    TRY(site.host.links.move(site.host_ns, *site.container, now, change));
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
    return undone_by(links.move(*site.container, site.host_ns, link->index, change));
}

Json MoveLink::save() const {
    Json json = base::object({{"vf", args_.vf},
                              {"host_name", args_.host_name},
                              {"host_index", args_.host_index},
                              {"rebound", args_.rebound},
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
