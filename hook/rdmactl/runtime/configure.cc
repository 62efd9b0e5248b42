// SPDX-License-Identifier: Apache-2.0
// rdmactl runtime configure: adds rdma-hook to an engine's own configuration, or removes it there.
// Starts nothing and talks to no daemon: it prints how to make the engine read the file.
#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/rdmactl/runtime/engine.h"
#include "netns/base/ascii.h"
#include "netns/base/text.h"
#include "netns/launch.h"
#include "runtime-config/engines/engine_file.h"

namespace hook::ctl {

namespace {
constexpr char kCrioFolder[] = "/etc/crio/crio.conf.d";

// Folders in which a low-level runtime is looked for by its name.
constexpr std::array kProgramFolders = {
    "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"};

// Returns the file to edit.
Result<EngineFile> find_file(const Engine& engine, const Options& options) {
    if (!options.memlock)
        return engine.hook;
    if (engine.memlock.path == nullptr)
        return make_error(Code::Unsupported, engine.no_memlock).advise(engine.instead);
    return engine.memlock;
}

// Paths are written into JSON, TOML and the first line of a program as they are.
bool is_plain(const std::string& path) {
    return base::is_made_of(path, "/._+-");
}

// Finds rdma-runtime. Refuses a path that needs quoting.
Result<std::string> find_our_runtime(netns::Host& host) {
    std::string path = TRY(host.programs.beside_us("rdma-runtime"));
    if (!is_plain(path))
        return make_error(Code::Unsupported,
                          base::printable(path) + " has letters that engines may not understand")
            .advise("install rdma-runtime at a path of letters, digits and ./_+-");
    return path;
}

// Checks that the options fit the engine and one another.
Result<> check_options(const Engine& engine, const Options& options) {
    const std::string name = base::printable(options.runtime_name);
    const bool named = options.runtime_name != engines::kRuntimeName;
    if (!engines::is_runtime_name(options.runtime_name))
        return make_error(Code::Usage, "'" + name + "' is no name for a runtime of rdma-hook")
            .advise("take rdma, or rdma- and small letters, digits and hyphens");
    if (options.memlock && (named || !options.low_level.empty()))
        return make_error(Code::Usage, "--memlock is for all containers of the engine")
            .advise("leave out --name and --low-level");
    if (engine.runtimes == nullptr && (named || !options.low_level.empty()))
        return make_error(
                   Code::Usage,
                   fmt::format("{} starts no runtime of rdma-hook: it calls a hook, whatever "
                               "its runtime is",
                               engine.name))
            .advise("leave out --name and --low-level");
    if (!named && !options.low_level.empty())
        return make_error(Code::Usage, "the configuration names the program of the runtime rdma")
            .advise(
                fmt::format("set `runtime` in {}, or take another --name", options.config_path));
    if (named && options.low_level.empty() && !options.unset)
        return make_error(Code::Usage, "the runtime " + name + " has no program yet")
            .advise("say which: --low-level PROGRAM");
    return {};
}

// Returns the path of the low-level runtime that was asked for, by its name or its path.
Result<std::string> find_low_level(const Options& options, const std::string& ourselves) {
    const std::string& asked = options.low_level;
    const base::Owned& owned = options.engine_files;
    if (!is_plain(asked))
        return make_error(Code::Usage, "'" + base::printable(asked) + "' is no program's path")
            .advise("use only letters, digits and ./_+-");
    std::string path = asked;
    auto program = base::find_owned_program(path, owned);
    for (const char* folder : kProgramFolders) {
        if (asked.find('/') != std::string::npos || program)
            break;
        path = fmt::format("{}/{}", folder, asked);
        program = base::find_owned_program(path, owned);
        if (!program && program.error().sys != ENOENT)
            break;
    }
    if (!program && program.error().sys == ENOENT)
        return make_error(Code::Unavailable, "there is no low-level runtime " + asked)
            .advise(fmt::format("install it, or give its path; names are looked for in {}",
                                fmt::join(kProgramFolders, ", ")));
    const std::string real = TRY(std::move(program));
    const std::string root = owned.root == "/" ? "" : owned.root;
    if (real == root + ourselves || real.starts_with(root + engines::kNamedFolder))
        return make_error(Code::BadInput, asked + " is rdma-runtime itself")
            .advise("give the program that it is to call");
    return path;
}

// The program of a runtime with a name of its own, as it is and as it will be.
struct NamedRuntime {
    std::string path;  // empty: the runtime has none
    engines::FileText before{};
    engines::FileText text{};
};

// Checks that no container is left whose engine would call the program. Those that another name
// gave to the same low-level runtime count, too.
Result<> check_uncalled(const NamedRuntime& named, const Options& options, netns::Host& host) {
    const auto low_level = engines::low_level_of(named.path, named.before.value_or(""));
    const auto real = low_level ? base::find_owned_program(*low_level, options.engine_files)
                                : Result<std::string>{low_level.error()};
    if (!real)  // nobody can call it as it is
        return {};
    const Runtimes runtimes{host, options.runtimes};
    for (const Served& served : TRY(runtimes.living())) {
        if (served.runtime == *real)
            return make_error(
                       Code::Busy,
                       fmt::format("container {} runs by {}, and its engine could not end it",
                                   served.id,
                                   *low_level))
                .advise("remove the containers of that runtime first");
    }
    return {};
}

Result<NamedRuntime> prepare_named(const Options& options,
                                   netns::Host& host,
                                   const std::string& ourselves) {
    NamedRuntime named;
    if (options.runtime_name == engines::kRuntimeName)
        return named;
    named.path = engines::path_of_named(options.runtime_name);
    named.before = TRY(base::read_owned_file(named.path, options.engine_files));
    if (!options.unset) {
        named.text =
            TRY(engines::text_of_named(ourselves, TRY(find_low_level(options, ourselves))));
        return named;
    }
    for (const Configured& each : configured_runtimes(options)) {
        // A file that cannot be read may name it.
        const bool may_call = each.name.empty() || each.name == options.runtime_name;
        if (may_call && each.engine != options.engine) {
            named.text = named.before;
            return named;
        }
    }
    TRY(check_uncalled(named, options, host));
    return named;
}

// CRI-O reads all files of the folder, and the last one wins.
Result<> check_crio_others(netns::Host& host, const Options& options) {
    const base::Owned& owned = options.engine_files;
    std::vector<std::string> paths{"/etc/crio/crio.conf"};
    const std::string root = owned.root == "/" ? "" : owned.root;
    const auto names = host.files.list(root + kCrioFolder);
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
        if (name != "50-rdma-hook.conf" && !name.ends_with(".before-rdma-hook"))
            paths.push_back(fmt::format("{}/{}", kCrioFolder, name));
    }
    for (const std::string& path : paths) {
        const engines::FileText text = TRY(base::read_owned_file(path, owned));
        if (text && TRY(engines::has_crio_runtime(path, *text, options.runtime_name)))
            return make_error(
                       Code::Busy,
                       fmt::format(
                           "{}: the runtime {} is not rdmactl's", path, options.runtime_name))
                .advise("look at it, and take it out by hand");
    }
    return {};
}

Result<engines::EngineEdit> prepare_edit(const EngineFile& file,
                                         const Options& options,
                                         netns::Host& host,
                                         const std::string& program) {
    engines::EngineEdit edit;
    edit.path = file.path;
    edit.name = options.runtime_name;
    edit.program = program;
    edit.unset = options.unset;
    edit.before = TRY(base::read_owned_file(edit.path, options.engine_files));
    if (file.edit == engines::edit_crio)
        TRY(check_crio_others(host, options));
    if (file.drop_in != nullptr && edit.before &&
        TRY(engines::takes_drop_ins(edit.path, *edit.before))) {
        edit.main = std::move(edit.before);
        edit.path = file.drop_in;
        edit.before = TRY(base::read_owned_file(edit.path, options.engine_files));
    }
    return edit;
}

// The configuration as it is, and with a policy that allows nothing. Equal: there is nothing to do.
struct Starter {
    engines::FileText before{};
    engines::FileText text{};
};

// Refused: without a policy, pods' annotations would count as root's.
Result<Starter> prepare_policy(const Engine& engine, const Options& options) {
    Starter starter;
    if (options.unset || !(engines::serves_pods(engine.name) || options.starter_policy))
        return starter;
    starter.before = TRY(base::read_owned_file(options.config_path, options.engine_files));
    starter.text = starter.before;
    const std::string text = starter.before.value_or("{}");
    if (TRY(parse_config(text).context(options.config_path)).policy)
        return starter;
    if (!options.starter_policy)
        return make_error(
                   Code::Refused,
                   fmt::format("{} passes on the annotations of pods, which are their authors' and "
                               "not root's, and {} has no `policy` that bounds them",
                               engine.name,
                               options.config_path))
            .advise(
                fmt::format("write one; to begin with, one that allows nothing: rdmactl runtime "
                            "configure --runtime={} --starter-policy",
                            engine.name));
    Json json = TRY(base::parse_json(text, options.config_path));
    json["policy"] = base::object({{"modes", Json::array()}});
    starter.text = engines::layout_json(json, starter.before.value_or("")) + "\n";
    TRY(parse_config(*starter.text));
    return starter;
}

// Tells the administrator about the policy.
std::string note_of_policy(const Options& options, const std::string& backup) {
    return fmt::format(
        "{} {} a `policy` that allows nothing{}: containers of every engine get what "
        "it lists; see: rdmactl config check",
        options.config_path,
        options.dry_run ? "would get" : "has",
        backup.empty() ? "" : " (as it was: " + backup + ")");
}

// Returns the lines that go and those that come, between the common beginning and the common end.
Json changed_lines(const std::string& before, const std::string& after) {
    const auto old = base::lines_of(before);
    const auto now = base::lines_of(after);
    const size_t most = std::min(old.size(), now.size());
    size_t head = 0;
    while (head < most && old[head] == now[head])
        ++head;
    size_t tail = 0;
    while (tail < most - head && old[old.size() - 1 - tail] == now[now.size() - 1 - tail])
        ++tail;
    Json change = Json::array();
    for (size_t i = head; i < old.size() - tail; ++i)
        change.push_back(fmt::format("-{}", old[i]));
    for (size_t i = head; i < now.size() - tail; ++i)
        change.push_back(fmt::format("+{}", now[i]));
    return change;
}

std::string text_of_change(const Json& json) {
    const std::string path = json["file"];
    std::string text;
    if (json["change"].empty()) {
        text = path + ": nothing to change\n";
    } else if (json["dry_run"].get<bool>()) {
        text = path + " would change:\n";
        for (const Json& line : json["change"])
            text += line.get<std::string>() + "\n";
    } else {
        text = path + ": changed\n";
        if (!json["backup"].get<std::string>().empty())
            text += "as it was: " + json["backup"].get<std::string>() + "\n";
        if (!json["run"].get<std::string>().empty())
            text += "now run: " + json["run"].get<std::string>() + "\n";
    }
    if (json["named_changed"].get<bool>()) {
        const std::string low_level = json["low_level"];
        text += fmt::format("{}{}: {}\n",
                            json["program"].get<std::string>(),
                            json["dry_run"].get<bool>() ? " would change" : "",
                            low_level.empty() ? "removed" : "calls " + low_level);
    }
    for (const Json& note : json["notes"])
        text += "note: " + note.get<std::string>() + "\n";
    return text;
}
}  // namespace

Result<Answer> runtime_configure(const Options& options, netns::Host& host) {
    const Engine& engine = *TRY(find_engine(options.engine));
    const EngineFile file = TRY(find_file(engine, options));
    TRY(check_options(engine, options));
    const std::string ourselves = TRY(find_our_runtime(host));
    const NamedRuntime named = TRY(prepare_named(options, host, ourselves));
    const std::string program = named.path.empty() ? ourselves : named.path;
    const engines::EngineEdit edit = TRY(prepare_edit(file, options, host, program));
    engines::Edited edited = TRY(file.edit(edit));
    const Starter starter = TRY(prepare_policy(engine, options));
    const bool has_starter = starter.text != starter.before;
    if (has_starter) {
        std::string backup;
        if (!options.dry_run)
            backup = TRY(engines::replace_engine_file(
                {.path = options.config_path}, starter.before, starter.text, options.engine_files));
        edited.notes.push_back(note_of_policy(options, backup));
    }
    const bool changed = edited.text != edit.before;
    const bool named_changed = named.text != named.before;
    const auto replace_named = [&]() -> Result<> {
        if (named_changed && !options.dry_run)
            (void)TRY(engines::replace_engine_file(
                {.path = named.path, .keep_copy = false, .program = true},
                named.before,
                named.text,
                options.engine_files));
        return {};
    };
    // An engine never names a program that is not there.
    if (!options.unset)
        TRY(replace_named());
    const bool keep_copy = !file.is_ours && !edit.main;
    std::string backup;
    if (changed && !options.dry_run)
        backup = TRY(engines::replace_engine_file({.path = edit.path, .keep_copy = keep_copy},
                                                  edit.before,
                                                  edited.text,
                                                  options.engine_files));
    if (options.unset)
        TRY(replace_named());
    Json json{{"engine", engine.name},
              {"name", options.runtime_name},
              {"file", edit.path},
              {"changed", changed || named_changed},
              {"dry_run", options.dry_run},
              {"change", changed_lines(edit.before.value_or(""), edited.text.value_or(""))},
              {"backup", backup},
              {"run", changed ? file.reload : ""},
              {"program", program},
              {"named_changed", named_changed},
              {"low_level",
               named.text ? TRY(engines::low_level_of(named.path, *named.text)) : std::string()},
              {"policy", has_starter ? options.config_path : ""},
              {"notes", edited.notes}};
    std::string text = text_of_change(json);
    return Answer{.json = std::move(json), .text = std::move(text)};
}

}  // namespace hook::ctl
