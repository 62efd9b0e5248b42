// SPDX-License-Identifier: Apache-2.0
// Executor: carries out plans and undoes journals. Undoing a journal is the only teardown:
// roll-back, poststop, gc and the next attach all use it.
#pragma once

#include <span>

#include "hook/steps/journal.h"

namespace hook {

// Applies the steps in order, until one fails. Their journal is on disk already; after a failure
// the caller undoes it.
Result<> run(std::span<const AnyStep> steps, Site& site);

// Undoes all steps in reverse, as far as possible. The first Unknown ends that and is the result:
// no step is undone while a later one remains. For example, removing a netdev whose rxe is open
// hangs the kernel. An address stays claimed while the interface that has it answers.
Result<Undo> undo_all(const Steps& steps, Site& site);

// Returns the site of a journal. rdma-hook's pin gives its namespace; without the pin it has none.
Result<Site> open_site(netns::Host& host, const Store& store, const Journal& journal);

// Returns the site for an undo. The pin may be missing: somebody unmounted it, or an engine made it
// in a mount namespace of its own. Then the namespace is searched wherever it may live on. A site
// without it means that it is gone.
Result<Site> open_site_to_undo(netns::Host& host, const Store& store, const Journal& journal);

}  // namespace hook
