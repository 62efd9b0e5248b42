// SPDX-License-Identifier: Apache-2.0
#include "hook/container/leftovers.h"

#include <algorithm>

#include "hook/container/granted_nodes.h"
#include "hook/state/autoprobe.h"
#include "hook/steps/deadlines.h"
#include "hook/steps/ovs_marks.h"

namespace hook {

using base::Deadline;
using base::make_error;

namespace {
Result<std::optional<base::FileLock>> lock_now(const Store& store,
                                               const std::string& akey,
                                               Collected& out) {
    return unless_locked(store.lock_attachment(akey, Deadline::now()),
                         "attachment " + base::printable(akey),
                         out.locked);
}

// A port of ours without journal: the database outlives boots, and journals do not. Its marks may
// say anything.
Result<> collect_port(World& world, const netns::OvsPort& port, Collected& out) {
    const std::string akey = value_of(port.marks, kAttachmentMark);
    if (!is_attachment_key(akey))
        return {};
    const auto lock = TRY(lock_now(world.store, akey, out));
    if (!lock)
        return {};
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
    const auto lock = TRY(lock_now(store, *seen, out));
    const auto owner = store.files().read(path, kMaxStateFile);
    if (!lock || !owner || *owner != *seen || !orphaned(store, *owner))
        return {};
    return note_file(path, store.files().remove(path), out);
}

// A run of rdmactl that died has left it changed.
Result<> collect_autoprobe(World& world, const std::string& pf, Collected& out) {
    const Store& store = world.store;
    const auto lock = TRY(lock_now(store, kRdmactl, out));
    if (!lock)
        return {};
    return note_file("sriov_drivers_autoprobe of " + base::printable(pf),
                     restore_autoprobe(store, world.host.sriov, pf),
                     out);
}

Result<> collect_pin(World& world, const std::string& akey, Collected& out) {
    const Store& store = world.store;
    if (!orphaned(store, akey))
        return {};
    const auto lock = TRY(lock_now(store, akey, out));
    const std::string path = store.pin_path(akey);
    if (!lock || !orphaned(store, akey))
        return {};
    return note_file(path, world.host.namespaces.unpin(path), out);
}

// Of a container whose record is gone: attach.json, and its view of /sys/class. A start of the same
// bundle begins with the lock and a record.
Result<> collect_of_container(World& world,
                              const std::string& key,
                              const std::string& path,
                              Collected& out) {
    const Store& store = world.store;
    const auto lock = TRY(unless_locked(store.lock_container(key, Deadline::now()),
                                        "container " + base::printable(key),
                                        out.locked));
    const auto record = store.load_container(key);
    if (!lock || !record || *record)  // a record that cannot be read is one
        return {};
    return note_file(path, store.files().remove_tree(path), out);
}
}  // namespace

void note_trouble(const Result<>& done, Collected& out) {
    if (!done && std::ranges::find(out.trouble, done.error().message()) == out.trouble.end())
        out.trouble.push_back(done.error().message());
}

Result<std::optional<base::FileLock>> unless_locked(Result<base::FileLock> lock,
                                                    const std::string& name,
                                                    Locked& locked) {
    if (lock)
        return std::optional{*std::move(lock)};
    if (lock.error().code != base::Code::Busy)
        return std::move(lock).error();
    if (std::ranges::find(locked, name) == locked.end())
        locked.push_back(name);
    return std::optional<base::FileLock>{};
}

void collect_ports(World& world, Collected& out) {
    const auto marked = [&]() -> Result<std::vector<netns::OvsPort>> {
        if (!TRY(world.host.ovs.present()))
            return std::vector<netns::OvsPort>{};
        return world.host.ovs.list_ports(owner_marks(), Deadline::in(kOvsUndoTimeout));
    };
    const auto ports = marked();
    if (!ports)
        return note_trouble(ports.error(), out);
    for (const auto& port : *ports)
        note_trouble(collect_port(world, port, out), out);
}

void collect_nodes(World& world, Collected& out) {
    const auto look = [&](const GrantedNode& node) -> Result<> {
        const auto container = TRY(world.store.load_container(node.key));
        if (!container)
            return forget_nodes(world.store, node.key);
        if (!TRY(is_alive(world, *container)) || !TRY(is_stale(world.host, node)))
            return {};
        TRY(revoke(world, *container, node));
        return make_error(base::Code::Unavailable,
                          "RDMA device " + base::printable(node.device) + " of container " +
                              container->id + " is gone")
            .advise("restart the container");
    };
    const auto nodes = granted_nodes(world.store);
    if (!nodes)
        return note_trouble(nodes.error(), out);
    for (const GrantedNode& node : *nodes)
        note_trouble(look(node), out);
}

// Files in a folder whose owner is gone. A lease names its owner, and a temporary file its writer;
// the others are named after it.
void collect_files(World& world, Collected& out) {
    const Store& store = world.store;
    const auto each = [&](const Result<std::vector<std::string>>& names, const auto& collect) {
        if (!names)
            return note_trouble(names.error(), out);
        for (const std::string& name : *names)
            note_trouble(collect(name), out);
    };
    each(store.files().list(store.folder("leases")), [&](const std::string& name) {
        return collect_lease(world, store.lease_path(name), out);
    });
    each(store.files().list(store.folder(kAutoprobeFolder)),
         [&](const std::string& pf) { return collect_autoprobe(world, pf, out); });
    each(store.files().list(store.folder("netns")),
         [&](const std::string& akey) { return collect_pin(world, akey, out); });
    const auto records = store.container_keys();
    for (const char* folder : {"attach", "view"}) {
        each(store.files().list(store.folder(folder)), [&](const std::string& name) -> Result<> {
            const std::string key = name.substr(0, name.find('.'));
            if (!records || std::ranges::binary_search(*records, key))
                return {};
            return collect_of_container(world, key, store.folder(folder) + "/" + name, out);
        });
    }
    each(store.sweep(), [&](const std::string& path) { return note_file(path, {}, out); });
}

}  // namespace hook
