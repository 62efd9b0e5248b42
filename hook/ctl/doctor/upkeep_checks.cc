// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "hook/attachment.h"
#include "hook/ctl/doctor/check.h"

namespace hook::ctl {

namespace {
constexpr size_t kMaxEngineFile = 1U << 20U;
constexpr char kDropIn[] = "/etc/containers/containers.conf.d/50-rdma-hook.conf";
constexpr char kDaemonFile[] = "/etc/docker/daemon.json";
constexpr char kTimer[] = "rdma-hook-gc.timer";

// Its text; empty if there is no such file.
Result<std::string> text_of(Look& look, const std::string& path) {
    auto text = look.site.host.files.read(look.at(path), kMaxEngineFile);
    if (!text && base::is_missing(text.error()))
        return std::string{};
    return text;
}

bool has_program(Look& look, const std::string& name) {
    for (const char* folder : {"/usr/bin/", "/usr/sbin/", "/usr/local/bin/"}) {
        if (look.site.host.processes.exists(look.at(folder + name)))
            return true;
    }
    return false;
}

Findings one(Status status, std::string why, std::string fix = {}) {
    return {{.status = status, .why = std::move(why), .fix = std::move(fix)}};
}
}  // namespace

Result<Findings> check_podman(Look& look) {
    if (!has_program(look, "podman"))
        return one(Status::Skipped, "Podman is not installed");
    if (TRY(text_of(look, kDropIn)).find("hooks_dir") == std::string::npos)
        return one(Status::Warning,
                   "Podman does not call rdma-hook: no hooks_dir in " + std::string(kDropIn),
                   "rdmactl runtime configure --runtime=podman");
    return one(Status::Ok, "Podman calls rdma-hook");
}

Result<Findings> check_docker(Look& look) {
    if (!has_program(look, "dockerd"))
        return one(Status::Skipped, "Docker is not installed");
    const std::string text = TRY(text_of(look, kDaemonFile));
    const auto json =
        text.empty() ? Result<Json>{Json::object()} : base::parse_json(text, kDaemonFile);
    if (!json)
        return one(Status::Fail, json.error().message(), "mend the file: dockerd --validate");
    const bool known = json->is_object() && json->contains("runtimes") &&
                       (*json)["runtimes"].is_object() && (*json)["runtimes"].contains("rdma");
    if (!known)
        return one(Status::Warning,
                   "Docker does not know the runtime rdma",
                   "rdmactl runtime configure --runtime=docker && systemctl reload docker");
    return one(Status::Ok, "Docker knows the runtime rdma");
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
    const auto keys = look.world.store.container_keys();
    if (!keys && base::is_missing(keys.error()))
        return one(Status::Ok, "nothing was attached since the boot");
    size_t dead = 0;
    for (const std::string& key : TRY(keys)) {
        const auto container = TRY(look.world.store.load_container(key));
        if (container && !TRY(is_alive(look.world, *container)))
            ++dead;
    }
    if (dead != 0)
        return one(Status::Warning,
                   fmt::format("{} containers are dead, and what they had is not taken back", dead),
                   "rdmactl gc");
    return one(Status::Ok, fmt::format("{} containers, none of them dead", keys->size()));
}

}  // namespace hook::ctl
