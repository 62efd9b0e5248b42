// SPDX-License-Identifier: Apache-2.0
// Definitions that linux/nsfs.h has since Linux 6.18, for builds with older headers.
#pragma once

#include <cstdint>

#include <linux/nsfs.h>

namespace base {

// ioctl: writes the number of a namespace to a uint64_t. No other namespace gets the number until
// the next boot. For a network namespace it is SO_NETNS_COOKIE. Older kernels answer ENOTTY.
inline constexpr unsigned long kNamespaceId = _IOR(NSIO, 13, uint64_t);

}  // namespace base
