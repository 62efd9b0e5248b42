// SPDX-License-Identifier: Apache-2.0
// Journal: the durable record of one attachment, written before anything is done for it (rule 1 of
// hook/steps/step.h) and removed when all of it is undone. The holder of the attachment's lock may
// change it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/state/store.h"
#include "hook/steps/plan.h"

namespace hook {

struct Journal {
    std::string key;
    Json attachment;                      // canonical request; see may_share()
    std::optional<netns::NetnsId> netns;  // the container's, if the steps work there
    uint64_t netns_cookie = 0;            // Netnses::cookie() of that
    Endpoint endpoint;
    // All steps were applied. If not and nobody has the attachment's lock, its maker has died.
    bool made = false;
    bool net_admin = false;            // a holder had CAP_NET_ADMIN, or one that has gone
    Steps steps;                       // in the order of application
    std::vector<std::string> holders;  // container keys
    std::vector<std::string> trouble;  // why it could not be undone; empty: clean
};

// Nothing if there is none. A journal that cannot be read is an error, never taken for none.
Result<std::optional<Journal>> load_journal(const Store& store, const std::string& akey);
// All but its steps.
Result<std::optional<Journal>> load_journal_head(const Store& store, const std::string& akey);
Result<> save_journal(const Store& store, const Journal& journal);
Result<> remove_journal(const Store& store, const std::string& akey);

}  // namespace hook
