// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/claim.h"
#include "netns/link.h"

namespace hook {

// Brings a representor up with an MTU that fits its VF's, and back. It is found by its port of the
// e-switch, whatever its netdev is called by then; one that is no more, as in mode legacy, needs
// nothing.
class RaiseRepresentor : public Step {
  public:
    struct Args {
        std::string eswitch;  // "pci/0000:03:00.0"
        std::string port;     // "pf0vf3"
        uint32_t index = 0;  // of its netdev while the plan is carried out; later it may be another
        uint32_t mtu_before = 0;
        uint32_t mtu = 0;
        bool up_before = false;
        Lease lease;  // of the VF
    };

    explicit RaiseRepresentor(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "raise_representor"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
