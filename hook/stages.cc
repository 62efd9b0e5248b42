// SPDX-License-Identifier: Apache-2.0
#include "hook/stages.h"

#include <exception>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/container/attach.h"
#include "hook/container/commit.h"
#include "hook/container/end.h"
#include "hook/container/in_config.h"
#include "hook/container/into_running.h"
#include "hook/state/failures.h"
#include "runtime-config/oci/bundle.h"

namespace hook {

namespace {
base::log::Target target_of(const Config& config) {
    return {.file = config.log_file, .level = config.log_level, .program = "rdma-hook"};
}

// Returns the container's id as far as it is known before the runtime gives it.
std::string id_of(const Call& call) {
    return call.id.empty() ? id_from_bundle(call.bundle) : call.id;
}

// Reads the configuration, opens the log that it names, and returns the store.
Result<Store> open_store(const Call& call) {
    const auto& config = call.config.get();
    if (!config)
        return config.error();
    base::log::open(target_of(*config));
    return Store{call.host.files, config->state_dir};
}

// Returns whether precreate has prepared the container of this bundle. An error if it has prepared
// another.
Result<bool> is_prepared(const Store& store,
                         const Annotations& annotations,
                         const std::string& bundle) {
    const auto marker = annotations.find(kMarker);
    if (marker == annotations.end())
        return false;
    TRY(check_marker(store, bundle, marker->second));
    return true;
}

Notes logged(Notes notes) {
    for (const std::string& note : notes)
        base::log::warning(note);
    return notes;
}

// Runs a later stage of a container that precreate has prepared, under its lock. Without a record,
// another start of the same bundle has taken its place.
template <typename Work>
Result<> with_prepared(std::string_view input, const Call& call, const Work& work) {
    const oci::State state = TRY(oci::parse_state(input));
    base::log::set_container(state.id);
    const Config unread;  // the journals have all decisions
    const Store store{call.host.files, call.state_dir};
    const auto lock = TRY(store.lock_container(call.container, Deadline::in(kLockTimeout)));
    auto container = TRY(store.load_container(call.container));
    if (container && container->uuid != call.attach)
        container.reset();
    return work(Context{call.host, unread, store}, container, state);
}

// Formats annotations for people.
std::string described(const Annotations& annotations) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : annotations)
        parts.push_back(fmt::format("{}={}", key, base::printable(value)));
    return fmt::format("{}", fmt::join(parts, " "));
}

// Returns the container's own annotations and those of the hook's arguments. For example, a CDI
// device that is a pool, with an address by annotation.
Result<Annotations> all_annotations(Annotations all, const Call& call) {
    for (const auto& [key, value] : call.annotations) {
        const auto [there, added] = all.emplace(key, value);
        if (!added && there->second != value)
            return make_error(
                       Code::Refused,
                       fmt::format("annotation {}='{}' contradicts the CDI device, which sets "
                                   "'{}'",
                                   key,
                                   base::printable(there->second),
                                   base::printable(value)))
                .advise("leave out the annotation or the device");
    }
    return all;
}

// Does nothing for a plain hook of a container that precreate has prepared. Refuses a CDI device
// beside that.
Result<Notes> leave_to_precreate(const Call& call) {
    if (call.annotations.empty())
        return Notes{};
    return make_error(Code::Refused, "the container has its RDMA by annotation already")
        .advise("leave out the annotations or the device " + described(call.annotations));
}

// A plain hook whose runtime does not say where config.json is. A container that precreate has
// prepared is known by its id.
Result<Notes> create_without_bundle(const oci::State& state, const Call& call) {
    const auto annotations = TRY(all_annotations(state.annotations, call));
    if (!mentions_rdma(annotations))
        return Notes{};
    base::log::set_container(state.id);
    const Store store = TRY(open_store(call));
    const auto marker = annotations.find(kMarker);
    for (const Container& container : TRY(store.load_by_id(state.id))) {
        if (marker != annotations.end() && container.uuid == marker->second)
            return leave_to_precreate(call);
    }
    return make_error(Code::Refused,
                      "the container's runtime does not tell its hooks where config.json is")
        .advise("use runc, or leave out --userns and --uidmap");
}

}  // namespace

const Result<Config>& ReadOnce::get() const {
    if (!*config_)
        *config_ = read_();
    return **config_;
}

Config ReadOnce::get_or_default() const {
    const auto& config = get();
    return config ? *config : defaults_();
}

Result<Config> load_callers_config(const std::string& path) {
    const netns::Caller caller = netns::find_caller();
    return caller.root ? load_config(path) : load_users_config(path, caller.user, caller.root_uid);
}

Result<Config> load_callers_log_settings(const std::string& path) {
    return netns::find_caller().root ? load_log_settings(path) : load_callers_config(path);
}

Config callers_defaults() {
    const netns::Caller caller = netns::find_caller();
    return caller.root ? Config{} : as_users({}, caller.user);
}

Result<Output> precreate(std::string_view input, const Call& call) {
    oci::Spec spec = TRY(oci::Spec::parse_annotations(input));
    const auto annotations = spec.annotations();
    if (!mentions_rdma(annotations))
        return Output{.spec = std::string(input), .notes = {}};
    TRY(spec.check());
    base::log::set_container(id_of(call));
    const Store store = TRY(open_store(call));
    if (TRY(is_prepared(store, annotations, call.bundle)))
        return Output{.spec = std::string(input), .notes = {}};
    const Context context{call.host, *call.config.get(), store};
    Asking asking = TRY(read_asking(context, spec, annotations, false));
    const auto owner = TRY(call.host.processes.token(call.owner));
    if (!owner)
        return make_error(Code::Unavailable, "the engine that called rdma-hook is gone")
            .advise("start the container once more");
    asking.bundle = call.bundle;
    asking.key = container_key(asking.bundle);
    asking.id = id_of(call);
    asking.life = *owner;
    InConfig delivery{context, std::move(spec), call.self};
    auto notes = logged(TRY(attach_container(context, asking, delivery)));
    return Output{.spec = delivery.text(), .notes = std::move(notes)};
}

Result<> abandon(const Call& call) {
    const Store store = TRY(open_store(call));
    const Context context{call.host, *call.config.get(), store};
    const std::string key = container_key(call.bundle);
    const auto lock = TRY(store.lock_container(key, Deadline::in(kLockTimeout)));
    const auto container = TRY(store.load_container(key));
    if (!container || (container->committed && TRY(is_alive(context, *container))))
        return {};
    return leave_all(context, *container);
}

Result<> create_runtime(std::string_view input, const Call& call) {
    return with_prepared(
        input,
        call,
        [](const Context& context, const auto& container, const oci::State& state) -> Result<> {
            if (!container)
                return make_error(Code::Refused,
                                  "the container's RDMA was prepared for another start (a restored "
                                  "checkpoint?) and is gone")
                    .advise("create the container again");
            return commit_created(context, *container, state);
        });
}

Result<> poststop(std::string_view input, const Call& call) {
    return with_prepared(
        input, call, [](const Context& context, const auto& container, const oci::State& state) {
            // A copy of the container's config.json, such as a restored checkpoint, has the same
            // hooks and another id.
            const bool has_ended =
                container && (container->id.empty() || container->id == state.id);
            return has_ended ? leave_all(context, *container) : Result<>{};
        });
}

Result<Notes> plain_create(std::string_view input, const Call& call) {
    const oci::State state = TRY(oci::parse_state(input));
    if (!state.knows_bundle())
        return create_without_bundle(state, call);
    const oci::Bundle bundle = TRY(oci::Bundle::open(state.bundle));
    oci::Spec spec =
        TRY(oci::Spec::parse_annotations(TRY(bundle.read(oci::kSpecFile, oci::kMaxSpecBytes))));
    const auto annotations = TRY(all_annotations(spec.annotations(), call));
    if (!mentions_rdma(annotations))
        return Notes{};
    base::log::set_container(state.id);
    TRY(bundle.check_owner());
    TRY(spec.check());
    const Store store = TRY(open_store(call));
    if (TRY(is_prepared(store, annotations, bundle.path())))
        return leave_to_precreate(call);
    const Context context{call.host, *call.config.get(), store};
    Asking asking = TRY(read_asking(context, spec, annotations, true));
    auto delivery = TRY(IntoRunning::find(context, std::move(spec), bundle.path(), state.pid));
    asking.bundle = bundle.path();
    asking.key = container_key(asking.bundle);
    asking.id = state.id;
    asking.life = delivery.init();
    return logged(TRY(attach_container(context, asking, delivery)));
}

Result<> plain_poststop(std::string_view input, const Call& call) {
    const oci::State state = TRY(oci::parse_state(input));
    base::log::set_container(state.id);
    const Config config = call.config.get_or_default();
    base::log::open(target_of(config));
    const Store store{call.host.files, call.state_dir.empty() ? config.state_dir : call.state_dir};
    return leave_ended({call.host, config, store}, state);
}

base::log::Target log_of(const Call& call) {
    return target_of(call.config.get_or_default());
}

void remember_failure(const Call& call, std::string_view stage, const Error& error) {
    const std::string dir =
        call.state_dir.empty() ? call.config.get_or_default().state_dir : call.state_dir;
    hook::remember_failure(
        Store{call.host.files, dir},
        {.key = call.container.empty() ? container_key(call.bundle) : call.container,
         .id = id_of(call),
         .bundle = call.bundle,
         .stage = stage},
        error);
}

Result<> guarded(const std::function<Result<>()>& work) {
    try {
        return work();
    } catch (const std::exception& e) {
        return make_error(Code::Internal, std::string("bug: ") + base::printable(e.what()));
    } catch (...) {
        return make_error(Code::Internal, "bug: unknown exception");
    }
}

}  // namespace hook
