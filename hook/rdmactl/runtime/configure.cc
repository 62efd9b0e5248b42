// SPDX-License-Identifier: Apache-2.0
// rdmactl runtime configure: adds rdma-hook to an engine's own configuration, or removes it there.
// Starts nothing and talks to no daemon: it prints how to make the engine read the file.
#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "hook/rdmactl/command.h"
#include "netns/launch.h"
#include "runtime-config/engines/engine_file.h"

namespace hook::ctl {

namespace {
constexpr char kCrioFolder[] = "/etc/crio/crio.conf.d";

struct Engine {
    const char* name;
    const char* path;
    Result<engines::Edited> (*edit)(const engines::EngineEdit&);
    const char* reload;  // empty: it reads the file each time
    bool file_is_ours;   // holds nothing of others: no copy is kept
};

constexpr Engine kEngines[] = {
    {"docker", "/etc/docker/daemon.json", engines::edit_docker, "systemctl reload docker", false},
    {"containerd",
     "/etc/containerd/config.toml",
     engines::edit_containerd,
     "systemctl restart containerd",
     false},
    {"crio",
     "/etc/crio/crio.conf.d/50-rdma-hook.conf",
     engines::edit_crio,
     "systemctl restart crio",
     true},
    {"podman",
     "/etc/containers/containers.conf.d/50-rdma-hook.conf",
     engines::edit_podman,
     "",
     true}};

// The files of --memlock.
constexpr Engine kMemlockEngines[] = {
    {"docker",
     "/etc/docker/daemon.json",
     engines::edit_docker_memlock,
     "systemctl restart docker",  // it reads default-ulimits once
     false},
    {"podman",
     "/etc/containers/containers.conf.d/51-rdma-hook-memlock.conf",
     engines::edit_podman_memlock,
     "",
     true}};

constexpr char kContainerdDropIn[] = "/etc/containerd/conf.d/50-rdma-hook.toml";

Result<const Engine*> find_memlock_engine(const std::string& name) {
    for (const Engine& engine : kMemlockEngines) {
        if (name == engine.name)
            return &engine;
    }
    if (name == "crio")
        return make_error(Code::Unsupported,
                          "CRI-O has one list of default limits, and the last of its files that "
                          "has one counts")
            .advise(
                "put it into the list that you have: [crio.runtime] default_ulimits = "
                "[\"memlock=-1:-1\"]");
    return make_error(Code::Unsupported,
                      "containerd has no default limits: a container that is given none has those "
                      "of containerd itself")
        .advise(
            "annotate rdma.memlock, or for all containers: systemctl edit containerd, "
            "LimitMEMLOCK=infinity");
}

Result<const Engine*> find_engine(const std::string& name) {
    for (const Engine& engine : kEngines) {
        if (name == engine.name)
            return &engine;
    }
    return make_error(Code::Usage, "no engine is called '" + base::printable(name) + "'")
        .advise("there are docker, containerd, crio and podman");
}

// Finds rdma-runtime. Refuses a path that needs quoting: it is written into JSON and TOML as it is.
Result<std::string> find_our_runtime(netns::Host& host) {
    std::string path = TRY(host.programs.beside_us("rdma-runtime"));
    const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
        return (std::isalnum(static_cast<unsigned char>(c)) != 0) ||
               std::string_view("/._+-").find(c) != std::string_view::npos;
    });
    if (!plain)
        return make_error(Code::Unsupported,
                          base::printable(path) + " has letters that engines may not understand");
    return path;
}

// CRI-O reads all files of the folder, and the last one wins.
Result<> check_crio_others(netns::Host& host, const base::Owned& owned) {
    std::vector<std::string> paths{"/etc/crio/crio.conf"};
    const std::string root = owned.root == "/" ? "" : owned.root;
    const auto names = host.files.list(root + kCrioFolder);
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
        if (name != "50-rdma-hook.conf" && !name.ends_with(".before-rdma-hook"))
            paths.push_back(fmt::format("{}/{}", kCrioFolder, name));
    }
    for (const std::string& path : paths) {
        const engines::FileText text = TRY(engines::read_engine_file(path, owned));
        if (text && TRY(engines::has_crio_runtime(path, *text)))
            return make_error(Code::Busy, path + ": the runtime rdma is not rdmactl's")
                .advise("look at it, and take it out by hand");
    }
    return {};
}

Result<engines::EngineEdit> prepare_edit(const Engine& engine,
                                         const Options& options,
                                         netns::Host& host) {
    engines::EngineEdit edit;
    edit.path = engine.path;
    edit.runtime = TRY(find_our_runtime(host));
    edit.unset = options.unset;
    edit.before = TRY(engines::read_engine_file(engine.path, options.engine_files));
    if (engine.edit == engines::edit_crio)
        TRY(check_crio_others(host, options.engine_files));
    if (engine.edit == engines::edit_containerd && edit.before &&
        TRY(engines::takes_drop_ins(edit.path, *edit.before))) {
        edit.main = std::move(edit.before);
        edit.path = kContainerdDropIn;
        edit.before = TRY(engines::read_engine_file(edit.path, options.engine_files));
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
    starter.before = TRY(engines::read_engine_file(options.config_path, options.engine_files));
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

std::vector<std::string> split_lines(const engines::FileText& text) {
    std::vector<std::string> lines;
    const std::string all = text.value_or("");
    for (size_t at = 0; at < all.size();) {
        const size_t end = std::min(all.find('\n', at), all.size());
        lines.push_back(all.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

// Returns the lines that go and those that come, between the common beginning and the common end.
Json changed_lines(const engines::FileText& before, const engines::FileText& after) {
    const auto old = split_lines(before);
    const auto now = split_lines(after);
    const size_t most = std::min(old.size(), now.size());
    size_t head = 0;
    while (head < most && old[head] == now[head])
        ++head;
    size_t tail = 0;
    while (tail < most - head && old[old.size() - 1 - tail] == now[now.size() - 1 - tail])
        ++tail;
    Json change = Json::array();
    for (size_t i = head; i < old.size() - tail; ++i)
        change.push_back("-" + old[i]);
    for (size_t i = head; i < now.size() - tail; ++i)
        change.push_back("+" + now[i]);
    return change;
}

std::string text_of_change(const Json& json) {
    const std::string path = json["file"];
    std::string text;
    if (!json["changed"].get<bool>()) {
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
    for (const Json& note : json["notes"])
        text += "note: " + note.get<std::string>() + "\n";
    return text;
}
}  // namespace

Result<Answer> runtime_configure(const Options& options, netns::Host& host) {
    const Engine& engine =
        *TRY(options.memlock ? find_memlock_engine(options.engine) : find_engine(options.engine));
    const engines::EngineEdit edit = TRY(prepare_edit(engine, options, host));
    engines::Edited edited = TRY(engine.edit(edit));
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
    const bool keep_copy = !engine.file_is_ours && !edit.main;
    std::string backup;
    if (changed && !options.dry_run)
        backup = TRY(engines::replace_engine_file({.path = edit.path, .keep_copy = keep_copy},
                                                  edit.before,
                                                  edited.text,
                                                  options.engine_files));
    Json json{{"engine", engine.name},
              {"file", edit.path},
              {"changed", changed},
              {"dry_run", options.dry_run},
              {"change", changed_lines(edit.before, edited.text)},
              {"backup", backup},
              {"run", changed ? engine.reload : ""},
              {"policy", has_starter ? options.config_path : ""},
              {"notes", edited.notes}};
    std::string text = text_of_change(json);
    return Answer{.json = std::move(json), .text = std::move(text)};
}

}  // namespace hook::ctl
