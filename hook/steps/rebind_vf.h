// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"

namespace hook {

// Binds the driver of a VF anew: some read MAC and GUIDs only then. RestoreVf, before it in the
// plan, is what mends a VF that was left without a driver.
class RebindVf : public Step {
  public:
    struct Args {
        std::string vf;  // PCI address
        std::string driver;
        bool rdma = false;      // it has an RDMA device, too
        std::string rdma_name;  // whose name that is; empty: it has none
    };

    explicit RebindVf(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "rebind_vf"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
