// SPDX-License-Identifier: Apache-2.0
// The end of containers and of what they held: leave, liveness, and the collection of what the dead
// left behind. Everything here may be interrupted at any line and called again; two processes at
// once are kept apart by the store's locks.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "hook/container/audit.h"
#include "hook/state/context.h"
#include "hook/steps/journal.h"

namespace hook {

// From precreate to createRuntime an engine needs seconds, and kills a hook after a minute.
inline constexpr std::chrono::seconds kCreateTimeout{300};

// Whether the container is still there. After the commit its init's token decides; before that the
// creator's, with the bundle, the namespace's path and kCreateTimeout.
Result<bool> is_alive(const Context& context, const Container& container);

// The steps of Container::grants.
Result<Steps> grants_of(const Container& container);

// Takes back what the container was granted, and takes it off all its attachments; the last
// holder's leave undoes one. Then the container's record goes, even if an undo failed: the journal
// stays, with the reason, for gc. So does one whose lock another process has at that moment, if
// `locks` waits for none (Deadline::now()).
Result<> leave_all(const Context& context,
                   const Container& container,
                   Leaving why = Leaving::Detach,
                   base::Deadline locks = base::Deadline::in(kLockTimeout));

// Drops holders that have no record any more, or one of another start: their leave was interrupted.
// The caller has the attachment's lock.
Result<> drop_dead_holders(const Context& context, Journal& journal);

// Undoes a journal that nobody holds. On failure, and where it cannot be told whether all is gone,
// the journal stays with its claims and says why.
Result<> undo_journal(const Context& context, Journal& journal);

// How long a container that starts works on what dead ones left: its engine waits, and may have a
// limit of its own. The rest is the timer's.
inline constexpr std::chrono::seconds kPatience{20};

// Undoes creates that never became containers. Cheap when there are none. Skips what is locked, and
// begins with nothing more once the deadline has passed; what cannot be undone is no failure of the
// container that comes next.
Result<> sweep_pending(const Context& context,
                       base::Deadline until = base::Deadline::in(kPatience));

// Locks that other processes have, once each: "attachment AKEY", "container KEY".
using Locked = std::vector<std::string>;

// The lock; nothing if another process has it, which is noted by `name`. For a lock that nobody
// waited for.
Result<std::optional<base::FileLock>> unless_locked(Result<base::FileLock> lock,
                                                    const std::string& name,
                                                    Locked& locked);

struct Collected {
    std::vector<std::string> containers;  // keys of dead containers that were undone
    std::vector<std::string> journals;    // keys of orphaned journals that were undone
    std::vector<std::string> leftovers;   // files and ports that belonged to nothing
    Locked locked;
    std::vector<std::string> trouble;  // each failure to undo, with its reason, once
};

// Undoes the container if it is dead, and notes that. One that lives, or is being worked on, is
// left.
Result<> leave_dead(const Context& context, const std::string& key, Collected& out);

// Undoes everything that belongs to the dead. Waits for no lock. Once the deadline has passed it
// begins with no further container or attachment, and reports that as trouble.
Collected collect_garbage(const Context& context, base::Deadline until);

}  // namespace hook
