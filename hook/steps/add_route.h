// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"
#include "netns/route.h"

namespace hook {

// Gives a link of ours in the container's namespace a route, which goes with the link: there is
// nothing to undo.
class AddRoute : public Step {
  public:
    using Args = netns::Route;

    explicit AddRoute(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "add_route"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;

    Result<Undo> undo(Site&) const override { return Undo::gone(); }

    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
