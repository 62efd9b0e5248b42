// SPDX-License-Identifier: Apache-2.0
// Finds engines in a mount namespace of their own. Their mounts (networks, bundles, pins) are
// hidden from gc, from the timer and from rdmactl, which then cannot tell whether a container
// lives.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/rdmactl/doctor/check.h"
#include "netns/base/text.h"

namespace hook::ctl {

namespace {
// The daemons, and the programs that outlive them and call hooks. The kernel cuts names at 15
// letters.
constexpr std::string_view kPrograms[] = {
    "dockerd", "containerd", "containerd-shim", "crio", "podman", "conmon", "slurmd", "slurmstepd"};
constexpr std::string_view kUnits[] = {
    "docker.service", "containerd.service", "crio.service", "podman.service", "slurmd.service"};
// systemd's folders, the strongest last.
constexpr std::string_view kUnitFolders[] = {"/lib/systemd/system/",
                                             "/usr/lib/systemd/system/",
                                             "/run/systemd/system/",
                                             "/etc/systemd/system/"};
// Settings of systemd.exec(5) that give a unit mounts of its own.
constexpr std::string_view kSettings[] = {"PrivateTmp",
                                          "PrivateMounts",
                                          "PrivateDevices",
                                          "ProtectSystem",
                                          "ProtectHome",
                                          "ProtectProc",
                                          "ProtectKernelTunables",
                                          "ProtectKernelModules",
                                          "ProtectKernelLogs",
                                          "ProtectControlGroups",
                                          "ReadOnlyPaths",
                                          "InaccessiblePaths",
                                          "BindPaths",
                                          "BindReadOnlyPaths",
                                          "TemporaryFileSystem",
                                          "MountFlags",
                                          "RootDirectory",
                                          "RootImage"};

using Settings = std::map<std::string, std::string>;

// Reads the mount settings of a unit's file or drop-in, over those that were read before.
void read_settings(std::string_view text, Settings& settings) {
    for (const std::string_view line : base::lines_of(text)) {
        const size_t equals = line.find('=');
        if (equals == std::string_view::npos)
            continue;
        const std::string name(line.substr(0, equals));
        const std::string_view value = line.substr(equals + 1);
        if (std::ranges::find(kSettings, name) == std::end(kSettings))
            continue;
        constexpr std::string_view kOff[] = {"", "no", "false", "off", "0", "default", "shared"};
        if (std::ranges::find(kOff, value) == std::end(kOff))
            settings[name] = value;
        else
            settings.erase(name);
    }
}

Result<Settings> settings_of(Look& look, const std::string& unit) {
    std::string own;
    std::map<std::string, std::string> drop_ins;  // by name: the strongest of each
    for (const std::string_view folder : kUnitFolders) {
        const std::string path = std::string(folder) + unit;
        if (std::string text = TRY(text_of(look, path)); !text.empty())
            own = std::move(text);
        const auto names = look.site.host.files.list(look.at(path + ".d"));
        for (const std::string& name : names ? *names : std::vector<std::string>{}) {
            if (name.ends_with(".conf"))
                drop_ins[name] = TRY(text_of(look, path + ".d/" + name));
        }
    }
    Settings settings;
    read_settings(own, settings);
    for (const auto& [name, text] : drop_ins)
        read_settings(text, settings);
    return settings;
}

// Returns the text of a file of a process; empty if it has gone meanwhile.
std::string text_of_process(Look& look, pid_t pid, const char* file) {
    const auto text =
        look.site.host.files.read(look.at(fmt::format("/proc/{}/{}", pid, file)), kMaxStateFile);
    return text ? *text : "";
}

// Returns "docker.service" of "0::/system.slice/docker.service/..."; otherwise the whole text.
std::string unit_of(std::string_view cgroup) {
    cgroup = cgroup.substr(0, cgroup.find('\n'));
    for (const std::string_view kind : {".service", ".scope"}) {
        const size_t end = cgroup.rfind(kind);
        if (end == std::string_view::npos)
            continue;
        const size_t slash = cgroup.rfind('/', end);
        return std::string(cgroup.substr(slash + 1, end + kind.size() - slash - 1));
    }
    return std::string(cgroup);
}

// True for an engine in the first user namespace. A rootless engine has a user namespace, and
// mounts, of its own; rdma.* is not for it.
bool is_rootful(Look& look, pid_t pid) {
    const std::string map = text_of_process(look, pid, "uid_map");
    return map.find("4294967295") != std::string::npos;
}

// Returns the units of engines that run apart from the host's mounts.
Result<std::set<std::string>> find_apart(Look& look) {
    netns::Processes& processes = look.site.host.processes;
    const auto hosts = TRY(processes.mount_namespace(1));
    std::set<std::string> units;
    for (const std::string& name : TRY(look.site.host.files.list(look.at("/proc")))) {
        pid_t pid = 0;
        const char* end = name.data() + name.size();
        if (std::from_chars(name.data(), end, pid).ptr != end)
            continue;
        const std::string program = text_of_process(look, pid, "comm");
        if (std::ranges::find(kPrograms, program.substr(0, program.find('\n'))) ==
            std::end(kPrograms))
            continue;
        const auto mounts = TRY(processes.mount_namespace(pid));
        if (mounts && mounts != hosts && is_rootful(look, pid))
            units.insert(unit_of(text_of_process(look, pid, "cgroup")));
    }
    return units;
}
}  // namespace

Result<Findings> check_mounts(Look& look) {
    const auto apart = TRY(find_apart(look));
    std::set<std::string> units(apart);
    units.insert(std::begin(kUnits), std::end(kUnits));
    Findings found;
    for (const std::string& unit : units) {
        const Settings settings = TRY(settings_of(look, unit));
        if (settings.empty() && !apart.contains(unit))
            continue;
        std::vector<std::string> set;
        for (const auto& [name, value] : settings)
            set.push_back(name + "=" + value);
        found.push_back(
            {.status = Status::Warning,
             .why = fmt::format("{} {} a mount namespace of its own{}: the host does not see what "
                                "is mounted there for containers",
                                printable(unit),
                                apart.contains(unit) ? "runs in" : "would start in",
                                set.empty() ? "" : fmt::format(" ({})", fmt::join(set, ", "))),
             .fix = fmt::format("systemctl edit {}: switch off {}, then restart it",
                                printable(unit),
                                set.empty() ? "Private*= and Protect*=" : "what is set")});
    }
    if (found.empty())
        found.push_back({.status = Status::Ok, .why = "engines have the host's mounts"});
    return found;
}

}  // namespace hook::ctl
