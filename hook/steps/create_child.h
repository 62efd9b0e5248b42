// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"
#include "netns/link.h"

namespace hook {

// Makes a child of a host netdev (macvlan, ipvlan or VLAN) inside the container's namespace, up,
// under an index of our choice. The index, in a namespace that we hold, is how undo finds it,
// whatever its name is by then.
class CreateChild : public Step {
  public:
    using Args = netns::ChildSpec;

    explicit CreateChild(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "create_child"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    [[nodiscard]] bool is_ours(const Site& site, const netns::Link& link) const;
    Result<Undo> undo_elsewhere(Site& site) const;

    Args args_;
};

}  // namespace hook
