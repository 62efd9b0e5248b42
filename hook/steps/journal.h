// SPDX-License-Identifier: Apache-2.0
// Journal: the durable record of one attachment. It is written before anything is done for the
// attachment (rule 1 of hook/steps/step.h) and removed when everything is undone. The holder of the
// attachment's lock may change it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/state/store.h"
#include "hook/steps/plan.h"

namespace hook {

struct Journal {
    std::string key;
    Json attachment;                        // canonical request; see may_share()
    std::optional<netns::NetnsId> netns{};  // the container's, if the steps work there
    uint64_t netns_cookie = 0;              // Netnses::cookie() of that namespace
    Endpoint endpoint{};
    // True once all steps were applied. If it is false and no process has the attachment's lock,
    // the maker has died.
    bool made = false;
    bool net_admin = false;              // a present or former holder had CAP_NET_ADMIN
    Steps steps{};                       // in the order of application
    std::vector<std::string> holders;    // container keys
    std::vector<std::string> trouble{};  // why the steps could not be undone; empty: clean
};

// Returns the journal; nothing if there is none. A journal that cannot be read is an error, never a
// missing one.
Result<std::optional<Journal>> load_journal(const Store& store, const std::string& akey);
// Returns the journal without its steps.
Result<std::optional<Journal>> load_journal_head(const Store& store, const std::string& akey);
Result<> save_journal(const Store& store, const Journal& journal);
Result<> remove_journal(const Store& store, const std::string& akey);

}  // namespace hook
