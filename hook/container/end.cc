// SPDX-License-Identifier: Apache-2.0
#include "hook/container/end.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "hook/container/commit.h"
#include "hook/container/granted_nodes.h"
#include "hook/state/autoprobe.h"
#include "hook/steps/executor.h"
#include "hook/steps/ovs.h"
#include "hook/steps/ovs_marks.h"
#include "netns/base/log.h"

namespace hook {

namespace {
// Returns an error unless all is gone.
Result<> settled(Result<Undo> undone) {
    if (!undone)
        return std::move(undone).error();
    if (undone->answer != Undo::Answer::Unknown)
        return {};
    return make_error(Code::Unavailable, std::move(undone->why));
}

// Leaves one attachment, and undoes it if it has no other holder.
Result<> leave(const Context& context,
               const Container& container,
               const std::string& akey,
               Leaving why,
               Deadline locks) {
    // Returns the number of holders that are left; nothing if there is no attachment.
    const auto work = [&]() -> Result<std::optional<size_t>> {
        Locked by_others;
        const auto lock =
            TRY(unless_locked(context.store.lock_attachment(akey, locks), akey, by_others));
        // Without the lock the record goes all the same: the next look drops a holder without a
        // record.
        auto journal = lock ? TRY(load_journal(context.store, akey)) : std::nullopt;
        if (!journal)
            return std::optional<size_t>{};
        std::erase(journal->holders, container.key);
        TRY(drop_dead_holders(context, *journal));
        TRY(journal->holders.empty() ? undo_journal(context, *journal)
                                     : save_journal(context.store, *journal));
        return std::optional{journal->holders.size()};
    };
    const auto users = work();
    if (users && !*users)
        return {};
    const Result<> done = users ? Result<>{} : users.error();
    audit_leave(why, container, akey, users ? **users : 0, done);
    return done;
}

// One run of gc. It looks at each thing under the lock of its attachment or container, and leaves
// it while another process has that lock. The owner died without a record or a journal, somebody
// removed one by hand, or the journal ended with an earlier boot.
class Collector {
  public:
    // `dry`: only finds things.
    Collector(const Context& context, Deadline until, bool dry)
        : context_(context), store_(context.store), until_(until), dry_(dry) {}

    Collected run() {
        // A journal that cannot be read comes up at its container's end, and by itself.
        each(store_.container_keys(), &Collector::container);
        each(store_.journal_keys(), &Collector::journal);
        if (late_ != 0)
            out_.trouble.push_back(fmt::format(
                "{} containers and attachments were not looked at: the time was up; run: rdmactl "
                "gc",
                late_));
        // A lease names its owner, and a temporary file its writer. Other files have their owner in
        // their name.
        each(list("leases"), &Collector::lease);
        each(list(kAutoprobeFolder), &Collector::autoprobe);
        each(list("netns"), &Collector::pin);
        records_ = store_.container_keys();
        each(list("attach"), &Collector::json_of_container);
        each(list("view"), &Collector::view_of_container);
        each(ports(), &Collector::port);
        if (!dry_) {
            each(store_.sweep(), &Collector::swept);
            each(granted_nodes(store_), &Collector::node);
        }
        return std::move(out_);
    }

  private:
    using Names = Result<std::vector<std::string>>;

    // A lock; nothing if another process has it. A dry run takes none, and goes on.
    struct Held {
        std::optional<base::FileLock> lock;
        bool dry = false;

        explicit operator bool() const { return dry || lock.has_value(); }
    };

    template <typename T>
    void each(const Result<std::vector<T>>& all, Result<> (Collector::*collect)(const T&)) {
        if (!all)
            return note(all.error());
        for (const T& one : *all)
            note((this->*collect)(one));
    }

    void note(const Result<>& done) {
        if (!done && std::ranges::find(out_.trouble, done.error().message()) == out_.trouble.end())
            out_.trouble.push_back(done.error().message());
    }

    [[nodiscard]] Names list(const char* folder) const {
        return store_.files().list(store_.folder(folder));
    }

    Result<Held> lock(const std::string& akey) {
        if (dry_)
            return Held{.lock = {}, .dry = true};
        return Held{.lock = TRY(unless_locked(store_.lock_attachment(akey, Deadline::now()),
                                              "attachment " + printable(akey),
                                              out_.locked)),
                    .dry = false};
    }

    Result<Held> lock_container(const std::string& key) {
        if (dry_)
            return Held{.lock = {}, .dry = true};
        return Held{.lock = TRY(unless_locked(store_.lock_container(key, Deadline::now()),
                                              "container " + printable(key),
                                              out_.locked)),
                    .dry = false};
    }

    bool is_late() { return until_.passed() && ++late_ != 0; }

    Result<> container(const std::string& key) {
        if (is_late())
            return {};
        if (!dry_)
            return leave_dead(context_, key, out_);
        const auto container = TRY(store_.load_container(key));
        if (container && !TRY(is_alive(context_, *container)))
            out_.containers.push_back(key);
        return {};
    }

    // True if the end of a dead container ends the attachment.
    [[nodiscard]] bool ends_with_its_holder(const Journal& journal) const {
        return std::ranges::any_of(journal.holders, [&](const std::string& key) {
            return std::ranges::find(out_.containers, key) != out_.containers.end();
        });
    }

    Result<> journal(const std::string& akey) {
        if (is_late())
            return {};
        const auto held = TRY(lock(akey));
        auto journal = held ? TRY(load_journal(store_, akey)) : std::nullopt;
        if (!journal || (dry_ && ends_with_its_holder(*journal)))
            return {};
        TRY(drop_dead_holders(context_, *journal));
        if (!journal->holders.empty())
            return {};
        if (dry_) {
            out_.journals.push_back(akey);
            return {};
        }
        auto undone = undo_journal(context_, *journal);
        audit_recovery("attachment", akey, undone);
        TRY(std::move(undone));
        out_.journals.push_back(akey);
        return {};
    }

    // True also for a journal that cannot be read: its property stays.
    [[nodiscard]] bool has_journal(const std::string& akey) const {
        const auto journal = load_journal_head(store_, akey);
        return !journal || *journal;
    }

    Result<> remove(const char* kind,
                    const std::string& path,
                    const std::string& name,
                    const std::function<Result<>()>& work) {
        if (!dry_) {
            auto done = work();
            audit_recovery(kind, name, done);
            TRY(std::move(done));
        }
        out_.leftovers.push_back(path);
        return {};
    }

    Result<> remove_file(const std::string& path, const std::function<Result<>()>& work) {
        return remove("file", path, path, work);
    }

    // Looks under the lock of the owner, and then again: the lease may have another owner by now.
    Result<> lease(const std::string& name) {
        const std::string path = store_.lease_path(name);
        const auto seen = store_.files().read(path, kMaxStateFile);
        if (!seen || has_journal(*seen))
            return {};
        const auto held = TRY(lock(*seen));
        const auto owner = store_.files().read(path, kMaxStateFile);
        if (!held || !owner || *owner != *seen || has_journal(*owner))
            return {};
        return remove_file(path, [&] { return store_.files().remove(path); });
    }

    // A run of rdmactl that died has left the setting changed.
    Result<> autoprobe(const std::string& pf) {
        const auto held = TRY(lock(kRdmactl));
        if (!held)
            return {};
        return remove_file("sriov_drivers_autoprobe of " + printable(pf),
                           [&] { return restore_autoprobe(store_, context_.host.sriov, pf); });
    }

    Result<> pin(const std::string& akey) {
        if (has_journal(akey))
            return {};
        const std::string path = store_.pin_path(akey);
        const auto held = TRY(lock(akey));
        if (!held || has_journal(akey))
            return {};
        return remove_file(path, [&] { return context_.host.namespaces.unpin(path); });
    }

    Result<> json_of_container(const std::string& name) { return of_container("attach", name); }

    Result<> view_of_container(const std::string& name) { return of_container("view", name); }

    // A start of the same bundle begins with the lock and a record.
    Result<> of_container(const char* folder, const std::string& name) {
        const std::string key = name.substr(0, name.find('.'));
        if (!records_ || std::ranges::binary_search(*records_, key))
            return {};
        const auto held = TRY(lock_container(key));
        const auto record = store_.load_container(key);
        if (!held || !record || *record)  // a record that cannot be read exists
            return {};
        const std::string path = store_.folder(folder) + "/" + name;
        return remove_file(path, [&] { return store_.files().remove_tree(path); });
    }

    Result<> swept(const std::string& path) {
        return remove_file(path, [] { return Result<>{}; });
    }

    Result<std::vector<netns::OvsPort>> ports() {
        // Ports are root's, with journals that a user does not see.
        if (context_.config.rootless || !TRY(context_.host.ovs.present()))
            return std::vector<netns::OvsPort>{};
        return context_.host.ovs.list_ports(owner_marks(), Deadline::in(kOvsUndoTimeout));
    }

    // The database outlives boots, and journals do not. The marks may have any content.
    Result<> port(const netns::OvsPort& port) {
        const std::string akey = value_of(port.marks, kAttachmentMark);
        if (!is_attachment_key(akey))
            return {};
        const auto held = TRY(lock(akey));
        if (!held)
            return {};
        const std::string boot = value_of(port.marks, kBootMark);
        const bool may_live = boot.empty() || boot == TRY(context_.host.processes.boot_id());
        if (may_live && TRY(load_journal(store_, akey)))
            return {};
        const std::string what = "Open vSwitch port " + printable(port.name);
        return remove("port", what, port.name, [&] {
            return context_.host.ovs.remove_ports(marks_of(port), Deadline::in(kOvsUndoTimeout));
        });
    }

    // Forgets the device numbers of dead containers. If the device of a living container's number
    // is gone, takes the number away or reports it.
    Result<> node(const GrantedNode& node) {
        const auto container = TRY(store_.load_container(node.key));
        if (!container)
            return forget_nodes(store_, node.key);
        if (!TRY(is_alive(context_, *container)) || !TRY(is_stale(context_.host, node)))
            return {};
        TRY(revoke(context_, *container, node));
        return make_error(Code::Unavailable,
                          "RDMA device " + printable(node.device) + " of container " +
                              container->id + " is gone")
            .advise("restart the container");
    }

    const Context& context_;
    const Store& store_;
    Deadline until_;
    bool dry_;
    size_t late_ = 0;  // the number of things not looked at
    Names records_ = std::vector<std::string>{};
    Collected out_;
};
}  // namespace

Result<bool> is_alive(const Context& context, const Container& container) {
    netns::Processes& processes = context.host.processes;
    const auto now = TRY(processes.token(container.token.pid));
    if (!now || *now != container.token)
        return false;
    if (container.committed)
        return true;  // the bundle may be gone, or out of sight
    // The creator may be a service that outlives a failed create. Podman unmounts the namespace of
    // such a create; its bundle and the time decide the rest.
    return processes.exists(container.bundle) &&
           (container.netns_path.empty() || processes.exists(container.netns_path)) &&
           processes.uptime() - container.created_uptime < kCreateTimeout;
}

Result<Steps> grants_of(const Container& container) {
    Steps steps;
    for (const Json& step : container.grants)
        steps.push_back(TRY(load_step(step)));
    return steps;
}

Result<> undo_grants(const Context& context, const Container& container) {
    if (container.running_init)
        TRY(lift_limits(context, container, *container.running_init));
    if (container.grants.empty())
        return {};
    Site site{
        .host = context.host, .host_ns = TRY(context.host.namespaces.current()), .container = {}};
    return settled(undo_all(TRY(grants_of(container)), site));
}

Result<bool> runs_on(const Context& context, const Container& container) {
    const auto& init = container.running_init;
    return init && TRY(context.host.processes.token(init->pid)) == init;
}

Result<> leave_all(const Context& context,
                   const Container& container,
                   Leaving why,
                   Deadline locks) {
    Result<> all = undo_grants(context, container);
    if (!all && TRY(runs_on(context, container)))
        return all;
    for (const std::string& akey : container.attachments)
        all = join(std::move(all), leave(context, container, akey, why, locks));
    all = join(std::move(all), forget_nodes(context.store, container.key));
    return join(std::move(all), context.store.remove_container(container.key));
}

Result<> leave_dead(const Context& context, const std::string& key, Collected& out) {
    const auto lock = TRY(unless_locked(
        context.store.lock_container(key, Deadline::now()), "container " + key, out.locked));
    const auto container = lock ? TRY(context.store.load_container(key)) : std::nullopt;
    if (!container || TRY(is_alive(context, *container)))
        return {};
    out.containers.push_back(key);
    return leave_all(context, *container, Leaving::Recovery, Deadline::now());
}

Result<> drop_dead_holders(const Context& context, Journal& journal) {
    std::vector<std::string> alive;
    for (const std::string& key : journal.holders) {
        const auto holder = context.store.load_container(key);
        // The record of another start of the same container names other attachments. A container
        // whose record cannot be read does not count as dead.
        const bool names_it =
            holder && *holder &&
            std::ranges::find((*holder)->attachments, journal.key) != (*holder)->attachments.end();
        if (!holder || (names_it && TRY(is_alive(context, **holder))))
            alive.push_back(key);
    }
    journal.holders = std::move(alive);
    return {};
}

Result<> undo_journal(const Context& context, Journal& journal) {
    const auto undo = [&]() -> Result<Undo> {
        Site site = TRY(open_site_to_undo(context.host, context.store, journal));
        site.forget = context.forget;
        return undo_all(journal.steps, site);
    };
    auto done = settled(undo());
    if (done)
        return remove_journal(context.store, journal.key);
    journal.holders.clear();
    journal.trouble = {done.error().message()};
    return join(std::move(done), save_journal(context.store, journal));
}

Result<> sweep_pending(const Context& context, Deadline until) {
    Collected out;
    for (const std::string& key : TRY(context.store.pending_keys())) {
        if (until.passed())
            break;
        if (const auto done = leave_dead(context, key, out); !done)
            base::log::warning("a dead container is left to gc: " + done.error().message());
    }
    return {};
}

Result<std::optional<base::FileLock>> unless_locked(Result<base::FileLock> lock,
                                                    const std::string& name,
                                                    Locked& locked) {
    if (lock)
        return std::optional{*std::move(lock)};
    if (lock.error().code != Code::Busy)
        return std::move(lock).error();
    if (std::ranges::find(locked, name) == locked.end())
        locked.push_back(name);
    return std::optional<base::FileLock>{};
}

Collected collect_garbage(const Context& context, Deadline until) {
    return Collector{context, until, false}.run();
}

Collected find_garbage(const Context& context, Deadline until) {
    return Collector{context, until, true}.run();
}

}  // namespace hook
