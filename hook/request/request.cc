// SPDX-License-Identifier: Apache-2.0
// The way from annotations to a Request, in three passes. They look at each key by itself, each
// attachment with its mode and pool, and all attachments beside each other.
// budget: one story.
#include "hook/request/request.h"

#include <algorithm>
#include <span>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hook {

using netns::Address;

namespace {
constexpr std::string_view kPrefix = "rdma.";
// IPv6 does not run over less (RFC 8200, 5): the kernel takes the addresses away, and GIDs go too.
constexpr uint32_t kMinMtuV6 = 1280;
// Keys for an interface that rdma-hook makes.
constexpr std::string_view kOfInterface[] = {"ip", "gateway", "routes", "mac", "mtu", "ifname"};

Error bad_input(std::string what, std::string fix) {
    return make_error(Code::BadInput, std::move(what)).advise(std::move(fix));
}

Error refused(std::string what, std::string fix) {
    return make_error(Code::Refused, std::move(what)).advise(std::move(fix));
}

// Matches exactly ^rdma\.([0-9]+\.)?[^/]*$: a key with a slash belongs to somebody else.
bool is_ours(std::string_view key) {
    return key.starts_with(kPrefix) && key.find('/') == std::string_view::npos;
}

struct SplitKey {
    unsigned index = 0;
    std::string_view name;
};

// Splits "rdma.2.mode": an index is digits with a dot behind them, nothing else.
Result<SplitKey> split(const Given& given) {
    const std::string_view rest = std::string_view(given.annotation).substr(kPrefix.size());
    const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (digits == 0 || digits == rest.size() || rest[digits] != '.')
        return SplitKey{.index = 0, .name = rest};
    const auto index = parse_number(rest.substr(0, digits));
    if (!index || *index > kMaxIndex)
        return bad_input(
            fmt::format(
                "{} has the bad index '{}'", given.text(), printable(rest.substr(0, digits), 20)),
            "use an index from 0 to 15 without leading zeros");
    return SplitKey{.index = static_cast<unsigned>(*index), .name = rest.substr(digits + 1)};
}

Error unknown_key(const Given& given, const SplitKey& key) {
    const auto known = key_names();
    // A key with a part too many ("rdma.x.mtu") is nearest by its last part.
    const auto last = key.name.substr(key.name.rfind('.') + 1);
    return bad_input(
        "unknown annotation " + given.text(),
        fmt::format(
            "did you mean rdma.{}? known keys: {}", nearest(last, known), fmt::join(known, ", ")));
}

Result<> add(const Given& given, ParsedAnnotations& all) {
    const SplitKey parts = TRY(split(given));
    const Key* key = find_key(parts.name);
    if (key == nullptr)
        return unknown_key(given, parts);
    const bool of_container = key->reach == Key::Reach::Container;
    if (of_container && parts.index != 0)
        return bad_input(given.text() + " has an index, but holds for the whole container",
                         fmt::format("set rdma.{} instead", key->name));
    ParsedKeys& parsed = of_container ? all.container : all.attachments[parts.index];
    if (parsed.has(key->name))
        return bad_input(
            fmt::format("{} and {} set the same thing", given.text(), parsed.text(key->name)),
            fmt::format(
                "remove one of them: rdma.{} is short for rdma.0.{}", key->name, key->name));
    parsed.values.index = parts.index;
    parsed.given.emplace(key->name, given);
    return parse_value(*key, given.annotation, given.value, parsed.values);
}

// One attachment in the making: first the values of its annotations, then those of its pool.
struct Making {
    const ParsedKeys& parsed;
    const Config& config;
    const ModeInfo* mode = nullptr;
    const Pool* pool = nullptr;
    KeyValues values = parsed.values;

    [[nodiscard]] bool has(std::string_view key) const { return parsed.has(key); }

    [[nodiscard]] std::string name(std::string_view key) const { return parsed.name(key); }

    [[nodiscard]] std::string text(std::string_view key) const { return parsed.text(key); }

    // Returns whether the annotation or the pool's defaults set the key.
    [[nodiscard]] bool says(std::string_view key) const {
        return has(key) || (pool != nullptr && pool->defaults.contains(std::string(key)));
    }

    [[nodiscard]] bool on_container_link() const { return values.parent == kContainerParent; }

    [[nodiscard]] bool makes_interface() const {
        return !stays_on_host(values) && !on_container_link();
    }

    [[nodiscard]] bool has_range() const { return pool != nullptr && !pool->ranges.empty(); }
};

Result<> find_mode_of(Making& making) {
    const auto known = mode_names();
    if (!making.has("mode"))
        return bad_input(
            fmt::format("{} is missing beside {}",
                        making.name("mode"),
                        making.parsed.given.begin()->second.text()),
            fmt::format("set {} to one of {}", making.name("mode"), fmt::join(known, ", ")));
    making.mode = find_mode_info(making.values.mode);
    if (making.mode == nullptr)
        return bad_input(making.text("mode") + " is not a mode",
                         fmt::format("did you mean {}? modes: {}",
                                     nearest(making.values.mode, known),
                                     fmt::join(known, ", ")));
    return {};
}

Result<> check_keys_of_mode(const Making& making) {
    const ModeInfo& mode = *making.mode;
    for (const auto& [name, given] : making.parsed.given) {
        if (takes(mode, name))
            continue;
        std::string known = "mode pool " + std::string(mode.keys);
        for (const Key& key : all_keys()) {
            if (key.reach == Key::Reach::Container)
                known += fmt::format(" {}", key.name);
        }
        for (size_t at = 0; (at = known.find(' ', at)) != std::string::npos; at += 2)
            known.insert(at, 1, ',');
        return bad_input(
            fmt::format("{}={} does not take {}", making.name("mode"), mode.name, given.text()),
            fmt::format("remove it; {} takes {}", mode.name, known));
    }
    return {};
}

Result<> find_pool_of(Making& making) {
    const std::string& name = making.values.pool;
    making.pool = find_pool(making.config, making.mode->name, name);
    if (making.pool == nullptr && !name.empty()) {
        std::vector<std::string_view> known;
        for (const Pool& other : making.config.pools)
            known.push_back(other.name);
        return bad_input(making.text("pool") + " is not a pool of the configuration",
                         known.empty() ? fmt::format("add it to \"pools\" in {}", kConfigPath)
                                       : fmt::format("did you mean {}? pools: {}",
                                                     nearest(name, known),
                                                     fmt::join(known, ", ")));
    }
    if (making.pool == nullptr)
        return {};
    if (making.pool->mode != making.mode->name)
        return bad_input(
            fmt::format("{} is a pool for mode {}, not for {}",
                        making.text("pool"),
                        making.pool->mode,
                        making.mode->name),
            fmt::format(
                "set {} to {}, or choose another pool", making.name("mode"), making.pool->mode));
    making.values.pool = making.pool->name;
    return {};
}

Result<> choose_parent(Making& making) {
    if (making.pool == nullptr || making.pool->parents.empty())
        return {};
    const auto& parents = making.pool->parents;
    if (making.has("device") && takes(*making.mode, "parent"))
        return {};  // near a GPU: one of them is chosen by the host's tree of PCI
    if (!making.has("parent"))
        making.values.parent = parents.front();
    if (std::ranges::find(parents, making.values.parent) != parents.end())
        return {};
    return refused(
        fmt::format("{} is not a parent of pool {}", making.text("parent"), making.pool->name),
        fmt::format(
            "choose one of {}, or another {}", fmt::join(parents, ", "), making.name("pool")));
}

// Returns the pool's default as far as the policy lets it; else the policy's bound.
std::optional<uint32_t> bounded(std::optional<uint32_t> usual, std::optional<uint32_t> most) {
    const bool within = usual && (!most || (*usual != 0 && *usual <= *most));
    return within ? usual : most;
}

// Fills in the values that the annotations leave open: the pool's defaults, the policy's bounds.
// parse_config() has checked the defaults; a Config that did not come from a file may still be
// wrong.
Result<> apply_defaults(Making& making) {
    static const std::map<std::string, std::string> kNone;
    for (const auto& [name, text] : making.pool != nullptr ? making.pool->defaults : kNone) {
        if (!making.has(name))
            TRY(parse_pool_default(*making.mode, name, text, making.values)
                    .context("pools." + making.pool->name + ".defaults"));
    }
    for (const Key& key : all_keys()) {
        if (making.says(key.name) && making.says(key.instead.of))
            find_key(making.has(key.instead.of) ? key.name : key.instead.of)
                ->value.clear(making.values);
    }
    for (const Key& key : all_keys()) {
        if (key.bound.value == nullptr || making.has(key.name) || !takes(*making.mode, key))
            continue;
        auto& value = making.values.*key.bound.value;
        value = bounded(value, find_said(making.config, making.pool, key.bound.most));
    }
    return {};
}

// Refuses keys for an interface where none is made.
Result<> refuse_given(const Making& making,
                      std::span<const std::string_view> keys,
                      const std::string& reason) {
    for (const auto key : keys) {
        if (making.has(key))
            return bad_input(fmt::format("{} does not go with {}", making.text(key), reason),
                             fmt::format("remove {}, or {}", making.name(key), reason));
    }
    return {};
}

// Checks the placement. With rdma.placement=host the container has no interface of its own. With
// rdma.parent=container the interface is the engine's, which has its name, MAC and MTU already.
Result<> check_placement(const Making& making) {
    const std::string parent =
        fmt::format("{}={}", making.name("parent"), printable(making.values.parent));
    const bool on_container = making.on_container_link();
    if (on_container && !making.mode->on_container_link)
        return bad_input(fmt::format("{} does not go with mode {}", parent, making.mode->name),
                         fmt::format("name an interface or RDMA device of the host in {}",
                                     making.name("parent")));
    if (making.values.placement == Placement::Host) {
        const std::string placement = making.name("placement") + "=host";
        if (on_container)
            return bad_input(parent + " does not go with " + placement, "remove one of them");
        return refuse_given(making, kOfInterface, placement);
    }
    // The engine's interface may be given more addresses.
    return on_container ? refuse_given(making, std::span(kOfInterface).subspan(1), parent)
                        : Result<>{};
}

// Clears a pool's defaults for an interface where none is made.
void forget_interface(Making& making) {
    for (const auto key : kOfInterface) {
        if (!making.has(key))
            find_key(key)->value.clear(making.values);
    }
}

Error no_range(const Making& making, const std::string& name) {
    const bool known = making.pool != nullptr;
    const std::string pool = known ? "pool " + making.pool->name : "a pool";
    return bad_input(
        fmt::format("{}='auto' needs a pool with a range, and {}",
                    name,
                    known ? pool + " has none" : "there is no pool"),
        fmt::format("set \"range\" of {} in {}, or give addresses in {}", pool, kConfigPath, name));
}

Result<> choose_addresses(Making& making) {
    const std::string name = making.name("ip");
    IpSource& source = making.values.ip_source;
    // The engine's interface has the engine's addresses: only more of them can be asked for.
    if (making.has_range() && making.makes_interface() && !making.says("ip"))
        source = IpSource::Auto;
    if (source == IpSource::None && making.mode->needs_address)
        return bad_input(
            fmt::format("mode {} needs an address", making.mode->name),
            fmt::format("set {} to one such as 10.9.0.1/24, or give its pool a range", name));
    if (source != IpSource::Auto)
        return {};
    if (making.on_container_link())
        return bad_input(name + "='auto' does not go with rdma.parent=container",
                         fmt::format("remove {}: the interface has the engine's address", name));
    return making.has_range() ? Result<>{} : no_range(making, name);
}

// Returns the networks in which the attachment will have an address.
std::vector<Address> networks_of(const Making& making) {
    if (making.values.ip_source != IpSource::Auto)
        return making.values.addresses;
    std::vector<Address> networks;
    for (const AddressRange& range : making.pool->ranges)
        networks.push_back(range.first);
    return networks;
}

Result<> check_gateway(const Making& making, std::string_view key, const Address& gateway) {
    const std::string what = fmt::format("{}: gateway {}", making.name(key), ip_string(gateway));
    bool inside = netns::is_link_local(gateway);
    for (const Address& own : networks_of(making)) {
        inside = inside || (own.family == gateway.family && netns::contains(own, gateway));
        if (making.values.ip_source == IpSource::Static && own.family == gateway.family &&
            own.bytes == gateway.bytes)
            return bad_input(what + " is the container's own address", "name the router's");
    }
    if (inside)
        return {};
    return bad_input(what + " is in no network of the interface",
                     fmt::format("choose one in the network of {}", making.name("ip")));
}

Result<> choose_routes(Making& making) {
    const auto [gateways, routes] = std::tie(making.values.gateways, making.values.routes);
    // A pool's defaults are left out where they make no sense.
    const auto is_wrong = [&](const Address& gateway) {
        return !check_gateway(making, "gateway", gateway);
    };
    if (making.has("gateway")) {
        for (const Address& gateway : gateways)
            TRY(check_gateway(making, "gateway", gateway));
    } else {
        std::erase_if(gateways, is_wrong);
    }
    for (RouteRequest& route : routes) {
        const auto same = std::ranges::find(gateways, route.network.family, &Address::family);
        if (!route.gateway && same != gateways.end())
            route.gateway = *same;
        if (route.gateway && making.has("routes"))
            TRY(check_gateway(making, "routes", *route.gateway));
    }
    std::erase_if(routes, [&](const RouteRequest& route) {
        return route.gateway && is_wrong(*route.gateway);
    });
    return {};
}

std::string list_text(const std::vector<DeviceSpec>& specs) {
    std::vector<std::string> texts;
    for (const DeviceSpec& spec : specs)
        texts.push_back(to_string(spec));
    return fmt::format("{}", fmt::join(texts, ", "));
}

// Refuses devices that the mode cannot give, whatever the host has.
Result<> check_devices(const Making& making) {
    const ModeInfo& mode = *making.mode;
    const auto& devices = making.values.devices;
    std::string why = devices.size() > 1 && !mode.of_host
                          ? fmt::format("mode {} gives one device", mode.name)
                          : "";
    for (const DeviceSpec& spec : devices)
        why = why.empty() ? why_cannot_give(mode, spec) : why;
    if (why.empty())
        return {};
    return bad_value(making.name("device"),
                     devices_text(devices),
                     why,
                     mode.of_host            ? "'all', or up to 16 devices such as mlx5_0,mlx5_1"
                     : takes(mode, "parent") ? "near:GPU, or name the HCA in rdma.parent"
                                             : "one PF or VF, or VFs of a PF such as enp1s0#0-3,5");
}

Result<> choose_device(Making& making) {
    if (!takes(*making.mode, "device"))
        return {};
    TRY(check_devices(making));
    if (takes(*making.mode, "parent"))
        return {};
    const Pool* pool = making.pool;
    auto& devices = making.values.devices;
    const bool listed = pool != nullptr && (!pool->devices.empty() || !pool->functions.empty());
    if (devices.empty() && !listed)
        return bad_input(
            fmt::format("{} needs a device, and {}",
                        making.text("mode"),
                        pool != nullptr ? "pool " + pool->name + " lists none"
                                        : std::string("there is no pool")),
            fmt::format("set {} to {}, or \"devices\" of a pool in {}",
                        making.name("device"),
                        making.mode->of_host ? "devices of the host, or to 'all'" : "a PF or VF",
                        kConfigPath));
    for (const DeviceSpec& spec : devices) {
        if (listed && gpu_of(spec).empty() && !lies_inside(spec, devices_of(*pool)))
            return refused(
                fmt::format("{} is not a device of pool {}", making.text("device"), pool->name),
                fmt::format("choose one of {}, or another {}",
                            list_text(devices_of(*pool)),
                            making.name("pool")));
    }
    if (devices.empty() && making.mode->of_host)
        devices = pool->devices;
    return {};
}

// A VLAN's quality of service and protocol mean nothing without a VLAN: a pool's defaults for them
// are then left out.
Result<> choose_vlan(Making& making) {
    auto& values = making.values;
    for (const char* key : {"vlan_qos", "vlan_proto"}) {
        if (!values.vlan && making.has(key))
            return bad_input(
                fmt::format("{} needs {}", making.text(key), making.name("vlan")),
                fmt::format("set {}, or remove {}", making.name("vlan"), making.name(key)));
    }
    values.vlan_qos = values.vlan ? values.vlan_qos.value_or(0) : std::optional<uint8_t>{};
    values.vlan_proto = values.vlan ? values.vlan_proto.value_or(netns::VlanProtocol::Dot1q)
                                    : std::optional<netns::VlanProtocol>{};
    return {};
}

Result<> choose_rates(Making& making) {
    const auto [min, max] = std::tie(making.values.min_tx_rate, making.values.max_tx_rate);
    if (!min && !max)
        return {};
    min = min.value_or(0);
    max = max.value_or(0);
    if (*max == 0 || *min <= *max)
        return {};
    return bad_input(fmt::format("{}='{}' is above {}='{}'",
                                 making.name("min_tx_rate"),
                                 *min,
                                 making.name("max_tx_rate"),
                                 *max),
                     "set a smaller minimum or a larger maximum");
}

Result<> choose_vf(Making& making) {
    if (!making.mode->finds)
        return {};
    TRY(choose_vlan(making));
    return choose_rates(making);
}

Result<> choose_bridge(Making& making) {
    if (!takes(*making.mode, "bridge"))
        return {};
    const Pool* pool = making.pool;
    const std::string usual = pool != nullptr ? pool->bridge : "";
    std::string& bridge = making.values.bridge;
    if (bridge.empty())
        bridge = usual;
    if (bridge.empty())
        return bad_input(
            fmt::format("{} needs a bridge, and {}",
                        making.text("mode"),
                        pool != nullptr ? "pool " + pool->name + " names none"
                                        : std::string("there is no pool")),
            fmt::format("set {} to a bridge of Open vSwitch, or \"bridge\" of a pool in {}",
                        making.name("bridge"),
                        kConfigPath));
    if (usual.empty() || usual == bridge)
        return {};
    return refused(
        fmt::format("{} is not the bridge of pool {}", making.text("bridge"), pool->name),
        fmt::format("remove it, or choose another {}", making.name("pool")));
}

// Refuses two keys that exclude each other.
Result<> check_instead(const Making& making) {
    for (const Key& key : all_keys()) {
        if (making.has(key.name) && making.has(key.instead.of))
            return bad_input(
                fmt::format(
                    "{} does not go with {}", making.text(key.name), making.text(key.instead.of)),
                fmt::format("remove one of them: {}", key.instead.why));
    }
    return {};
}

Result<> choose_child(Making& making) {
    using netns::ChildKind;
    if (!takes(*making.mode, "child"))
        return {};
    auto& values = making.values;
    if (!making.says("child"))
        values.child = values.vlan ? ChildKind::Vlan : ChildKind::Macvlan;
    const std::string child =
        fmt::format("{}={}", making.name("child"), netns::to_string(values.child));
    const std::string vlan = making.name("vlan");
    if (values.child == ChildKind::Vlan && !values.vlan)
        return bad_input(fmt::format("{} needs {}", child, vlan),
                         fmt::format("set {} to a number from 1 to 4094", vlan));

    const struct {
        std::string_view key;
        bool fits;
    } rows[] = {{"vlan", values.child == ChildKind::Vlan},
                {"macvlan_mode", values.child == ChildKind::Macvlan},
                {"mac", values.child != ChildKind::Ipvlan}};

    for (const auto& [key, fits] : rows) {
        if (!fits && making.has(key))
            return bad_input(
                fmt::format("{} does not go with {}", making.text(key), child),
                fmt::format(
                    "remove {}, or set another {}", making.name(key), making.name("child")));
    }
    if (values.child != ChildKind::Vlan)
        values.vlan.reset();
    if (values.child != ChildKind::Macvlan)
        values.macvlan_mode = netns::MacvlanMode::Bridge;
    return {};
}

Result<> check_mtu(const Making& making) {
    const auto& mtu = making.values.mtu;
    if (!mtu || *mtu >= kMinMtuV6 ||
        std::ranges::count(networks_of(making), netns::Family::V6, &Address::family) == 0)
        return {};
    const std::string name = making.name("mtu");
    return bad_input(fmt::format("{}='{}' is too small for IPv6", name, *mtu),
                     fmt::format("set {} to at least {}, or use only IPv4", name, kMinMtuV6));
}

Result<KeyValues> make_attachment(const ParsedKeys& parsed, const Config& config) {
    Making making{.parsed = parsed, .config = config};
    TRY(find_mode_of(making));
    TRY(check_keys_of_mode(making));
    TRY(find_pool_of(making));
    TRY(apply_defaults(making));
    TRY(choose_parent(making));
    TRY(check_placement(making));
    if (!making.makes_interface())
        forget_interface(making);
    if (!stays_on_host(making.values))
        TRY(choose_addresses(making));
    TRY(choose_device(making));
    if (!making.makes_interface())
        return std::move(making.values);
    TRY(choose_routes(making));
    TRY(choose_vf(making));
    TRY(choose_bridge(making));
    TRY(check_instead(making));
    TRY(choose_child(making));
    if (!making.has("ifname"))
        making.values.ifname = fmt::format("rdma{}", making.values.index);
    TRY(check_mtu(making));
    return std::move(making.values);
}

// Returns the thing that two attachments of one container must not share; empty if they get along.
std::string clash(const Attachment& a, const Attachment& b) {
    if (!a.ifname.empty() && a.ifname == b.ifname)
        return "the interface name " + a.ifname;
    if (a.mac && a.mac == b.mac)
        return "the MAC address " + to_string(*a.mac);
    for (const auto& mine : a.addresses) {
        for (const auto& other : b.addresses) {
            if (mine.family == other.family && mine.bytes == other.bytes)
                return "the address " + ip_string(mine);
        }
    }
    const bool same_device = a.ifname.empty() && b.ifname.empty() && a.mode == b.mode &&
                             a.placement == b.placement && a.parent == b.parent &&
                             a.devices == b.devices;
    if (!same_device)
        return "";
    return a.devices.empty() ? "the device of the same parent" : devices_text(a.devices);
}

Result<> check_neighbours(const std::vector<Attachment>& attachments) {
    for (size_t i = 0; i < attachments.size(); ++i) {
        for (size_t j = i + 1; j < attachments.size(); ++j) {
            const std::string what = clash(attachments[i], attachments[j]);
            if (!what.empty())
                return bad_input(fmt::format("attachments {} and {} both ask for {}",
                                             attachments[i].index,
                                             attachments[j].index,
                                             what),
                                 fmt::format("change or remove the rdma.{}.* annotations",
                                             attachments[j].index));
        }
    }
    return {};
}
}  // namespace

bool mentions_rdma(const Annotations& annotations) {
    return std::ranges::any_of(annotations, [](const auto& entry) { return is_ours(entry.first); });
}

std::string Given::text() const {
    return fmt::format("{}='{}'", printable(annotation), printable(value));
}

std::string ParsedKeys::name(std::string_view key) const {
    const auto it = given.find(key);
    return it != given.end() ? it->second.annotation : annotation_key(values.index, key);
}

Result<ParsedAnnotations> parse_annotations(const Annotations& annotations) {
    ParsedAnnotations all;
    for (const auto& [annotation, value] : annotations) {
        if (is_ours(annotation))
            TRY(add({.annotation = annotation, .value = value}, all));
    }
    const auto& beside = all.container.given;
    if (all.attachments.empty() && !beside.empty())
        return bad_input("rdma.mode is missing beside " + beside.begin()->second.text(),
                         fmt::format("set rdma.mode to one of {}", fmt::join(mode_names(), ", ")));
    return all;
}

Result<Request> parse_request(const Annotations& annotations, const Config& config) {
    const ParsedAnnotations all = TRY(parse_annotations(annotations));
    Request request;
    for (const auto& [index, parsed] : all.attachments) {
        KeyValues values = TRY(make_attachment(parsed, config));
        if (const Limits& limits = values; limits.any())
            request.limits.emplace(index, limits);
        request.attachments.emplace_back(std::move(values));
    }
    TRY(check_neighbours(request.attachments));
    request.memlock = all.container.values.memlock;
    if (config.policy)
        request.memlock_default = config.policy->memlock_max;
    request.optional = all.container.values.optional.value_or(false);
    return request;
}

}  // namespace hook
