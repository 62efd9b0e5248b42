// SPDX-License-Identifier: Apache-2.0
// The end of containers and of their attachments: leave, liveness, and the collection of what dead
// containers left. Each function may be interrupted at any line and called again. The store's locks
// keep two processes apart.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "hook/container/audit.h"
#include "hook/state/context.h"
#include "hook/steps/journal.h"

namespace hook {

// From precreate to createRuntime an engine needs seconds. It kills a hook after a minute.
inline constexpr std::chrono::seconds kCreateTimeout{300};

// True if the container still exists. After the commit the token of its init decides. Before that
// the creator's token decides, with the bundle, the namespace's path and kCreateTimeout.
Result<bool> is_alive(const Context& context, const Container& container);

// Returns the steps of Container::grants.
Result<Steps> grants_of(const Container& container);

// Takes back what the container was given while it existed. Changes nothing else.
Result<> undo_grants(const Context& context, const Container& container);

// True if the container ran before rdmactl attached to it, and still does.
Result<bool> runs_on(const Context& context, const Container& container);

// Takes back the container's grants and takes it off all its attachments. The leave of the last
// holder undoes an attachment. Then the container's record goes, even if an undo failed: the
// journal stays, with the reason, for gc. A journal also stays if another process has its lock and
// `locks` waits for none (Deadline::now()). A container that runs on keeps its record and its
// attachments until its grants are taken back: it could use them.
Result<> leave_all(const Context& context,
                   const Container& container,
                   Leaving why = Leaving::Detach,
                   base::Deadline locks = base::Deadline::in(kLockTimeout));

// Drops holders that have no record any more, or the record of another start: their leave was
// interrupted. The caller has the attachment's lock.
Result<> drop_dead_holders(const Context& context, Journal& journal);

// Undoes a journal without holders. The journal stays with its claims and the reason if this fails,
// or if rdma-hook cannot tell whether all is gone.
Result<> undo_journal(const Context& context, Journal& journal);

// The time that a starting container spends on what dead ones left. Its engine waits, and may have
// a limit of its own. The timer does the rest.
inline constexpr std::chrono::seconds kPatience{20};

// Undoes creates that never became containers. Cheap when there are none. Skips whatever is locked,
// and begins with nothing more once the deadline has passed. A failure to undo is no failure of the
// container that comes next.
Result<> sweep_pending(const Context& context,
                       base::Deadline until = base::Deadline::in(kPatience));

// Locks that other processes have, each listed once: "attachment AKEY", "container KEY".
using Locked = std::vector<std::string>;

// Returns the lock. If another process has it, returns nothing and notes its `name`. For a lock
// without a wait.
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

// Undoes the container if it is dead, and notes that. A container that lives or is locked stays as
// it is.
Result<> leave_dead(const Context& context, const std::string& key, Collected& out);

// Undoes everything that belongs to dead containers. Waits for no lock. Once the deadline has
// passed it begins with no further container or attachment, and reports those as trouble.
Collected collect_garbage(const Context& context, base::Deadline until);
// Returns what collect_garbage() would undo. Changes nothing, and takes no lock: another process may
// be at work on some of it. Temporary files are not among it.
Collected find_garbage(const Context& context, base::Deadline until);

}  // namespace hook
