// SPDX-License-Identifier: Apache-2.0
// rdmactl's verbs. Each gathers its answer as JSON, which --json prints. Without --json the same
// JSON is laid out for people (text.h). So the two can never say different things.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hook/container/end.h"
#include "hook/rdmactl/text.h"
#include "hook/state/runtimes.h"
#include "hook/steps/plan.h"
#include "netns/base/owned_file.h"
#include "runtime-config/engines/named.h"
#include "runtime-config/oci/spec.h"

namespace hook::ctl {

struct Options {
    std::string config_path = kConfigPath;
    std::function<Result<Config>()> load_config = [] { return hook::load_config(); };
    std::function<Config()> default_config = [] { return Config{}; };
    bool json = false;
    Page page;  // the paper of an answer for people
    // plan, config check
    std::vector<std::string> annotations;  // KEY=VALUE
    std::string spec_path;                 // a config.json to take annotations from
    std::string netns_path;
    // list
    bool failed = false;
    bool watch = false;  // see watch()
    // gc
    bool regrant = false;  // also allow living containers their devices again
    bool forget = false;   // count whatever cannot be seen as gone
    std::string runtimes = kRuntimesFolder;
    // stats
    bool prometheus = false;
    std::string output;  // a file to write instead of standard output; empty: none
    // show, stats, verify, attach, detach
    std::string container;  // a name, ENGINE:NAME, or an id's beginning: find.h
    // attach
    std::string bundle;  // empty: looked up by the id
    pid_t init = 0;      // the init of the bundle's container
    // vf
    std::string pf;      // PCI address, netdev or RDMA device
    uint32_t count = 0;  // the number of VFs
    // asap2: also pf (or a devlink handle) and count
    std::string bridge;     // empty: none
    std::string tc_policy;  // empty: unchanged
    // cdi
    std::string cdi_output = "/run/cdi";  // a folder; "-": standard output
    // doctor
    std::string rdma_class = "/sys/class/infiniband";  // has a name for each RDMA device
    std::string mode;                                  // empty: all
    // doctor, suggest, and names of containers
    std::string host_root;  // prefix of the paths that it reads; for tests
    // runtime configure, vf, asap2, gc
    bool dry_run = false;  // changes nothing, and tells what a run would change
    // runtime configure
    std::string engine;
    std::string runtime_name = engines::kRuntimeName;
    std::string low_level;  // that rdma-runtime calls; empty: the configuration's
    bool unset = false;
    bool memlock = false;         // the engine's default memlock, and nothing else
    bool starter_policy = false;  // also write a policy that allows nothing, if there is none
    base::Owned engine_files;     // also for the configuration, where it is written
    // verify
    std::string peer;  // a second container or a host; empty: the container with itself
};

// An answer. A bad one has exit status 1: gc left trouble, for example.
struct Answer {
    Json json;
    std::string text;
    bool trouble = false;
    int status = 0;  // the exit status of a program that was run; 0: as `trouble` says
};

// Returns the JSON as it is printed: the name of its schema, "rdmactl-vf-list/1" for `vf list`, and
// its members.
Json with_schema(std::string_view command, const Json& members);

// Puts what a run would do before an answer about the present state.
Answer intended(const std::vector<std::string>& intents, Answer now);

// Returns the configuration for the verbs that look after state. They need only its state folder,
// so a broken configuration must not stop them. Prints on stderr what is wrong with it.
Config config_for_upkeep(const Options& options);

// The host as a verb sees it: configuration, state, and the host's own network namespace.
struct HostView : Context {
    Site site;
};

Result<Site> host_site(netns::Host& host);
Result<HostView> host_view(const Context& context);

// The configuration and state of a verb. Its context refers to them, so it stays where it is.
struct OpenState {
    OpenState(netns::Host& host, Config loaded)
        : config(std::move(loaded)),
          store(host.files, config.state_dir),
          context{host, config, store} {}

    OpenState(const OpenState&) = delete;
    OpenState& operator=(const OpenState&) = delete;
    OpenState(OpenState&&) = delete;
    OpenState& operator=(OpenState&&) = delete;
    ~OpenState() = default;

    Config config;
    Store store;
    Context context;
};

// Opens the state of config_for_upkeep().
Result<std::unique_ptr<OpenState>> open_state(const Options& options, netns::Host& host);

// The request of a container that does not exist, for plan, config check and suggest.
struct Asked {
    Annotations annotations;
    std::optional<oci::Spec> spec{};
};

// Returns the annotations. Those of the command line override those of the config.json.
Result<Asked> asked_for(const Options& options, netns::Host& host);

// Returns the powers from the engine. Without --spec they are unknown: it returns none.
Result<Powers> powers_of(const Asked& asked, const Config& config, netns::Host& host);

// Returns the plans of all attachments of a container that does not exist. Changes nothing.
Result<std::vector<Plan>> plan_all(const Context& context,
                                   const Request& request,
                                   const std::optional<netns::Netns>& ns);

Result<Answer> plan(const Options& options, netns::Host& host);
Result<Answer> list(const Options& options, netns::Host& host);
Result<Answer> show(const Options& options, netns::Host& host);
// Reports the counters of devices and interfaces of living containers: of one, or of all.
Result<Answer> stats(const Options& options, netns::Host& host);
// Formats what `stats --json` prints in the text format 0.0.4 of Prometheus.
std::string prometheus_text(const Json& stats);
Result<Answer> verify(const Options& options, netns::Host& host);
// Returns the port in the line "listening on ADDRESS:PORT" of `rdma-perf serve`, which verify() waits
// for; nothing before that line is complete.
std::optional<std::string> listening_port(std::string_view text);
// Gives a running container what --annotation asks for, as plain hooks do at its start; detach
// takes it back. The container's end does so as well: by gc, which no engine calls.
Result<Answer> attach(const Options& options, netns::Host& host);
Result<Answer> detach(const Options& options, netns::Host& host);
// Prints the command lines that give a container RDMA on this host, with the reason for each mode.
// Changes nothing.
Result<Answer> suggest(const Options& options, netns::Host& host);
// Reports what in the host lets modes work or keeps them from it, with the command that repairs it.
// Changes nothing.
Result<Answer> doctor(const Options& options, netns::Host& host);
Result<Answer> collect(const Options& options, netns::Host& host);
// Reports whether the configuration can be used, and its decision on each thing that a container
// asks for.
Result<Answer> check_config(const Options& options, netns::Host& host);
Result<Answer> vf_list(const Options& options, netns::Host& host);
// Makes so many VFs, with MACs that stay the same; repeatable. Neither this nor vf_disable destroys
// a VF in use.
Result<Answer> vf_enable(const Options& options, netns::Host& host);
Result<Answer> vf_disable(const Options& options, netns::Host& host);
// Puts an e-switch in mode switchdev under rules of Open vSwitch, and asap2_disable puts it back.
// Both are repeatable, also after an interruption.
Result<Answer> asap2_enable(const Options& options, netns::Host& host);
Result<Answer> asap2_disable(const Options& options, netns::Host& host);
// Registers rdma-hook in an engine's configuration, or removes it there; repeatable. Runs nothing.
Result<Answer> runtime_configure(const Options& options, netns::Host& host);
// Lists the runtimes that engines have of rdma-hook, and the program that each calls.
Result<Answer> runtime_list(const Options& options, netns::Host& host);
// Lists pools and the host's RDMA devices under the names that an engine's --device takes. Run it
// again to refresh them.
Result<Answer> cdi_generate(const Options& options, netns::Host& host);
Result<Answer> cdi_list(const Options& options, netns::Host& host);
// Reports what is missing for offload, and why.
Result<Answer> asap2_status(const Options& options, netns::Host& host);

// ---- list --watch: draws the list again whenever the state changes. A container that dies without
// a call of rdma-hook changes no file, so the list is also drawn every two seconds.

// The terminal.
struct Screen {
    std::function<Page()> page;  // as large as it is now
    // Shows the text in the place of the one before. False ends the watch.
    std::function<bool(const std::string& text)> draw;
};

// Returns once `draw` returns false, or with an error.
Result<> watch(Options options, netns::Host& host, const Screen& screen);

// Returns the text as a terminal shows it in the place of the one before: from the top, each line to
// its end, without the lines that do not fit.
std::string drawing(const std::string& text, const Page& page);

}  // namespace hook::ctl
