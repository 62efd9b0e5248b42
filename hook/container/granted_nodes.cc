// SPDX-License-Identifier: Apache-2.0
#include "hook/container/granted_nodes.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "hook/container/end.h"
#include "hook/steps/running.h"
#include "netns/device_cgroup.h"
#include "netns/rdma.h"

namespace hook {

namespace {
// Returns the file's name, "231:192:9c63c003001f8a02:3-KEY": the number, then the RDMA device's node
// GUID and index.
std::string name_of(const GrantedNode& node) {
    return fmt::format("{}:{}:{:016x}:{}-{}",
                       node.number.major,
                       node.number.minor,
                       node.node_guid,
                       node.index.value_or(0),
                       node.key);
}

// Returns nothing for a name of another form. An earlier version's name has no GUID and no index.
std::optional<GrantedNode> parse_name(std::string_view name) {
    GrantedNode node;
    const auto number = [&](auto& value, char end, int base = 10) {
        const auto [stop, error] =
            std::from_chars(name.data(), name.data() + name.size(), value, base);
        const auto used = static_cast<size_t>(stop - name.data());
        if (error != std::errc{} || used >= name.size() || *stop != end)
            return false;
        name.remove_prefix(used + 1);
        return true;
    };
    if (!number(node.number.major, ':'))
        return std::nullopt;
    if (!number(node.number.minor, '-')) {
        const bool whole = number(node.number.minor, ':') && number(node.node_guid, ':', 16) &&
                           number(node.index.emplace(), '-');
        if (!whole)
            return std::nullopt;
    }
    if (name.empty())
        return std::nullopt;
    node.key = name;
    return node;
}

std::string path_of(const Store& store, const std::string& file) {
    return store.folder("nodes") + "/" + file;
}

// Returns what the names of the files say: of an earlier version's no device.
Result<std::vector<GrantedNode>> list_nodes(const Store& store) {
    std::vector<GrantedNode> nodes;
    for (const std::string& file : TRY(store.files().list(store.folder("nodes")))) {
        auto node = parse_name(file);
        if (!node)
            continue;
        node->file = file;
        nodes.push_back(*std::move(node));
    }
    return nodes;
}

// Reads what the name does not say. False: the container has just gone.
Result<bool> read_node(const Store& store, GrantedNode& node) {
    const std::string path = path_of(store, node.file);
    const auto text = store.files().read(path, kMaxStateFile);
    if (!text && base::is_missing(text.error()))
        return false;
    const Json json = TRY(base::parse_json(TRY(text), path));
    node.device = TRY(base::required<std::string>(json, "device").context(path));
    if (json.contains("node_guid"))  // an earlier version's
        node.node_guid = TRY(base::required<uint64_t>(json, "node_guid").context(path));
    if (json.contains("index"))
        node.index = TRY(base::required<uint32_t>(json, "index").context(path));
    return true;
}

// True if the device is the one that was granted. A GUID outlives its driver; without one, a device
// that its driver made again is another.
bool is_granted(const netns::RdmaDevice& device, const GrantedNode& node) {
    return device.node_guid == node.node_guid &&
           (node.node_guid != 0 || node.index.value_or(device.index) == device.index);
}

// Takes the number from a living container if the number was another device's.
Result<> end_earlier_grant(const Context& context,
                           const netns::RdmaDevice& device,
                           GrantedNode node) {
    // All that share a device have its number: of those nothing is read.
    const auto is_same = [&] { return node.index && is_granted(device, node); };
    if (is_same() || !TRY(read_node(context.store, node)) || is_granted(device, node))
        return {};
    const auto container = TRY(context.store.load_container(node.key));
    if (container && TRY(is_alive(context, *container)))
        TRY(revoke(context, *container, node));
    return {};
}
}  // namespace

Result<> note_nodes(const Context& context,
                    const std::string& key,
                    const std::vector<Granted>& granted) {
    const Store& store = context.store;
    const auto noted = TRY(list_nodes(store));
    for (const Granted& g : granted) {
        for (const netns::CharDevice& char_device : device_nodes(g)) {
            GrantedNode node{.key = key,
                             .number = {char_device.major, char_device.minor},
                             .device = g.device.name,
                             .node_guid = g.device.node_guid,
                             .index = g.device.index,
                             .file = {}};
            node.file = name_of(node);
            for (const GrantedNode& other : noted) {
                if (other.number == node.number && other.key != key)
                    TRY(end_earlier_grant(context, g.device, other));
            }
            TRY(store.files().write(path_of(store, node.file),
                                    base::dump_json(base::object({{"device", node.device}}))));
        }
    }
    return {};
}

Result<> revoke(const Context& context, const Container& container, const GrantedNode& node) {
    const bool is_live = std::ranges::any_of(container.grants, [](const Json& step) {
        const auto kind = base::required<std::string>(step, "kind");
        return kind && *kind == AllowDevice::kKind;
    });
    if (is_live)
        return context.host.device_cgroups.forbid(container.token, node.number);
    return make_error(Code::Busy,
                      fmt::format("container {} may open device {}:{}, which was a node of its "
                                  "RDMA device {} and is not any more",
                                  container.id,
                                  node.number.major,
                                  node.number.minor,
                                  printable(node.device)))
        .advise("restart that container");
}

Result<std::vector<GrantedNode>> granted_nodes(const Store& store, const std::string& key) {
    std::vector<GrantedNode> nodes;
    for (GrantedNode& node : TRY(list_nodes(store))) {
        if ((key.empty() || node.key == key) && TRY(read_node(store, node)))
            nodes.push_back(std::move(node));
    }
    return nodes;
}

Result<> forget_nodes(const Store& store, const std::string& key) {
    for (const GrantedNode& node : TRY(list_nodes(store))) {
        if (node.key == key)
            TRY(store.files().remove(path_of(store, node.file)));
    }
    return {};
}

Result<bool> is_stale(netns::Host& host, const GrantedNode& node) {
    const auto name = TRY(host.rdma.device_of_node(node.number));
    if (!name)
        return true;
    // Where the host does not see the device (RDMA netns mode exclusive), the name decides.
    const auto device = TRY(host.rdma.find_by_name(TRY(host.namespaces.current()), *name));
    return device ? !is_granted(*device, node) : *name != node.device;
}

}  // namespace hook
