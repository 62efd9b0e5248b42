// SPDX-License-Identifier: Apache-2.0
// The stages in which engines and runtimes call rdma-hook. Each is a short recipe over
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

// The configuration, read at the first call and not again. Copies share the content.
class ReadOnce {
  public:
    explicit ReadOnce(
        std::function<Result<Config>()> read,
        std::function<Config()> defaults = [] { return Config{}; })
        : read_(std::move(read)), defaults_(std::move(defaults)) {}

    [[nodiscard]] const Result<Config>& get() const;

    // Returns nothing before the first read.
    [[nodiscard]] const std::optional<Result<Config>>& peek() const { return *config_; }

    // Returns the default configuration if the file cannot be read. For callers that can do without
    // the file.
    [[nodiscard]] Config get_or_default() const;

  private:
    std::function<Result<Config>()> read_;
    std::function<Config()> defaults_;
    std::shared_ptr<std::optional<Result<Config>>> config_ =
        std::make_shared<std::optional<Result<Config>>>();
};

// Reads the configuration for the user of this process. A user who is not root has state of his own,
// and config.rootless is set.
Result<Config> load_callers_config(const std::string& path);
// The same for a stage that only writes to the log: what root's other members say is not read.
Result<Config> load_callers_log_settings(const std::string& path);
// Returns the same user's configuration as it is without a file.
Config callers_defaults();

// The call of a stage: the values that the engine gave beside stdin.
struct Call {
    netns::Host& host;
    ReadOnce config;
    // precreate
    std::string self{};    // rdma-hook's own path, for the hooks that it adds
    std::string bundle{};  // the working directory, or the bundle that rdma-runtime got
    // createRuntime and poststop, as precreate wrote them into config.json. These stages need no
    // configuration but the log's: if it is broken meanwhile, everything can still be given back.
    std::string state_dir{};
    std::string container{};  // KEY
    std::string attach{};     // UUID
    std::string id{};  // precreate: the container's id, if rdma-runtime knows it; else the bundle's
    // precreate: the process that lives until the container has been created. rdma-runtime does so
    // itself. A hook does not, so it is the engine that called the hook: its parent at the hook's
    // beginning. If the engine has died, the hook has another parent later.
    pid_t owner = 0;
    // Plain hooks: the annotations in the hook's own arguments.
    Annotations annotations{};
};

struct Output {
    std::string spec;  // config.json
    Notes notes;
};

// Runs before `create`: takes config.json, and returns config.json with the grants. Returns the
// text unchanged, byte for byte, if it does not ask for RDMA.
Result<Output> precreate(std::string_view input, const Call& call);
// Undoes the promises of precreate's output. Call it if that output could not be delivered, or if
// the create that got it failed. Does nothing if the container has an init that lives.
Result<> abandon(const Call& call);
// Runs when the container's init exists: checks that it is where rdma-hook attached, and commits.
Result<> create_runtime(std::string_view input, const Call& call);
// Runs when the container is gone: gives everything back.
Result<> poststop(std::string_view input, const Call& call);

// Does the whole attach in prestart or createRuntime (plain hooks). Does nothing for a container
// without rdma.*, or one that precreate has prepared. Does nothing for one that is attached
// already: both stages may be listed.
Result<Notes> plain_create(std::string_view input, const Call& call);
Result<> plain_poststop(std::string_view input, const Call& call);

// Returns the log's target from the configuration, if it can be read.
base::log::Target log_of(const Call& call);
// Keeps a failure for `rdmactl list --failed` and `show`. Best effort.
void remember_failure(const Call& call, std::string_view stage, const base::Error& error);

// Contains the only catch of the program: an exception is a bug, reported as an internal error.
Result<> guarded(const std::function<Result<>()>& work);

}  // namespace hook
