// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"

namespace hook {

// A lease file, and whose key it must hold.
struct Lease {
    std::string path;
    std::string owner;
    bool operator==(const Lease&) const = default;
};

Json to_json(const Lease& lease);
Result<Lease> lease_from_json(const Json& json);  // the member "lease"

// Whether we still have it. A step that works on what is leased undoes nothing without: an undo
// that was interrupted after the lease had been given back finds the next holder's work.
Result<bool> is_held(Site& site, const Lease& lease);

// Reserves what only one attachment can have, an address on a parent or a VF: a lease file that
// only one can make.
class Claim : public Step {
  public:
    struct Args {
        std::string what;  // for people: "address 10.9.0.1", "VF 3 of enp1s0"
        Lease lease;       // only a file with our key is given back
    };

    explicit Claim(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "claim"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
