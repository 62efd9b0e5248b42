// SPDX-License-Identifier: Apache-2.0
// The candidates for device and GID with the choice among them: what survey() reads, what rdma-hook
// and the person say, and the verdict of choose_gid(). For those who open the chosen one
// (device.cc) and for those who only look (gids, doctor).
#pragma once

#include <string>
#include <vector>

#include "perf/verbs/device.h"
#include "perf/verbs/survey.h"

namespace perf {

struct Candidates {
    Survey tables;
    GidQuery query;
    GidChoice choice;  // its remarks include those of the survey and of attach.json

    // Null if none is usable.
    [[nodiscard]] const GidRow* chosen() const {
        return choice.chosen ? &tables.rows[*choice.chosen] : nullptr;
    }

    // The table of --explain-gid.
    [[nodiscard]] std::string explanation() const { return explain(tables.rows, choice, query); }

    // What to do if none is usable.
    [[nodiscard]] std::string way_out() const;
};

// `sources`: where the kernel routes from towards the peer, best first.
Result<Candidates> find_candidates(Verbs& verbs,
                                   const DeviceWish& wish,
                                   const std::vector<Address>& sources,
                                   const std::string& sysfs = "/sys");

}  // namespace perf
