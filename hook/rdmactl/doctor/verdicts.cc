// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/doctor/verdicts.h"

#include <algorithm>

namespace hook::ctl {

Result<> Verdicts::note(Result<> answer, bool named) {
    if (answer) {
        any_fit_ = true;
        return {};
    }
    const Code code = answer.error().code;
    if (code != Code::Refused && code != Code::Unsupported && code != Code::Unavailable &&
        code != Code::Busy)
        return answer;
    refusals_.push_back({std::move(answer).error(), named && code != Code::Busy});
    return {};
}

void Verdicts::report(bool asked, Findings& found) const {
    const bool lacking = asked && !any_fit_;
    for (const Refusal& refusal : refusals_) {
        Finding finding =
            finding_of(refusal.error, lacking || refusal.named ? Status::Fail : Status::Warning);
        const auto same = std::ranges::find(found, finding.why, &Finding::why);
        if (same == found.end())
            found.push_back(std::move(finding));
        else if (finding.status == Status::Fail)
            same->status = Status::Fail;
    }
}

}  // namespace hook::ctl
