// SPDX-License-Identifier: Apache-2.0
// The names of netns/base/ that rdma-perf uses without a prefix.
#pragma once

#include "netns/base/clock.h"
#include "netns/base/json.h"
#include "netns/base/result.h"
#include "netns/base/unique_fd.h"

namespace perf {

using base::Code;
using base::Deadline;
using base::Error;
using base::Json;
using base::make_error;
using base::printable;
using base::required;
using base::Result;
using base::sys_error;
using base::UniqueFd;

}  // namespace perf
