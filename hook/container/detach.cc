// SPDX-License-Identifier: Apache-2.0
#include "hook/container/detach.h"

#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/container/end.h"
#include "hook/container/granted_nodes.h"
#include "hook/container/inspect.h"
#include "hook/steps/executor.h"
#include "netns/device_cgroup.h"
#include "netns/process.h"
#include "netns/rdma.h"

namespace hook {

namespace {
// The time to look at every open file of a host with a million of them.
constexpr std::chrono::seconds kLookTimeout{5};

Error in_use(const Container& container, const std::string& device, const std::string& by) {
    return make_error(Code::Busy, fmt::format("RDMA device {} is open{}", device, by))
        .advise("end that, then run: rdmactl detach " + container.id);
}

// Returns the device that the container uses, unless it is gone.
Result<std::optional<FoundDevice>> device_of(Site& site, const Journal& journal) {
    auto found = find_device(site, journal.endpoint);
    if (!found && found.error().code == Code::Unavailable)
        return std::optional<FoundDevice>{};
    return std::optional{TRY(std::move(found))};
}

// Checks that no process of the container has the device open. Undo cannot do without: a VF's device
// or one of the host's goes on working for a process that has it open, wherever its interface is.
Result<> check_unused(const Context& context, const Container& container, const Journal& journal) {
    netns::Host& host = context.host;
    Site site = TRY(open_site_to_undo(host, context.store, journal));
    const auto found = TRY(device_of(site, journal));
    if (!found)
        return {};
    const auto& [device, ns] = *found;
    const auto verbs = TRY(host.rdma.uverbs_node(ns, device.index));
    std::vector<netns::DeviceNumber> numbers{{verbs.major, verbs.minor}};
    // Only nodes that it was given: a search looks at every open file of the host.
    for (const GrantedNode& node : TRY(granted_nodes(context.store, container.key))) {
        if (node.index == device.index && node.number != numbers.front())
            numbers.push_back(node.number);
    }
    std::vector<pid_t> own;
    for (const auto& [major, minor] : numbers) {
        for (const pid_t pid :
             TRY(host.processes.that_opened(major, minor, Deadline::in(kLookTimeout)))) {
            if (TRY(host.device_cgroups.contains(*container.running_init, pid)))
                own.push_back(pid);
        }
    }
    if (!own.empty())
        return in_use(container, device.name, fmt::format(" in process {}", fmt::join(own, ", ")));
    // Contexts of a device that nobody else may use. A descriptor on its way through a socket is in
    // no process.
    const bool is_own = journal.holders.size() <= 1 && journal.endpoint.where == Where::Container &&
                        journal.endpoint.hca_netdev == 0;
    if (const uint32_t users = is_own ? TRY(host.rdma.user_contexts(ns, device.index)) : 0;
        users > 0)
        return in_use(container, device.name, fmt::format(" {} times; see: rdma resource", users));
    return {};
}

Result<> check_all_unused(const Context& context, const Container& container) {
    for (const std::string& akey : container.attachments) {
        if (const auto journal = TRY(load_journal(context.store, akey)))
            TRY(check_unused(context, container, *journal));
    }
    return {};
}

// Gives the container its grants again, and its record.
Result<> restore(const Context& context, const Container& container) {
    Site site{
        .host = context.host, .host_ns = TRY(context.host.namespaces.current()), .container = {}};
    TRY(run(TRY(grants_of(container)), site));
    return context.store.save_container(container);
}
}  // namespace

Result<> detach_container(const Context& context, const std::string& key) {
    netns::Processes& processes = context.host.processes;
    const auto lock = TRY(context.store.lock_container(key, Deadline::in(kLockTimeout)));
    const auto container = TRY(context.store.load_container(key));
    if (!container)
        return make_error(Code::Unavailable, "the container has no RDMA any more")
            .advise("see what is left: rdmactl list");
    if (!container->running_init)
        return make_error(Code::Refused,
                          "the container has its RDMA by annotations since its start, and its "
                          "processes rely on that")
            .advise("stop the container: its end gives all of it back");
    if (!TRY(runs_on(context, *container)))
        return leave_all(context, *container, Leaving::Recovery);
    TRY(check_all_unused(context, *container));
    const auto self = TRY(processes.token(processes.self()));
    if (!self)
        return make_error(Code::Internal, "rdmactl does not see itself in /proc");
    Container leaving = *container;
    leaving.committed = false;
    leaving.token = *self;
    TRY(context.store.reopen_container(leaving));
    // From here on no process of the container can open a device. One may have done so just before.
    TRY(undo_grants(context, leaving));
    if (auto unused = check_all_unused(context, leaving); !unused)
        return join(std::move(unused), restore(context, *container));
    return leave_all(context, leaving);
}

}  // namespace hook
