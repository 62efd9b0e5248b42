// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"
#include "netns/process.h"

namespace hook {

// How much memory the container's init, and so whatever it starts, may lock.
class SetMemlock : public Step {
  public:
    struct Args {
        netns::ProcessToken init;
        netns::Memlock before;
        uint64_t bytes = 0;  // soft and hard
    };

    explicit SetMemlock(Args args) : args_(args) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "set_memlock"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
