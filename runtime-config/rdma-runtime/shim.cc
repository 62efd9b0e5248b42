// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/rdma-runtime/shim.h"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "hook/container/audit.h"
#include "hook/container/end.h"
#include "hook/stages.h"
#include "hook/state/runtimes.h"
#include "netns/base/log.h"
#include "netns/launch.h"
#include "netns/process.h"
#include "runtime-config/oci/bundle.h"
#include "runtime-config/oci/spec.h"
#include "runtime-config/oci/state.h"
#include "runtime-config/rdma-runtime/args.h"
#include "runtime-config/rdma-runtime/engine_log.h"

namespace shim {

using base::Code;
using base::Error;
using base::make_error;
using base::Result;

namespace {
// Far above the size that a runtime reads: no container comes of a larger file, whatever it holds.
constexpr size_t kMaxLookBytes = 16 * oci::kMaxSpecBytes;

// A call for rdma-runtime: the container asks for RDMA, or has it.
struct Ours {
    Invocation call;
    std::optional<oci::Bundle> bundle;  // create, run and restore
    std::string spec;
    std::vector<std::string> keys;  // delete and checkpoint: keys of the containers with this id
};

// True if config.json asks for RDMA. If the text is no config.json at all, the low-level runtime
// reports that. If it still seems to ask for RDMA, rdma-runtime reports it.
bool asks_for_rdma(const std::string& text) {
    const bool may =
        text.find("rdma.") != std::string::npos || text.find("\\u") != std::string::npos;
    if (!may)
        return false;
    const auto spec = oci::Spec::parse_annotations(text);
    return spec ? hook::mentions_rdma(spec->annotations())
                : text.find("\"rdma.") != std::string::npos;
}

std::optional<Ours> look_at_start(Invocation call) {
    auto bundle = oci::Bundle::open(call.bundle);
    if (!bundle)
        return std::nullopt;
    const std::string name = call.config.empty() ? oci::kSpecFile : call.config;
    auto spec = bundle->read(name, kMaxLookBytes);
    if (!spec || !asks_for_rdma(*spec))
        return std::nullopt;
    return Ours{std::move(call), *std::move(bundle), *std::move(spec), {}};
}

// Finds several keys if containers of several root folders have one id. Each is looked at by
// itself.
std::optional<Ours> look_at_id(Invocation call, const Surroundings& around) {
    const hook::Store store{around.host.files, around.config.get_or_default().state_dir};
    auto all = store.load_by_id(call.id);
    if (!all)
        return std::nullopt;
    Ours ours{.call = std::move(call), .bundle = {}, .spec = {}, .keys = {}};
    for (hook::Container& container : *all)
        ours.keys.push_back(std::move(container.key));
    return ours.keys.empty() ? std::nullopt : std::optional(std::move(ours));
}

// Returns nothing for a call that only the low-level runtime handles.
std::optional<Ours> look(const Invocation& call, const Surroundings& around) {
    switch (call.verb) {
        case Verb::Create:
        case Verb::Run:
        case Verb::Restore:
            return look_at_start(call);
        case Verb::Delete:
        case Verb::Checkpoint:
            return look_at_id(call, around);
        case Verb::Other:
            break;
    }
    return std::nullopt;
}

bool starts(const Invocation& call) {
    return call.verb == Verb::Create || call.verb == Verb::Run || call.verb == Verb::Restore;
}

// Returns the container that the call is about, if its runtime is recorded. If rdma-runtime does
// not know the verb's options, the id is the first word that names such a container.
std::optional<hook::Served> find_served(const Invocation& call, const hook::Runtimes& runtimes) {
    const auto words = call.verb == Verb::Other ? call.words : std::vector{call.id};
    for (const std::string& word : words) {
        if (!oci::is_container_id(word))
            continue;
        auto served = runtimes.find(call.root, word);
        // A new container may have the id of one that is gone.
        if (served && !(starts(call) && runtimes.is_gone(*served)))
            return served;
    }
    return std::nullopt;
}

// Returns the member `runtime` of the configuration, without a second read.
Result<std::string> setting_of(const Surroundings& around) {
    const auto& config = around.config.peek();
    return config && *config ? (*config)->runtime : around.runtime_setting();
}

// Returns the program that the call is for: the container's, whatever is configured now. For a new
// or unknown container it is the one that the call names, or else the configuration's. If that
// cannot be determined, it is the latest such container's.
Result<std::string> runtime_for(const Invocation& call, const Surroundings& around) {
    const hook::Runtimes runtimes{around.host, around.runtimes};
    if (const auto served = find_served(call, runtimes))
        return find_runtime(served->runtime).context("the runtime of container " + served->id);
    if (call.low_level)
        return find_named(*call.low_level);
    const auto setting = setting_of(around);
    auto path = setting ? find_runtime(*setting) : Result<std::string>{setting.error()};
    if (const auto last = runtimes.last(); !path && last)
        path = find_runtime(*last);
    return path ? *path : default_runtime();
}

// Records the runtime. Best effort: without the record the configuration decides, as if
// rdma-runtime had not been called before.
void remember_runtime(const Invocation& call,
                      const std::string& path,
                      pid_t creator,
                      const Surroundings& around) {
    const auto token = around.host.processes.token(creator);
    if (!around.root || !token || !*token || !oci::is_container_id(call.id))
        return;
    (void)hook::Runtimes{around.host, around.runtimes}.remember(
        {.root = call.root, .id = call.id, .runtime = path, .creator = **token}, !call.low_level);
}

// Refuses all that can be refused before anything is done.
Result<> check_start(const Ours& ours) {
    if (!ours.call.trouble.empty())
        return make_error(Code::Usage, ours.call.trouble)
            .advise(
                "call it as runc or crun is called: containers with rdma.* annotations need that");
    if (!ours.call.config.empty())
        return make_error(Code::Usage, "rdma.* annotations cannot be combined with --config")
            .advise("name the file config.json");
    if (!oci::is_container_id(ours.call.id))
        return make_error(Code::BadInput,
                          "'" + base::printable(ours.call.id) + "' is not a container's id")
            .advise("use letters, digits and _+-. in the id");
    if (ours.spec.size() > oci::kMaxSpecBytes)
        return make_error(Code::BadInput,
                          fmt::format("config.json is larger than {} bytes", oci::kMaxSpecBytes))
            .advise("report it to the engine that wrote this config.json");
    return ours.bundle->check_owner();
}

void write_line(const std::string& line) {
    const std::string text = "rdma-runtime: " + line + "\n";
    (void)!::write(STDERR_FILENO, text.data(), text.size());  // a failure could not be reported
}

// Runs precreate, and puts its config.json in place.
Result<> prepare(const Ours& ours,
                 const std::string& runtime,
                 const hook::Call& call,
                 const Surroundings& around) {
    remember_runtime(ours.call, runtime, call.owner, around);
    const hook::Output output = TRY(hook::precreate(ours.spec, call));
    if (output.spec != ours.spec) {
        if (auto put = ours.bundle->replace(output.spec); !put)
            return join(std::move(put), hook::abandon(call));
    }
    for (const std::string& note : output.notes)
        write_line(note);
    return {};
}

Result<int> start(const Ours& ours,
                  const std::vector<std::string>& argv,
                  hook::Call& call,
                  const Surroundings& around) {
    if (!around.root)
        return make_error(Code::Refused, "rdma.* annotations need a rootful engine")
            .advise(
                "run the container as root; or under rootless Podman by rdma.mode=host; or name "
                "the device to the engine (CDI): --device rdma-hook.org/hca=NAME");
    TRY(check_start(ours));
    const auto& config = call.config.get();
    if (!config)
        return config.error();
    if (!ours.call.low_level)
        (void)TRY(find_runtime(config->runtime));
    const std::string runtime = TRY(runtime_for(ours.call, around));
    call.self = TRY(call.host.programs.beside_us("rdma-hook"));
    auto prepared = around.apart([&] { return prepare(ours, runtime, call, around); });
    // A process that died left unfinished work; one that failed left none.
    if (!prepared && prepared.error().code == Code::Internal)
        prepared = join(std::move(prepared), around.apart([&] { return hook::abandon(call); }));
    TRY(std::move(prepared));
    auto status = around.low_level.run(runtime, argv);
    if (status && *status == 0)
        return 0;
    auto undone = around.apart([&] { return hook::abandon(call); });
    if (!status)
        return join(std::move(status).error(), std::move(undone)).error();
    if (!undone) {  // the timer undoes it; the create is the failure
        base::log::error(undone.error().message());
        write_line(undone.error().message());
    }
    return status;
}

// Takes back what no poststop hook took back of the containers with this id.
void take_back(const Ours& ours, const Surroundings& around) {
    const hook::Config config = around.config.get_or_default();
    base::log::open(
        {.file = config.log_file, .level = config.log_level, .program = "rdma-runtime"});
    const hook::Store store{around.host.files, config.state_dir};
    const hook::Context context{around.host, config, store};
    hook::Collected done;
    for (const std::string& key : ours.keys) {
        if (const auto left = hook::leave_dead(context, key, done); !left)
            base::log::error(left.error().message());  // the journal keeps it, for gc
    }
}

Result<int> remove(const Ours& ours,
                   const std::vector<std::string>& argv,
                   const Surroundings& around) {
    auto status = around.low_level.run(TRY(runtime_for(ours.call, around)), argv);
    const auto done = around.apart([&]() -> Result<> {
        take_back(ours, around);
        return {};
    });
    if (!done)  // the container is gone, and gc takes back the rest
        write_line(done.error().message());
    return status;
}

Result<int> do_it(const Ours& ours,
                  const std::vector<std::string>& argv,
                  hook::Call& call,
                  const Surroundings& around) {
    switch (ours.call.verb) {
        case Verb::Delete:
            return remove(ours, argv, around);
        case Verb::Checkpoint:
            return make_error(Code::Refused, "a container with RDMA cannot be checkpointed")
                .advise("stop it, and start it again where you want it");
        case Verb::Restore:
            return make_error(
                       Code::Refused,
                       "a checkpoint cannot be restored with rdma.* annotations: it does not "
                       "contain what its processes had of an RDMA device")
                .advise("create the container again");
        case Verb::Create:
        case Verb::Run:
        case Verb::Other:
            break;
    }
    return start(ours, argv, call, around);
}

int complain(const Ours& ours,
             const hook::Call& call,
             const Surroundings& around,
             const Error& error) {
    const std::string_view verb = name_of(ours.call.verb);
    const std::string line = fmt::format("{}: {}", verb, error.message());
    const auto kept = around.apart([&]() -> Result<> {
        base::log::error(line);
        hook::audit_refusal(verb, error);
        if (ours.bundle)
            hook::remember_failure(call, verb, error);
        return {};
    });
    write_line(line);
    if (!kept)
        write_line(kept.error().message());
    tell_engine(ours.call.log, ours.call.log_format, "rdma-runtime: " + line);
    return base::exit_status(error.code);
}

int serve_ours(const Ours& ours, const std::vector<std::string>& argv, const Surroundings& around) {
    hook::Call call{.host = around.host,
                    .config = around.config,
                    .bundle = ours.bundle ? ours.bundle->path() : std::string(),
                    .id = ours.call.id,
                    .owner = around.host.processes.self()};
    // Each confined process opens the log again.
    base::log::set_container(ours.call.id);
    base::log::open_later([&call] { return hook::log_of(call); });
    int status = 0;
    const auto done = hook::guarded([&]() -> Result<> {
        status = TRY(do_it(ours, argv, call, around));
        return {};
    });
    const int result = done ? status : complain(ours, call, around, done.error());
    base::log::open_later({});  // the log holds `call`
    return result;
}

int serve_others(const Invocation& call,
                 const std::vector<std::string>& argv,
                 const Surroundings& around) {
    std::string path = call.low_level.value_or(default_runtime());
    const auto found = hook::guarded([&]() -> Result<> {
        path = TRY(runtime_for(call, around));
        if (starts(call))
            remember_runtime(call, path, around.host.processes.self(), around);
        return {};
    });
    Error error;
    if (found || found.error().code == Code::Internal) {
        error = around.low_level.become(path, argv);
    } else {  // another would report no such container, and the engine believe it
        error = found.error();
        tell_engine(call.log, call.log_format, "rdma-runtime: " + error.message());
    }
    write_line(error.message());
    return base::exit_status(error.code);
}
}  // namespace

int serve(std::vector<std::string> argv, const Surroundings& around) {
    Invocation call;
    call.low_level = take_low_level(argv);
    std::optional<Ours> ours;
    // A bug in rdma-runtime harms no other container.
    const auto done = hook::guarded([&]() -> Result<> {
        const auto named = call.low_level;
        call = parse_args(argv);
        call.low_level = named;
        ours = look(call, around);
        return {};
    });
    return done && ours ? serve_ours(*ours, argv, around) : serve_others(call, argv, around);
}

}  // namespace shim
