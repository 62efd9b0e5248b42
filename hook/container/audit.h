// SPDX-License-Identifier: Apache-2.0
// The audit lines of the log: one for each attach, detach, refusal and recovery. Their form is in
// hook/README.md ("The log").
#pragma once

#include <string_view>

#include "hook/container/inspect.h"
#include "hook/state/store.h"
#include "hook/steps/journal.h"

namespace hook {

// Why a container leaves its attachments: it ended or was not made, or it was found dead.
enum class Leaving { Detach, Recovery };

// `joined`: the attachment was there, another container of the network has it too.
void audit_attach(const Container& container,
                  const std::string& akey,
                  const Granted& granted,
                  bool joined);

// A container is off an attachment, which `users` others still have; `done`: how that went.
void audit_leave(Leaving why,
                 const Container& container,
                 const std::string& akey,
                 size_t users,
                 const Result<>& done);

// Something that the dead left, whose container nobody knows any more. `kind`: "attachment",
// "file" or "port".
void audit_recovery(std::string_view kind, const std::string& name, const Result<>& done);

// The container was refused, in this stage; `optional`: it starts without RDMA.
void audit_refusal(std::string_view stage, const base::Error& error, bool optional = false);

}  // namespace hook
