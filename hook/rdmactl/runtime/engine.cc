// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/runtime/engine.h"

#include <utility>

#include <fmt/format.h>

#include "hook/rdmactl/text.h"

namespace hook::ctl {

namespace {
constexpr Engine kEngines[] = {
    {.name = "docker",
     .hook = {.path = "/etc/docker/daemon.json",
              .edit = engines::edit_docker,
              .reload = "systemctl reload docker"},
     .runtimes = engines::docker_runtimes,
     // It reads default-ulimits once.
     .memlock = {.path = "/etc/docker/daemon.json",
                 .edit = engines::edit_docker_memlock,
                 .reload = "systemctl restart docker"}},
    {.name = "containerd",
     .hook = {.path = "/etc/containerd/config.toml",
              .drop_in = "/etc/containerd/conf.d/50-rdma-hook.toml",
              .edit = engines::edit_containerd,
              .reload = "systemctl restart containerd"},
     .runtimes = engines::containerd_runtimes,
     .no_memlock = "containerd has no default limits: a container that is given none has those of "
                   "containerd itself",
     .instead = "annotate rdma.memlock, or for all containers: systemctl edit containerd, "
                "LimitMEMLOCK=infinity"},
    {.name = "crio",
     .hook = {.path = "/etc/crio/crio.conf.d/50-rdma-hook.conf",
              .edit = engines::edit_crio,
              .reload = "systemctl restart crio",
              .is_ours = true},
     .runtimes = engines::crio_runtimes,
     .no_memlock = "CRI-O has one list of default limits, and the last of its files that has one "
                   "counts",
     .instead = "put it into the list that you have: [crio.runtime] default_ulimits = "
                "[\"memlock=-1:-1\"]"},
    {.name = "podman",
     .hook = {.path = "/etc/containers/containers.conf.d/50-rdma-hook.conf",
              .edit = engines::edit_podman,
              .is_ours = true},
     .memlock = {.path = "/etc/containers/containers.conf.d/51-rdma-hook-memlock.conf",
                 .edit = engines::edit_podman_memlock,
                 .is_ours = true}}};

// Finds the low-level runtime of a name, and whether it can be called. The configuration's may be
// missing: then rdma-runtime calls runc.
Result<> look_at_program(const std::string& program, Configured& runtime, const Options& options) {
    if (program != engines::path_of_named(runtime.name)) {
        const auto config = options.load_config();
        if (!config || config->runtime.empty())  // a broken one is reported elsewhere
            return {};
        runtime.low_level = config->runtime;
    } else {
        const auto text = TRY(base::read_owned_file(program, options.engine_files));
        if (!text)
            return make_error(Code::Unavailable, program + " is missing")
                .advise(fmt::format(
                    "run: rdmactl runtime configure --runtime={} --name {} --low-level PROGRAM",
                    runtime.engine,
                    runtime.name));
        runtime.low_level = TRY(engines::low_level_of(program, *text));
    }
    auto found = base::find_owned_program(runtime.low_level, options.engine_files);
    if (!found)
        return std::move(found)
            .advise(fmt::format("install it, or run: rdmactl runtime configure --runtime={} --name "
                                "{} --unset",
                                runtime.engine,
                                runtime.name))
            .error();
    return {};
}

void note_trouble(base::Error error, Configured& runtime) {
    runtime.fix = std::exchange(error.fix, {});
    runtime.trouble = error.message();
}

void add_engine_file(const Engine& engine,
                     const char* path,
                     const Options& options,
                     std::vector<Configured>& all) {
    const auto read = [&]() -> Result<engines::Runtimes> {
        return engine.runtimes(path, TRY(base::read_owned_file(path, options.engine_files)));
    };
    Configured row{.engine = engine.name, .file = path};
    const auto runtimes = read();
    if (!runtimes) {
        note_trouble(runtimes.error(), row);
        all.push_back(std::move(row));
        return;
    }
    for (const auto& [name, program] : *runtimes) {
        Configured& runtime = all.emplace_back(row);
        runtime.name = name;
        if (auto found = look_at_program(program, runtime, options); !found)
            note_trouble(std::move(found).error(), runtime);
    }
}
}  // namespace

Result<const Engine*> find_engine(const std::string& name) {
    for (const Engine& engine : kEngines) {
        if (name == engine.name)
            return &engine;
    }
    return make_error(Code::Usage, "no engine is called '" + base::printable(name) + "'")
        .advise("name docker, containerd, crio or podman");
}

std::vector<Configured> configured_runtimes(const Options& options) {
    std::vector<Configured> all;
    for (const Engine& engine : kEngines) {
        for (const char* path : {engine.hook.path, engine.hook.drop_in}) {
            if (engine.runtimes != nullptr && path != nullptr)
                add_engine_file(engine, path, options, all);
        }
    }
    return all;
}

Result<Answer> runtime_list(const Options& options, netns::Host& /*host*/) {
    Json json{{"runtimes", Json::array()}};
    Rows rows{{"ENGINE", "NAME", "LOW-LEVEL", "STATE"}};
    std::string troubles;
    bool trouble = false;
    for (const Configured& each : configured_runtimes(options)) {
        json["runtimes"].push_back({{"engine", each.engine},
                                    {"file", each.file},
                                    {"name", each.name},
                                    {"low_level", each.low_level},
                                    {"trouble", each.trouble},
                                    {"fix", each.fix}});
        rows.push_back({each.engine,
                        each.name.empty() ? "?" : each.name,
                        each.low_level.empty() && each.trouble.empty() ? "runc" : each.low_level,
                        each.trouble.empty() ? "ok" : "fails"});
        if (each.trouble.empty())
            continue;
        trouble = true;
        troubles += fmt::format(
            "{}: {}\n  {}\n", each.name.empty() ? each.engine : each.name, each.trouble, each.fix);
    }
    std::string text =
        rows.size() == 1 ? "no engine has a runtime of rdma-hook\n" : table(rows) + troubles;
    return Answer{.json = std::move(json), .text = std::move(text), .trouble = trouble};
}

}  // namespace hook::ctl
