// SPDX-License-Identifier: Apache-2.0
#include "hook/leftovers.h"

#include <algorithm>

#include "hook/ovs_marks.h"
#include "hook/steps/deadlines.h"

namespace hook {

using base::Deadline;

namespace {
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
}  // namespace

void note_trouble(const Result<>& done, Collected& out) {
    if (!done && std::ranges::find(out.trouble, done.error().message()) == out.trouble.end())
        out.trouble.push_back(done.error().message());
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
    each(store.files().list(store.folder("netns")),
         [&](const std::string& akey) { return collect_pin(world, akey, out); });
    each(store.sweep(), [&](const std::string& path) { return note_file(path, {}, out); });
}

}  // namespace hook
