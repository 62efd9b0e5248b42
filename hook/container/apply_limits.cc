// SPDX-License-Identifier: Apache-2.0
#include "hook/container/apply_limits.h"

#include <map>

#include "netns/cgroup.h"

namespace hook {

using base::Code;
using base::make_error;

namespace {
struct Target {
    netns::Netns ns;  // the device's
    Limits limits;
};

// Two attachments may use one device, which has one limit in a cgroup: the tightest of theirs.
using Targets = std::map<std::string, Target>;  // by device

Result<> add_target(World& world, const std::string& akey, const Limits& limits, Targets& targets) {
    const auto journal = TRY(load_journal(world.store, akey));
    if (!journal)
        return make_error(Code::Unavailable, "the attachment to limit is gone");
    Site site = TRY(open_site(world.host, world.store, *journal));
    const auto [device, ns] = TRY(find_device(site, journal->endpoint));
    Target target{.ns = ns, .limits = limits};
    const auto [it, added] = targets.emplace(device.name, std::move(target));
    if (!added)
        it->second.limits = tightest(it->second.limits, limits);
    return {};
}
}  // namespace

Result<> apply_limits(World& world, const Container& container, const netns::ProcessToken& init) {
    Targets targets;
    for (const auto& [akey, limits] : container.limits)
        TRY(add_target(world, akey, limits, targets));
    for (const auto& [device, target] : targets) {
        const netns::RdmaLimit limit{
            .device = device, .handles = target.limits.handles, .objects = target.limits.objects};
        TRY(world.host.cgroups.limit_rdma(init, target.ns, limit)
                .context("limit the container's use of " + device));
    }
    return {};
}

}  // namespace hook
