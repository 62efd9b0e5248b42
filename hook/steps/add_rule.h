// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"
#include "netns/route.h"

namespace hook {

// Has what is sent from an address look into a table of routes of its own first. The table's number
// is that of our link, so the rule is ours or nobody's.
class AddRule : public Step {
  public:
    using Args = netns::SourceRule;

    explicit AddRule(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "add_rule"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
