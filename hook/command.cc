// SPDX-License-Identifier: Apache-2.0
#include "hook/command.h"

#include <array>
#include <climits>

#include <fmt/format.h>
#include <unistd.h>

#include "hook/container/audit.h"
#include "netns/base/files.h"
#include "netns/base/ids.h"
#include "netns/base/log.h"
#include "netns/process.h"

namespace hook {

namespace {
// Writes the line to stderr and to the engine's stderr: Podman swallows the output of a precreate
// hook.
void say(const std::string& line) {
    const std::string text = line + "\n";
    (void)!::write(STDERR_FILENO, text.data(), text.size());  // a failure could not be reported
    netns::tell_parent(text);
}

Result<> run_precreate(const std::string& input, const Call& call) {
    const Output output = TRY(precreate(input, call));
    auto delivered = base::write_all(STDOUT_FILENO, output.spec, "stdout");
    if (!delivered)
        return join(std::move(delivered), abandon(call));
    for (const std::string& note : output.notes)
        say("rdma-hook: " + note);
    return {};
}

Result<> check_later_stage(const Call& call) {
    if (!call.container.empty() && !call.attach.empty() && !call.state_dir.empty())
        return {};
    return make_error(Code::Usage, "this stage needs --state, --container and --attach")
        .advise("create the container by its engine: precreate writes these options");
}

// True if the container was not prepared by precreate: plain hooks.
bool is_plain(const Call& call) {
    return call.container.empty() && call.attach.empty();
}

Result<> run_plain(const std::string& input, const Call& call) {
    for (const std::string& note : TRY(plain_create(input, call)))
        say("rdma-hook: " + note);
    return {};
}

Result<> run_create_runtime(const std::string& input, const Call& call) {
    if (is_plain(call) && call.state_dir.empty())
        return run_plain(input, call);
    TRY(check_later_stage(call));
    return create_runtime(input, call);
}

Result<> run_poststop(const std::string& input, const Call& call) {
    if (is_plain(call))
        return plain_poststop(input, call);
    TRY(check_later_stage(call));
    return poststop(input, call);
}

constexpr std::array<Stage, 4> kStages = {{
    {"precreate", run_precreate, true, false},
    {"prestart", run_plain, true, true},
    {"createRuntime", run_create_runtime, true, true},
    {"poststop", run_poststop, false, false},
}};

constexpr char kUsage[] =
    "usage: rdma-hook precreate [--config FILE]\n"
    "       rdma-hook prestart|createRuntime [--config FILE] [--annotation KEY=VALUE]...\n"
    "       rdma-hook poststop [--config FILE]\n"
    "       rdma-hook createRuntime|poststop --state DIR --container KEY --attach UUID\n"
    "       rdma-hook --version\n"
    "Called by container engines; see rdmactl for people.\n";

bool is_path(std::string_view text) {
    return text.starts_with('/') && text == base::printable(text, PATH_MAX);
}

// Refuses bad values here, so that they become part of no path, not even to remember the failure.
Result<> set_option(const std::string& name, const std::string& value, Command& command) {
    const struct {
        std::string_view name;
        std::string* target;
        bool (*accepts)(std::string_view);  // nullptr: its reader judges it
        const char* wants;
    } options[] = {
        {"--config", &command.config_path, nullptr, ""},
        {"--state", &command.state_dir, is_path, "an absolute path"},
        {"--container", &command.container, is_container_key, "64 hex digits"},
        {"--attach", &command.attach, base::is_uuid, "a UUID"},
    };

    for (const auto& option : options) {
        if (name != option.name)
            continue;
        if (option.accepts != nullptr && !option.accepts(value))
            return make_error(
                Code::Usage,
                fmt::format("{} wants {}, not '{}'", name, option.wants, base::printable(value)));
        *option.target = value;
        return {};
    }
    return make_error(Code::Usage, "unknown option '" + base::printable(name) + "'");
}

// Adds an annotation in place of the container's own: a CDI device asks for RDMA this way.
Result<> add_annotation(const std::string& text, Command& command) {
    const auto equals = text.find('=');
    const std::string key = text.substr(0, equals);
    if (equals == std::string::npos || !mentions_rdma({{key, ""}}))
        return make_error(Code::Usage,
                          "--annotation wants rdma.KEY=VALUE, not '" + base::printable(text) + "'");
    if (!command.annotations.emplace(key, text.substr(equals + 1)).second)
        return make_error(Code::Usage, "--annotation " + key + " is given twice");
    return {};
}

std::string own_program() {
    std::array<char, 4096> path{};
    const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
    return size > 0 ? without_deleted({path.data(), static_cast<size_t>(size)}) : std::string{};
}

std::string working_directory() {
    std::array<char, 4096> path{};
    return ::getcwd(path.data(), path.size()) != nullptr ? std::string(path.data()) : std::string{};
}
}  // namespace

Result<Command> parse_command(const std::vector<std::string>& args) {
    if (args.empty())
        return make_error(Code::Usage, "no phase given");
    Command command;
    command.config_path = kConfigPath;
    for (const Stage& stage : kStages) {
        if (stage.name == args[0])
            command.stage = &stage;
    }
    if (command.stage == nullptr)
        return make_error(Code::Usage, "unknown phase '" + base::printable(args[0]) + "'");
    for (size_t i = 1; i < args.size(); i += 2) {
        if (i + 1 == args.size())
            return make_error(Code::Usage, base::printable(args[i]) + " needs a value");
        TRY(args[i] == "--annotation" ? add_annotation(args[i + 1], command)
                                      : set_option(args[i], args[i + 1], command));
    }
    const bool attaches = command.stage->is_plain && command.container.empty();
    if (!command.annotations.empty() && !attaches)
        return make_error(Code::Usage, "only plain hooks take --annotation");
    return command;
}

std::string without_deleted(std::string path) {
    constexpr std::string_view kMark = " (deleted)";
    if (path.ends_with(kMark))
        path.resize(path.size() - kMark.size());
    return path;
}

Call call_of(const Command& command, netns::Host& host) {
    // This saves a look at /proc.
    const bool prepared =
        (command.stage->run == run_create_runtime || command.stage->run == run_poststop) &&
        !command.container.empty();
    return Call{.host = host,
                .config = ReadOnce{[path = command.config_path, prepared] {
                                       return prepared ? load_callers_log_settings(path)
                                                       : load_callers_config(path);
                                   },
                                   callers_defaults},
                .self = prepared ? std::string{} : own_program(),
                .bundle = working_directory(),
                .state_dir = command.state_dir,
                .container = command.container,
                .attach = command.attach,
                .owner = host.processes.parent(),
                .annotations = command.annotations};
}

int report(const Command& command, const Call& call, const Error& error) {
    const std::string line = fmt::format("{}: {}", command.stage->name, error.message());
    base::log::error(line);
    if (command.stage->may_fail)
        audit_refusal(command.stage->name, error);
    remember_failure(call, command.stage->name, error);
    say("rdma-hook: " + line);
    return command.stage->may_fail ? base::exit_status(error.code) : 0;
}

int usage(const std::vector<std::string>& args, const Error& error) {
    const std::string text = fmt::format("rdma-hook: {}\n{}", error.message(), kUsage);
    (void)!::write(STDERR_FILENO, text.data(), text.size());  // a failure could not be reported
    const bool may_fail = args.empty() || args[0] != "poststop";
    return may_fail ? base::exit_status(Code::Usage) : 0;
}

}  // namespace hook
