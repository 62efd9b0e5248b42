// SPDX-License-Identifier: Apache-2.0
// Executor: carries plans out and undoes journals. Undoing a journal is the only teardown there is:
// roll-back, poststop, gc and the next attach all come here.
#pragma once

#include <span>

#include "hook/steps/journal.h"

namespace hook {

// Applies the steps in order, until one fails. Their journal is on disk already: after a failure
// the caller undoes it.
Result<> run(std::span<const AnyStep> steps, Site& site);

// Undoes all steps in reverse, as far as they can be undone: what a step stands on is not pulled
// from under it (removing a netdev whose rxe is open hangs the kernel), and an address stays
// claimed while the interface that has it answers. The first Unknown ends it, and is the answer.
Result<Undo> undo_all(const Steps& steps, Site& site);

// The site of a journal: its namespace by our pin, or none.
Result<Site> open_site(netns::Host& host, const Store& store, const Journal& journal);

// The same for an undo. Without the pin (somebody unmounted it, or an engine made it in a mount
// namespace of its own) the namespace is looked for wherever it may live on. None: it is gone.
Result<Site> open_site_to_undo(netns::Host& host, const Store& store, const Journal& journal);

}  // namespace hook
