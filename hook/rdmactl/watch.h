// SPDX-License-Identifier: Apache-2.0
// rdmactl list --watch: draws the list again whenever the state changes. A container that dies
// without a call of rdma-hook changes no file, so the list is also drawn every two seconds.
#pragma once

#include <functional>
#include <string>

#include "hook/rdmactl/command.h"

namespace hook::ctl {

// The terminal.
struct Screen {
    std::function<Page()> page;  // as large as it is now
    // Shows the text in the place of the one before. False ends the watch.
    std::function<bool(const std::string& text)> draw;
};

// Returns once `draw` returns false, or with an error.
Result<> watch(Options options, netns::Host& host, const Screen& screen);

// Returns the text as a terminal shows it in the place of the one before: from the top, each line to
// its end, without the lines that do not fit.
std::string drawing(const std::string& text, const Page& page);

}  // namespace hook::ctl
