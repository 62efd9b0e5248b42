// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "hook/modes/host.h"
#include "hook/modes/mode.h"
#include "hook/modes/shared.h"
#include "hook/rdmactl/asap2/status.h"
#include "hook/rdmactl/doctor/check.h"
#include "netns/link.h"
#include "netns/rdma.h"
#include "netns/sriov.h"

namespace hook::ctl {

namespace {
constexpr size_t kMaxHcas = 256;

// Returns the interfaces that pools name, and the default route's.
Result<std::set<std::string>> parents_of(Look& look) {
    std::set<std::string> names;
    for (const Pool& pool : look.config.pools)
        names.insert(pool.parents.begin(), pool.parents.end());
    names.erase(std::string(kContainerParent));
    if (!names.empty())
        return names;
    netns::Links& links = look.site.host.links;
    if (const auto index = TRY(links.default_route_link(look.site.host_ns))) {
        if (const auto link = TRY(links.find(look.site.host_ns, *index)))
            names.insert(link->name);
    }
    return names;
}

Finding look_at_parent(const std::string& name, const std::optional<netns::Link>& link) {
    if (!link)
        return {.status = Status::Fail,
                .why = fmt::format("a pool names {}, which the host has not", name),
                .fix = "correct pools.*.parents, or see: ip link"};
    if (!link->up)
        return {
            .status = Status::Fail, .why = name + " is down", .fix = "ip link set " + name + " up"};
    return {.status = Status::Ok, .why = fmt::format("{} is up, MTU {}", name, link->mtu)};
}

// True if a pool of mode shared has the device, by its own name or its netdev's.
bool is_shared(const Look& look, const std::string& device, const std::string& netdev) {
    return std::ranges::any_of(look.config.pools, [&](const Pool& pool) {
        const auto has = [&](const std::string& name) {
            return std::ranges::find(pool.parents, name) != pool.parents.end();
        };
        return pool.mode == "shared" && (has(device) || has(netdev));
    });
}

// True if the device is not for sharing. A VF is for modes vf and asap2; a function that a
// container has belongs to that container.
Result<bool> is_for_others(Look& look, const std::string& device) {
    const auto address = TRY(look.site.host.sriov.find_by_rdma(device));
    const auto function = address ? TRY(look.site.host.sriov.find(*address)) : std::nullopt;
    return function && (!function->pf.empty() || is_leased(look, function->address));
}

Result<> look_at_hca(Look& look,
                     const netns::RdmaDevice& device,
                     Verdicts& verdicts,
                     Findings& found) {
    Site& site = look.site;
    const auto netdev = TRY(site.host.rdma.netdev_of(site.host_ns, device.index));
    const auto link = netdev ? TRY(site.host.links.find(site.host_ns, *netdev)) : std::nullopt;
    const bool named = is_shared(look, device.name, link ? link->name : device.name);
    Finding good{.status = Status::Ok, .why = device.name + " is an HCA of this host"};
    if (named || !TRY(is_for_others(look, device.name))) {
        const auto shares = check_hca(device, link, site);
        TRY(verdicts.note(shares, named));
        if (!shares)
            return {};
        // rdma.child=ipvlan needs no macvlan.
        if (const auto macvlan = check_macvlan_on(device, *link, site); !macvlan)
            good = finding_of(macvlan.error(), Status::Warning);
    }
    found.push_back(std::move(good));
    return {};
}

// Adds the reasons why containers of pools get no device of the host.
void add_refused_pools(Look& look, Findings& found) {
    Site site = look.site;
    site.hosts_network = true;  // this is about devices, and not about a container's network
    for (const Pool& pool : look.config.pools) {
        const Mode* mode = find_mode(pool.mode);
        if (mode == nullptr || mode->expand == nullptr || pool.devices.empty())
            continue;
        Attachment asked;
        asked.devices = pool.devices;
        if (const auto given = mode->expand(asked, look, site); !given)
            found.push_back(finding_of(given.error(), Status::Fail));
    }
}

bool does_asap2(const Json& eswitch) {
    return eswitch["mode"] == "switchdev" || eswitch["enabled"].get<bool>();
}

bool requires_offload(const Pool& pool) {
    const auto offload = pool.defaults.find("offload");
    return offload != pool.defaults.end() && offload->second == "required";
}

// Rates a lack of offload. The host's processors forward instead, so all works, except for
// containers that require offload.
Status gravity_of(const Json& lack, const Config& config) {
    const bool works = lack["software_path"].get<bool>();
    return works && std::ranges::none_of(config.pools, requires_offload) ? Status::Warning
                                                                         : Status::Fail;
}
}  // namespace

Result<Findings> check_parents(Look& look) {
    Findings found;
    for (const std::string& name : TRY(parents_of(look)))
        found.push_back(
            look_at_parent(name, TRY(look.site.host.links.find_by_name(look.site.host_ns, name))));
    if (found.empty())
        found.push_back({.status = Status::Warning,
                         .why = "no pool names an interface, and there is no default route",
                         .fix = "annotate rdma.parent=INTERFACE, or write a pool"});
    return found;
}

Result<Findings> check_hcas(Look& look) {
    const auto names = look.site.host.files.list(look.options.rdma_class);
    if (!names && !base::is_missing(names.error()))
        return names.error();
    Findings found;
    Verdicts verdicts;
    size_t count = 0;
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
        const auto device = TRY(look.site.host.rdma.find_by_name(look.site.host_ns, name));
        if (!device || !TRY(look.site.host.rdma.software_type(look.site.host_ns, *device)).empty())
            continue;
        TRY(look_at_hca(look, *device, verdicts, found));
        if (++count == kMaxHcas)
            break;
    }
    verdicts.report(look.wants("shared"), found);
    if (found.empty())
        found.push_back({.status = look.wants("shared") ? Status::Fail : Status::Skipped,
                         .why = "the host has no HCA",
                         .fix = "load the driver of your adapter, or use rdma.mode=softroce"});
    return found;
}

Result<Findings> check_hosts_devices(Look& look) {
    const bool exclusive = TRY(look.site.host.rdma.mode()) == netns::RdmaNetnsMode::Exclusive;
    Findings found;
    for (const auto& device : TRY(list_hosts_own(look, look.site)))
        found.push_back({.status = Status::Ok,
                         .why = device.name + " is the host's own" +
                                (exclusive ? ", for containers with --network host" : "")});
    if (found.empty())
        found.push_back({.status = look.wants("host") ? Status::Fail : Status::Skipped,
                         .why = "the host has no RDMA device of its own",
                         .fix = "load the driver of your adapter"});
    add_refused_pools(look, found);
    return found;
}

Result<Findings> check_offload(Look& look) {
    Findings found;
    const auto handles = TRY(all_eswitches(look));
    const Answer status = TRY(status_of(look, handles));
    const Json& devices = status.json["devices"];
    // In mode legacy an e-switch belongs to mode vf, such as an adapter's other port. Nothing is
    // wrong with it, unless mode asap2 is asked for and no other e-switch does it.
    const bool none = std::ranges::none_of(devices, does_asap2);
    for (const Json& device : devices) {
        const bool wanted = does_asap2(device) || (none && look.options.mode == "asap2");
        const auto name = device["device"].get<std::string>();
        for (const Json& lack : device["missing"])
            found.push_back({.status = wanted ? gravity_of(lack, look.config) : Status::Skipped,
                             .why = name + ": " + lack["why"].get<std::string>(),
                             .fix = lack["fix"].get<std::string>()});
        if (device["missing"].empty())
            found.push_back({.status = Status::Ok, .why = name + " offloads", .fix = {}});
    }
    if (found.empty())
        found.push_back({.status = look.options.mode == "asap2" ? Status::Fail : Status::Skipped,
                         .why = "no device of this host has an e-switch",
                         .fix = {}});
    return found;
}

}  // namespace hook::ctl
