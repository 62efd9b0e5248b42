// SPDX-License-Identifier: Apache-2.0
#include "hook/attachment.h"

#include <algorithm>
#include <chrono>
#include <span>

#include <fmt/format.h>

#include "hook/ovs_marks.h"
#include "hook/steps/deadlines.h"
#include "netns/base/log.h"

namespace hook {

using base::Code;
using base::Deadline;
using base::Error;
using base::make_error;

namespace {

Result<Site> site_of(World& world, const Joiner& joiner) {
    return Site{.host = world.host,
                .host_ns = TRY(world.host.namespaces.current()),
                .container = joiner.netns};
}

Result<const Mode*> mode_of(const Attachment& attachment) {
    const Mode* mode = find_mode(attachment.mode);
    if (mode == nullptr)
        return make_error(Code::BadInput, "unknown rdma.mode '" + attachment.mode + "'");
    return mode;
}

std::string context_of(const Attachment& attachment) {
    return fmt::format("attach {} ({})", attachment.mode, attachment.ifname);
}

Result<std::string> scope_key(const Mode& mode, const Attachment& attachment, Site& site) {
    const Scope scope = TRY(mode.scope(attachment, site));
    const netns::Netns* ns = site.ns(scope.where);
    return attachment_key(ns == nullptr ? netns::NetnsId{} : ns->id(), scope.interface);
}

Survey survey_of(World& world, Site& site, const Joiner& joiner, const std::string& akey) {
    return Survey{.site = site,
                  .config = world.config,
                  .store = world.store,
                  .container_key = joiner.container.key,
                  .attachment_key = akey,
                  .container_id = joiner.container.id,
                  .uuid = joiner.container.uuid,
                  .cpus = joiner.cpus};
}

// Whether the record of a container says so too: one that has been started again has another.
bool names(const Container& container, const std::string& akey) {
    return std::ranges::find(container.attachments, akey) != container.attachments.end();
}

// Drops holders that have no record any more, or one of another start: their leave was interrupted.
Result<> drop_dead_holders(World& world, Journal& journal) {
    std::vector<std::string> alive;
    for (const std::string& key : journal.holders) {
        const auto holder = world.store.load_container(key);
        // One that cannot be read is not taken for dead.
        if (!holder || (*holder && names(**holder, journal.key) && TRY(is_alive(world, **holder))))
            alive.push_back(key);
    }
    journal.holders = std::move(alive);
    return {};
}

// Undoes a journal that nobody holds. On failure the journal stays and says why.
Result<> undo_journal(World& world, Journal& journal) {
    Site site = TRY(open_site(world.host, world.store, journal));
    if (auto undone = undo_all(journal.steps, site); !undone) {
        journal.holders.clear();
        journal.trouble = {undone.error().message()};
        return join(std::move(undone), save_journal(world.store, journal));
    }
    return remove_journal(world.store, journal.key);
}

Result<Granted> join_existing(World& world,
                              Journal& journal,
                              const Joiner& joiner,
                              const Attachment& attachment) {
    if (journal.attachment != to_json(attachment))
        return make_error(Code::Refused,
                          "another container of this network has " + attachment.ifname +
                              " with other rdma.* annotations")
            .advise(
                "use equal annotations to share it, or another rdma.ifname for a device of its "
                "own");
    Site site = TRY(open_site(world.host, world.store, journal));
    Granted granted = TRY(inspect(site, attachment, journal.endpoint));
    journal.holders.push_back(joiner.container.key);
    TRY(save_journal(world.store, journal));
    return granted;
}

// Carries a plan out whose journal is on disk. The lock of leases is held until what was found is
// claimed, no longer: the rest may take seconds.
Result<> carry_out(const Steps& steps,
                   size_t claims,
                   Site& site,
                   std::optional<base::FileLock> leases) {
    const std::span all(steps);
    TRY(run(all.first(claims), site));
    leases.reset();
    return run(all.subspan(claims), site);
}

Result<Granted> attach_anew(World& world,
                            const Joiner& joiner,
                            const Attachment& attachment,
                            const std::string& akey) {
    Site site = TRY(site_of(world, joiner));
    const Mode* mode = TRY(mode_of(attachment));
    // Find and claim under one lock: two containers must not be given the same address or VF.
    std::optional<base::FileLock> leases;
    if (mode->finds || attachment.ip_source == IpSource::Auto)
        leases = TRY(world.store.lock_leases(Deadline::in(kLockTimeout)));
    Plan plan = TRY(mode->plan(attachment, survey_of(world, site, joiner, akey)));
    Journal journal{.key = akey,
                    .attachment = to_json(attachment),
                    .netns = {},
                    .endpoint = plan.endpoint,
                    .made = false,
                    .steps = std::move(plan.steps),
                    .holders = {joiner.container.key},
                    .trouble = {}};
    if (plan.endpoint.where == Where::Container)
        journal.netns = site.container->id();
    TRY(save_journal(world.store, journal));
    const auto make = [&]() -> Result<Granted> {
        TRY(carry_out(journal.steps, plan.claims, site, std::move(leases)));
        Granted granted = TRY(inspect(site, attachment, plan.endpoint));
        journal.made = true;
        TRY(save_journal(world.store, journal));
        return granted;
    };
    auto granted = make();
    if (granted)
        return granted;
    return join(std::move(granted).error(), undo_journal(world, journal).context("roll back"))
        .error();
}

// What the container was given while it was there; all of it goes with the container.
Result<> undo_grants(World& world, const Container& container) {
    if (container.grants.empty())
        return {};
    Site site{.host = world.host, .host_ns = TRY(world.host.namespaces.current()), .container = {}};
    return undo_all(TRY(grants_of(container)), site);
}

// Leaves one attachment; undoes it if nobody else holds it. How many hold it still; nothing if it
// was not there.
Result<std::optional<size_t>> leave(World& world,
                                    const std::string& container,
                                    const std::string& akey) {
    const auto lock = TRY(world.store.lock_attachment(akey, Deadline::in(kLockTimeout)));
    auto journal = TRY(load_journal(world.store, akey));
    if (!journal)
        return std::optional<size_t>{};
    std::erase(journal->holders, container);
    TRY(drop_dead_holders(world, *journal));
    if (journal->holders.empty())
        TRY(undo_journal(world, *journal));
    else
        TRY(save_journal(world.store, *journal));
    return std::optional{journal->holders.size()};
}

Result<> leave_audited(World& world,
                       const Container& container,
                       const std::string& akey,
                       Leaving why) {
    const auto left = leave(world, container.key, akey);
    const Result<> done = left ? Result<>{} : left.error();
    if (!left || *left)
        audit_leave(why, container, akey, left ? **left : 0, done);
    return done;
}

// The container if it is dead, with its lock held; nothing if it lives, is gone or is being
// worked on.
struct Dead {
    base::FileLock lock;
    Container container;
};

Result<std::optional<Dead>> claim_dead(World& world, const std::string& key) {
    auto lock = world.store.try_lock_container(key);
    if (!lock)
        return std::optional<Dead>{};
    auto container = TRY(world.store.load_container(key));
    if (!container || TRY(is_alive(world, *container)))
        return std::optional<Dead>{};
    return std::optional<Dead>{Dead{std::move(*lock), std::move(*container)}};
}

Result<> collect_journal(World& world, const std::string& akey, Collected& out) {
    const auto lock = TRY(world.store.lock_attachment(akey, Deadline::in(kLockTimeout)));
    auto journal = TRY(load_journal(world.store, akey));
    if (!journal)
        return {};
    TRY(drop_dead_holders(world, *journal));
    if (!journal->holders.empty())
        return {};
    auto undone = undo_journal(world, *journal);
    audit_recovery("attachment", akey, undone);
    TRY(std::move(undone));
    out.journals.push_back(akey);
    return {};
}

// A port of ours without journal: the database outlives boots, and journals do not. Its marks may
// say anything.
Result<> collect_port(World& world, const netns::OvsPort& port, Collected& out) {
    const std::string akey = value_of(port.marks, kAttachmentMark);
    if (!is_attachment_key(akey))
        return {};
    const auto lock = TRY(world.store.lock_attachment(akey, Deadline::in(kLockTimeout)));
    const std::string boot = value_of(port.marks, kBootMark);
    const bool may_live = boot.empty() || boot == TRY(world.host.processes.boot_id());
    if (may_live && TRY(load_journal(world.store, akey)).has_value())
        return {};
    auto removed = world.host.ovs.remove_ports(marks_of(port), Deadline::in(kOvsUndoTimeout));
    audit_recovery("port", port.name, removed);
    TRY(std::move(removed));
    out.leftovers.push_back("Open vSwitch port " + base::printable(port.name));
    return {};
}

Result<> collect_ports(World& world, Collected& out) {
    if (!TRY(world.host.ovs.present()))
        return {};
    for (const auto& port :
         TRY(world.host.ovs.list_ports(owner_marks(), Deadline::in(kOvsUndoTimeout))))
        TRY(collect_port(world, port, out));
    return {};
}

// A journal that cannot be read is one: what it owns stays.
bool orphaned(const Store& store, const std::string& akey) {
    const auto journal = load_journal_head(store, akey);
    return journal && !*journal;
}

Result<> note_file(const std::string& path, Result<> removed, Collected& out) {
    audit_recovery("file", path, removed);
    TRY(std::move(removed));
    out.leftovers.push_back(path);
    return {};
}

// Under the lock of its owner, and then once more: the lease may be another's by now.
Result<> collect_lease(World& world, const std::string& path, Collected& out) {
    const Store& store = world.store;
    const auto seen = store.files().read(path, kMaxStateFile);
    if (!seen || !orphaned(store, *seen))
        return {};
    const auto lock = TRY(store.lock_attachment(*seen, Deadline::in(kLockTimeout)));
    const auto owner = store.files().read(path, kMaxStateFile);
    if (!owner || *owner != *seen || !orphaned(store, *owner))
        return {};
    return note_file(path, store.files().remove(path), out);
}

Result<> collect_pin(World& world, const std::string& akey, Collected& out) {
    const Store& store = world.store;
    if (!orphaned(store, akey))
        return {};
    const auto lock = TRY(store.lock_attachment(akey, Deadline::in(kLockTimeout)));
    const std::string path = store.pin_path(akey);
    if (!orphaned(store, akey))
        return {};
    return note_file(path, world.host.namespaces.unpin(path), out);
}

// Files in a folder whose owner is gone. A lease names its owner, and a temporary file its writer;
// the others are named after it.
Result<> collect_files(World& world, Collected& out) {
    const Store& store = world.store;
    for (const std::string& name : TRY(store.files().list(store.folder("leases"))))
        TRY(collect_lease(world, store.lease_path(name), out));
    for (const std::string& akey : TRY(store.files().list(store.folder("netns"))))
        TRY(collect_pin(world, akey, out));
    for (const std::string& path : TRY(store.sweep()))
        TRY(note_file(path, {}, out));
    return {};
}
}  // namespace

Result<bool> is_alive(World& world, const Container& container) {
    netns::Processes& processes = world.host.processes;
    const auto now = TRY(processes.token(container.token.pid));
    if (!now || *now != container.token || !processes.exists(container.bundle))
        return false;
    // Podman unmounts the namespace of a create that failed, while it may itself live on as a
    // service.
    return container.committed || container.netns_path.empty() ||
           processes.exists(container.netns_path);
}

Result<std::string> key_of(World& world, const Joiner& joiner, const Attachment& attachment) {
    Site site = TRY(site_of(world, joiner));
    return scope_key(*TRY(mode_of(attachment)), attachment, site).context(context_of(attachment));
}

Result<Steps> grants_of(const Container& container) {
    Steps steps;
    for (const Json& step : container.grants)
        steps.push_back(TRY(load_step(step)));
    return steps;
}

Result<Plan> make_plan(World& world, const Joiner& joiner, const Attachment& attachment) {
    Site site = TRY(site_of(world, joiner));
    const Mode* mode = TRY(mode_of(attachment));
    const std::string akey = TRY(scope_key(*mode, attachment, site));
    return mode->plan(attachment, survey_of(world, site, joiner, akey));
}

Result<Granted> attach(World& world,
                       const Joiner& joiner,
                       const Attachment& attachment,
                       const std::string& akey) {
    const auto lock = TRY(world.store.lock_attachment(akey, Deadline::in(kLockTimeout)));
    auto journal = TRY(load_journal(world.store, akey));
    if (journal)
        TRY(drop_dead_holders(world, *journal));
    // What is half made was left so by one that died, though its engine may live.
    const bool joins = journal && journal->made && !journal->holders.empty();
    if (journal && !joins) {
        auto undone = undo_journal(world, *journal);
        audit_recovery("attachment", akey, undone);
        TRY(std::move(undone)
                .context("undo what a dead container left")
                .advise("see what is left: rdmactl list, and try: rdmactl gc"));
    }
    auto granted = joins ? join_existing(world, *journal, joiner, attachment)
                         : attach_anew(world, joiner, attachment, akey);
    if (granted)
        audit_attach(joiner.container, akey, *granted, joins);
    return std::move(granted).context(context_of(attachment));
}

Result<> leave_all(World& world, const Container& container, Leaving why) {
    Result<> all = undo_grants(world, container);
    for (const std::string& akey : container.attachments)
        all = join(std::move(all), leave_audited(world, container, akey, why));
    return join(std::move(all), world.store.remove_container(container.key));
}

Result<> leave_dead(World& world, const std::string& key) {
    const auto dead = TRY(claim_dead(world, key));
    return dead ? leave_all(world, dead->container, Leaving::Recovery) : Result<>{};
}

Result<> sweep_pending(World& world) {
    for (const std::string& key : TRY(world.store.pending_keys())) {
        if (const auto done = leave_dead(world, key); !done)
            base::log::warning("a dead container is left to gc: " + done.error().message());
    }
    return {};
}

Result<Collected> collect_garbage(World& world) {
    Collected out;
    // A journal that cannot be read is met by its container's end, and by itself.
    const auto note = [&](Result<> done) {
        if (!done && std::ranges::find(out.trouble, done.error().message()) == out.trouble.end())
            out.trouble.push_back(done.error().message());
    };
    for (const std::string& key : TRY(world.store.container_keys())) {
        const auto dead = claim_dead(world, key);
        if (!dead) {
            out.trouble.push_back(dead.error().message());
        } else if (*dead) {
            note(leave_all(world, (*dead)->container, Leaving::Recovery));
            out.containers.push_back(key);
        }
    }
    for (const std::string& akey : TRY(world.store.journal_keys()))
        note(collect_journal(world, akey, out));
    note(collect_files(world, out));
    note(collect_ports(world, out));
    return out;
}

}  // namespace hook
