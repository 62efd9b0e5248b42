// SPDX-License-Identifier: Apache-2.0
// rdmactl: the administrator's program.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "hook/rdmactl/command.h"
#include "hook/stages.h"
#include "netns/base/confine.h"
#include "netns/base/help.h"
#include "netns/base/log.h"
#include "netns/kernel_host.h"

namespace {
using Verb = base::Result<hook::ctl::Answer> (*)(const hook::ctl::Options&, netns::Host&);

struct Group {
    const char* title;
    std::array<const char*, 7> verbs;
};

// The headings of the help.
constexpr Group kGroups[] = {
    {"Look", {"list", "show", "stats", "doctor", "verify", "plan", "suggest"}},
    {"Running containers", {"attach", "detach"}},
    {"Host", {"vf", "asap2", "config"}},
    {"Engines", {"runtime", "cdi"}},
    {"Clean up", {"gc", "recover"}},
};
constexpr char kFooter[] =
    "Examples:\n"
    "  rdmactl doctor                     what this host lacks, and the fixes\n"
    "  rdmactl suggest                    whole command lines for this host\n"
    "  rdmactl list                       which container has what\n"
    "  rdmactl verify client server       whether data arrives\n"
    "See rdmactl(8), and /usr/share/doc/rdma-hook/docs/index.md.";
constexpr char kDryRun[] = "print what would be done, and do nothing";
constexpr char kContainer[] = "container: its name, ENGINE:NAME, or the beginning of its id";

// The command that was given.
struct Chosen {
    std::string words;  // "vf list"
    Verb run = nullptr;
};

template <class Declare>
void declare_asap2(CLI::App& app, hook::ctl::Options& options, const Declare& verb) {
    constexpr char kPf[] = "adapter: PCI address, network interface, RDMA device or devlink handle";
    auto* asap2 = app.add_subcommand(
        "asap2", "set up or tear down SR-IOV switchdev mode with an Open vSwitch bridge");
    asap2->require_subcommand(1);
    asap2->fallthrough();
    auto* enable = verb(*asap2,
                        "enable",
                        "set up switchdev, tc offload, and a bridge with the uplink; repeatable",
                        hook::ctl::asap2_enable);
    enable->add_option("pf", options.pf, kPf)->required();
    enable->add_option("--vfs", options.count, "number of VFs (default: those that exist)");
    enable->add_option("--bridge", options.bridge, "Open vSwitch bridge; created if missing");
    enable
        ->add_option("--tc-policy",
                     options.tc_policy,
                     "where Open vSwitch puts rules (other_config:tc-policy)")
        ->check(CLI::IsMember({"none", "skip_sw", "skip_hw"}));
    enable->add_flag("--dry-run", options.dry_run, kDryRun);
    auto* disable =
        verb(*asap2, "disable", "bring the host back as it was", hook::ctl::asap2_disable);
    disable->add_option("pf", options.pf, kPf)->required();
    disable->add_flag("--dry-run", options.dry_run, kDryRun);
    auto* status =
        verb(*asap2, "status", "show what is missing for offload", hook::ctl::asap2_status);
    status->add_option("pf", options.pf, "show only this adapter");
}

template <class Declare>
void declare_cdi(CLI::App& app, hook::ctl::Options& options, const Declare& verb) {
    auto* cdi = app.add_subcommand(
        "cdi", "generate CDI files, so that engines can use --device rdma-hook.org/...");
    cdi->require_subcommand(1);
    cdi->fallthrough();
    auto* generate =
        verb(*cdi, "generate", "write the CDI files; repeatable", hook::ctl::cdi_generate);
    generate->add_option("--output", options.cdi_output, "folder of the files; - prints them")
        ->capture_default_str();
    verb(*cdi, "list", "list the devices that generate would write", hook::ctl::cdi_list);
}

template <class Declare>
void declare_runtime(CLI::App& app, hook::ctl::Options& options, const Declare& verb) {
    auto* runtime = app.add_subcommand("runtime", "set up container engines to call rdma-hook");
    runtime->require_subcommand(1);
    runtime->fallthrough();
    auto* configure = verb(*runtime,
                           "configure",
                           "put rdma-hook into an engine's configuration; repeatable",
                           hook::ctl::runtime_configure);
    configure->add_option("--runtime", options.engine, "container engine")
        ->required()
        ->check(CLI::IsMember({"docker", "containerd", "crio", "podman"}));
    configure->add_option("--name", options.runtime_name, "name of the runtime: rdma, or rdma-WORD")
        ->capture_default_str();
    auto* low_level = configure->add_option(
        "--low-level", options.low_level, "program that the runtime calls: its name, or its path");
    configure->add_flag("--dry-run", options.dry_run, "print what would change");
    auto* unset =
        configure->add_flag("--unset", options.unset, "remove what this command has added")
            ->excludes(low_level);
    auto* starter =
        configure
            ->add_flag("--starter-policy",
                       options.starter_policy,
                       "write a policy that allows nothing, if the configuration has none")
            ->excludes(unset);
    configure
        ->add_flag("--memlock",
                   options.memlock,
                   "only let every container of docker or podman lock memory without limit")
        ->excludes(starter);
    verb(*runtime, "list", "list the runtimes that engines have", hook::ctl::runtime_list);
}

template <class Declare>
void declare_attach(CLI::App& app, hook::ctl::Options& options, const Declare& verb) {
    auto* attach =
        verb(app, "attach", "give RDMA to a container that runs already", hook::ctl::attach);
    attach->add_option("container", options.container, kContainer)->required();
    attach->add_option("-a,--annotation", options.annotations, "annotation KEY=VALUE; repeatable")
        ->required();
    auto* pid = attach->add_option(
        "--pid", options.init, "pid of the container's first process; needs --bundle");
    auto* bundle = attach->add_option(
        "--bundle", options.bundle, "folder of the container's config.json; needs --pid");
    pid->needs(bundle);
    bundle->needs(pid);
    auto* detach = verb(app, "detach", "take back what attach gave", hook::ctl::detach);
    detach->add_option("container", options.container, kContainer)->required();
}

template <class Declare>
void declare_vf(CLI::App& app, hook::ctl::Options& options, const Declare& verb) {
    constexpr char kPf[] = "adapter: PCI address, network interface or RDMA device";
    auto* vf =
        app.add_subcommand("vf", "list, make and destroy virtual functions of SR-IOV adapters");
    vf->require_subcommand(1);
    vf->fallthrough();
    auto* list = verb(*vf, "list", "list VFs and who has them", hook::ctl::vf_list);
    list->add_option("pf", options.pf, "show only this adapter");
    auto* enable =
        verb(*vf, "enable", "make VFs, with MACs that stay the same", hook::ctl::vf_enable);
    enable->add_option("pf", options.pf, kPf)->required();
    enable->add_option("count", options.count, "number of VFs")->required();
    enable->add_flag("--dry-run", options.dry_run, kDryRun);
    auto* disable = verb(*vf, "disable", "destroy a PF's VFs", hook::ctl::vf_disable);
    disable->add_option("pf", options.pf, kPf)->required();
    disable->add_flag("--dry-run", options.dry_run, kDryRun);
}

// Declares the verbs. The verb that was given ends up in `chosen`.
void declare(CLI::App& app, hook::ctl::Options& options, Chosen& chosen) {
    app.require_subcommand(1);
    app.set_version_flag("--version", "rdmactl " RDMA_VERSION);
    app.add_option("--config", options.config_path, "configuration file")->capture_default_str();
    auto* json = app.add_flag("--json", options.json, "print JSON");
    app.fallthrough();
    const auto verb = [&](CLI::App& parent, const char* name, const char* help, Verb run) {
        CLI::App* sub = parent.add_subcommand(name, help);
        sub->fallthrough();
        const std::string above = parent.get_parent() == nullptr ? "" : parent.get_name() + " ";
        sub->callback(
            [&chosen, run, words = above + name] { chosen = {.words = words, .run = run}; });
        return sub;
    };
    auto* plan = verb(app,
                      "plan",
                      "print what rdma-hook would do for a container; changes nothing",
                      hook::ctl::plan);
    const auto asked = [&](CLI::App& sub) {
        sub.add_option("-a,--annotation", options.annotations, "annotation KEY=VALUE; repeatable");
        sub.add_option("--spec", options.spec_path, "config.json of a container");
    };
    asked(*plan);
    plan->add_option("--netns", options.netns_path, "path of the container's network namespace");
    auto* list = verb(
        app, "list", "list containers with RDMA, and what could not be undone", hook::ctl::list);
    list->add_flag("--failed", options.failed, "list the last refusals and failures instead");
    list->add_flag("--watch", options.watch, "draw the list again when something changes")
        ->excludes(json);
    auto* show =
        verb(app, "show", "show everything that is known about a container", hook::ctl::show);
    show->add_option("container", options.container, kContainer)->required();
    auto* stats =
        verb(app, "stats", "show what devices and interfaces have counted", hook::ctl::stats);
    stats->add_option("container", options.container, kContainer);
    auto* prometheus =
        stats->add_flag("--prometheus", options.prometheus, "print the text format of Prometheus");
    stats->add_option("--output", options.output, "file to write instead, in one step")
        ->needs(prometheus);
    auto* verify =
        verb(app,
             "verify",
             "check that data gets from a container to another one, to a host, or to itself",
             hook::ctl::verify);
    verify->add_option("container", options.container, kContainer)->required();
    verify->add_option(
        "peer", options.peer, "another container, or a host that runs rdma-perf serve");
    declare_attach(app, options, verb);
    auto* doctor = verb(app,
                        "doctor",
                        "check this host, and print the command that fixes each problem",
                        hook::ctl::doctor);
    doctor->add_option("mode",
                       options.mode,
                       "check only what this mode needs; gpu: GPUs and the adapters near them");
    auto* suggest = verb(app,
                         "suggest",
                         "print the command lines that give a container RDMA on this host",
                         hook::ctl::suggest);
    suggest->add_option("mode", options.mode, "suggest only this mode");
    auto* gc = verb(app, "gc", "undo what dead containers left", hook::ctl::collect);
    auto* regrant =
        gc->add_flag("--regrant",
                     options.regrant,
                     "also restore device access that `systemctl daemon-reload` removed");
    gc->add_flag("--dry-run", options.dry_run, kDryRun)->excludes(regrant);
    gc->add_flag(
        "--forget", options.forget, "treat what cannot be seen as gone, and free what it claims");
    // A verb of its own, so that units and logs show which of the two it was; the work is the same.
    verb(app,
         "recover",
         "clean up after a reboot (run by rdma-hook-recover.service)",
         hook::ctl::collect);
    declare_vf(app, options, verb);
    declare_asap2(app, options, verb);
    declare_runtime(app, options, verb);
    declare_cdi(app, options, verb);
    auto* config = app.add_subcommand("config", "check the configuration file and the policy");
    config->require_subcommand(1);
    config->fallthrough();
    asked(*verb(*config,
                "check",
                "check the configuration file, and what it allows a container",
                hook::ctl::check_config));
    // Last: what is declared under an App takes over its footer and its group.
    app.footer(kFooter);
    for (const auto& [group, verbs] : kGroups) {
        for (const char* name : verbs) {
            if (name != nullptr)
                app.get_subcommand(name)->group(group);
        }
    }
}

// Returns the profile of confinement. verify runs without one: its programs would be confined as
// well. The others may have paths relative to the folder in which rdmactl was started, so they stay
// there.
std::optional<base::Profile> profile_of(const hook::ctl::Options& options, Verb verb) {
    using namespace hook::ctl;
    const std::array<Verb, 11> looking = {plan,
                                          list,
                                          show,
                                          stats,
                                          doctor,
                                          suggest,
                                          check_config,
                                          vf_list,
                                          asap2_status,
                                          cdi_list,
                                          runtime_list};
    if (verb == verify)
        return std::nullopt;
    const bool looks =
        std::find(looking.begin(), looking.end(), verb) != looking.end() && options.output.empty();
    return looks ? base::Profile::Look : base::Profile::Hook;
}

// Watches until the terminal or the user ends it.
base::Result<hook::ctl::Answer> watch(const hook::ctl::Options& options, netns::Host& host) {
    if (!options.page.is_terminal)
        return base::make_error(base::Code::Usage, "--watch draws on a terminal, and this is none")
            .advise("leave it out");
    const auto draw = [&](const std::string& text) {
        const std::string drawn =
            hook::ctl::drawing(text, hook::ctl::page_of_output(options.page.colours));
        return std::fputs(drawn.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    };
    TRY(hook::ctl::watch(
        options,
        host,
        {.page = [&] { return hook::ctl::page_of_output(options.page.colours); }, .draw = draw}));
    return hook::ctl::Answer{};
}

base::Result<hook::ctl::Answer> confined(const hook::ctl::Options& options, Verb verb) {
    netns::KernelHost kernel;
    netns::Host host = kernel.host();
    base::log::open({.file = {}, .level = base::log::Level::Info, .program = "rdmactl"});
    if (const auto profile = profile_of(options, verb))
        TRY(base::confine(*profile));
    return options.watch ? watch(options, host) : verb(options, host);
}

void print_json(const std::string& command, const base::Json& members) {
    std::puts(base::dump_json(hook::ctl::with_schema(command, members)).c_str());
}

int run(const hook::ctl::Options& options, const Chosen& chosen) {
    const auto answer = confined(options, chosen.run);
    if (!answer) {
        const base::Error& error = answer.error();
        if (options.json)
            print_json("error",
                       {{"error", error.message()}, {"code", base::code_name(error.code)}});
        std::fprintf(stderr, "rdmactl: %s\n", error.message().c_str());
        return base::exit_status(error.code);
    }
    if (options.json)
        print_json(chosen.words, answer->json);
    else
        std::fputs(answer->text.c_str(), stdout);
    return answer->status != 0 ? answer->status : answer->trouble ? 1 : 0;
}
}  // namespace

int main(int argc, char** argv) {
    const bool colours = hook::ctl::wants_colours();
    base::clean_surroundings();
    CLI::App app{"Inspect and repair what rdma-hook attached to containers", "rdmactl"};
    app.formatter(std::make_shared<base::HelpFormatter>());
    hook::ctl::Options options;
    Chosen chosen;
    declare(app, options, chosen);
    try {
        app.parse(argc, argv);
        options.load_config = [&] { return hook::load_callers_config(options.config_path); };
        options.default_config = hook::callers_defaults;
        options.page = hook::ctl::page_of_output(colours);
        return run(options, chosen);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : base::exit_status(base::Code::Usage);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "rdmactl: bug: %s\n", e.what());
        return base::exit_status(base::Code::Internal);
    }
}
