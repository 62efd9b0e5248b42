// SPDX-License-Identifier: Apache-2.0
#include "hook/container/into_running.h"

#include <algorithm>

#include "hook/container/commit.h"
#include "hook/container/end.h"
#include "hook/container/granted_nodes.h"
#include "hook/steps/executor.h"
#include "netns/device_cgroup.h"
#include "runtime-config/oci/bundle.h"

namespace hook {

namespace {
constexpr char kReloadNotice[] =
    "its devices were granted while it was there: systemctl daemon-reload can take them away "
    "again; rdmactl gc --regrant gives them back";
constexpr char kEnvironmentNotice[] =
    "a plain hook cannot give environment variables (RDMA_DEVICE and others): see "
    "/run/rdma/attach.json";

// Returns nothing if the container has no record.
Result<std::optional<std::string>> find_key(const Store& store, const oci::State& state) {
    const auto bundle = oci::Bundle::open(state.bundle);
    std::string key = container_key(bundle ? bundle->path() : state.bundle);
    const auto by_bundle = TRY(store.load_container(key));
    if (by_bundle && by_bundle->id == state.id)
        return std::optional{std::move(key)};
    // Runtimes have been wrong about the bundle of a container that is gone.
    for (Container& container : TRY(store.load_by_id(state.id))) {
        if (!container.grants.empty())
            return std::optional{std::move(container.key)};
    }
    return std::optional<std::string>{};
}

// True if a device had been taken away. A number that belongs to another device by now stays away.
Result<bool> regrant_container(const Context& context, const Container& container) {
    std::vector<netns::DeviceNumber> stale;
    for (const GrantedNode& node : TRY(granted_nodes(context.store, container.key))) {
        if (TRY(is_stale(context.host, node)))
            stale.push_back(node.number);
    }
    bool changed = false;
    // Reads no grant of another kind: one that a later version wrote keeps no device away.
    for (const Json& json : container.grants) {
        if (TRY(base::required<std::string>(json, "kind")) != AllowDevice::kKind)
            continue;
        const auto grant = std::get<AllowDevice>(TRY(load_step(json)));
        if (std::ranges::find(stale, grant.device) != stale.end())
            continue;
        const bool is_new = TRY(context.host.device_cgroups.allow(grant.init, grant.device));
        changed = changed || is_new;
    }
    return changed;
}

Result<> regrant_one(const Context& context, const std::string& key, Regranted& out) {
    const auto lock = TRY(unless_locked(
        context.store.lock_container(key, Deadline::now()), "container " + key, out.locked));
    const auto container = context.store.load_container(key);
    if (!lock || !container)  // gc reports unreadable records
        return {};
    if (!*container || (*container)->grants.empty() || !TRY(is_alive(context, **container)))
        return {};
    if (TRY(regrant_container(context, **container)))
        out.containers.push_back(key);
    return {};
}
}  // namespace

Result<IntoRunning> IntoRunning::find(
    const Context& context, oci::Spec spec, const std::string& bundle, pid_t init, Init now) {
    const auto token = TRY(find_init(context.host, init));
    std::string root = spec.root(bundle);
    if (root.empty())
        return make_error(Code::BadInput, "config.json has no root.path")
            .advise("report it to the engine that wrote this config.json");
    auto ns = TRY(context.host.namespaces.open_process(init));
    // This check proves that the namespace is this process's: the pid is not another's yet.
    if (TRY(find_init(context.host, init)) != token)
        return make_error(Code::Unavailable, "the container's init has just ended")
            .advise("start the container again");
    return IntoRunning{
        context, std::move(spec), {.init = token, .path = std::move(root)}, std::move(ns), now};
}

Result<std::optional<netns::Netns>> IntoRunning::netns(const Asking& asking) {
    if (goes_with_hosts_network(asking.request))
        return std::optional<netns::Netns>{};
    TRY(check_not_the_hosts(context_.host.namespaces, ns_));
    return std::optional{ns_};
}

Result<bool> IntoRunning::in_hosts_network(const Asking& /*asking*/) {
    return ns_.id() == TRY(context_.host.namespaces.current()).id();
}

Result<> IntoRunning::check(const Request& request) const {
    TRY(context_.host.device_cgroups.check());
    if (!runs_ && request.memlock && spec_.has_memlock())
        return make_error(Code::Refused,
                          "config.json has an RLIMIT_MEMLOCK of its own, which the runtime sets "
                          "after this hook")
            .advise("leave out rdma.memlock, or the RLIMIT_MEMLOCK");
    return {};
}

Result<> IntoRunning::give(const Asking& asking,
                           Container& container,
                           const std::vector<Granted>& granted,
                           Notes& notes) {
    Steps steps;
    for (const auto& node : all_nodes(granted)) {
        steps.push_back(AllowDevice{.init = root_.init,
                                    .name = node.name,
                                    .device = {.major = node.major, .minor = node.minor}});
        steps.push_back(PlaceFile{
            .root = root_,
            .what = {
                .source = node.path(), .mount = "dev", .folder = "infiniband", .name = node.name}});
    }
    const Request& request = asking.request;
    const uint64_t bytes = request.memlock.value_or(request.memlock_default);
    const bool is_engines = spec_.has_memlock() && !(runs_ && request.memlock);
    if (bytes != 0 && !is_engines)
        steps.push_back(SetMemlock{.init = root_.init,
                                   .before = TRY(context_.host.processes.memlock(root_.init)),
                                   .bytes = bytes});
    const std::string attach = granted_json(container.id, asking.fenced, granted);
    TRY(carry_out(std::move(steps), attach, container, notes));
    variables_ = variables_of(granted);
    if (!runs_)
        notes.emplace_back(kEnvironmentNotice);
    notes.emplace_back(kReloadNotice);
    return {};
}

Result<> IntoRunning::explain(Container& container, const base::Error& error, Notes& notes) {
    return carry_out({}, failed_json(container.id, error), container, notes);
}

// Writes the steps to disk, then carries them out, and attach.json after them. A container without
// a place for the file goes without it.
Result<> IntoRunning::carry_out(Steps steps,
                                const std::string& attach,
                                Container& container,
                                Notes& notes) const {
    if (TRY(write_attach_file(container, attach, notes)))
        steps.push_back(PlaceFile{.root = root_,
                                  .what = {.source = context_.store.attach_path(container.key),
                                           .mount = "run",
                                           .folder = "rdma",
                                           .name = "attach.json"},
                                  .optional = true});
    for (const AnyStep& step : steps)
        container.grants.push_back(save_step(step));
    TRY(context_.store.save_container(container));
    Site site{
        .host = context_.host, .host_ns = TRY(context_.host.namespaces.current()), .container = {}};
    return run(steps, site);
}

Result<> leave_ended(const Context& context, const oci::State& state) {
    const auto key = TRY(find_key(context.store, state));
    if (!key)
        return {};
    const auto lock = TRY(context.store.lock_container(*key, Deadline::in(kLockTimeout)));
    const auto container = TRY(context.store.load_container(*key));
    if (!container)
        return {};
    if (TRY(is_alive(context, *container)))
        return make_error(Code::Busy, "the container whose end was reported is running")
            .advise("stop the container, or run: rdmactl detach");
    return leave_all(context, *container);
}

Regranted regrant(const Context& context) {
    Regranted out;
    const auto keys = context.store.container_keys();
    if (!keys)
        out.trouble.push_back(keys.error().message());
    for (const std::string& key : keys ? *keys : std::vector<std::string>{}) {
        if (const auto done = regrant_one(context, key, out); !done)
            out.trouble.push_back(done.error().message());
    }
    return out;
}

}  // namespace hook
