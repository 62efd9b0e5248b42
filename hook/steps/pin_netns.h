// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"

namespace hook {

// Keeps the container's namespace reachable until everything of ours in it is undone. Always the
// first step, hence undone last.
class PinNetns : public Step {
  public:
    struct Args {
        std::string path;
    };

    explicit PinNetns(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "pin_netns"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
