// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/watch.h"

#include <algorithm>
#include <chrono>

#include "netns/base/folder_watch.h"

namespace hook::ctl {

namespace {
constexpr std::chrono::seconds kLookAgain{2};
constexpr const char* kWatched[] = {"containers", "pending", "journals", "attach", "errors"};
constexpr std::string_view kHome = "\033[H";
constexpr std::string_view kClearLine = "\033[K";
constexpr std::string_view kClearRest = "\033[J";
}  // namespace

std::string drawing(const std::string& text, const Page& page) {
    std::string out(kHome);
    size_t line = 0;
    for (size_t at = 0; at < text.size(); ++line) {
        if (page.rows != 0 && line + 1 >= page.rows)  // the last one is the cursor's
            break;
        const size_t end = std::min(text.find('\n', at), text.size());
        out.append(text, at, end - at).append(kClearLine).append("\n");
        at = end + 1;
    }
    return out.append(kClearRest);
}

Result<> watch(Options options, netns::Host& host, const Screen& screen) {
    const auto state = TRY(open_state(options, host));
    std::vector<std::string> folders;
    for (const char* name : kWatched)
        folders.push_back(state->store.folder(name));
    base::FolderWatch changes = TRY(base::FolderWatch::open(folders));
    for (;;) {
        options.page = screen.page();
        if (!screen.draw(TRY(list(options, host)).text))
            return {};
        (void)TRY(changes.wait(Deadline::in(kLookAgain)));
    }
}

}  // namespace hook::ctl
