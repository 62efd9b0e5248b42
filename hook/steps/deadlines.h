// SPDX-License-Identifier: Apache-2.0
// How long steps wait for hardware.
#pragma once

#include <chrono>

namespace hook {

// A driver makes its netdev within the bind or shortly after it.
inline constexpr std::chrono::seconds kBindTimeout{10};
// A VF that its PF resets is ready again in a second or two.
inline constexpr std::chrono::seconds kReadyTimeout{10};
// A namespace without a process gives its netdevs back when the kernel comes to it.
inline constexpr std::chrono::seconds kReturnTimeout{5};

// Of two VFs with each other's names the other one is about to be named, too.
inline constexpr std::chrono::seconds kNameTimeout{3};

// Every open file of a host with a million of them is looked at within it.
inline constexpr std::chrono::seconds kSearchTimeout{2};

// ovs-vswitchd applies a change in milliseconds. An attach gives it time to come back from a
// restart; an undo, which gc repeats, less.
inline constexpr std::chrono::seconds kOvsTimeout{10};
inline constexpr std::chrono::seconds kOvsUndoTimeout{4};

}  // namespace hook
