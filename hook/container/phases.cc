// SPDX-License-Identifier: Apache-2.0
#include "hook/container/phases.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "hook/container/announce.h"
#include "hook/container/apply_limits.h"
#include "hook/container/granted_nodes.h"
#include "hook/container/hide.h"
#include "hook/container/label.h"
#include "hook/container/subject.h"
#include "netns/base/ids.h"
#include "netns/base/log.h"
#include "netns/cgroup.h"
#include "runtime-config/oci/state.h"

namespace hook {

using base::Code;
using base::Deadline;
using base::Error;
using base::make_error;

namespace {
// The record's owner before there is an init.
Result<netns::ProcessToken> owner_token(const Call& call) {
    const auto owner = TRY(call.host.processes.token(call.owner));
    if (!owner)
        return make_error(Code::Unavailable, "the engine that called rdma-hook is gone")
            .advise("start the container once more");
    return *owner;
}

// The namespace that the attachments go to: the engine's, or a new one, which config.json then
// names.
Result<std::optional<netns::Netns>> container_netns(const Subject& subject, const Call& call) {
    const auto inside = [](const Attachment& a) { return a.placement == Placement::Container; };
    if (std::none_of(
            subject.request.attachments.begin(), subject.request.attachments.end(), inside))
        return std::optional<netns::Netns>{};
    if (subject.network.kind == oci::Network::Kind::Path) {
        auto ns = TRY(call.host.namespaces.open(subject.network.path));
        TRY(check_not_the_hosts(call.host.namespaces, ns));
        return std::optional{std::move(ns)};
    }
    return std::optional{TRY(call.host.namespaces.make())};
}

// The namespace we made must be named in config.json by a path that lives as long as the container:
// that of our pin.
void name_netns(Subject& subject, const World& world, const Container& container) {
    if (subject.network.kind != oci::Network::Kind::Private || !container.netns)
        return;
    for (size_t i = 0; i < subject.request.attachments.size(); ++i) {
        if (subject.request.attachments[i].placement == Placement::Container) {
            subject.spec.set_network_path(world.store.pin_path(container.attachments[i]));
            return;
        }
    }
}

// What every container of ours gets, with RDMA or (rdma.optional) without: attach.json, and the
// hooks that commit and undo its record.
Result<> declare(oci::Spec& spec,
                 const Call& call,
                 const Container& container,
                 const Json& attach,
                 std::vector<std::string>& notes) {
    const Store store{call.host.files, call.state_dir};
    const std::string file = store.attach_path(container.key);
    TRY(store.files().write(file, base::dump_json(attach), base::Access::Readable));
    if (label_all(store.files(), {file}, spec.mount_label(), kAttachFileInContainer, notes))
        spec.add_file_mount(file, kAttachFileInContainer);
    for (const char* stage : {"createRuntime", "poststop"})
        spec.add_hook(stage,
                      {.path = call.self,
                       .args = {"rdma-hook",
                                stage,
                                "--state",
                                call.state_dir,
                                "--container",
                                container.key,
                                "--attach",
                                container.uuid},
                       .timeout_s = oci::kHookTimeoutSeconds});
    spec.set_annotation(kMarker, container.uuid);
    return {};
}

Result<Output> attach_and_declare(Subject& subject, const Call& call, World& world) {
    if (!subject.request.limits.empty())
        TRY(call.host.cgroups.check_rdma());
    const auto ns = TRY(container_netns(subject, call));
    const Container container =
        TRY(register_container(world, call, subject, ns, TRY(owner_token(call))));
    const auto work = [&]() -> Result<std::vector<std::string>> {
        const auto granted =
            TRY(attach_all(world, joiner_of(subject, container, ns), subject.request));
        TRY(note_nodes(world, container.key, granted));
        name_netns(subject, world, container);
        TRY(grant(subject.spec, subject.request, granted));
        auto notes = warnings(granted);
        const auto unseen =
            TRY(hide_others(subject.spec, call.host, world.store, container.key, granted));
        notes.insert(notes.end(), unseen.begin(), unseen.end());
        TRY(declare(subject.spec,
                    call,
                    container,
                    attach_json(container.id, subject.fenced, granted),
                    notes));
        return notes;
    };
    auto notes = work();
    if (!notes)
        return join(std::move(notes).error(), leave_all(world, container)).error();
    return Output{.spec = subject.spec.text(), .notes = *notes};
}

// rdma.optional: the container starts without RDMA and is told why.
Result<Output> go_without(Subject subject, const Call& call, World& world, const Error& error) {
    subject.request.attachments.clear();
    const Container container =
        TRY(register_container(world, call, subject, {}, TRY(owner_token(call))));
    audit_refusal("precreate", error, true);
    subject.spec.add_env("RDMA_ERROR", error.message());
    std::vector<std::string> notes{"started without RDMA: " + error.message()};
    if (auto done =
            declare(subject.spec, call, container, failed_attach_json(container.id, error), notes);
        !done)
        return join(std::move(done), leave_all(world, container)).error();
    return Output{.spec = subject.spec.text(), .notes = std::move(notes)};
}

Result<Output> attach_container(Subject& subject, const Call& call) {
    const Store store{call.host.files, call.state_dir};
    TRY(store.open());
    World world{call.host, subject.config, store};
    TRY(sweep_pending(world));
    const std::string key = container_key(call.bundle);
    const auto lock = TRY(store.lock_container(key, Deadline::in(kLockTimeout)));
    TRY(leave_earlier(world, key));
    // The copy costs as much as parsing: only for who may need it.
    std::optional<oci::Spec> untouched;
    if (subject.request.optional)
        untouched = subject.spec;
    auto output = attach_and_declare(subject, call, world);
    if (output || !untouched || !is_forgivable(output.error()))
        return output;
    subject.spec = *std::move(untouched);
    return go_without(std::move(subject), call, world, output.error());
}

// The record of the container that a later stage is about; nothing if another start of the same
// bundle has taken its place.
Result<std::optional<Container>> find_own(const Store& store, const Call& call) {
    auto container = TRY(store.load_container(call.container));
    if (container && container->uuid != call.attach)
        container.reset();
    return container;
}

// Of a container that has just been committed: an error if gc took it for dead shortly before, and
// so took back what it has. From then on nobody takes it for dead. The journals, without steps.
Result<std::vector<Journal>> load_held(World& world, const Container& container) {
    std::vector<Journal> held;
    for (const std::string& akey : container.attachments) {
        const auto lock = TRY(world.store.lock_attachment(akey, Deadline::in(kLockTimeout)));
        auto journal = TRY(load_journal_head(world.store, akey));
        if (!journal || !journal->made ||
            std::ranges::find(journal->holders, container.key) == journal->holders.end())
            return make_error(Code::Unavailable,
                              "what was attached for the container was taken back before it "
                              "started: the engine that created it had died")
                .advise("create the container anew");
        held.push_back(*std::move(journal));
    }
    return held;
}

Result<> commit(World& world, const Container& pending, const oci::State& state) {
    Container container = pending;
    const auto init = TRY(world.host.processes.token(state.pid));
    if (!init)
        return make_error(Code::Unavailable,
                          fmt::format("the container's init {} is gone", state.pid));
    if (container.netns) {
        const auto ns = TRY(world.host.namespaces.open_process(state.pid));
        if (ns.id() != *container.netns)
            return make_error(
                Code::Refused,
                "the container is not in the network namespace that was prepared for it");
    }
    TRY(apply_limits(world, container, *init));
    container.id = state.id;
    container.token = *init;
    container.committed = true;
    TRY(world.store.save_container(container));
    for (const Journal& journal : TRY(load_held(world, container)))
        announce_addresses(world, journal);
    return {};
}

// When a failure was remembered, in seconds since 1970; of what cannot be read, before all others.
int64_t remembered_at(const Store& store, const std::string& path) {
    const auto read = [&]() -> Result<int64_t> {
        const Json json = TRY(base::parse_json(TRY(store.files().read(path, kMaxStateFile)), path));
        return base::required<int64_t>(json, "time");
    };
    const auto time = read();
    return time ? *time : std::numeric_limits<int64_t>::min();
}

// Removes the oldest failures, but never `newest`: others may be of the same second.
void forget_oldest(const Store& store, const std::string& newest) {
    constexpr size_t kMostKept = 64;
    const auto names = store.files().list(store.folder("errors"));
    if (!names || names->size() <= kMostKept)
        return;
    std::vector<std::pair<int64_t, std::string>> others;
    for (const std::string& name : *names) {
        const std::string path = store.folder("errors") + "/" + name;
        if (path != newest)
            others.emplace_back(remembered_at(store, path), path);
    }
    std::ranges::sort(others);
    for (size_t i = 0; i + kMostKept < names->size() && i < others.size(); ++i)
        (void)store.files().remove(others[i].second);
}
}  // namespace

Result<Output> precreate(std::string_view input, const Call& engine_call) {
    oci::Spec spec = TRY(oci::Spec::parse_annotations(input));
    const auto annotations = spec.annotations();
    if (!mentions_rdma(annotations))
        return Output{.spec = std::string(input), .notes = {}};
    // First of all: a rootless engine's root can do nothing of what follows, and sees strange
    // owners.
    if (!engine_call.root)
        return make_error(Code::Refused, "rdma.* annotations need a rootful engine")
            .advise("run the container as root: sudo podman run ...");
    TRY(spec.check());
    base::log::set_container(id_of(engine_call));
    Config config = TRY(engine_call.load_config());
    base::log::open(target_of(config));
    Call call = engine_call;
    call.state_dir = config.state_dir;
    if (const auto marker = annotations.find(kMarker); marker != annotations.end()) {
        TRY(check_marker(marker->second, Store{call.host.files, call.state_dir}, call.bundle));
        return Output{.spec = std::string(input), .notes = {}};
    }
    Subject subject = TRY(read_subject(
        std::move(spec), annotations, std::move(config), Grants::Declared, call.host.char_nodes));
    auto output = TRY(attach_container(subject, call));
    for (const std::string& note : output.notes)
        base::log::warning(note);
    return output;
}

Result<> create_runtime(std::string_view input, const Call& call) {
    const oci::State state = TRY(oci::parse_state(input));
    base::log::set_container(state.id);
    const Config unread;  // what was decided is in the journals
    const Store store{call.host.files, call.state_dir};
    World world{call.host, unread, store};
    const auto lock = TRY(store.lock_container(call.container, Deadline::in(kLockTimeout)));
    const auto container = TRY(find_own(store, call));
    if (!container)
        return make_error(Code::Refused,
                          "the container's RDMA was prepared for another start (a restored "
                          "checkpoint?) and is gone")
            .advise("create the container anew");
    if (!container->id.empty() && container->id != state.id)
        return make_error(
            Code::Refused,
            fmt::format("container {} has the bundle of {}", state.id, container->id));
    return commit(world, *container, state);
}

Result<> poststop(std::string_view input, const Call& call) {
    const oci::State state = TRY(oci::parse_state(input));
    base::log::set_container(state.id);
    const Config unread;  // what was decided is in the journals
    const Store store{call.host.files, call.state_dir};
    World world{call.host, unread, store};
    const auto lock = TRY(store.lock_container(call.container, Deadline::in(kLockTimeout)));
    const auto container = TRY(find_own(store, call));
    return container ? leave_all(world, *container) : Result<>{};
}

base::log::Target log_of(const Call& call) {
    return target_of(config_or_default(call));
}

Result<> abandon(const Call& call) {
    const Config config = TRY(call.load_config());
    const Store store{call.host.files, config.state_dir};
    World world{call.host, config, store};
    const std::string key = container_key(call.bundle);
    const auto lock = TRY(store.lock_container(key, Deadline::in(kLockTimeout)));
    const auto container = TRY(store.load_container(key));
    if (!container || (container->committed && TRY(is_alive(world, *container))))
        return {};
    return leave_all(world, *container);
}

void remember_failure(const Call& call, std::string_view phase, const Error& error) {
    const std::string dir =
        call.state_dir.empty() ? config_or_default(call).state_dir : call.state_dir;
    const Store store{call.host.files, dir};
    const std::string key = call.container.empty() ? container_key(call.bundle) : call.container;
    const Json json = base::object({{"format", 1},
                                    {"key", key},
                                    {"id", id_of(call)},
                                    {"bundle", call.bundle},
                                    {"phase", phase},
                                    {"code", base::code_name(error.code)},
                                    {"error", error.message()},
                                    {"time", static_cast<int64_t>(std::time(nullptr))}});
    // All best effort: the failure itself is what is reported.
    const std::string path = store.error_path(key);
    if (store.open() && store.files().write(path, base::dump_json(json)))
        forget_oldest(store, path);
}

}  // namespace hook
