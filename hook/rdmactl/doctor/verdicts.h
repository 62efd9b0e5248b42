// SPDX-License-Identifier: Apache-2.0
// What a mode says of the devices that the host has for it.
#pragma once

#include <vector>

#include "hook/rdmactl/doctor/check.h"

namespace hook::ctl {

class Verdicts {
  public:
    // Notes the mode's answer about one device. `named`: a pool of the mode names the device. An
    // error that is no refusal is returned: nobody could look.
    Result<> note(Result<> answer, bool named);

    // Adds a finding for each refusal: Fail for a device that a pool names (unless it is Busy), and
    // for each device if somebody asks for the mode and no device is fit for it; else Warning. A
    // sentence that is there already is not repeated.
    void report(bool asked, Findings& found) const;

  private:
    struct Refusal {
        base::Error error;
        bool named = false;
    };

    std::vector<Refusal> refusals_;
    bool any_fit_ = false;
};

}  // namespace hook::ctl
