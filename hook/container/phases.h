// SPDX-License-Identifier: Apache-2.0
// The phases in which an engine or a runtime calls rdma-hook, each a short recipe.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "hook/container/attachment.h"
#include "netns/base/log.h"

namespace hook {

// How a phase is called: what the engine gave us beside stdin.
struct Call {
    netns::Host& host;
    std::function<Result<Config>()> load_config;  // not called before it is needed
    bool root = true;                             // effective uid 0 in the first user namespace
    // precreate
    std::string self;    // our own program, for the hooks that we add
    std::string bundle;  // the working directory, or what rdma-runtime was told
    // createRuntime and poststop, as precreate wrote them into config.json: these stages need no
    // configuration, so that one that was broken meanwhile keeps nothing from being given back
    std::string state_dir;
    std::string container;  // KEY
    std::string attach;     // UUID
    std::string id{};  // precreate: the container's, if rdma-runtime was told; else the bundle's
    // precreate: the process that lives until the container has been created. rdma-runtime does so
    // itself; a hook does not, but the engine that called it: the parent at the hook's beginning.
    // Later it is another one, if the engine has died.
    pid_t owner = 0;
    // createRuntime and prestart of nobody's preparation: what the hook's own arguments ask for
    Annotations annotations{};
};

struct Output {
    std::string spec;                // config.json
    std::vector<std::string> notes;  // for the person at the terminal
};

// Half 1, before `create`: config.json in, config.json with the grants out. The text comes back
// unchanged, byte for byte, if it is none of our business.
Result<Output> precreate(std::string_view input, const Call& call);

// Half 2, the container's init exists: checks that it is where we attached, and commits.
Result<> create_runtime(std::string_view input, const Call& call);

// The container is gone: gives everything back.
Result<> poststop(std::string_view input, const Call& call);

// Undoes what the output of precreate promised, if that output could not be delivered, or if the
// create that got it failed: not if there is a container with an init that lives.
Result<> abandon(const Call& call);

// Where to log, as the configuration says if it can be read.
base::log::Target log_of(const Call& call);

// Keeps a failure for `rdmactl list --failed` and `show`; best effort.
void remember_failure(const Call& call, std::string_view phase, const base::Error& error);

// The marker that half 1 leaves in config.json, so that a second half 1 passes through.
inline constexpr char kMarker[] = "org.rdma-hook.attach";

}  // namespace hook
