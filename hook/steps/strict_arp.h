// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"

namespace hook {

// Makes a link that another step of the plan makes or moves answer ARP for its own addresses only,
// so that a container may have several on one network. The setting goes with the link: nothing to
// undo.
class StrictArp : public Step {
  public:
    struct Args {
        uint32_t link = 0;  // index, in the container's namespace
    };

    explicit StrictArp(Args args) : args_(args) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "strict_arp"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;

    Result<Undo> undo(Site&) const override { return Undo::gone(); }

    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
