// SPDX-License-Identifier: Apache-2.0
// budget: one life: attach, leave, collect.
#include "hook/container/attachment.h"

#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>

#include "hook/container/granted_nodes.h"
#include "hook/container/leftovers.h"
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

// An undo's answer for those who cannot go on before all is gone.
Result<> settled(Result<Undo> undone) {
    if (!undone)
        return std::move(undone).error();
    if (undone->answer != Undo::Answer::Unknown)
        return {};
    return make_error(Code::Unavailable, std::move(undone->why));
}

// Undoes a journal that nobody holds. On failure, and where it cannot be told whether all is gone,
// the journal stays with its claims and says why.
Result<> undo_journal(World& world, Journal& journal) {
    const auto undo = [&]() -> Result<Undo> {
        Site site = TRY(open_site_to_undo(world.host, world.store, journal));
        site.forget = world.forget;
        return undo_all(journal.steps, site);
    };
    auto done = settled(undo());
    if (done)
        return remove_journal(world.store, journal.key);
    journal.holders.clear();
    journal.trouble = {done.error().message()};
    return join(std::move(done), save_journal(world.store, journal));
}

Error not_shared(const Attachment& attachment) {
    // On the interface that the engine made (rdma.parent=container), which takes no rdma.ifname.
    if (attachment.ifname.empty())
        return make_error(Code::Refused,
                          "the network's own interface has RDMA by other rdma.* annotations")
            .advise(
                "use equal annotations to share it, or set rdma.parent to a host netdev for a "
                "device of its own");
    return make_error(Code::Refused,
                      "another container of this network has " + attachment.ifname +
                          " with other rdma.* annotations")
        .advise(
            "use equal annotations to share it, or another rdma.ifname for a device of its own");
}

Result<Granted> join_existing(World& world,
                              Journal& journal,
                              const Joiner& joiner,
                              const Attachment& attachment) {
    if (!may_share(journal, attachment))
        return not_shared(attachment);
    Site site = TRY(open_site(world.host, world.store, journal));
    Granted granted = TRY(inspect(site, attachment, journal.endpoint));
    journal.holders.push_back(joiner.container.key);
    journal.net_admin = journal.net_admin || joiner.net_admin;
    TRY(save_journal(world.store, journal));
    return granted;
}

// Carries a plan out whose journal is on disk. The lock of leases is held until what was found is
// claimed, no longer: the rest may take seconds.
Result<> carry_out(const Journal& journal,
                   size_t claims,
                   Site& site,
                   std::optional<base::FileLock> leases) {
    const std::span all(journal.steps);
    for (const auto& step : all.first(claims)) {
        auto done = run({&step, 1}, site);
        // A container that asked for it by name claimed it since it was found, without that lock.
        if (!done && done.error().code == Code::Busy && step->kind() == "claim")
            site.in_use.insert(site.in_use.end(),
                               journal.endpoint.addresses.begin(),
                               journal.endpoint.addresses.end());
        TRY(std::move(done));
    }
    leases.reset();
    return run(all.subspan(claims), site);
}

// One plan, carried out or undone. Addresses of the pool that others turn out to have are added to
// `in_use`, if all is undone: another try starts from nothing, as this one did.
Result<Granted> attach_once(World& world,
                            const Joiner& joiner,
                            const Attachment& attachment,
                            const std::string& akey,
                            std::set<netns::Address>& in_use) {
    Site site = TRY(site_of(world, joiner));
    const Mode* mode = TRY(mode_of(attachment));
    // Find and claim under one lock: two containers must not be given the same address or VF.
    std::optional<base::FileLock> leases;
    if (find_mode_info(mode->name)->finds || attachment.ip_source == IpSource::Auto)
        leases = TRY(world.store.lock_leases(Deadline::in(kLockTimeout)));
    Survey survey = survey_of(world, site, joiner, akey);
    survey.in_use = in_use;
    Plan plan = TRY(mode->plan(attachment, survey));
    Journal journal{.key = akey,
                    .attachment = to_json(attachment),
                    .netns = {},
                    .endpoint = plan.endpoint,
                    .made = false,
                    .steps = std::move(plan.steps),
                    .holders = {joiner.container.key},
                    .trouble = {}};
    if (plan.endpoint.where == Where::Container) {
        journal.netns = site.container->id();
        journal.netns_cookie = TRY(world.host.namespaces.cookie(*site.container));
    }
    TRY(save_journal(world.store, journal));
    const auto make = [&]() -> Result<Granted> {
        TRY(carry_out(journal, plan.claims, site, std::move(leases)));
        Granted granted = TRY(inspect(site, attachment, plan.endpoint));
        journal.made = true;
        journal.net_admin = joiner.net_admin;  // who is still to begin has changed nothing
        TRY(save_journal(world.store, journal));
        return granted;
    };
    auto granted = make();
    if (granted)
        return granted;
    auto undone = undo_journal(world, journal).context("roll back");
    if (undone && attachment.ip_source == IpSource::Auto)
        in_use.insert(site.in_use.begin(), site.in_use.end());
    return join(std::move(granted).error(), std::move(undone)).error();
}

std::string others_have(const std::set<netns::Address>& in_use) {
    std::string list;
    for (const netns::Address& address : in_use)
        list += (list.empty() ? "" : ", ") + netns::ip_string(address);
    return fmt::format(
        "others on the network have {} of the pool's addresses ({})", in_use.size(), list);
}

// A pool's address that somebody else has must not keep everybody from the rest of the pool: the
// next one is tried.
Result<Granted> attach_anew(World& world,
                            const Joiner& joiner,
                            const Attachment& attachment,
                            const std::string& akey) {
    constexpr size_t kMostInUse = 8;  // a device is made and removed to find out about each
    std::set<netns::Address> in_use;
    for (;;) {
        const size_t known = in_use.size();
        auto granted = attach_once(world, joiner, attachment, akey, in_use);
        if (granted || in_use.empty())
            return granted;
        if (in_use.size() == known || in_use.size() >= kMostInUse)
            return std::move(granted).context(others_have(in_use));
        base::log::warning(others_have(in_use) + ": trying the next");
    }
}

// What the container was given while it was there; all of it goes with the container.
Result<> undo_grants(World& world, const Container& container) {
    if (container.grants.empty())
        return {};
    Site site{.host = world.host, .host_ns = TRY(world.host.namespaces.current()), .container = {}};
    return settled(undo_all(TRY(grants_of(container)), site));
}

// Leaves one attachment; undoes it if nobody else holds it. How many hold it still; nothing if it
// was not there.
Result<std::optional<size_t>> leave(World& world,
                                    const std::string& container,
                                    const std::string& akey,
                                    Deadline locks) {
    Locked by_others;
    const auto lock = TRY(unless_locked(world.store.lock_attachment(akey, locks), akey, by_others));
    if (!lock)  // a holder without a record from now on: whoever looks next drops it
        return std::optional<size_t>{};
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
                       Leaving why,
                       Deadline locks) {
    const auto left = leave(world, container.key, akey, locks);
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

Result<std::optional<Dead>> claim_dead(World& world, const std::string& key, Locked& locked) {
    auto lock = TRY(unless_locked(
        world.store.lock_container(key, Deadline::now()), "container " + key, locked));
    if (!lock)
        return std::optional<Dead>{};
    auto container = TRY(world.store.load_container(key));
    if (!container || TRY(is_alive(world, *container)))
        return std::optional<Dead>{};
    return std::optional<Dead>{Dead{std::move(*lock), std::move(*container)}};
}

Result<> collect_container(World& world, const std::string& key, Collected& out) {
    const auto dead = TRY(claim_dead(world, key, out.locked));
    if (!dead)
        return {};
    out.containers.push_back(key);
    return leave_all(world, dead->container, Leaving::Recovery, Deadline::now());
}

Result<> collect_journal(World& world, const std::string& akey, Collected& out) {
    const auto lock = TRY(unless_locked(
        world.store.lock_attachment(akey, Deadline::now()), "attachment " + akey, out.locked));
    auto journal = lock ? TRY(load_journal(world.store, akey)) : std::nullopt;
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
}  // namespace

Result<bool> is_alive(World& world, const Container& container) {
    netns::Processes& processes = world.host.processes;
    const auto now = TRY(processes.token(container.token.pid));
    if (!now || *now != container.token)
        return false;
    if (container.committed)
        return true;  // whatever became of its bundle, and whoever cannot see it
    // Whoever creates may be a service that outlives a create that failed. Podman unmounts that
    // one's namespace; its bundle and the time decide the rest.
    return processes.exists(container.bundle) &&
           (container.netns_path.empty() || processes.exists(container.netns_path)) &&
           processes.uptime() - container.created_uptime < kCreateTimeout;
}

Result<std::string> key_of(World& world, const Joiner& joiner, const Attachment& attachment) {
    Site site = TRY(site_of(world, joiner));
    return scope_key(*TRY(mode_of(attachment)), attachment, site).context(context_of(attachment));
}

bool may_share(const Journal& journal, const Attachment& attachment) {
    // The key says which host device it is. How its parent was named, by which pool and under which
    // index, changes nothing of it, and containers that do not know of each other share it.
    return attachment.placement == Placement::Host || journal.attachment == to_json(attachment);
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

Result<> leave_all(World& world, const Container& container, Leaving why, Deadline locks) {
    Result<> all = undo_grants(world, container);
    for (const std::string& akey : container.attachments)
        all = join(std::move(all), leave_audited(world, container, akey, why, locks));
    all = join(std::move(all), forget_nodes(world.store, container.key));
    return join(std::move(all), world.store.remove_container(container.key));
}

Result<> leave_dead(World& world, const std::string& key) {
    Locked by_others;
    const auto dead = TRY(claim_dead(world, key, by_others));
    return dead ? leave_all(world, dead->container, Leaving::Recovery, Deadline::now())
                : Result<>{};
}

Result<> sweep_pending(World& world, Deadline until) {
    for (const std::string& key : TRY(world.store.pending_keys())) {
        if (until.passed())
            break;
        if (const auto done = leave_dead(world, key); !done)
            base::log::warning("a dead container is left to gc: " + done.error().message());
    }
    return {};
}

Collected collect_garbage(World& world, Deadline until) {
    Collected out;
    size_t left = 0;
    const auto each = [&](const Result<std::vector<std::string>>& keys, const auto& collect) {
        if (!keys)
            return note_trouble(keys.error(), out);
        for (const std::string& key : *keys) {
            if (until.passed())
                ++left;
            else
                note_trouble(collect(world, key, out), out);
        }
    };
    // A journal that cannot be read is met by its container's end, and by itself.
    each(world.store.container_keys(), collect_container);
    each(world.store.journal_keys(), collect_journal);
    if (left != 0)
        out.trouble.push_back(fmt::format(
            "{} containers and attachments were not looked at: the time was up; run: rdmactl gc",
            left));
    collect_files(world, out);
    collect_ports(world, out);
    collect_nodes(world, out);
    return out;
}

}  // namespace hook
