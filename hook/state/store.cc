// SPDX-License-Identifier: Apache-2.0
#include "hook/state/store.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "netns/base/ids.h"

namespace hook {

using base::FileLock;
using base::Json;
using base::JsonView;

namespace {
constexpr const char* kContainers = "containers";
constexpr const char* kPending = "pending";
constexpr const char* kJournals = "journals";
constexpr const char* kLocks = "locks";
constexpr const char* kFolders[] = {kContainers,
                                    kPending,
                                    kJournals,
                                    "netns",
                                    "leases",
                                    "nodes",
                                    "attach",
                                    "view",
                                    "errors",
                                    "eswitches",
                                    "autoprobe",
                                    kLocks};
constexpr std::string_view kSuffix = ".json";
// Kinds of locks.
constexpr char kContainer[] = "container";
constexpr char kAttachment[] = "attachment";
constexpr char kLeasesLock[] = "leases";

Result<std::vector<std::string>> stems(base::Files& files, const std::string& dir) {
    std::vector<std::string> keys;
    for (const std::string& name : TRY(files.list(dir))) {
        if (name.size() > kSuffix.size() && name.ends_with(kSuffix))
            keys.push_back(name.substr(0, name.size() - kSuffix.size()));
    }
    return keys;
}

std::string record_path(const Store& store, const char* folder, const std::string& key) {
    return store.folder(folder) + "/" + key + std::string(kSuffix);
}

// Returns the name of a lock's file. `name` may be foreign text, from the marks of a port or from a
// lease that somebody has written to: such a text is digested.
std::string lock_name(const char* kind, const std::string& name) {
    const bool is_safe = is_container_key(name) || is_attachment_key(name);
    return fmt::format("{}-{}", kind, is_safe ? name : base::sha256_hex(name));
}

constexpr size_t kUsualRecord = 512;

void put_token(std::string& text, const netns::ProcessToken& token) {
    base::append_member(text, "pid", token.pid);
    base::append_member(text, "start", token.start);
}

// Returns the text of a container's record.
std::string record_text(const Container& c) {
    std::string text = "{";
    text.reserve(kUsualRecord);
    base::append_member(text, "format", kFormat);
    base::append_member(text, "key", c.key);
    base::append_member(text, "bundle", c.bundle);
    base::append_member(text, "id", c.id);
    base::append_member(text, "attach", c.uuid);
    base::append_member(text, "committed", c.committed);
    put_token(text, c.token);
    base::append_member(text, "netns_path", c.netns_path);
    base::append_member(text, "attachments", c.attachments);
    base::append_member(text, "created", c.created);
    base::append_member(text, "created_uptime", c.created_uptime.count());
    if (c.running_init) {
        base::append_name(text, "running_init");
        text += '{';
        put_token(text, *c.running_init);
        text += '}';
    }
    if (!c.grants.empty()) {
        base::append_name(text, "grants");
        text += base::dump_json(c.grants);
    }
    if (!c.limits.empty()) {
        Json limits = Json::object();
        for (const auto& [akey, limit] : c.limits)
            limits[akey] = to_json(limit);
        base::append_name(text, "limits");
        text += base::dump_json(limits);
    }
    if (c.netns) {
        base::append_name(text, "netns");
        text += '{';
        base::append_member(text, "dev", c.netns->dev);
        base::append_member(text, "ino", c.netns->ino);
        text += '}';
    }
    text += '}';
    return text;
}

// Returns the elements of a member that is an array; none if it is missing.
Result<std::vector<JsonView>> elements_of(const JsonView& json, std::string_view name) {
    const auto list = json.find(name);
    if (list && !list->is_array())
        return make_error(Code::Internal, fmt::format("'{}' must be an array", name));
    return list ? list->elements() : std::vector<JsonView>{};
}

Result<netns::ProcessToken> load_token(const JsonView& json) {
    return netns::ProcessToken{TRY(base::required<pid_t>(json, "pid")),
                               TRY(base::required<uint64_t>(json, "start"))};
}

Result<std::map<std::string, Limits>> load_limits(const Json& json) {
    std::map<std::string, Limits> limits;
    if (!json.is_object())
        return make_error(Code::Internal, "'limits' must be an object");
    for (const auto& [akey, entry] : json.items()) {
        if (!entry.is_object())
            return make_error(Code::Internal, "'limits' must have objects");
        limits.emplace(akey, TRY(limits_from_json(entry, "limits")));
    }
    return limits;
}

Result<Container> load_record(const JsonView& json, const std::string& key) {
    TRY(check_format(json));
    Container c;
    c.key = TRY(base::required<std::string>(json, "key"));
    c.bundle = TRY(base::required<std::string>(json, "bundle"));
    c.id = TRY(base::required<std::string>(json, "id"));
    c.uuid = TRY(base::required<std::string>(json, "attach"));
    c.committed = TRY(base::required<bool>(json, "committed"));
    c.token = TRY(load_token(json));
    c.netns_path = TRY(base::required<std::string>(json, "netns_path"));
    c.created = TRY(base::required<int64_t>(json, "created"));
    c.created_uptime = std::chrono::seconds{TRY(base::required<int64_t>(json, "created_uptime"))};
    for (const JsonView& entry : TRY(elements_of(json, "attachments")))
        c.attachments.push_back(TRY(base::as<std::string>(entry, "attachments")));
    if (const auto init = json.find("running_init"))
        c.running_init = TRY(load_token(*init));
    for (const JsonView& step : TRY(elements_of(json, "grants")))
        c.grants.push_back(step.value());
    if (const auto limits = json.find("limits"))
        c.limits = TRY(load_limits(limits->value()));
    if (const auto ns = json.find("netns"))
        c.netns = netns::NetnsId{TRY(base::required<uint64_t>(*ns, "dev")),
                                 TRY(base::required<uint64_t>(*ns, "ino"))};
    TRY(check_key(json, key));
    return c;
}

bool is_hex(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
}  // namespace

std::string container_key(const std::string& bundle) {
    return base::sha256_hex(bundle);
}

bool is_container_key(std::string_view text) {
    constexpr size_t kKeySize = 64;
    return text.size() == kKeySize && is_hex(text);
}

std::string id_from_bundle(const std::string& bundle) {
    constexpr std::string_view kTail = "/userdata";
    constexpr size_t kIdSize = 64;
    if (!bundle.ends_with(kTail) || bundle.size() < kIdSize + kTail.size() + 1)
        return {};
    const std::string id = bundle.substr(bundle.size() - kTail.size() - kIdSize, kIdSize);
    const std::string before = bundle.substr(0, bundle.size() - kTail.size() - kIdSize);
    return is_hex(id) && before.ends_with("overlay-containers/") ? id : std::string{};
}

std::string attachment_key(netns::NetnsId ns, const std::string& interface) {
    // An interface name may hold any byte but '/' and space: the digest is safe in a path.
    return fmt::format("{:x}-{:x}-{}", ns.dev, ns.ino, base::sha256_hex(interface).substr(0, 12));
}

std::string file_name(std::string device) {
    std::ranges::replace(device, '/', '_');
    return device;
}

bool is_attachment_key(std::string_view text) {
    constexpr size_t kMost = 48;
    return text.size() <= kMost && std::ranges::count(text, '-') == 2 &&
           std::ranges::all_of(text, [](char c) {
               return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

Result<> Store::open() const {
    TRY(files_.make_dir(dir_));
    const auto there = TRY(files_.list(dir_));
    for (const char* name : kFolders) {
        if (std::find(there.begin(), there.end(), name) == there.end())
            TRY(files_.make_dir(folder(name)));
    }
    return {};
}

std::string Store::journal_path(const std::string& akey) const {
    return record_path(*this, kJournals, akey);
}

std::string Store::pin_path(const std::string& akey) const {
    return folder("netns") + "/" + akey;
}

std::string Store::lease_path(const std::string& name) const {
    return folder("leases") + "/" + name;
}

std::string Store::attach_path(const std::string& key) const {
    return record_path(*this, "attach", key);
}

std::string Store::view_path(const std::string& key) const {
    return folder("view") + "/" + key;
}

std::string Store::error_path(const std::string& key) const {
    return record_path(*this, "errors", key);
}

Result<FileLock> Store::lock(const char* kind,
                             const std::string& name,
                             Deadline deadline,
                             std::vector<std::string> guarded) const {
    auto lock = FileLock::acquire(
        folder(kLocks) + "/" + lock_name(kind, name), deadline, std::move(guarded));
    if (lock)
        return lock;
    const std::string what = fmt::format("{} {}", kind, base::printable(name));
    if (!base::is_missing(lock.error()))
        return std::move(lock).context(what);
    return std::move(lock).error().in(what).advise(
        "restart the containers that have RDMA: " + dir_ +
        " was deleted while they ran, and their devices go with their network namespaces");
}

Result<FileLock> Store::lock_container(const std::string& key, Deadline deadline) const {
    return lock(kContainer,
                key,
                deadline,
                {record_path(*this, kPending, key), record_path(*this, kContainers, key)});
}

Result<FileLock> Store::lock_attachment(const std::string& akey, Deadline deadline) const {
    return lock(kAttachment, akey, deadline, {journal_path(akey)});
}

Result<FileLock> Store::lock_leases(Deadline deadline) const {
    return FileLock::acquire(folder(kLocks) + "/" + kLeasesLock, deadline, {folder(kLocks)});
}

Result<std::optional<Container>> Store::load_container(const std::string& key) const {
    // A commit writes to containers/ and then removes from pending/. A reader between the two, in
    // this order, finds the container at the third look at the latest.
    return find_container(key, {kContainers, kPending, kContainers});
}

Result<std::optional<Container>> Store::load_container(const std::string& key,
                                                       const FileLock& /*held*/) const {
    return find_container(key, {kContainers, kPending});
}

Result<std::optional<Container>> Store::find_container(
    const std::string& key, std::initializer_list<const char*> folders) const {
    for (const char* where : folders) {
        const std::string path = record_path(*this, where, key);
        const auto text = files_.read(path, kMaxStateFile);
        if (!text && base::is_missing(text.error()))
            continue;
        if (!text)
            return text.error();
        const auto nodes = TRY(base::scan_json(*text, path));
        return std::optional{TRY(load_record(JsonView(*text, nodes), key).context(path))};
    }
    return std::optional<Container>{};
}

Result<std::vector<Container>> Store::load_by_id(const std::string& id) const {
    std::vector<Container> found;
    const auto keys = container_keys();
    if (!keys && base::is_missing(keys.error()))
        return found;  // nothing was attached since the boot
    for (const std::string& key : TRY(keys)) {
        auto container = load_container(key);
        if (container && *container && (*container)->id == id)
            found.push_back(**std::move(container));
    }
    return found;
}

Result<> Store::save_container(const Container& container) const {
    const std::string text = record_text(container);
    if (!container.committed)
        return files_.write(record_path(*this, kPending, container.key), text);
    // The record is written before the pending one goes: the container has a record at every
    // moment.
    TRY(files_.write(record_path(*this, kContainers, container.key), text));
    return files_.remove(record_path(*this, kPending, container.key));
}

Result<> Store::reopen_container(const Container& container) const {
    TRY(save_container(container));
    return files_.remove(record_path(*this, kContainers, container.key));
}

Result<> Store::remove_container(const std::string& key) const {
    TRY(files_.remove(attach_path(key)));
    TRY(files_.remove_tree(view_path(key)));
    TRY(files_.remove(record_path(*this, kPending, key)));
    return files_.remove(record_path(*this, kContainers, key));
}

Result<std::vector<std::string>> Store::pending_keys() const {
    return stems(files_, folder(kPending));
}

Result<std::vector<std::string>> Store::container_keys() const {
    const auto committed = TRY(stems(files_, folder(kContainers)));
    const auto pending = TRY(stems(files_, folder(kPending)));
    std::set<std::string> all(committed.begin(), committed.end());
    all.insert(pending.begin(), pending.end());
    return std::vector<std::string>(all.begin(), all.end());
}

Result<std::vector<std::string>> Store::journal_keys() const {
    return stems(files_, folder(kJournals));
}

Result<> check_same_format(int format) {
    if (format == kFormat)
        return {};
    return make_error(
               Code::Internal,
               fmt::format(
                   "it is of format {}, and this is a rdma-hook of format {}", format, kFormat))
        .advise("run rdmactl gc of the version that wrote it");
}

Result<> check_arrays(const Json& json, std::initializer_list<const char*> members) {
    for (const char* name : members) {
        if (json.contains(name) && !json[name].is_array())
            return make_error(Code::Internal, fmt::format("'{}' must be an array", name));
    }
    return {};
}

Result<> check_same_key(std::string_view found, std::string_view key) {
    if (found == key)
        return {};
    return make_error(Code::Internal, "its contents belong to another key than its name says")
        .advise("rename it back, then run: rdmactl gc");
}

Result<base::Json> Store::read_json(const std::string& path) const {
    return base::parse_json(TRY(files_.read(path, kMaxStateFile)), path);
}

Result<std::vector<std::string>> Store::sweep() const {
    std::vector<std::string> swept;
    for (const char* name : kFolders) {
        for (std::string& path : TRY(files_.sweep(folder(name))))
            swept.push_back(std::move(path));
    }
    std::set<std::string> locks = {kLeasesLock};
    for (const std::string& key : TRY(container_keys()))
        locks.insert(lock_name(kContainer, key));
    for (const std::string& akey : TRY(journal_keys()))
        locks.insert(lock_name(kAttachment, akey));
    for (const std::string& name : TRY(files_.list(folder(kLocks)))) {
        if (locks.contains(name))
            continue;
        // The lock's file goes with the lock.
        const auto held = FileLock::acquire(folder(kLocks) + "/" + name, Deadline::now());
        if (!held && held.error().code != Code::Busy)
            return held.error();
    }
    return swept;
}

Json to_json(const Container& container) {
    return base::parse_json(record_text(container), "a record").value();
}

}  // namespace hook
