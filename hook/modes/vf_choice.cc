// SPDX-License-Identifier: Apache-2.0
#include "hook/modes/vf_choice.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/request/values.h"
#include "netns/base/ids.h"

namespace hook {

using netns::PciFunction;

namespace {
// A PF that can give VFs, and those of them that may be given.
struct Source {
    std::string name;  // the PF's netdev, for people
    PciFunction pf;
    netns::Link link;
    std::vector<uint32_t> numbers;
};

struct Candidate {
    size_t source = 0;  // index of its Source
    uint32_t number = 0;
    std::string address;
};

Error no_device(const DeviceSpec& spec) {
    return make_error(Code::Unavailable,
                      fmt::format("the host has no PCI function, netdev or RDMA device '{}'",
                                  base::printable(spec.device)))
        .advise(
            "see what there is: rdmactl vf list; a VF that a container has goes by its PF's "
            "name and number");
}

Result<std::optional<PciFunction>> find_function(const DeviceSpec& spec, Site& site) {
    const auto address = TRY(function_named(spec.device, site));
    return address ? site.host.sriov.find(*address)
                   : Result<std::optional<PciFunction>>{std::nullopt};
}

// Returns the VFs of a PF that a spec names.
Result<std::vector<uint32_t>> numbers_of(const DeviceSpec& spec, const PciFunction& pf) {
    std::vector<uint32_t> numbers;
    if (!spec.vfs.empty() && spec.vfs.back().last >= pf.num_vfs)
        return make_error(Code::Unavailable,
                          fmt::format("{} names VF {}, and PF {} has VFs 0 to {}",
                                      to_string(spec),
                                      spec.vfs.back().last,
                                      pf.address,
                                      pf.num_vfs - 1))
            .advise("name one that is there, see rdmactl vf list");
    for (uint32_t number = 0; number < pf.num_vfs; ++number) {
        if (has_number(spec, number))
            numbers.push_back(number);
    }
    return numbers;
}

Result<> check_pf(const PciFunction& pf, const std::string& name, Site& site) {
    if (pf.total_vfs == 0)
        return make_error(Code::Refused, name + " has no SR-IOV")
            .advise(
                "choose a PF that `rdmactl vf list` shows, or another mode; a VF whose PF is on "
                "another machine, or a whole adapter, is given by a pool that has it in its "
                "\"functions\"");
    if (pf.num_vfs == 0)
        return make_error(Code::Unavailable, "PF " + name + " has no VFs")
            .advise("run: rdmactl vf enable " + name + " COUNT (of " +
                    std::to_string(pf.total_vfs) + "), or for mode asap2: rdmactl asap2 enable");
    return check_netdev(pf, site);
}

Result<Source> find_source(const DeviceSpec& spec, Site& site) {
    auto function = TRY(find_function(spec, site));
    if (!function)
        return no_device(spec);
    Source source;
    if (!function->pf.empty()) {
        if (!spec.vfs.empty())
            return make_error(Code::BadInput, to_string(spec) + ": " + spec.device + " is a VF")
                .advise("name its PF before the '#', or leave the numbers out");
        source.numbers = {function->number};
        function = TRY(site.host.sriov.find(function->pf));
        if (!function)
            return no_device(spec);
    }
    if (function->netdevs.empty() && function->total_vfs == 0 && !function->rdma_names.empty())
        return without_netdev(function->rdma_names.front());
    source.pf = *std::move(function);
    source.name = source.pf.netdevs.empty() ? source.pf.address : source.pf.netdevs.front().name;
    TRY(check_pf(source.pf, source.name, site));
    const auto link = TRY(site.host.links.find(site.host_ns, source.pf.netdevs.front().index));
    TRY(check_serves_vfs(source.name, link));
    source.link = *link;
    if (source.numbers.empty())
        source.numbers = TRY(numbers_of(spec, source.pf));
    return source;
}

// Returns the sources that the specs name. A spec that can give nothing does not stand in the way
// of the others. If none can, the error is the first spec's.
Result<std::vector<Source>> find_sources(const std::vector<DeviceSpec>& specs, Site& site) {
    std::vector<Source> sources;
    std::optional<Error> reason;
    for (const DeviceSpec& spec : specs) {
        auto source = find_source(spec, site);
        if (source)
            sources.push_back(*std::move(source));
        else if (!reason)
            reason = std::move(source).error();
    }
    if (sources.empty() && reason)
        return *std::move(reason);
    return sources;
}

// Returns whether the pool keeps the VF back. A spec without meaning on this host keeps back
// nothing.
Result<bool> is_excluded(const Candidate& candidate,
                         const PciFunction& pf,
                         const std::vector<DeviceSpec>& exclude,
                         Site& site) {
    for (const DeviceSpec& spec : exclude) {
        const auto function = TRY(find_function(spec, site));
        if (!function)
            continue;
        if (function->address == candidate.address ||
            (function->address == pf.address && has_number(spec, candidate.number)))
            return true;
    }
    return false;
}

Result<std::vector<Candidate>> list_candidates(const std::vector<Source>& sources,
                                               const std::vector<DeviceSpec>& exclude,
                                               Site& site) {
    std::vector<Candidate> all;
    std::set<std::string> seen;
    for (size_t i = 0; i < sources.size(); ++i) {
        for (const uint32_t number : sources[i].numbers) {
            const auto address = TRY(site.host.sriov.find_vf(sources[i].pf.address, number));
            if (!address || !seen.insert(*address).second)
                continue;
            Candidate candidate{.source = i, .number = number, .address = *address};
            if (!TRY(is_excluded(candidate, sources[i].pf, exclude, site)))
                all.push_back(std::move(candidate));
        }
    }
    return all;
}

// Orders the candidates by the number of leased ones on their PF, the emptiest PF first.
void spread(std::vector<Candidate>& candidates, const std::set<std::string>& leases) {
    std::map<size_t, size_t> used;
    for (const Candidate& candidate : candidates)
        used[candidate.source] += leases.count(vf_lease(candidate.address));
    std::stable_sort(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
        return used[a.source] < used[b.source];
    });
}

// Puts the PFs near the container's CPUs first.
void order_by_cpus(std::vector<Candidate>& candidates,
                   const std::vector<Source>& sources,
                   const std::string& cpus) {
    std::stable_partition(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
        return share_a_cpu(sources[candidate.source].pf.local_cpus, cpus);
    });
}

// Orders by the container and the VFs only. The same container gets the same VF again, and few
// containers get one that another prefers.
void order_by_container(std::vector<Candidate>& candidates, const std::string& seed) {
    const auto rank = [&](const Candidate& candidate) {
        return base::sha256_hex(seed + "/" + candidate.address);
    };
    std::ranges::sort(candidates, {}, rank);
}

// The number of functions that a reason keeps back, and what frees the first of them.
struct Reason {
    size_t count = 0;
    std::string cure{};
};

using Reasons = std::map<std::string, Reason>;

void note(Reasons& reasons, const std::string& why, const PciFunction& function) {
    Reason& reason = reasons[why];
    if (reason.count++ == 0)
        reason.cure = freed_by(why, function);
}

std::string counted(const Reasons& reasons) {
    std::vector<std::string> parts;
    for (const auto& [why, reason] : reasons)
        parts.push_back(fmt::format("{} {}", reason.count, why));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string advice(std::string text, const Reasons& reasons) {
    for (const auto& [why, reason] : reasons) {
        if (text.find(reason.cure) == std::string::npos)
            text += "; or " + reason.cure;
    }
    return text;
}

Error none_mapped(const Pool& pool, const Reasons& reasons) {
    return make_error(Code::Busy,
                      fmt::format("no free function of pool {}: {}", pool.name, counted(reasons)))
        .advise(advice("see rdmactl list", reasons));
}

Error nothing_left(const std::string& pfs, const Pool* pool) {
    if (pool == nullptr || pool->exclude.empty())
        return make_error(Code::Unavailable, "no VF to choose from on " + pfs)
            .advise("see rdmactl vf list");
    return make_error(
               Code::Unavailable,
               fmt::format("no VF to choose from on {}: pool {} excludes all", pfs, pool->name))
        .advise(fmt::format("correct pools.{}.exclude in the configuration", pool->name));
}

Error none_free(const std::vector<Source>& sources,
                const std::vector<Candidate>& candidates,
                const Pool* pool,
                const Reasons& reasons) {
    std::vector<std::string> pfs;
    for (const Source& source : sources) {
        if (std::find(pfs.begin(), pfs.end(), source.name) == pfs.end())
            pfs.push_back(source.name);
    }
    const std::string on = fmt::format("{}", fmt::join(pfs, ", "));
    if (candidates.empty())
        return nothing_left(on, pool);
    return make_error(Code::Busy,
                      fmt::format("no free VF on {} ({} of {} used): {}",
                                  on,
                                  candidates.size(),
                                  candidates.size(),
                                  counted(reasons)))
        .advise(advice("see rdmactl vf list", reasons));
}

// Returns a free mapped function of the pool, among those that are asked for; nothing if there is
// none.
Result<std::optional<FreeVf>> choose_mapped(const Attachment& attachment,
                                            const Pool& pool,
                                            const std::set<std::string>& leases,
                                            Site& site,
                                            Reasons& reasons) {
    for (const MappedFunction& mapped : pool.functions) {
        if (!attachment.devices.empty() && attachment.devices.front().device != mapped.function)
            continue;
        FreeVf found{.mapped = mapped};
        const std::string adapter =
            mapped.eswitch.empty() ? netns::devlink_handle(mapped.function) : mapped.eswitch;
        const std::string why = TRY(why_not_given(mapped.function, adapter, leases, site, found));
        if (why.empty())
            return std::optional{std::move(found)};
        note(reasons, why, found.function);
    }
    return std::optional<FreeVf>{};
}

// Returns the error for a single VF that was asked for: it names the VF's state, instead of a
// count.
Error not_free(const Source& source,
               const Candidate& candidate,
               const PciFunction& function,
               const std::string& why) {
    return make_error(
               is_unusable(why) ? Code::Unavailable : Code::Busy,
               fmt::format(
                   "VF {} of {} ({}) is {}", candidate.number, source.name, candidate.address, why))
        .advise(advice("choose another VF", {{why, {1, freed_by(why, function)}}}) +
                "; see rdmactl vf list");
}
}  // namespace

Result<FreeVf> choose_free_vf(const Attachment& attachment, const Survey& survey) {
    const Pool* pool = find_pool(survey.config, attachment.mode, attachment.pool);
    Site& site = survey.site;
    const auto names = TRY(survey.store.files().list(survey.store.folder("leases")));
    const std::set<std::string> leases(names.begin(), names.end());
    Reasons reasons;
    if (pool != nullptr && !pool->functions.empty()) {
        if (auto mapped = TRY(choose_mapped(attachment, *pool, leases, site, reasons)))
            return *std::move(mapped);
    }
    std::vector<DeviceSpec> specs;
    if (!attachment.devices.empty() && reasons.empty())
        specs = attachment.devices;
    else if (attachment.devices.empty() && pool != nullptr)
        specs = pool->devices;
    if (specs.empty() && !reasons.empty())
        return none_mapped(*pool, reasons);
    const auto sources = TRY(find_sources(specs, site));
    auto candidates = TRY(list_candidates(
        sources, pool != nullptr ? pool->exclude : std::vector<DeviceSpec>{}, site));
    if (pool != nullptr && pool->choose == Choose::Spread)
        spread(candidates, leases);
    if (pool != nullptr && pool->choose == Choose::Numa)
        order_by_cpus(candidates, sources, survey.cpus);
    if (pool != nullptr && pool->choose == Choose::Sticky)
        order_by_container(candidates,
                           fmt::format("{}/{}", survey.container.key, attachment.index));
    for (const Candidate& candidate : candidates) {
        const Source& source = sources[candidate.source];
        FreeVf found{.pf = source.pf, .pf_link = source.link};
        const std::string adapter = netns::devlink_handle(source.pf.address);
        const std::string why = TRY(why_not_given(candidate.address, adapter, leases, site, found));
        if (why.empty())
            return found;
        if (candidates.size() == 1 && reasons.empty())
            return not_free(source, candidate, found.function, why);
        note(reasons, why, found.function);
    }
    return none_free(sources, candidates, pool, reasons);
}

Result<> check_device_has_vfs(const netns::RdmaDevice& device, const Context&, Site& site) {
    (void)TRY(find_source({.device = device.name, .vfs = {}}, site));
    return {};
}

Result<std::optional<std::string>> function_named(const std::string& name, Site& site) {
    if (netns::is_pci_address(name))
        return std::optional{name};
    if (auto address = TRY(site.host.sriov.find_by_netdev(name)))
        return address;
    return site.host.sriov.find_by_rdma(name);
}

}  // namespace hook
