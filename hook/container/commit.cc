// SPDX-License-Identifier: Apache-2.0
#include "hook/container/commit.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "hook/container/inspect.h"
#include "hook/modes/mode.h"
#include "hook/steps/executor.h"
#include "netns/base/log.h"
#include "netns/cgroup.h"
#include "netns/link.h"
#include "netns/neighbour.h"

namespace hook {

namespace {
struct Target {
    netns::Netns ns;  // the device's
    Limits limits;
};

// Targets by device. Two attachments may use one device, which has one limit in a cgroup: the
// tighter one.
using Targets = std::map<std::string, Target>;

Result<> add_target(const Context& context,
                    const std::string& akey,
                    const Limits& limits,
                    Targets& targets) {
    const auto journal = TRY(load_journal(context.store, akey));
    if (!journal)
        return make_error(Code::Unavailable, "the attachment to limit is gone")
            .advise("create the container again");
    Site site = TRY(open_site(context.host, context.store, *journal));
    const auto [device, ns] = TRY(find_device(site, journal->endpoint));
    const auto [it, added] = targets.emplace(device.name, Target{.ns = ns, .limits = limits});
    if (!added)
        it->second.limits = tightest(it->second.limits, limits);
    return {};
}

// Writes limits into the cgroup, as a declaration in config.json does not suffice. crun ignores
// linux.resources.rdma, and where engines apply it the device may have another name. A limit goes
// with its cgroup. A controller that ancestors now hand down limits nobody by itself.
Result<> apply_limits(const Context& context,
                      const Container& container,
                      const netns::ProcessToken& init) {
    Targets targets;
    for (const auto& [akey, limits] : container.limits)
        TRY(add_target(context, akey, limits, targets));
    for (const auto& [device, target] : targets) {
        const netns::RdmaLimit limit{
            .device = device, .handles = target.limits.handles, .objects = target.limits.objects};
        TRY(context.host.cgroups.limit_rdma(init, target.ns, limit)
                .context("limit the container's use of " + device));
    }
    return {};
}

// Returns the journals, without steps, of a container that has just been committed.
Result<std::vector<Journal>> load_held(const Context& context, const Container& container) {
    std::vector<Journal> held;
    for (const std::string& akey : container.attachments) {
        const auto lock = TRY(context.store.lock_attachment(akey, Deadline::in(kLockTimeout)));
        auto journal = TRY(load_journal_head(context.store, akey));
        if (!journal || !journal->made ||
            std::ranges::find(journal->holders, container.key) == journal->holders.end())
            return make_error(Code::Unavailable,
                              "the container's RDMA was removed before it started, because the "
                              "engine process that created it died")
                .advise("create the container again");
        held.push_back(*std::move(journal));
    }
    return held;
}

// Announces addresses to neighbours. An address may have another MAC each time, as on a VF.
// Neighbours otherwise send to the last MAC for half a minute or longer. inspect() has waited for
// the port of a VF: without a carrier nothing would be sent.
Result<> announce(const Context& context, const Journal& journal) {
    if (journal.endpoint.addresses.empty())
        return {};
    const Attachment attachment = TRY(attachment_from_json(journal.attachment));
    const ModeInfo* mode = find_mode_info(attachment.mode);
    if (mode == nullptr || !mode->changing_mac)
        return {};
    Site site = TRY(open_site(context.host, context.store, journal));
    const netns::Netns* ns = site.ns(journal.endpoint.where);
    if (ns == nullptr)
        return {};
    const auto link = TRY(site.host.links.find(*ns, journal.endpoint.netdev));
    if (!link)
        return {};
    return site.host.neighbours.announce(
        *ns, {.index = link->index, .mac = link->mac}, journal.endpoint.addresses);
}
}  // namespace

Result<netns::ProcessToken> find_init(netns::Host& host, pid_t init) {
    const auto token = TRY(host.processes.token(init));
    if (!token)
        return make_error(Code::Unavailable, fmt::format("the container's init {} is gone", init))
            .advise("start the container again");
    return *token;
}

Result<> lift_limits(const Context& context,
                     const Container& container,
                     const netns::ProcessToken& init) {
    const auto lifted = [](const std::optional<uint32_t>& limit) {
        return limit ? std::optional(netns::kNoRdmaLimit) : std::nullopt;
    };
    for (const auto& [akey, limits] : container.limits) {
        Container one = container;
        one.limits = {
            {akey, {.handles = lifted(limits.handles), .objects = lifted(limits.objects)}}};
        auto done = apply_limits(context, one, init);
        if (!done && done.error().code != Code::Unavailable)
            return done;
    }
    return {};
}

Result<> commit(const Context& context, const Container& pending, const netns::ProcessToken& init) {
    TRY(apply_limits(context, pending, init));
    Container container = pending;
    container.token = init;
    container.committed = true;
    TRY(context.store.save_container(container));
    for (const Journal& journal : TRY(load_held(context, container))) {
        if (auto done = announce(context, journal); !done)  // the container runs all the same
            base::log::warning("the addresses were not announced to neighbours: " +
                               done.error().message());
    }
    return {};
}

Result<> commit_created(const Context& context, const Container& pending, const oci::State& state) {
    if (!pending.id.empty() && pending.id != state.id)
        return make_error(
                   Code::Refused,
                   fmt::format(
                       "container {} uses the bundle folder of container {}", state.id, pending.id))
            .advise("remove container " + pending.id + ", or run: rdmactl gc");
    const auto init = TRY(find_init(context.host, state.pid));
    if (pending.netns) {
        const auto ns = TRY(context.host.namespaces.open_process(state.pid));
        if (ns.id() != *pending.netns)
            return make_error(
                       Code::Refused,
                       "the container is not in the network namespace that was prepared for it")
                .advise(
                    "create the container again, and let no other hook change its network "
                    "namespace");
    }
    Container container = pending;
    container.id = state.id;
    return commit(context, container, init);
}

}  // namespace hook
