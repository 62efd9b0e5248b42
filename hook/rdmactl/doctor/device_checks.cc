// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "hook/rdmactl/asap2/status.h"
#include "hook/rdmactl/doctor/check.h"
#include "hook/rdmactl/vf/pf.h"
#include "hook/steps/free_vf.h"
#include "netns/link.h"
#include "netns/rdma.h"

namespace hook::ctl {

namespace {
constexpr size_t kMaxHcas = 256;

// The interfaces that pools name, and the default route's.
Result<std::set<std::string>> parents_of(Look& look) {
    std::set<std::string> names;
    for (const Pool& pool : look.world.config.pools)
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
                .fix = "mend pools.*.parents, or see: ip link"};
    if (!link->up)
        return {
            .status = Status::Fail, .why = name + " is down", .fix = "ip link set " + name + " up"};
    return {.status = Status::Ok, .why = fmt::format("{} is up, MTU {}", name, link->mtu)};
}

bool uses_vfs(const Look& look) {
    const auto& mode = look.options.mode;
    return mode == "vf" || mode == "asap2" ||
           std::ranges::any_of(look.world.config.pools,
                               [](const Pool& pool) { return !pool.devices.empty(); });
}

// Whether a pool has this PF's VFs and no others.
bool is_only_source(const Look& look, const netns::PciFunction& pf) {
    const auto is_of_pf = [&](const DeviceSpec& spec) {
        return spec.device == pf.address || spec.device == name_of(pf) ||
               std::ranges::find(pf.rdma_names, spec.device) != pf.rdma_names.end();
    };
    return std::ranges::any_of(look.world.config.pools, [&](const Pool& pool) {
        return !pool.devices.empty() && pool.functions.empty() &&
               std::ranges::all_of(pool.devices, is_of_pf);
    });
}

// `lacking`: how bad it is that this PF has none to give.
Result<Finding> look_at_pf(Look& look, const netns::PciFunction& pf, Status lacking) {
    const std::string name = name_of(pf);
    if (pf.netdevs.empty())
        return Finding{.status = lacking,
                       .why = "PF " + name + " has no netdev on the host",
                       .fix = "bind its driver"};
    const auto link = TRY(look.site.host.links.find(look.site.host_ns, pf.netdevs.front().index));
    if (pf.num_vfs == 0)
        return Finding{.status = lacking,
                       .why = fmt::format("PF {} has none of its {} VFs", name, pf.total_vfs),
                       .fix = fmt::format("rdmactl vf enable {} {}", name, pf.total_vfs)};
    if (!serves_vfs(link))
        return Finding{.status = Status::Fail,
                       .why = "PF " + name + " is down: its VFs are given to nobody",
                       .fix = "ip link set " + name + " up"};
    return Finding{.status = Status::Ok,
                   .why = fmt::format("PF {} is up, {} of {} VFs", name, pf.num_vfs, pf.total_vfs)};
}

// What keeps VFs of this PF from being given, each reason once with the command for all.
Result<> look_at_vfs(Look& look, const netns::PciFunction& pf, Findings& found) {
    netns::Sriov& sriov = look.site.host.sriov;
    const std::string again = fmt::format("rdmactl vf enable {} {}", name_of(pf), pf.num_vfs);
    for (uint32_t number = 0; number < pf.num_vfs; ++number) {
        const auto address = TRY(sriov.find_vf(pf.address, number));
        const auto vf = address ? TRY(sriov.find(*address)) : std::nullopt;
        const std::string name = fmt::format("VF {} of {}", number, name_of(pf));
        if (!vf)
            continue;
        const auto settings =
            TRY(sriov.settings(look.site.host_ns, pf.netdevs.front().index, number));
        if (settings && settings->mac && settings->mac->is_zero())
            found.push_back({.status = Status::Fail,
                             .why = name + " has no MAC: it takes another at each start, and its "
                                           "node GUID may be zero",
                             .fix = again});
        else if (vf->driver.empty())
            found.push_back({.status = Status::Fail, .why = name + " has no driver", .fix = again});
    }
    return {};
}

bool does_asap2(const Json& eswitch) {
    return eswitch["mode"] == "switchdev" || eswitch["enabled"].get<bool>();
}

bool requires_offload(const Pool& pool) {
    const auto offload = pool.defaults.find("offload");
    return offload != pool.defaults.end() && offload->second == "required";
}

// Where the host's processors forward all works, but for containers that are not to start so.
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
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
        const auto device = TRY(look.site.host.rdma.find_by_name(look.site.host_ns, name));
        if (!device || !TRY(look.site.host.rdma.software_type(look.site.host_ns, *device)).empty())
            continue;
        found.push_back({.status = Status::Ok, .why = name + " is an HCA of this host", .fix = {}});
        if (found.size() == kMaxHcas)
            break;
    }
    if (found.empty())
        found.push_back({.status = look.wants("shared") ? Status::Fail : Status::Skipped,
                         .why = "the host has no HCA",
                         .fix = "load the driver of your adapter, or use rdma.mode=softroce"});
    return found;
}

Result<Findings> check_pfs(Look& look) {
    Findings found;
    const auto pfs = TRY(look.site.host.sriov.list_pfs());
    const auto gives = [](const netns::PciFunction& pf) {
        return pf.num_vfs != 0 && !pf.netdevs.empty();
    };
    // VFs and their e-switch may be on another bus: scalable functions are.
    const auto has_functions = [](const Pool& pool) {
        return pool.mode == "vf" && !pool.functions.empty();
    };
    const bool none =
        uses_vfs(look) && std::ranges::none_of(look.world.config.pools, has_functions) &&
        std::ranges::none_of(pfs, gives) &&
        (look.options.mode == "vf" || TRY(all_eswitches(look.world, look.site)).empty());
    for (const auto& pf : pfs)
        found.push_back(TRY(look_at_pf(
            look, pf, none || is_only_source(look, pf) ? Status::Fail : Status::Warning)));
    if (!found.empty())
        return found;
    found.push_back({.status = none ? Status::Fail : Status::Skipped,
                     .why = "no PCI function of this host has SR-IOV",
                     .fix = "enable it in the firmware of machine and adapter (IOMMU, SRIOV_EN)"});
    return found;
}

Result<Findings> check_vfs(Look& look) {
    Findings found;
    for (const auto& pf : TRY(look.site.host.sriov.list_pfs())) {
        if (!pf.netdevs.empty())
            TRY(look_at_vfs(look, pf, found));
    }
    if (found.empty())
        found.push_back(
            {.status = Status::Ok, .why = "every VF has a MAC and a driver", .fix = {}});
    return found;
}

Result<Findings> check_offload(Look& look) {
    Findings found;
    const auto handles = TRY(all_eswitches(look.world, look.site));
    const Answer status = TRY(status_of(look.world, look.site, handles));
    const Json& devices = status.json["devices"];
    // In mode legacy an e-switch is mode vf's, such as an adapter's other port: nothing is wrong
    // with it, unless mode asap2 is asked for and no other does it.
    const bool none = std::ranges::none_of(devices, does_asap2);
    for (const Json& device : devices) {
        const bool wanted = does_asap2(device) || (none && look.options.mode == "asap2");
        const auto name = device["device"].get<std::string>();
        for (const Json& lack : device["missing"])
            found.push_back(
                {.status = wanted ? gravity_of(lack, look.world.config) : Status::Skipped,
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
