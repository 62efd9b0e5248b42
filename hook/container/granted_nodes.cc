// SPDX-License-Identifier: Apache-2.0
#include "hook/container/granted_nodes.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "hook/container/end.h"
#include "hook/steps/running.h"
#include "netns/device_cgroup.h"

namespace hook {

namespace {
// Returns the file's name, "231:192-KEY".
std::string file_of(const netns::DeviceNumber& number, const std::string& key) {
    return fmt::format("{}:{}-{}", number.major, number.minor, key);
}

// Returns nothing for a name of another form.
std::optional<GrantedNode> parse_name(std::string_view name) {
    GrantedNode node;
    const auto number = [&](uint32_t& value, char end) {
        const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), value);
        const auto used = static_cast<size_t>(stop - name.data());
        if (error != std::errc{} || used >= name.size() || *stop != end)
            return false;
        name.remove_prefix(used + 1);
        return true;
    };
    if (!number(node.number.major, ':') || !number(node.number.minor, '-') || name.empty())
        return std::nullopt;
    node.key = name;
    return node;
}

// Reads the files whose names (a number and a container's key) are `wanted`, and no others.
template <typename Wanted>
Result<std::vector<GrantedNode>> read_nodes(const Store& store, const Wanted& wanted) {
    std::vector<GrantedNode> nodes;
    const std::string folder = store.folder("nodes");
    for (const std::string& name : TRY(store.files().list(folder))) {
        auto node = parse_name(name);
        if (!node || !wanted(*node))
            continue;
        const std::string path = folder + "/" + name;
        const auto text = store.files().read(path, kMaxStateFile);
        if (!text && base::is_missing(text.error()))
            continue;  // the container has just gone
        const Json json = TRY(base::parse_json(TRY(text), path));
        node->device = TRY(base::required<std::string>(json, "device").context(path));
        node->node_guid = TRY(base::required<uint64_t>(json, "node_guid").context(path));
        if (json.contains("index"))
            node->index = TRY(base::required<uint32_t>(json, "index").context(path));
        nodes.push_back(*std::move(node));
    }
    return nodes;
}

// True if the device is the one that was granted. A GUID outlives its driver; without one, a device
// that its driver made again is another.
bool is_granted(const netns::RdmaDevice& device, const GrantedNode& node) {
    return device.node_guid == node.node_guid &&
           (node.node_guid != 0 || node.index.value_or(device.index) == device.index);
}
}  // namespace

Result<> note_nodes(const Context& context,
                    const std::string& key,
                    const std::vector<Granted>& granted) {
    const auto note_node = [&](const netns::RdmaDevice& device,
                               const netns::DeviceNumber& number) -> Result<> {
        const Store& store = context.store;
        const auto has_number = [&](const GrantedNode& node) {
            return node.key != key && node.number == number;
        };
        for (const GrantedNode& other : TRY(read_nodes(store, has_number))) {
            if (is_granted(device, other))
                continue;  // all that share a device have its number
            const auto container = TRY(store.load_container(other.key));
            if (container && TRY(is_alive(context, *container)))
                TRY(revoke(context, *container, other));
        }
        const Json json = base::object(
            {{"device", device.name}, {"node_guid", device.node_guid}, {"index", device.index}});
        return store.files().write(store.folder("nodes") + "/" + file_of(number, key),
                                   base::dump_json(json));
    };
    for (const Granted& g : granted) {
        for (const netns::CharDevice& node : device_nodes(g))
            TRY(note_node(g.device, {node.major, node.minor}));
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
    return read_nodes(store,
                      [&](const GrantedNode& node) { return key.empty() || node.key == key; });
}

Result<> forget_nodes(const Store& store, const std::string& key) {
    const std::string folder = store.folder("nodes");
    for (const std::string& name : TRY(store.files().list(folder))) {
        const auto node = parse_name(name);
        if (node && node->key == key)
            TRY(store.files().remove(folder + "/" + name));
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
