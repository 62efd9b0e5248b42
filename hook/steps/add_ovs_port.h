// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"
#include "netns/ovs.h"

namespace hook {

// Makes a representor a port of a bridge of Open vSwitch, with our marks on it. Undo removes the
// port that has the marks of this attachment, whatever it is called; nobody else's.
class AddOvsPort : public Step {
  public:
    struct Args {
        netns::OvsPortSpec port;
        std::string attachment;  // AKEY
        std::string container;   // id, for people
    };

    explicit AddOvsPort(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "add_ovs_port"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Result<> replace_stale(Site& site, const netns::OvsPortSpec& spec) const;
    Args args_;
};

}  // namespace hook
