// SPDX-License-Identifier: Apache-2.0
// Checks of PFs, and of the functions that modes vf and asap2 give. The modes themselves report
// whether they could.
#include <algorithm>

#include <fmt/format.h>

#include "hook/modes/virtual_function.h"
#include "hook/rdmactl/asap2/status.h"
#include "hook/rdmactl/doctor/check.h"
#include "hook/rdmactl/vf/pf.h"
#include "netns/devlink.h"
#include "netns/link.h"
#include "netns/rdma.h"

namespace hook::ctl {

using netns::PciFunction;

namespace {
bool uses_vfs(const Look& look) {
    const ModeInfo* mode = find_mode_info(look.options.mode);
    return (mode != nullptr && mode->finds) ||
           std::ranges::any_of(look.config.pools,
                               [](const Pool& pool) { return !pool.devices.empty(); });
}

bool is_named(const PciFunction& function, const DeviceSpec& spec) {
    return spec.device == function.address ||
           std::ranges::find(function.netdevs, spec.device, &netns::PciNetdev::name) !=
               function.netdevs.end() ||
           std::ranges::find(function.rdma_names, spec.device) != function.rdma_names.end();
}

// True if a pool has this PF's VFs and no others.
bool is_only_source(const Look& look, const PciFunction& pf) {
    return std::ranges::any_of(look.config.pools, [&](const Pool& pool) {
        return !pool.devices.empty() && pool.functions.empty() &&
               std::ranges::all_of(pool.devices,
                                   [&](const DeviceSpec& spec) { return is_named(pf, spec); });
    });
}

// `lacking`: the status if this PF has no VF to give.
Result<Finding> look_at_pf(Look& look, const PciFunction& pf, Status lacking) {
    const std::string name = name_of(pf);
    if (const auto netdev = check_netdev(pf, look.site); !netdev)
        return finding_of(netdev.error(), lacking);
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

// A mode that gives functions, and its verdicts on those of this host.
struct Giver {
    const Mode& mode;
    Verdicts verdicts{};
};

// Returns none while the kernel has no RDMA: check_netns_mode reports that.
std::vector<Giver> givers_of(const Look& look) {
    if (!look.site.host.rdma.mode())
        return {};
    std::vector<Giver> givers;
    for (const Mode* mode : {&hook::kVf, &hook::kAsap2}) {
        if (look.options.mode.empty() || look.options.mode == mode->name)
            givers.push_back({*mode});
    }
    return givers;
}

// Returns the attachment of a container with the pool's requests only, or the mode's.
Attachment asked_by(const Config& config, const Mode& mode, const Pool* pool) {
    if (pool != nullptr) {
        Annotations annotations{{"rdma.mode", pool->mode}, {"rdma.pool", pool->name}};
        // The pool may leave these to the container: they are not checked here.
        if (pool->devices.empty() && pool->functions.empty())
            annotations["rdma.device"] = "any";
        if (mode.name == kAsap2.name && pool->bridge.empty())
            annotations["rdma.bridge"] = "any";
        if (auto request = parse_request(annotations, config))
            return request->attachments.front();
    }
    Attachment plain;
    plain.mode = mode.name;
    return plain;
}

// Returns the mode's answer to that container if it gets this function.
Result<> check_given(Look& look, const Mode& mode, const Pool* pool, const FreeVf& vf) {
    const Attachment asked = asked_by(look.config, mode, pool);
    const Container nobody;
    const Survey survey{look, look.site, nobody, {}};
    const bool asap2 = mode.name == kAsap2.name;
    const ChosenVf chosen = TRY(
        choose_vf_settings(asked, survey, vf, asap2 ? netns::VfSettings{} : vf_settings(asked)));
    return asap2 ? check_roce(chosen) : Result<>{};
}

// Judges each way to ask for a VF: by the pools that name it and those that name none, else by the
// mode.
Result<> judge_vf(Look& look, Giver& giver, const FreeVf& vf) {
    const auto is_it = [&](const DeviceSpec& spec) {
        return is_named(vf.function, spec) ||
               (is_named(vf.pf, spec) && has_number(spec, vf.function.number));
    };
    bool any = false;
    for (const Pool& pool : look.config.pools) {
        const bool named = std::ranges::any_of(pool.devices, is_it);
        const bool gives = named || (pool.devices.empty() && pool.functions.empty());
        if (pool.mode != giver.mode.name || !gives || std::ranges::any_of(pool.exclude, is_it))
            continue;
        any = true;
        TRY(giver.verdicts.note(check_given(look, giver.mode, &pool, vf), named));
    }
    return any ? Result<>{}
               : giver.verdicts.note(check_given(look, giver.mode, nullptr, vf), false);
}

// Judges a VF for each mode. A VF that a container has counts as given. A VF whose netdev the host
// does not see belongs to somebody, and is left out.
Result<> look_at_vf(Look& look, std::vector<Giver>& givers, FreeVf vf) {
    const auto& netdevs = vf.function.netdevs;
    const bool leased = is_leased(look, vf.function.address);
    const auto link = netdevs.size() == 1
                          ? TRY(look.site.host.links.find(look.site.host_ns, netdevs.front().index))
                          : std::nullopt;
    if (link)
        vf.link = *link;
    const bool has_eswitch =
        TRY(look.site.host.devlink.eswitch(look.site.host_ns, netns::devlink_handle(vf.pf.address)))
            .has_value();
    for (Giver& giver : givers) {
        if (giver.mode.name == kAsap2.name && !has_eswitch)
            continue;
        if (leased)
            TRY(giver.verdicts.note({}, false));
        else if (link)
            TRY(judge_vf(look, giver, vf));
    }
    return {};
}

// Reports why VFs of this PF cannot be given: each reason once, with the command for all.
Result<> look_at_vfs(Look& look,
                     const PciFunction& pf,
                     std::vector<Giver>& givers,
                     Findings& found) {
    netns::Sriov& sriov = look.site.host.sriov;
    const std::string again = fmt::format("rdmactl vf enable {} {}", name_of(pf), pf.num_vfs);
    const auto link = TRY(look.site.host.links.find(look.site.host_ns, pf.netdevs.front().index));
    for (uint32_t number = 0; link && number < pf.num_vfs; ++number) {
        const auto address = TRY(sriov.find_vf(pf.address, number));
        auto vf = address ? TRY(sriov.find(*address)) : std::nullopt;
        const std::string name = fmt::format("VF {} of {}", number, name_of(pf));
        if (!vf)
            continue;
        const auto settings = TRY(sriov.settings(look.site.host_ns, link->index, number));
        if (settings && settings->mac && settings->mac->is_zero())
            found.push_back({.status = Status::Fail,
                             .why = name + " has no MAC: it takes another at each start, and its "
                                           "node GUID may be zero",
                             .fix = again});
        else if (vf->driver.empty())
            found.push_back({.status = Status::Fail, .why = name + " has no driver", .fix = again});
        else
            TRY(look_at_vf(look, givers, {.pf = pf, .pf_link = *link, .function = *std::move(vf)}));
    }
    return {};
}

// Checks a function that a pool names.
Result<> check_mapped(Look& look,
                      const Mode& mode,
                      const Pool& pool,
                      const MappedFunction& mapped) {
    if (is_leased(look, mapped.function))
        return {};
    FreeVf found{.mapped = mapped};
    const std::string why = TRY(why_not_free(mapped.function, look.site, found));
    if (why.empty())
        return check_given(look, mode, &pool, found);
    if (found.function.address.empty())
        return make_error(
                   Code::Unavailable,
                   fmt::format(
                       "pool {} names {}, which the host has not", pool.name, mapped.function))
            .advise(fmt::format("correct pools.{}.functions, or see: devlink dev show", pool.name));
    return make_error(is_unusable(why) ? Code::Unavailable : Code::Busy,
                      fmt::format("{} of pool {} is {}", mapped.function, pool.name, why))
        .advise(freed_by(why, found.function));
}

Result<> look_at_functions(Look& look, Giver& giver) {
    for (const Pool& pool : look.config.pools) {
        for (const MappedFunction& mapped : pool.functions) {
            if (pool.mode == giver.mode.name)
                TRY(giver.verdicts.note(check_mapped(look, giver.mode, pool, mapped), true));
        }
    }
    return {};
}
}  // namespace

Result<Findings> check_pfs(Look& look) {
    Findings found;
    const auto pfs = TRY(look.site.host.sriov.list_pfs());
    const auto gives = [](const PciFunction& pf) { return pf.num_vfs != 0 && !pf.netdevs.empty(); };
    // VFs and their e-switch may be on another bus, as scalable functions are.
    const auto has_functions = [](const Pool& pool) {
        return pool.mode == "vf" && !pool.functions.empty();
    };
    const bool none = uses_vfs(look) && std::ranges::none_of(look.config.pools, has_functions) &&
                      std::ranges::none_of(pfs, gives) &&
                      (look.options.mode == "vf" || TRY(all_eswitches(look)).empty());
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
    std::vector<Giver> givers = givers_of(look);
    for (const auto& pf : TRY(look.site.host.sriov.list_pfs())) {
        if (!pf.netdevs.empty())
            TRY(look_at_vfs(look, pf, givers, found));
    }
    for (Giver& giver : givers) {
        TRY(look_at_functions(look, giver));
        giver.verdicts.report(look.wants(giver.mode.name), found);
    }
    if (found.empty())
        found.push_back(
            {.status = Status::Ok, .why = "every VF has a MAC and a driver", .fix = {}});
    return found;
}

}  // namespace hook::ctl
