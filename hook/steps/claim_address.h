// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/step.h"

namespace hook {

// Reserves an address on a parent: a lease file that only one attachment can make.
class ClaimAddress : public Step {
  public:
    struct Args {
        std::string address;  // for people
        std::string path;     // the lease file
        std::string owner;    // the attachment's key: only a lease with it is given back
    };

    explicit ClaimAddress(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "claim_address"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
