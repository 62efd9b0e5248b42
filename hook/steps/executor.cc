// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/executor.h"

#include "netns/base/log.h"

namespace hook {

Result<> run(std::span<const AnyStep> steps, Site& site) {
    for (const AnyStep& step : steps) {
        if (auto done = apply(step, site); !done)
            return std::move(done).context(describe(step));
        base::log::info(describe(step));
    }
    return {};
}

Result<Undo> undo_all(const Steps& steps, Site& site) {
    Undo all = Undo::gone();
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
        auto one = undo(*step, site);
        if (!one)
            return std::move(one).context("undo: " + describe(*step));
        if (one->answer == Undo::Answer::Unknown && !site.forget) {
            one->why = "undo: " + describe(*step) + ": " + one->why;
            return one;
        }
        if (one->answer == Undo::Answer::Undone)
            all = Undo::undone();
    }
    return all;
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

Result<Site> open_site_to_undo(netns::Host& host, const Store& store, const Journal& journal) {
    Site site = TRY(open_site(host, store, journal));
    if (!journal.netns || site.container)
        return site;
    site.container = TRY(host.namespaces.search([&](const netns::Netns& ns) -> Result<bool> {
        // The inode number of a dead namespace is soon another's; the cookie never is.
        return ns.id() == *journal.netns && TRY(host.namespaces.cookie(ns)) == journal.netns_cookie;
    }));
    return site;
}

}  // namespace hook
