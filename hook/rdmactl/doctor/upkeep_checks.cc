// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/container/end.h"
#include "hook/rdmactl/doctor/check.h"
#include "hook/rdmactl/runtime/engine.h"
#include "netns/base/text.h"

namespace hook::ctl {

namespace {
constexpr size_t kMaxEngineFile = 1U << 20U;
constexpr char kTimer[] = "rdma-hook-gc.timer";
constexpr char kOurRuntime[] = "rdma-runtime";
constexpr size_t kIdLetters = 12;

// A program that starts containers, and the file that makes it call rdma-hook.
struct Caller {
    std::string_view engine;  // the name in rdmactl runtime configure; empty: another
    const char* program;
    const char* file;
    const char* says;
};

constexpr Caller kPodman{
    "podman", "podman", "/etc/containers/containers.conf.d/50-rdma-hook.conf", "hooks_dir"};
constexpr Caller kDocker{"docker", "dockerd", "/etc/docker/daemon.json", kOurRuntime};
constexpr Caller kCallers[] = {
    kPodman,
    kDocker,
    {"containerd", "containerd", "/etc/containerd/config.toml", kOurRuntime},
    {"containerd", "containerd", "/etc/containerd/conf.d/50-rdma-hook.toml", kOurRuntime},
    {"crio", "crio", "/etc/crio/crio.conf.d/50-rdma-hook.conf", kOurRuntime},
    {"", "slurmd", "/etc/slurm/oci.conf", kOurRuntime}};

bool has_program(Look& look, const std::string& name) {
    for (const char* folder : {"/usr/bin/", "/usr/sbin/", "/usr/local/bin/"}) {
        if (look.site.host.processes.exists(look.at(folder + name)))
            return true;
    }
    return false;
}

Result<bool> calls_us(Look& look, const Caller& caller) {
    return has_program(look, caller.program) &&
           TRY(text_of(look, caller.file)).find(caller.says) != std::string::npos;
}

// Rates an engine that does not call rdma-hook: it ignores annotations, and a container starts
// without RDMA. If another engine calls rdma-hook, this may be intended.
Result<Status> gravity_of_silence(Look& look) {
    for (const Caller& caller : kCallers) {
        if (TRY(calls_us(look, caller)))
            return Status::Warning;
    }
    return Status::Fail;
}
}  // namespace

Result<std::string> text_of(Look& look, const std::string& path) {
    auto text = look.site.host.files.read(look.at(path), kMaxEngineFile);
    if (!text && base::is_missing(text.error()))
        return std::string{};
    return text;
}

Result<Findings> check_podman(Look& look) {
    if (!has_program(look, kPodman.program))
        return one(Status::Skipped, "Podman is not installed");
    if (!TRY(calls_us(look, kPodman)))
        return one(TRY(gravity_of_silence(look)),
                   fmt::format("Podman does not call rdma-hook: no hooks_dir in {}", kPodman.file),
                   "rdmactl runtime configure --runtime=podman");
    return one(Status::Ok, "Podman calls rdma-hook");
}

Result<Findings> check_docker(Look& look) {
    if (!has_program(look, kDocker.program))
        return one(Status::Skipped, "Docker is not installed");
    const auto text = TRY(text_of(look, kDocker.file));
    const auto runtimes = engines::docker_runtimes(kDocker.file, text);
    if (!runtimes)
        return one(Status::Fail,
                   runtimes.error().message(),
                   "correct the file, and check it: dockerd --validate");
    if (runtimes->empty())
        return one(TRY(gravity_of_silence(look)),
                   "Docker does not know the runtime rdma",
                   "rdmactl runtime configure --runtime=docker && systemctl reload docker");
    std::vector<std::string> names;
    for (const auto& [name, program] : *runtimes)
        names.push_back(name);
    return one(
        Status::Ok,
        fmt::format(
            "Docker knows the runtime{} {}", names.size() == 1 ? "" : "s", fmt::join(names, ", ")));
}

// Checks the programs below rdma-runtime: a runtime whose program is missing starts no container.
Result<Findings> check_low_level(Look& look) {
    Findings found;
    auto configured = configured_runtimes(look.options);
    for (Configured& each : configured) {
        const bool good = each.trouble.empty();
        const std::string low_level = each.low_level.empty() ? "runc" : each.low_level;
        if (each.name.empty())  // the engine's own check has the file
            continue;
        found.push_back(
            {.status = good ? Status::Ok : Status::Fail,
             .why = good ? fmt::format("{}: {} calls {}", each.engine, each.name, low_level)
                         : fmt::format("{}: {}: {}", each.engine, each.name, each.trouble),
             .fix = std::move(each.fix)});
    }
    if (found.empty())
        found.push_back(
            {.status = Status::Skipped, .why = "no engine has a runtime of rdma-hook", .fix = {}});
    return found;
}

// Checks for a policy. The authors of pods write their annotations, so without a policy each
// container is refused.
Result<Findings> check_kubernetes(Look& look) {
    for (const Caller& caller : kCallers) {
        if (!engines::serves_pods(caller.engine) || !TRY(calls_us(look, caller)))
            continue;
        if (look.config.policy)
            return one(Status::Ok, "a policy decides what pods may ask for");
        return one(
            Status::Fail,
            fmt::format("{} calls rdma-hook for pods, which are refused while {} has no "
                        "`policy`; one to begin with allows nothing",
                        caller.engine,
                        look.options.config_path),
            fmt::format("rdmactl runtime configure --runtime={} --starter-policy", caller.engine));
    }
    return one(Status::Skipped, "no engine of Kubernetes calls rdma-hook");
}

Result<Findings> check_selinux(Look& look) {
    const std::string enforced = TRY(text_of(look, "/sys/fs/selinux/enforce"));
    if (enforced.empty() || enforced.front() != '1')
        return one(Status::Skipped, "SELinux does not enforce");
    const std::string allowed =
        TRY(text_of(look, "/sys/fs/selinux/booleans/container_use_devices"));
    if (allowed.empty() || allowed.front() == '1')
        return one(Status::Ok, "SELinux lets containers use devices");
    return one(Status::Fail,
               "SELinux keeps containers from opening devices",
               "setsebool -P container_use_devices on");
}

Result<Findings> check_timer(Look& look) {
    if (look.site.host.processes.exists(
            look.at(std::string("/etc/systemd/system/timers.target.wants/") + kTimer)))
        return one(Status::Ok, std::string(kTimer) + " is enabled");
    return one(Status::Warning,
               fmt::format("{} is not enabled: what engines that died leave stays", kTimer),
               fmt::format("systemctl enable --now {}", kTimer));
}

Result<Findings> check_leftovers(Look& look) {
    const auto keys = look.store.container_keys();
    if (!keys && base::is_missing(keys.error()))
        return one(Status::Ok, "nothing was attached since the boot");
    size_t dead = 0;
    for (const std::string& key : TRY(keys)) {
        const auto container = TRY(look.store.load_container(key));
        if (container && !TRY(is_alive(look, *container)))
            ++dead;
    }
    if (dead != 0)
        return one(
            Status::Warning,
            "dead, and what they had is not taken back: " + base::number_of(dead, "container"),
            "rdmactl gc");
    return one(Status::Ok, base::number_of(keys->size(), "container") + ", none of them dead");
}

// Tells what images lacked as their containers started, as attach.json has it.
Result<Findings> check_images(Look& look) {
    const Store& store = look.store;
    const auto keys = store.container_keys();
    constexpr size_t kLongest = 1024;
    Findings found;
    for (const std::string& key : keys ? *keys : std::vector<std::string>{}) {
        const std::string path = store.attach_path(key);
        const auto text = store.files().read(path, kMaxStateFile);
        const auto attach = text ? base::parse_json(*text, path) : text.error();
        for (const Json& each : attach ? base::array_of(*attach, "attachments") : Json::array()) {
            if (each.contains("image_lacks"))
                found.push_back(
                    {.status = Status::Warning,
                     .why = fmt::format(
                         "container {}: {}",
                         attach->value("id", key).substr(0, kIdLetters),
                         base::printable(each["image_lacks"].get<std::string>(), kLongest))});
        }
    }
    if (found.empty())
        return one(Status::Ok, "no image of a container is known to lack its device's provider");
    return found;
}

}  // namespace hook::ctl
