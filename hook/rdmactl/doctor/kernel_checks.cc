// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "hook/rdmactl/doctor/check.h"
#include "netns/base/text.h"
#include "netns/cgroup.h"
#include "netns/device_cgroup.h"
#include "netns/rdma.h"

namespace hook::ctl {

namespace {
constexpr size_t kMaxModuleList = 16U << 20U;
constexpr size_t kMaxSymbolList = 256U << 20U;  // 20 MiB, with all modules loaded
// The symbol of MLNX_OFED 24.07, core/cache.c. Linux has no such function.
constexpr std::string_view kGidFilter = " rdma_check_gid_user_access\t";
constexpr size_t kMaxOptions = 1U << 20U;
constexpr uint64_t kEnoughMemlock = 64U << 20U;  // enough for a benchmark of a few queue pairs

Result<std::string> release(Look& look) {
    std::string text =
        TRY(look.site.host.files.read(look.at("/proc/sys/kernel/osrelease"), kMaxStateFile));
    return text.substr(0, text.find_last_not_of('\n') + 1);
}

bool has_folder(Look& look, const std::string& path) {
    return look.site.host.files.list(look.at(path)).has_value();
}

// Returns the line of modules.dep that has the module itself, and not as what another needs:
// "kernel/.../rdma_rxe.ko.xz: ..." (depmod(8)). Empty if there is none.
std::string_view line_of(std::string_view list, const std::string& name) {
    const std::string file = "/" + name + ".ko";
    for (size_t at = list.find(file); at != list.npos; at = list.find(file, at + 1)) {
        const size_t line = list.rfind('\n', at) + 1;  // npos + 1: the first
        if (list.find(':', line) > at)
            return list.substr(line, list.find('\n', at) - line);
    }
    return {};
}

// True if the line is of the kernel's own module. Other parts of kernel/ may be a vendor's: Ubuntu
// 26.04 has the modules of DOCA in kernel/doca-ofed-26.01. The package kernel-modules-extra of Fedora
// and RHEL has extra/drivers (mod-extra.sh of their kernels), and a vendor its own folder in extra.
bool is_of_kernel(std::string_view line) {
    return line.starts_with("kernel/drivers/") || line.starts_with("extra/drivers/");
}

// The release of a kernel shows its distribution, and so which package has its modules, and which
// modules it is built without (docs/support-matrix.md has the sources).
struct Build {
    std::string_view mark;
    std::string_view package;  // {} stands for the release
    std::string_view without;
};

constexpr std::string_view kUbuntus =
    "linux-modules-{0} (before Ubuntu 25.10 linux-modules-extra-{0})";

constexpr Build kBuilds[] = {
    {.mark = "-cloud-amd64",
     .package = "linux-image-amd64, which is not the cloud's",
     .without = "siw"},
    {.mark = "-cloud-arm64",
     .package = "linux-image-arm64, which is not the cloud's",
     .without = "siw"},
    {.mark = "-amd64", .package = "linux-image-{}", .without = "siw"},  // of Debian, as the next
    {.mark = "-arm64", .package = "linux-image-{}", .without = "siw"},
    {.mark = "-generic", .package = kUbuntus, .without = ""},
    {.mark = "-aws", .package = kUbuntus, .without = ""},  // of Ubuntu, as the next
    {.mark = "-azure", .package = kUbuntus, .without = ""},
    {.mark = "-gcp", .package = kUbuntus, .without = ""},
    {.mark = "-gke", .package = kUbuntus, .without = ""},
    {.mark = "-ibm", .package = kUbuntus, .without = ""},
    {.mark = "-lowlatency", .package = kUbuntus, .without = ""},
    {.mark = "-nvidia", .package = kUbuntus, .without = ""},
    {.mark = "-oracle", .package = kUbuntus, .without = ""},
    {.mark = ".el10", .package = "kernel-modules-{0}", .without = "rdma_rxe siw"},
    {.mark = ".el", .package = "kernel-modules-{0} and kernel-modules-extra-{0}", .without = ""},
    {.mark = ".fc", .package = "kernel-modules-{0} and kernel-modules-extra-{0}", .without = ""},
    {.mark = "-default", .package = "kernel-default, not kernel-default-base", .without = ""},
};

Build build_of(std::string_view kernel) {
    for (const Build& build : kBuilds) {
        if (kernel.find(build.mark) != std::string_view::npos)
            return build;
    }
    return {.mark = "", .package = "the package of the kernel's modules", .without = ""};
}

// Returns modules.dep of the kernel that runs; empty if there is none.
Result<std::string> module_list(Look& look) {
    const std::string path = "/lib/modules/" + TRY(release(look)) + "/modules.dep";
    auto text = look.site.host.files.read(look.at(path), kMaxModuleList);
    if (!text && base::is_missing(text.error()))
        return std::string{};
    return text;
}

// True if a module is loaded, or depmod's list has it.
Result<bool> has_module(Look& look, const std::string& name) {
    return has_folder(look, "/sys/module/" + name) ||
           !line_of(TRY(module_list(look)), name).empty();
}

// The kernel marks a module that was not built with it.
Result<bool> is_foreign(Look& look, const std::string& name) {
    return TRY(text_of(look, "/sys/module/" + name + "/taint")).find('O') != std::string::npos;
}

// True if the module is there and does nothing. The RPM packages of MLNX_OFED and DOCA have such
// an rdma_rxe and siw (mlnx-ofa_kernel, configure --build-dummy-mods); they use mlx_compat, and not
// ib_core. An ib_core that is built in has neither holders nor a line in depmod's list.
Result<bool> is_dummy(Look& look, const std::string& name) {
    const std::string core = "/sys/module/ib_core";
    if (has_folder(look, "/sys/module/" + name)) {
        const auto users = look.site.host.files.list(look.at(core + "/holders"));
        const bool uses_core =
            users ? std::ranges::count(*users, name) != 0 : has_folder(look, core);
        return !uses_core && TRY(is_foreign(look, name));
    }
    const std::string list = TRY(module_list(look));
    const std::string_view line = line_of(list, name);
    return !line.empty() && !is_of_kernel(line) && line.find("/ib_core.ko") == line.npos &&
           !line_of(list, "ib_core").empty();
}

// True if the kernel's own module is there and does not load. The modules of MLNX_OFED and DOCA take
// the place of ib_core, and have no rxe and no siw that fit it. Of an ib_core that is not loaded,
// depmod's list has the place.
Result<bool> is_shut_out(Look& look, const std::string& name) {
    if (has_folder(look, "/sys/module/" + name))
        return false;
    const std::string list = TRY(module_list(look));
    if (!is_of_kernel(line_of(list, name)))
        return false;
    if (has_folder(look, "/sys/module/ib_core"))
        return is_foreign(look, "ib_core");
    const std::string_view core = line_of(list, "ib_core");
    return !core.empty() && !is_of_kernel(core);
}

// Returns why a module that is there makes no RDMA devices; empty if it makes them.
Result<std::string> trouble_of(Look& look, const std::string& name) {
    if (TRY(is_dummy(look, name)))
        return name + " is a dummy of MLNX_OFED or DOCA, which loads and does nothing";
    if (TRY(is_shut_out(look, name)))
        return fmt::format(
            "ib_core is not the kernel's own (MLNX_OFED, DOCA), and the kernel's {} "
            "does not load beside it",
            name);
    return std::string{};
}

// True if a module that makes RDMA devices is loaded or the kernel loads it.
Result<bool> is_at_hand(Look& look, const std::string& name) {
    return TRY(has_module(look, name)) && TRY(trouble_of(look, name)).empty();
}

// Checks that a module is loaded, or that the kernel loads it at its first use.
Result<Findings> check_module(Look& look, const std::string& name, const std::string& what) {
    if (has_folder(look, "/sys/module/" + name))
        return one(Status::Ok, name + " is there");
    if (TRY(has_module(look, name)))
        return one(Status::Ok,
                   name + " is not loaded yet; the kernel loads it at its first use",
                   "to load it now: modprobe " + name);
    const std::string kernel = TRY(release(look));
    const Build build = build_of(kernel);
    const std::string why = fmt::format("kernel {} has no module {}: {}. ", kernel, name, what);
    if (has_word(build.without, name))
        return one(
            Status::Fail,
            why + "Its distribution builds it without",
            "use an adapter (rdma.mode=shared, vf or host), or boot a kernel that has " + name);
    return one(Status::Fail,
               why + "If depmod does not find it, install " +
                   fmt::format(fmt::runtime(build.package), kernel),
               "depmod -a && modprobe " + name);
}

// Checks a module that makes RDMA devices of the kernel's own.
Result<Findings> check_software(Look& look, const std::string& name, const std::string& what) {
    const std::string trouble = TRY(trouble_of(look, name));
    if (trouble.empty())
        return check_module(look, name, what);
    return one(Status::Fail,
               trouble + ": " + what,
               "use the adapter (rdma.mode=shared, vf or host), or remove MLNX_OFED or DOCA and "
               "reboot");
}

constexpr Version kRxeServesNetns{7, 1};
constexpr Version kRxeMoves{7, 3};

// Returns the names of the pools of a mode, for people.
std::string pools_of(const Config& config, std::string_view mode) {
    std::vector<std::string> names;
    for (const Pool& pool : config.pools) {
        if (pool.mode == mode)
            names.push_back(pool.name);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

bool is_on_host(const Pool& pool) {
    const auto placement = pool.defaults.find("placement");
    return placement != pool.defaults.end() && placement->second == "host";
}

// True if the command line or a pool asks for an rxe in a container's network, or (on_host) in the
// host's.
bool wants_rxe(const Look& look, bool on_host) {
    const auto& pools = look.config.pools;
    const auto fits = [&](const Pool& pool) {
        return pool.mode == "softroce" && is_on_host(pool) == on_host;
    };
    return std::ranges::any_of(pools, fits);
}

bool wants_own_rxe(const Look& look) {
    return wants_rxe(look, false) || (look.options.mode == "softroce" && !wants_rxe(look, true));
}

// Lists, in words, the requests that no container gets in RDMA namespace mode exclusive.
std::vector<std::string> refused_in_exclusive(const Look& look, Version kernel) {
    std::vector<std::string> refused;
    const auto add = [&](std::string_view mode, std::string_view why) {
        const std::string pools = pools_of(look.config, mode);
        refused.push_back(std::string(why) + (pools.empty() ? "" : " (pools " + pools + ")"));
    };
    for (const ModeInfo& mode : all_mode_infos()) {
        if (!mode.only_shared.empty() && look.wants(mode.name))
            add(mode.name, mode.only_shared);
    }
    if (wants_own_rxe(look) && kernel < kRxeMoves)
        add("softroce", "before Linux 7.3 no rxe can be moved into a container");
    if (wants_rxe(look, true))
        add("softroce", "no container can use the host's rxe");
    return refused;
}

// Names the module that brings RDMA into a kernel for a mode, or for any. An adapter's driver does
// so, too.
std::string module_of(const std::string& mode) {
    const ModeInfo* info = find_mode_info(mode);
    return std::string(info != nullptr ? info->module : ModeInfo{}.module);
}

// Takes the next word off a line, and returns it; empty at the end.
std::string_view take_word(std::string_view& line) {
    constexpr std::string_view kBlank = " \t";
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(kBlank));
    line.remove_prefix(word.size());
    return word;
}

// Returns the value that a text in the form of modprobe.d(5) gives a parameter of a module: the
// last one, as the kernel takes it. Empty if it gives none.
std::string_view option_of(std::string_view text,
                           std::string_view module,
                           std::string_view parameter) {
    std::string_view value;
    for (std::string_view line : base::lines_of(text)) {
        if (take_word(line) != "options" || take_word(line) != module)
            continue;
        for (auto word = take_word(line); !word.empty(); word = take_word(line)) {
            if (word.starts_with(parameter) && word.substr(parameter.size()).starts_with('='))
                value = word.substr(parameter.size() + 1);
        }
    }
    return value;
}

std::string_view as_text(netns::RdmaNetnsMode mode) {
    return mode == netns::RdmaNetnsMode::Shared ? "shared" : "exclusive";
}

// Judges the mode that the kernel has.
Result<Finding> judge_mode(Look& look, netns::RdmaNetnsMode mode) {
    if (mode == netns::RdmaNetnsMode::Shared)
        return Finding{.status = Status::Ok, .why = "RDMA namespace mode is shared"};
    const auto refused = refused_in_exclusive(look, TRY(kernel_version(look)));
    if (refused.empty())
        return Finding{.status = Status::Ok, .why = "RDMA namespace mode is exclusive"};
    return Finding{
        .status = Status::Fail,
        .why = fmt::format("RDMA namespace mode is exclusive: {}. While there are other "
                           "network namespaces, only a reboot changes it, with an initramfs "
                           "that was made after the file",
                           fmt::join(refused, "; ")),
        .fix =
            "echo options ib_core netns_mode=1 >/etc/modprobe.d/rdma-hook.conf "
            "&& rdma system set netns shared"};
}

// Returns the path of each file that modprobe reads, by name, which is their order. Of one name only
// the file of the first folder counts (modprobe.d(5)).
std::map<std::string, std::string> modprobe_files(Look& look) {
    std::map<std::string, std::string> paths;
    for (const std::string folder : {"/etc/modprobe.d",
                                     "/run/modprobe.d",
                                     "/usr/local/lib/modprobe.d",
                                     "/usr/lib/modprobe.d",
                                     "/lib/modprobe.d"}) {
        const auto names = look.site.host.files.list(look.at(folder));
        for (const std::string& name : names ? *names : std::vector<std::string>()) {
            if (name.ends_with(".conf"))
                paths.try_emplace(name, folder + "/" + name);
        }
    }
    return paths;
}

// Reports a file of modprobe that asks for another mode than the kernel has. An initramfs has a
// copy of these files, made when it was made: by mkinitramfs always, by dracut if it is for one
// host. dracut's module of rdma-core brings ib_core into it. The kernel's command line is for both.
Findings mode_after_boot(Look& look, netns::RdmaNetnsMode mode) {
    const auto line = text_of(look, "/proc/cmdline");
    if (!line || line->find("ib_core.netns_mode=") != std::string::npos)
        return {};
    std::string file;
    netns::RdmaNetnsMode asked = mode;
    for (const auto& [name, path] : modprobe_files(look)) {
        const auto text = look.site.host.files.read(look.at(path), kMaxOptions);
        const auto value = text ? option_of(*text, "ib_core", "netns_mode") : std::string_view();
        if (value.empty())
            continue;
        file = path;
        asked = value.find_first_of("1yYtT") == 0 || value == "on"
                    ? netns::RdmaNetnsMode::Shared
                    : netns::RdmaNetnsMode::Exclusive;
    }
    if (asked == mode)
        return {};
    return one(Status::Warning,
               fmt::format("RDMA namespace mode is {}, and {} asks for {}: ib_core was loaded "
                           "before that was written, or by an initramfs with an older copy",
                           as_text(mode),
                           file,
                           as_text(asked)),
               fmt::format("update-initramfs -u -k all (Fedora, RHEL, SUSE: dracut --force "
                           "--regenerate-all), and reboot; or boot with ib_core.netns_mode={}",
                           asked == netns::RdmaNetnsMode::Shared ? 1 : 0));
}

std::string as_text(uint64_t bytes) {
    return bytes == kMemlockUnlimited ? "unlimited" : fmt::format("{} KiB", bytes >> 10U);
}
}  // namespace

Result<Findings> check_config_file(Look& look) {
    if (look.config_trouble.empty())
        return one(Status::Ok,
                   fmt::format("{}, {}",
                               look.config.policy ? "a policy" : "no policy",
                               base::number_of(look.config.pools.size(), "pool")));
    return one(Status::Fail, look.config_trouble, "correct the file; see: rdmactl config check");
}

Result<Version> kernel_version(Look& look) {
    return netns::version_of(TRY(release(look)));
}

Result<Findings> check_uverbs(Look& look) {
    return check_module(look, "ib_uverbs", "no program can open an RDMA device");
}

Result<Findings> check_rdma_ucm(Look& look) {
    return check_module(look, "rdma_ucm", "rdma_cm (rping, MPI) does not work");
}

Result<Findings> check_rxe(Look& look) {
    auto found = TRY(check_software(look, "rdma_rxe", "there is no SoftRoCE"));
    // Where it cannot be had, the host may be meant for its adapter.
    const bool cannot_be = !TRY(trouble_of(look, "rdma_rxe")).empty() ||
                           has_word(build_of(TRY(release(look))).without, "rdma_rxe");
    if (found.front().status == Status::Fail && cannot_be && !look.wants("softroce"))
        found.front().status = Status::Warning;
    return found;
}

// An rxe that is not there is the next check's to report, whatever the kernel's version is.
Result<Findings> check_release(Look& look) {
    const std::string kernel = TRY(release(look));
    if (netns::version_of(kernel) >= kRxeServesNetns || !TRY(is_at_hand(look, "rdma_rxe")))
        return one(Status::Ok, "Linux " + kernel);
    const bool has_siw = TRY(is_at_hand(look, "siw"));
    return one(wants_own_rxe(look) ? Status::Fail : Status::Warning,
               fmt::format("Linux {}: before 7.1 rxe carries nothing in a container's "
                           "network namespace",
                           kernel),
               fmt::format("boot a kernel >= 7.1, or annotate rdma.placement=host{}",
                           has_siw ? ", or use rdma.mode=softiwarp" : ""));
}

Result<Findings> check_siw(Look& look) {
    auto found = TRY(check_software(look, "siw", "there is no Soft-iWARP"));
    if (found.front().status != Status::Fail)
        return found;
    // Debian builds none: its absence breaks a host only if a mode of it is wanted.
    const bool wanted = std::ranges::any_of(all_mode_infos(), [&](const ModeInfo& mode) {
        return mode.module == "siw" && look.wants(mode.name);
    });
    if (!wanted)
        return one(Status::Skipped, found.front().why);
    const bool has_rxe =
        TRY(kernel_version(look)) >= kRxeServesNetns && TRY(is_at_hand(look, "rdma_rxe"));
    if (has_rxe)
        found.front().fix = "boot a kernel built with CONFIG_RDMA_SIW, or use rdma.mode=softroce";
    return found;
}

Result<Findings> check_macvlan(Look& look) {
    return check_module(look, "macvlan", "containers cannot have an interface on the host's");
}

Result<Findings> check_netns_mode(Look& look) {
    const auto mode = look.site.host.rdma.mode();
    if (!mode && mode.error().code == base::Code::Unavailable)
        return one(Status::Fail,
                   "the kernel has no RDMA: no module of it is loaded, and every "
                   "container with rdma.* is refused. To have it after a boot, too: "
                   "/etc/modules-load.d",
                   "modprobe " + module_of(look.options.mode));
    Findings found{TRY(judge_mode(look, TRY(mode)))};
    const Findings later = mode_after_boot(look, TRY(mode));
    found.insert(found.end(), later.begin(), later.end());
    return found;
}

Result<Findings> check_gids(Look& look) {
    if (!has_folder(look, "/sys/module/ib_core"))
        return one(Status::Skipped, "ib_core is not loaded");
    // The list of symbols is long.
    bool filters = false;
    if (TRY(is_foreign(look, "ib_core")))
        filters = TRY(look.site.host.files.read(look.at("/proc/kallsyms"), kMaxSymbolList))
                      .find(kGidFilter) != std::string::npos;
    return one(Status::Ok,
               filters ? "ib_core (MLNX_OFED, DOCA) keeps a GID for the network namespace of its "
                         "interface: in mode shared no container uses a neighbour's"
                       : "ib_core lets every user of an HCA use each of its GIDs: in mode shared "
                         "a container can use a neighbour's");
}

Result<Findings> check_memlock(Look& look) {
    Findings found;
    const auto& policy = look.config.policy;
    if (policy && policy->memlock_max == 0)
        found.push_back({.status = Status::Warning,
                         .why = "the policy leaves how much memory containers may lock to their "
                                "engine, whose limit is often too small for verbs",
                         .fix = fmt::format("set policy.memlock to \"unlimited\" in {}",
                                            look.options.config_path)});
    else if (policy && policy->memlock_max < kEnoughMemlock)
        found.push_back(
            {.status = Status::Fail,
             .why = fmt::format("the policy lets containers lock {} of memory: few queue "
                                "pairs fit",
                                as_text(policy->memlock_max)),
             .fix = fmt::format("set policy.memlock to \"unlimited\" in {}",
                                look.options.config_path)});
    const auto self = TRY(look.site.host.processes.token(::getpid()));
    const auto limit = self ? TRY(look.site.host.processes.memlock(*self)) : netns::Memlock{};
    if (self && limit.soft < kEnoughMemlock)
        found.push_back(
            {.status = Status::Warning,
             .why = fmt::format("programs of this shell may lock {} of memory; containers "
                                "get what rdma.memlock and the policy say",
                                as_text(limit.soft)),
             .fix = "ulimit -l unlimited"});
    if (found.empty())
        found.push_back({.status = Status::Ok, .why = "locked memory is not limited to little"});
    return found;
}

Result<Findings> check_cgroups(Look& look) {
    Findings found;
    if (auto v2 = look.site.host.device_cgroups.check(); !v2)
        found.push_back({.status = Status::Warning,
                         .why = "plain hooks do not work: " + v2.error().message(),
                         .fix = "boot with systemd.unified_cgroup_hierarchy=1"});
    if (auto rdma = look.site.host.cgroups.check_rdma(); !rdma)
        found.push_back({.status = Status::Warning,
                         .why = "rdma.max_hca_* do not work: " + rdma.error().message()});
    if (found.empty())
        found.push_back({.status = Status::Ok, .why = "cgroup v2 with the controller rdma"});
    return found;
}

}  // namespace hook::ctl
