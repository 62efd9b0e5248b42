// SPDX-License-Identifier: Apache-2.0
// The life of attachments and of the containers that hold them: attach or join, leave, and the
// collection of what the dead left behind. Everything here may be interrupted at any line and
// called again; two processes at once are kept apart by the store's locks.
#pragma once

#include <string>
#include <vector>

#include "hook/audit.h"
#include "hook/executor.h"
#include "hook/grant.h"
#include "hook/modes/mode.h"

namespace hook {

struct World {
    netns::Host& host;
    const Config& config;
    const Store& store;
};

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
// stays, with the reason, for gc.
Result<> leave_all(World& world, const Container& container, Leaving why = Leaving::Detach);

// Whether the container is still there: its token, its bundle, its namespace's path.
Result<bool> is_alive(World& world, const Container& container);

// Undoes the container if it is dead, as gc would. One that lives, or is being worked on, is left.
Result<> leave_dead(World& world, const std::string& key);

// Undoes creates that never became containers. Cheap when there are none. Skips what is locked;
// what cannot be undone is no failure of who comes next.
Result<> sweep_pending(World& world);

struct Collected {
    std::vector<std::string> containers;  // keys of dead containers that were undone
    std::vector<std::string> journals;    // keys of orphaned journals that were undone
    std::vector<std::string> leftovers;   // files and ports that belonged to nothing
    std::vector<std::string> trouble;     // what could not be undone, and why
};

// Undoes everything that belongs to the dead; begins with nothing more once the deadline has
// passed, for a container that waits for it.
Result<Collected> collect_garbage(World& world, std::optional<base::Deadline> until = {});

}  // namespace hook
