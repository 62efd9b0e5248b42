// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"
#include "netns/placement.h"

namespace hook {

// Mounts a device node or file of the host in a container whose init waits to be let into its root.
class PlaceFile : public Step {
  public:
    struct Args {
        netns::ContainerRoot root;
        netns::Placement what;
        bool optional = false;  // a container without a place for it does without
    };

    explicit PlaceFile(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "place_file"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
