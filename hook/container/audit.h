// SPDX-License-Identifier: Apache-2.0
// The audit lines of the log: one for each attach, detach, refusal and recovery. Their format is in
// docs/reference/audit-log.md.
#pragma once

#include <string_view>

#include "hook/container/inspect.h"
#include "hook/state/store.h"
#include "hook/steps/journal.h"

namespace hook {

// Says why a container leaves its attachments. Detach: it ended or was never made. Recovery: it was
// found dead.
enum class Leaving { Detach, Recovery };

// `joined`: the attachment existed before, for another container of the network.
void audit_attach(const Container& container,
                  const std::string& akey,
                  const Granted& granted,
                  bool joined);

// Logs that a container left an attachment, which `users` others still have. `done` is the result.
void audit_leave(Leaving why,
                 const Container& container,
                 const std::string& akey,
                 size_t users,
                 const Result<>& done);

// Logs the removal of something that a dead container left, whose record is lost. `kind`:
// "attachment", "file" or "port".
void audit_recovery(std::string_view kind, const std::string& name, const Result<>& done);

// Logs that the container was refused in this stage. `optional`: it starts without RDMA.
void audit_refusal(std::string_view stage, const base::Error& error, bool optional = false);

}  // namespace hook
