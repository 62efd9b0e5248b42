// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/oci/spec.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "netns/base/json_kept.h"
#include "runtime-config/oci/spec_check.h"

namespace oci {

using base::Code;
using base::make_error;
using base::printable;

namespace {
constexpr char kMemlock[] = "RLIMIT_MEMLOCK";

// Members that nothing here edits, wherever they are: most of an engine's config.json. Of them only
// the sets of capabilities are read.
constexpr std::string_view kKept[] = {"ambient",
                                      "args",
                                      "bounding",
                                      "effective",
                                      "inheritable",
                                      "maskedPaths",
                                      "options",
                                      "permitted",
                                      "readonlyPaths",
                                      "seccomp",
                                      "sysctl"};
constexpr char kMountOptions[] = R"(["bind","ro","nosuid","nodev","noexec"])";

// Returns the member to edit; makes it if it is absent or null. check_spec has checked its type.
Json& section(Json& object, const char* key, Json::value_t type) {
    Json& value = object[key];
    if (value.is_null())
        value = Json(type);
    return value;
}

Json& object_in(Json& object, const char* key) {
    return section(object, key, Json::value_t::object);
}

Json& list_in(Json& object, const char* key) {
    return section(object, key, Json::value_t::array);
}

std::string_view text_of(const Json* value) {
    return value != nullptr ? value->get_ref<const std::string&>() : std::string_view{};
}

// Returns the names of a set of capabilities, in capitals as engines write them: crun (libcap) ignores
// case.
std::vector<std::string> names_of(const Json& set) {
    std::vector<std::string> names;
    const base::KeptView kept(set);
    for (const base::JsonView& entry : kept.view().elements()) {
        std::string name = entry.get<std::string>().value_or("");
        std::ranges::transform(name, name.begin(), [](char c) {
            return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        });
        names.push_back(std::move(name));
    }
    return names;
}

bool has_sys_admin(const Json* set) {
    if (set == nullptr)
        return false;
    const auto names = names_of(*set);
    return std::ranges::find(names, "CAP_SYS_ADMIN") != names.end();
}

template <class Match>
const Json* find_item(const Json* list, Match match) {
    if (list == nullptr)
        return nullptr;
    const auto it = std::find_if(list->begin(), list->end(), match);
    return it == list->end() ? nullptr : &*it;
}

const Json* find_typed(const Json* list, std::string_view type) {
    return find_item(list,
                     [&](const Json& item) { return text_of(member(&item, "type")) == type; });
}

const Json* find_namespace(const Json& tree, std::string_view type) {
    return find_typed(member(member(&tree, "linux"), "namespaces"), type);
}

const Json* find_memlock(const Json& tree) {
    return find_typed(member(member(&tree, "process"), "rlimits"), kMemlock);
}

void add_once(Json& list, Json item) {
    if (std::find(list.begin(), list.end(), item) == list.end())
        list.push_back(std::move(item));
}

// Podman writes some keys of CRI-O, too (libpod and kube play; there followed by "/NAME"). CRI-O
// never writes only these.
bool is_podmans(std::string_view key) {
    constexpr std::string_view kKeys[] = {"io.kubernetes.cri-o.Created",
                                          "io.kubernetes.cri-o.TTY",
                                          "io.kubernetes.cri-o.SandboxID",
                                          "io.kubernetes.cri-o.ContainerType"};
    return std::ranges::find(kKeys, key.substr(0, key.find('/'))) != std::end(kKeys);
}

// Returns whether the path is absolute, and each of its parts is a name: none is empty, "." or "..".
bool is_normal(std::string_view path) {
    if (!path.starts_with('/'))
        return false;
    for (size_t at = 1; at < path.size();) {
        const size_t end = std::min(path.find('/', at), path.size());
        const std::string_view part = path.substr(at, end - at);
        if (part.empty() || part == "." || part == "..")
            return false;
        at = end + 1;
    }
    return true;
}

std::string normal(std::string_view path) {
    return is_normal(path) ? std::string(path)
                           : std::filesystem::path(path).lexically_normal().string();
}

// Returns whether a path is a folder or below it. Both are normal, with or without a slash at the end.
bool is_below(std::string_view path, std::string_view folder) {
    if (folder.ends_with('/'))
        folder.remove_suffix(1);
    return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// Returns the source of a mount with a slash at its end; empty: it has none.
std::string source_of(const Json& mount) {
    const std::string source = normal(text_of(member(&mount, "source")));
    if (source.empty() || source.ends_with('/'))  // libstdc++ leaves a path of slashes as it is
        return source.find_first_not_of('/') == std::string::npos ? source.substr(0, 1) : source;
    return source + "/";
}

// Returns whether Podman says so. Rootless, it writes no device rules that would show it.
bool is_privileged_to_podman(const Json& tree) {
    return text_of(member(member(&tree, "annotations"), "io.podman.annotations.privileged")) ==
           "TRUE";
}

bool is_same_device(const Json& entry, const DeviceNode& node) {
    const std::string_view type = text_of(member(&entry, "type"));
    const Json* major = member(&entry, "major");
    const Json* minor = member(&entry, "minor");
    return (type == "c" || type == "u") && major != nullptr && minor != nullptr &&
           major->get<int64_t>() == node.major && minor->get<int64_t>() == node.minor;
}

const Json* device_rules(const Json& tree) {
    return member(member(member(&tree, "linux"), "resources"), "devices");
}

// Returns the number as runtimes pass it to mknod(2).
uint32_t number_of(const Json& entry, const char* key) {
    const Json* value = member(&entry, key);
    return value != nullptr ? static_cast<uint32_t>(value->get<int64_t>()) : 0;
}

// Returns the character devices of linux.devices.
std::vector<DeviceNode> character_devices(const Json& tree) {
    std::vector<DeviceNode> nodes;
    const Json* devices = member(member(&tree, "linux"), "devices");
    for (size_t i = 0; devices != nullptr && i < devices->size(); ++i) {
        const Json& entry = (*devices)[i];
        const std::string_view type = text_of(member(&entry, "type"));
        if (type == "c" || type == "u")
            nodes.push_back({.path = std::string(text_of(member(&entry, "path"))),
                             .major = number_of(entry, "major"),
                             .minor = number_of(entry, "minor")});
    }
    return nodes;
}

// A program may use nodes elsewhere, so the folder proves little. But a node in it counts as
// RDMA's, so that there is no doubt about it.
bool is_rdma_node(const DeviceNode& node, const std::vector<uint32_t>& majors) {
    const std::string path = normal(node.path);
    return is_rdma_major(node.major, majors) ||
           (path.starts_with("/dev/infiniband/") && path != "/dev/infiniband/rdma_cm");
}
}  // namespace

Result<Spec> Spec::parse(std::string_view text) {
    Spec spec = TRY(parse_annotations(text));
    TRY(spec.check());
    return spec;
}

Result<> Spec::check() const {
    return check_spec(tree_);
}

Result<Spec> Spec::parse_annotations(std::string_view text) {
    if (text.size() > kMaxSpecBytes)
        return make_error(Code::BadInput,
                          fmt::format("config.json is larger than {} bytes", kMaxSpecBytes))
            .advise("report it to the engine that wrote this config.json");
    Json tree = TRY(base::parse_json_keeping(kKept, text, "config.json"));
    TRY(check_annotations(tree));
    return Spec(std::move(tree));
}

std::string Spec::text() const {
    return base::dump_json(tree_);
}

std::map<std::string, std::string> Spec::annotations() const {
    std::map<std::string, std::string> all;
    if (const Json* list = member(&tree_, "annotations")) {
        for (const auto& [key, value] : list->items())
            all.emplace(key, value.get<std::string>());
    }
    return all;
}

Network Spec::network() const {
    const Json* entry = find_namespace(tree_, "network");
    if (entry == nullptr)
        return {.kind = Network::Kind::Host, .path = ""};
    std::string path(text_of(member(entry, "path")));
    const auto kind = path.empty() ? Network::Kind::Private : Network::Kind::Path;
    return {.kind = kind, .path = std::move(path)};
}

bool Spec::has_user_namespace() const {
    return find_namespace(tree_, "user") != nullptr;
}

bool Spec::privileged() const {
    const Json* bounding = member(member(member(&tree_, "process"), "capabilities"), "bounding");
    return allows_all_devices(device_rules(tree_)).value_or(false) && has_sys_admin(bounding);
}

bool Spec::denies_devices() const {
    return !allows_all_devices(device_rules(tree_)).value_or(true);
}

std::vector<std::string> Spec::capabilities() const {
    std::set<std::string> all;
    const Json* sets = member(member(&tree_, "process"), "capabilities");
    const Json* last = nullptr;
    for (const char* set : kCapabilitySets) {
        const Json* list = member(sets, set);
        if (list == nullptr || (last != nullptr && *list == *last))
            continue;  // engines write most sets alike
        for (std::string& name : names_of(*list))
            all.insert(std::move(name));
        last = list;
    }
    return {all.begin(), all.end()};
}

bool Spec::has_dynamic_majors() const {
    const auto nodes = character_devices(tree_);
    return opens_dynamic_majors(device_rules(tree_)) ||
           std::ranges::any_of(nodes, is_dynamic_major, &DeviceNode::major);
}

std::vector<DeviceNode> Spec::rdma_nodes(const std::vector<uint32_t>& majors) const {
    if (privileged())
        return {};
    std::vector<DeviceNode> nodes = character_devices(tree_);
    std::erase_if(nodes, [&](const DeviceNode& node) { return !is_rdma_node(node, majors); });
    return nodes;
}

std::set<DeviceRange> Spec::rdma_rules(const std::vector<uint32_t>& majors) const {
    if (privileged())
        return {};
    auto opened = opened_rdma(device_rules(tree_), majors);
    // Engines add a rule for each node.
    for (const DeviceNode& node : character_devices(tree_))
        opened.erase({.major = node.major, .minor = node.minor});
    return opened;
}

std::string Spec::cpus() const {
    return std::string(
        text_of(member(member(member(member(&tree_, "linux"), "resources"), "cpu"), "cpus")));
}

bool Spec::binds_rdma_nodes() const {
    return find_item(member(&tree_, "mounts"), [](const Json& mount) {
               const std::string source = source_of(mount);
               return source == "/" || source == "/dev/" || source.starts_with("/dev/infiniband/");
           }) != nullptr;
}

bool Spec::has_own_sysfs(bool rootless) const {
    bool found = false;
    const Json none = Json::array();
    const Json* mounts = member(&tree_, "mounts");
    for (const Json& mount : mounts == nullptr ? none : *mounts) {
        const std::string place = normal(std::string(text_of(member(&mount, "destination"))) + "/");
        if (place == "/sys/")
            found = text_of(member(&mount, "type")) == "sysfs" ||
                    (rootless && source_of(mount) == "/sys/");
        if (place.starts_with("/sys/class/") || place.starts_with("/sys/devices/"))
            return false;
    }
    return found && !privileged() && !(rootless && is_privileged_to_podman(tree_));
}

std::string Spec::root(const std::string& bundle) const {
    const Json* path = member(member(&tree_, "root"), "path");
    const std::string text = path != nullptr && path->is_string() ? path->get<std::string>() : "";
    return text.empty() || text.starts_with('/') ? text : bundle + "/" + text;
}

bool Spec::mounts_near(const std::string& path) const {
    const std::string wanted = normal(path);
    return find_item(member(&tree_, "mounts"), [&](const Json& mount) {
               const std::string_view text = text_of(member(&mount, "destination"));
               const std::string made =
                   is_normal(text)
                       ? ""
                       : normal((text.starts_with('/') ? "" : "/") + std::string(text) + "/");
               const std::string_view place = made.empty() ? text : made;
               return place != "/" && (is_below(wanted, place) || is_below(place, wanted));
           }) != nullptr;
}

std::string Spec::mount_label() const {
    return std::string(text_of(member(member(&tree_, "linux"), "mountLabel")));
}

// Decides by keys that the engines and the kubelet write: a pod's author adds annotations and
// removes none. CRI-O passes all annotations of a pod on, so no single value proves another engine.
std::string_view Spec::pods_engine() const {
    std::string_view engine = "";
    const Json* all = member(&tree_, "annotations");
    const Json none = Json::object();
    for (const auto& [key, value] : (all == nullptr ? none : *all).items()) {
        if ((key == "io.container.manager" && text_of(&value) == "cri-o") ||
            (key.starts_with("io.kubernetes.cri-o.") && !is_podmans(key)))
            return "crio";
        if (key.starts_with("io.kubernetes.") && !is_podmans(key))
            engine = "containerd";
    }
    const Json* cgroup = member(member(&tree_, "linux"), "cgroupsPath");
    const bool in_pod = cgroup != nullptr && cgroup->is_string() &&
                        cgroup->get_ref<const std::string&>().find("kubepods") != std::string::npos;
    return in_pod && engine.empty() ? "containerd" : engine;
}

bool Spec::redirects_hook_output() const {
    const Json* all = member(&tree_, "annotations");
    return member(all, "run.oci.hooks.stdout") != nullptr ||
           member(all, "run.oci.hooks.stderr") != nullptr;
}

void Spec::set_network_path(const std::string& path) {
    Json& list = list_in(object_in(tree_, "linux"), "namespaces");
    for (Json& entry : list) {
        if (text_of(member(&entry, "type")) == "network") {
            entry["path"] = path;
            return;
        }
    }
    list.push_back({{"type", "network"}, {"path", path}});
}

Result<> Spec::add_device(const DeviceNode& node) {
    Json& section = object_in(tree_, "linux");
    Json& devices = list_in(section, "devices");
    const Json* there = find_item(&devices, [&](const Json& entry) {
        return normal(text_of(member(&entry, "path"))) == normal(node.path);
    });
    if (there != nullptr && !is_same_device(*there, node))
        return make_error(Code::Refused,
                          fmt::format("config.json has another device at {}: {}",
                                      printable(node.path),
                                      printable(base::dump_json(*there))))
            .advise("do not pass --device for a node that rdma.* annotations bring");
    if (there == nullptr)
        devices.push_back(base::object({{"path", node.path},
                                        {"type", "c"},
                                        {"major", node.major},
                                        {"minor", node.minor},
                                        {"fileMode", 0666},
                                        {"uid", 0},
                                        {"gid", 0}}));
    Json& rules = list_in(object_in(section, "resources"), "devices");
    if (!allows_device(&rules, node.major, node.minor))
        rules.push_back(base::object({{"allow", true},
                                      {"type", "c"},
                                      {"major", node.major},
                                      {"minor", node.minor},
                                      {"access", "rw"}}));
    return {};
}

bool Spec::has_memlock() const {
    return find_memlock(tree_) != nullptr;
}

void Spec::set_memlock(uint64_t bytes, bool replace) {
    if (has_memlock() && !replace)
        return;
    Json& rlimits = list_in(object_in(tree_, "process"), "rlimits");
    for (Json& entry : rlimits) {
        if (text_of(member(&entry, "type")) == kMemlock) {
            entry["hard"] = bytes;
            entry["soft"] = bytes;
            return;
        }
    }
    rlimits.push_back(base::object({{"type", kMemlock}, {"hard", bytes}, {"soft", bytes}}));
}

void Spec::add_env(const std::string& name, const std::string& value) {
    const std::string start = name + "=";
    Json& env = list_in(object_in(tree_, "process"), "env");
    const Json* there = find_item(&env, [&](const Json& entry) {
        return entry.get_ref<const std::string&>().starts_with(start);
    });
    if (there == nullptr)
        env.push_back(start + value);
}

void Spec::add_file_mount(const std::string& host_path, const std::string& container_path) {
    add_once(list_in(tree_, "mounts"),
             base::object({{"destination", container_path},
                           {"type", "bind"},
                           {"source", host_path},
                           {"options", base::kept_json(kMountOptions)}}));
}

void Spec::add_hook(const std::string& stage, const Hook& hook) {
    std::string args;
    base::append_json(args, hook.args);
    Json entry = base::object(
        {{"path", hook.path}, {"args", base::kept_json(args)}, {"env", Json::array({kHookPath})}});
    if (hook.timeout_s != 0)
        entry["timeout"] = hook.timeout_s;
    add_once(list_in(object_in(tree_, "hooks"), stage.c_str()), std::move(entry));
}

void Spec::set_annotation(const std::string& key, const std::string& value) {
    object_in(tree_, "annotations")[key] = value;
}

}  // namespace oci
