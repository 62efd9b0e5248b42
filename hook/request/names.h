// SPDX-License-Identifier: Apache-2.0
// The names of netns/base/ that the hook uses without a prefix.
#pragma once

#include "netns/base/clock.h"
#include "netns/base/result.h"

namespace hook {

using base::Code;
using base::Deadline;
using base::Error;
using base::make_error;
using base::printable;
using base::Result;

}  // namespace hook
