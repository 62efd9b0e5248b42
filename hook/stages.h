// SPDX-License-Identifier: Apache-2.0
// The stages in which engines and runtimes call rdma-hook, each a short recipe over
// hook/container/.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hook/container/delivery.h"
#include "netns/base/log.h"

namespace hook {

// The configuration, read when it is first asked for and not again. Copies share what was read.
class ReadOnce {
  public:
    explicit ReadOnce(std::function<Result<Config>()> read) : read_(std::move(read)) {}

    [[nodiscard]] const Result<Config>& get() const;

    // Nothing if nobody has asked for it yet.
    [[nodiscard]] const std::optional<Result<Config>>& peek() const { return *config_; }

    // For what can do without: the default configuration if it cannot be read.
    [[nodiscard]] Config get_or_default() const;

  private:
    std::function<Result<Config>()> read_;
    std::shared_ptr<std::optional<Result<Config>>> config_ =
        std::make_shared<std::optional<Result<Config>>>();
};

// How a stage is called: what the engine gave beside stdin.
struct Call {
    netns::Host& host;
    ReadOnce config;
    bool root = true;  // effective uid 0 in the first user namespace
    // precreate
    std::string self{};    // rdma-hook's own path, for the hooks that it adds
    std::string bundle{};  // the working directory, or what rdma-runtime got
    // createRuntime and poststop, as precreate wrote them into config.json: these stages need no
    // configuration, so that one that was broken meanwhile keeps nothing from being given back
    std::string state_dir{};
    std::string container{};  // KEY
    std::string attach{};     // UUID
    std::string id{};  // precreate: the container's, if rdma-runtime knows it; else the bundle's
    // precreate: the process that lives until the container has been created. rdma-runtime does so
    // itself; a hook does not, but the engine that called it: the parent at the hook's beginning.
    // Later it is another one, if the engine has died.
    pid_t owner = 0;
    // Plain hooks: what the hook's own arguments ask for
    Annotations annotations{};
};

struct Output {
    std::string spec;  // config.json
    Notes notes;
};

// Before `create`: config.json in, config.json with the grants out. The text comes back unchanged,
// byte for byte, if it does not ask for RDMA.
Result<Output> precreate(std::string_view input, const Call& call);
// Undoes what the output of precreate promised, if that output could not be delivered, or if the
// create that got it failed: not if there is a container with an init that lives.
Result<> abandon(const Call& call);
// The container's init exists: checks that it is where rdma-hook attached, and commits.
Result<> create_runtime(std::string_view input, const Call& call);
// The container is gone: gives everything back.
Result<> poststop(std::string_view input, const Call& call);

// Plain hooks: the whole attach in prestart or createRuntime. Nothing happens for a container
// without rdma.*, one that precreate has prepared, and one that has been attached already (both
// stages may be listed).
Result<Notes> plain_create(std::string_view input, const Call& call);
Result<> plain_poststop(std::string_view input, const Call& call);

// Where to log, as the configuration says if it can be read.
base::log::Target log_of(const Call& call);
// Keeps a failure for `rdmactl list --failed` and `show`; best effort.
void remember_failure(const Call& call, std::string_view stage, const base::Error& error);

// The only catch of the program: an exception is a bug, reported as an internal error.
Result<> guarded(const std::function<Result<>()>& work);

}  // namespace hook
