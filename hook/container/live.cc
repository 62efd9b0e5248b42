// SPDX-License-Identifier: Apache-2.0
// budget: one way in, from the state to its undo.
#include "hook/container/live.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/container/announce.h"
#include "hook/container/apply_limits.h"
#include "hook/container/granted_nodes.h"
#include "hook/container/label.h"
#include "hook/container/leftovers.h"
#include "hook/container/subject.h"
#include "hook/steps/allow_device.h"
#include "hook/steps/journal.h"
#include "hook/steps/place_file.h"
#include "hook/steps/set_memlock.h"
#include "netns/base/ids.h"
#include "netns/base/log.h"
#include "netns/cgroup.h"
#include "netns/device_cgroup.h"
#include "netns/placement.h"
#include "netns/rdma.h"
#include "runtime-config/oci/bundle.h"
#include "runtime-config/oci/state.h"

namespace hook {

using base::Code;
using base::Deadline;
using base::Error;
using base::make_error;

namespace {
using Notes = std::vector<std::string>;

constexpr char kReloadNotice[] =
    "its devices were granted while it was there: systemctl daemon-reload can take them away "
    "again; rdmactl gc --regrant gives them back";
constexpr char kEnvironmentNotice[] =
    "a plain hook cannot give environment variables (RDMA_DEVICE and others): see "
    "/run/rdma/attach.json";

// A container whose init waits for us.
struct Waiting {
    oci::State state;
    netns::ContainerRoot root;
    netns::Netns ns;
};

Result<Waiting> find_waiting(const Subject& subject, const Call& call, const oci::State& state) {
    const auto init = TRY(call.host.processes.token(state.pid));
    if (!init)
        return make_error(Code::Unavailable,
                          fmt::format("the container's init {} is gone", state.pid));
    const std::string root = subject.spec.root();
    if (root.empty())
        return make_error(Code::BadInput, "config.json has no root.path");
    const auto ns = TRY(call.host.namespaces.open_process(state.pid));
    TRY(check_not_the_hosts(call.host.namespaces, ns));
    return Waiting{
        .state = state,
        .root = {.init = *init, .path = root.starts_with('/') ? root : call.bundle + "/" + root},
        .ns = ns};
}

Result<> check_live(const Subject& subject, const Call& call) {
    TRY(call.host.device_cgroups.check());
    if (!subject.request.limits.empty())
        TRY(call.host.cgroups.check_rdma());
    if (subject.request.memlock && subject.spec.has_memlock())
        return make_error(Code::Refused,
                          "config.json has an RLIMIT_MEMLOCK of its own, which the runtime sets "
                          "after this hook")
            .advise("leave out rdma.memlock, or the RLIMIT_MEMLOCK");
    return {};
}

// Each node once: several attachments may share one.
std::vector<netns::CharDevice> nodes_of(const std::vector<Granted>& granted) {
    std::vector<netns::CharDevice> nodes;
    std::set<std::string> seen;
    const auto add = [&](const netns::CharDevice& node) {
        if (seen.insert(node.name).second)
            nodes.push_back(node);
    };
    for (const Granted& g : granted) {
        add(g.uverbs);
        if (g.rdma_cm)
            add(*g.rdma_cm);
    }
    return nodes;
}

void add_nodes(Steps& steps, const Waiting& waiting, const std::vector<Granted>& granted) {
    for (const auto& node : nodes_of(granted)) {
        steps.push_back(
            make_step<AllowDevice>({.init = waiting.root.init,
                                    .name = node.name,
                                    .device = {.major = node.major, .minor = node.minor}}));
        steps.push_back(make_step<PlaceFile>({.root = waiting.root,
                                              .what = {.source = node.path(),
                                                       .mount = "dev",
                                                       .folder = "infiniband",
                                                       .name = node.name}}));
    }
}

// Written, and to be placed, unless the container could not read it.
Result<> add_attach_file(Steps& steps,
                         const Waiting& waiting,
                         const Subject& subject,
                         const Store& store,
                         const Container& container,
                         const Json& content,
                         Notes& notes) {
    const std::string file = store.attach_path(container.key);
    TRY(store.files().write(file, base::dump_json(content), base::Access::Readable));
    const std::string label = subject.spec.mount_label();
    if (!label_all(store.files(), {file}, label, "/run/rdma/attach.json", notes))
        return {};
    steps.push_back(make_step<PlaceFile>(
        {.root = waiting.root,
         .what = {.source = file, .mount = "run", .folder = "rdma", .name = "attach.json"},
         .optional = true}));
    return {};
}

Result<> add_memlock(Steps& steps,
                     const Waiting& waiting,
                     const Subject& subject,
                     netns::Processes& processes) {
    const Request& request = subject.request;
    const uint64_t bytes = request.memlock.value_or(request.memlock_default);
    if (subject.spec.has_memlock() || bytes == 0)
        return {};
    steps.push_back(make_step<SetMemlock>({.init = waiting.root.init,
                                           .before = TRY(processes.memlock(waiting.root.init)),
                                           .bytes = bytes}));
    return {};
}

// On disk first, then carried out.
Result<> carry_out_grants(World& world, Container& container, const Steps& steps) {
    for (const auto& step : steps)
        container.grants.push_back(save_step(*step));
    TRY(world.store.save_container(container));
    Site site{.host = world.host, .host_ns = TRY(world.host.namespaces.current()), .container = {}};
    return run(steps, site);
}

Result<> commit_live(World& world, Container& container) {
    container.committed = true;
    TRY(world.store.save_container(container));
    announce_addresses(world, container);
    return {};
}

Result<Notes> attach_and_grant(const Subject& subject,
                               const Call& call,
                               World& world,
                               const Waiting& waiting) {
    TRY(check_live(subject, call));
    Container container =
        TRY(register_container(world, call, subject, waiting.ns, waiting.root.init));
    const auto work = [&]() -> Result<Notes> {
        const auto granted =
            TRY(attach_all(world, joiner_of(subject, container, waiting.ns), subject.request));
        TRY(note_nodes(world, container.key, granted));
        Notes notes = warnings(granted);
        Steps steps;
        add_nodes(steps, waiting, granted);
        TRY(add_memlock(steps, waiting, subject, world.host.processes));
        TRY(add_attach_file(steps,
                            waiting,
                            subject,
                            world.store,
                            container,
                            attach_json(container.id, subject.fenced, granted),
                            notes));
        TRY(carry_out_grants(world, container, steps));
        TRY(apply_limits(world, container, waiting.root.init));
        TRY(commit_live(world, container));
        notes.insert(notes.end(), {kEnvironmentNotice, kReloadNotice});
        return notes;
    };
    auto notes = work();
    if (!notes)
        return join(std::move(notes).error(), leave_all(world, container)).error();
    return notes;
}

// rdma.optional: the container starts without RDMA and, if it has a place for that, is told why.
Result<Notes> go_without_live(
    Subject& subject, const Call& call, World& world, const Waiting& waiting, const Error& error) {
    audit_refusal("createRuntime", error, true);
    subject.request.attachments.clear();
    Container container = TRY(register_container(world, call, subject, {}, waiting.root.init));
    Notes notes{"started without RDMA: " + error.message()};
    const auto work = [&]() -> Result<> {
        Steps steps;
        TRY(add_attach_file(steps,
                            waiting,
                            subject,
                            world.store,
                            container,
                            failed_attach_json(container.id, error),
                            notes));
        TRY(carry_out_grants(world, container, steps));
        return commit_live(world, container);
    };
    if (auto done = work(); !done)
        return join(std::move(done), leave_all(world, container)).error();
    return notes;
}

// A container is attached once: prestart and createRuntime may ask for the same, but the hooks of
// two devices do not.
Result<> check_has_all(World& world,
                       const Container& container,
                       const Waiting& waiting,
                       const Request& request) {
    if (container.attachments.empty())
        return {};  // rdma.optional: it went without
    for (const Attachment& attachment : request.attachments) {
        const std::string key = TRY(key_of(world, {container, waiting.ns}, attachment));
        const bool own =
            std::ranges::find(container.attachments, key) != container.attachments.end();
        const auto journal = own ? TRY(load_journal(world.store, key)) : std::nullopt;
        if (!journal || !may_share(*journal, attachment))
            return make_error(Code::Refused,
                              "a second hook asks for other RDMA than the container has")
                .advise("give it one pool by --device, or all of them by annotations");
    }
    return {};
}

Result<Notes> attach_waiting(Subject& subject, const Call& call, const oci::State& state) {
    const Waiting waiting = TRY(find_waiting(subject, call, state));
    const Store store{call.host.files, call.state_dir};
    TRY(store.open());
    World world{call.host, subject.config, store};
    TRY(sweep_pending(world));
    const std::string key = container_key(call.bundle);
    const auto lock = TRY(store.lock_container(key, Deadline::in(kLockTimeout)));
    const auto earlier = TRY(store.load_container(key));
    if (earlier && earlier->committed && earlier->token == waiting.root.init) {
        TRY(check_has_all(world, *earlier, waiting, subject.request));
        return Notes{};
    }
    TRY(leave_earlier(world, key));
    auto notes = attach_and_grant(subject, call, world, waiting);
    if (notes || !subject.request.optional || !is_forgivable(notes.error()))
        return notes;
    return go_without_live(subject, call, world, waiting, notes.error());
}

// Annotations for people.
std::string described(const Annotations& annotations) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : annotations)
        parts.push_back(fmt::format("{}={}", key, base::printable(value)));
    return fmt::format("{}", fmt::join(parts, " "));
}

// The container's own, and those of the hook's arguments: a CDI device that is a pool, with an
// address by annotation.
Result<Annotations> all_annotations(const oci::Spec& spec, const Call& call) {
    Annotations all = spec.annotations();
    for (const auto& [key, value] : call.annotations) {
        const auto [there, added] = all.emplace(key, value);
        if (!added && there->second != value)
            return make_error(Code::Refused,
                              fmt::format("annotation {}={}, but the device that was asked for has "
                                          "{}",
                                          key,
                                          base::printable(there->second),
                                          base::printable(value)))
                .advise("leave out the annotation or the device");
    }
    return all;
}

// The record of a container that has ended.
Result<std::optional<std::string>> find_key(const Store& store, const oci::State& state) {
    const auto bundle = oci::Bundle::open(state.bundle);
    const std::string key = container_key(bundle ? bundle->path() : state.bundle);
    const auto by_bundle = TRY(store.load_container(key));
    if (by_bundle && by_bundle->id == state.id)
        return std::optional{key};
    // Runtimes have been wrong about the bundle of a container that is gone.
    const auto keys = store.container_keys();
    if (!keys && base::is_missing(keys.error()))
        return std::optional<std::string>{};  // nothing was attached since the boot
    for (const std::string& other : TRY(keys)) {
        const auto container = store.load_container(other);  // another's broken one is gc's
        if (container && *container && (*container)->id == state.id &&
            !(*container)->grants.empty())
            return std::optional{other};
    }
    return std::optional<std::string>{};
}

// Whether a device had been taken away. What gc has found to be another's by now stays away.
Result<bool> regrant_container(World& world, const Container& container) {
    std::vector<netns::DeviceNumber> stale;
    for (const GrantedNode& node : TRY(granted_nodes(world.store, container.key))) {
        if (TRY(is_stale(world.host, node)))
            stale.push_back(node.number);
    }
    bool changed = false;
    for (const Json& step : container.grants) {
        if (TRY(base::required<std::string>(step, "kind")) != AllowDevice::kKind)
            continue;
        const auto args = TRY(AllowDevice::args_from(step));
        if (std::ranges::find(stale, args.device) != stale.end())
            continue;
        const bool is_new = TRY(world.host.device_cgroups.allow(args.init, args.device));
        changed = changed || is_new;
    }
    return changed;
}

Result<> regrant_one(World& world, const std::string& key, Regranted& out) {
    const auto lock = TRY(unless_locked(
        world.store.lock_container(key, Deadline::now()), "container " + key, out.locked));
    const auto container = world.store.load_container(key);
    if (!lock || !container)  // gc says what cannot be read
        return {};
    if (!*container || (*container)->grants.empty() || !TRY(is_alive(world, **container)))
        return {};
    if (TRY(regrant_container(world, **container)))
        out.containers.push_back(key);
    return {};
}
}  // namespace

Result<std::vector<std::string>> attach_live(std::string_view input, const Call& runtime_call) {
    const oci::State state = TRY(oci::parse_state(input));
    const oci::Bundle bundle = TRY(oci::Bundle::open(state.bundle));
    oci::Spec spec =
        TRY(oci::Spec::parse_annotations(TRY(bundle.read(oci::kSpecFile, oci::kMaxSpecBytes))));
    const auto annotations = TRY(all_annotations(spec, runtime_call));
    if (!mentions_rdma(annotations))
        return Notes{};
    if (!runtime_call.root)
        return make_error(Code::Refused, "rdma.* annotations need a rootful engine")
            .advise("run the container as root");
    base::log::set_container(state.id);
    TRY(bundle.check_owner());
    TRY(spec.check());
    Config config = TRY(runtime_call.load_config());
    base::log::open(target_of(config));
    Call call = runtime_call;
    call.state_dir = config.state_dir;
    call.bundle = bundle.path();
    call.id = state.id;
    if (const auto marker = annotations.find(kMarker); marker != annotations.end()) {
        TRY(check_marker(marker->second, Store{call.host.files, call.state_dir}, call.bundle));
        if (!call.annotations.empty())
            return make_error(Code::Refused, "the container has its RDMA by annotation already")
                .advise("leave out the annotations or the device " + described(call.annotations));
        return Notes{};
    }
    Subject subject = TRY(read_subject(
        std::move(spec), annotations, std::move(config), Grants::Live, call.host.char_nodes));
    auto notes = TRY(attach_waiting(subject, call, state));
    for (const std::string& note : notes)
        base::log::warning(note);
    return notes;
}

Result<> leave_live(std::string_view input, const Call& call) {
    const oci::State state = TRY(oci::parse_state(input));
    base::log::set_container(state.id);
    const Config config = config_or_default(call);
    base::log::open(target_of(config));
    const Store store{call.host.files, call.state_dir.empty() ? config.state_dir : call.state_dir};
    World world{call.host, config, store};
    const auto key = TRY(find_key(store, state));
    if (!key)
        return {};
    const auto lock = TRY(store.lock_container(*key, Deadline::in(kLockTimeout)));
    const auto container = TRY(store.load_container(*key));
    if (!container)
        return {};
    if (TRY(is_alive(world, *container)))
        return make_error(Code::Busy, "the container whose end was reported is running");
    return leave_all(world, *container);
}

Regranted regrant(World& world) {
    Regranted out;
    const auto keys = world.store.container_keys();
    if (!keys)
        out.trouble.push_back(keys.error().message());
    for (const std::string& key : keys ? *keys : std::vector<std::string>{}) {
        if (const auto done = regrant_one(world, key, out); !done)
            out.trouble.push_back(done.error().message());
    }
    return out;
}

}  // namespace hook
