// SPDX-License-Identifier: Apache-2.0
// The life of attachments and of the containers that hold them: attach or join, leave, and the
// collection of what the dead left behind. Everything here may be interrupted at any line and
// called again; two processes at once are kept apart by the store's locks.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "hook/container/audit.h"
#include "hook/container/grant.h"
#include "hook/modes/mode.h"
#include "hook/steps/executor.h"

namespace hook {

struct World {
    netns::Host& host;
    const Config& config;
    const Store& store;
    // What an undo cannot see is taken for gone: rdmactl gc --forget.
    bool forget = false;
};

// From precreate to createRuntime an engine needs seconds, and kills a hook after a minute.
inline constexpr std::chrono::seconds kCreateTimeout{300};

// What has to be known of a container to attach to it.
struct Joiner {
    const Container& container;
    std::optional<netns::Netns> netns;  // nothing: no namespace yet (rdmactl plan)
    std::string cpus = {};              // its cpuset, "0-3,8"; empty: all
    bool net_admin = false;             // it will have CAP_NET_ADMIN
};

// Attaches, or joins an equal attachment of the same namespace, or the host's device that others
// share (rdma.placement=host). `akey` is key_of() it; the container must be on disk and name it
// already.
Result<Granted> attach(World& world,
                       const Joiner& joiner,
                       const Attachment& attachment,
                       const std::string& akey);

// The key under which this attachment of this container is or will be recorded.
Result<std::string> key_of(World& world, const Joiner& joiner, const Attachment& attachment);

// Whether an attachment with the key of the journal is the one that is there.
bool may_share(const Journal& journal, const Attachment& attachment);

// The plan, without doing anything.
Result<Plan> make_plan(World& world, const Joiner& joiner, const Attachment& attachment);

// The steps of Container::grants.
Result<Steps> grants_of(const Container& container);

// Takes back what the container was granted, and takes it off all its attachments; the last
// holder's leave undoes one. Then the container's record goes, even if an undo failed: the journal
// stays, with the reason, for gc. So does one whose lock another process has at that moment, if
// `locks` waits for none (Deadline::now()).
Result<> leave_all(World& world,
                   const Container& container,
                   Leaving why = Leaving::Detach,
                   base::Deadline locks = base::Deadline::in(kLockTimeout));

// Whether the container is still there. Its init's token alone says so of one that was committed;
// before that the creator's, with the bundle, the namespace's path and kCreateTimeout.
Result<bool> is_alive(World& world, const Container& container);

// Undoes the container if it is dead, as gc would. One that lives, or is being worked on, is left.
Result<> leave_dead(World& world, const std::string& key);

// How long a container that starts works on what dead ones left: its engine waits, and may have a
// limit of its own. The rest is the timer's.
inline constexpr std::chrono::seconds kPatience{20};

// Undoes creates that never became containers. Cheap when there are none. Skips what is locked, and
// begins with nothing more once the deadline has passed; what cannot be undone is no failure of the
// container that comes next.
Result<> sweep_pending(World& world, base::Deadline until = base::Deadline::in(kPatience));

struct Collected {
    std::vector<std::string> containers;  // keys of dead containers that were undone
    std::vector<std::string> journals;    // keys of orphaned journals that were undone
    std::vector<std::string> leftovers;   // files and ports that belonged to nothing
    std::vector<std::string> locked;      // "attachment AKEY": another process is at work on it
    std::vector<std::string> trouble;     // what could not be undone, and why
};

// Undoes everything that belongs to the dead. Waits for no lock. Once the deadline has passed it
// begins with no further container or attachment, and reports that as trouble.
Collected collect_garbage(World& world, base::Deadline until);

}  // namespace hook
