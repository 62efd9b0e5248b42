// SPDX-License-Identifier: Apache-2.0
#include "hook/executor.h"

#include "netns/base/log.h"

namespace hook {

Result<> run(std::span<const std::unique_ptr<Step>> steps, Site& site) {
    for (const auto& step : steps) {
        TRY(step->apply(site).context(step->describe()));
        base::log::info(step->describe());
    }
    return {};
}

Result<> undo_all(const Steps& steps, Site& site) {
    for (auto step = steps.rbegin(); step != steps.rend(); ++step)
        TRY((*step)->undo(site).context("undo: " + (*step)->describe()));
    return {};
}

Result<Site> open_site(netns::Host& host, const Store& store, const Journal& journal) {
    Site site{.host = host,
              .host_ns = TRY(host.namespaces.current()),
              .container = {},
              .made = journal.made,
              .net_admin = journal.net_admin};
    if (journal.netns)
        site.container = TRY(host.namespaces.open_pin(store.pin_path(journal.key), *journal.netns));
    return site;
}

}  // namespace hook
