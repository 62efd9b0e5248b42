// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"
#include "netns/char_nodes.h"
#include "netns/process.h"

namespace hook {

// Lets a container that is there already open one device, by its cgroup. Who owns the cgroup may
// undo that at any time (systemd at daemon-reload): applied again, it mends it.
class AllowDevice : public Step {
  public:
    struct Args {
        netns::ProcessToken init;
        std::string name;  // for people
        netns::DeviceNumber device;
    };

    explicit AllowDevice(Args args) : args_(std::move(args)) {}

    static constexpr std::string_view kKind = "allow_device";
    static Result<Args> args_from(const Json& json);
    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return kKind; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
