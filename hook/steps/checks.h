// SPDX-License-Identifier: Apache-2.0
// Steps that change nothing: they look whether what the steps before them made really works, and
// fail the attach if not, so that it is rolled back.
#pragma once

#include "hook/step.h"

namespace hook {

// A step without undo and without a place in the journal.
class Check : public Step {
  public:
    [[nodiscard]] bool changes() const final { return false; }

    Result<> undo(Site&) const final { return {}; }

    [[nodiscard]] Json save() const final { return Json::object(); }
};

// Kernels before 7.1 bind rxe's UDP port in the host's namespace alone: a link made in a
// container's looks healthy and carries nothing. The evidence is whether UDP 4791 is served there.
class CheckDataPath : public Check {
  public:
    struct Args {};

    explicit CheckDataPath(Args) {}

    [[nodiscard]] std::string_view kind() const override { return "check_data_path"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
};

}  // namespace hook
