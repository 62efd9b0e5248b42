// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"
#include "netns/values/address.h"

namespace hook {

// Gives a link in the container's namespace an address.
class AddAddress : public Step {
  public:
    struct Args {
        uint32_t link = 0;
        netns::Address address;
        bool with_link = false;  // the link is ours: its removal takes the address along
    };

    explicit AddAddress(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "add_address"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
