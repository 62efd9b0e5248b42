// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/claim.h"
#include "netns/sriov.h"

namespace hook {

// Writes settings of a VF through its PF, and back those that were there.
class ConfigureVf : public Step {
  public:
    struct Args {
        std::string pf;       // PCI address
        uint32_t number = 0;  // of the VF
        std::string vf;       // its PCI address: another function under that number is not ours
        netns::VfSettings before;  // of what is written, what was there
        netns::VfSettings after;
        Lease lease;  // of the VF
    };

    explicit ConfigureVf(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "configure_vf"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
