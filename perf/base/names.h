// SPDX-License-Identifier: Apache-2.0
// The names of netns/base/ that rdma-perf uses without a prefix.
#pragma once

#include <utility>

#include <fmt/format.h>

#include "netns/base/clock.h"
#include "netns/base/json_fwd.h"
#include "netns/base/result.h"
#include "netns/base/unique_fd.h"

namespace perf {

using base::Code;
using base::Deadline;
using base::Error;
using base::Json;
using base::make_error;
using base::printable;
using base::Result;
using base::sys_error;
using base::UniqueFd;

// The same, with a text that is formatted.
template <class First, class... Rest>
[[gnu::cold]] Error make_error(Code code,
                               fmt::format_string<First, Rest...> text,
                               First&& first,
                               Rest&&... rest) {
    return base::make_error(
        code, fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...));
}

}  // namespace perf
