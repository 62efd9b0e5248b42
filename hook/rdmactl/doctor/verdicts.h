// SPDX-License-Identifier: Apache-2.0
// A mode's verdicts on the host's devices for it.
#pragma once

#include <vector>

#include "hook/rdmactl/doctor/check.h"

namespace hook::ctl {

class Verdicts {
  public:
    // Notes the mode's answer about one device. `named`: a pool of the mode names the device.
    // Returns an error that is no refusal: the device could not be examined.
    Result<> note(Result<> answer, bool named);

    // Adds a finding for each refusal. It is Fail for a device that a pool names, unless the device
    // is Busy. It is Fail for each device if the mode is asked for and no device is fit. Otherwise
    // it is Warning. Does not repeat a sentence that is there already.
    void report(bool asked, Findings& found) const;

  private:
    struct Refusal {
        Error error;
        bool named = false;
    };

    std::vector<Refusal> refusals_;
    bool any_fit_ = false;
};

}  // namespace hook::ctl
