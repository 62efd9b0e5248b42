// SPDX-License-Identifier: Apache-2.0
#include "netns/base/clock.h"

#include <fmt/format.h>

namespace base {

std::string rfc3339(std::chrono::system_clock::time_point time) {
    namespace chrono = std::chrono;
    const auto second = chrono::floor<chrono::seconds>(time);
    const auto midnight = chrono::floor<chrono::days>(second);
    const chrono::year_month_day date{midnight};
    const chrono::hh_mm_ss clock{second - midnight};
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
                       static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()),
                       static_cast<unsigned>(date.day()),
                       clock.hours().count(),
                       clock.minutes().count(),
                       clock.seconds().count());
}

}  // namespace base
