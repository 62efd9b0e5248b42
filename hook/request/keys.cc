// SPDX-License-Identifier: Apache-2.0
// budget: the two tables, and how the types of their rows are read and written.
#include "hook/request/keys.h"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/request/policy.h"
#include "netns/base/ascii.h"
#include "netns/base/json.h"

namespace hook {

using netns::Address;

namespace {
constexpr size_t kMaxValueBytes = 1024;
constexpr size_t kMaxAddresses = 16;
constexpr size_t kMaxRoutes = 32;
constexpr size_t kMaxTrunk = 64;
constexpr size_t kMaxDevices = kMaxIndex + 1;  // each becomes an attachment
// RoCE v2 needs the smallest IB MTU (256) and its headers to fit; no NIC has more than 9978.
constexpr uint64_t kMinMtu = 576;
constexpr uint64_t kMaxMtu = 9978;
// Kernel and runtimes disagree on which values above this are infinite.
constexpr uint64_t kMaxMemlock = INT64_MAX;

// The reason why a value is not allowed; empty: as the row's help says.
using Reason = std::optional<std::string>;
const Reason kNotAllowed = "";

// The way to read and write a type: `parse` stores what it accepts, `print` is its inverse.
struct AnyText {
    static Reason parse(std::string_view text, std::string& into) {
        into = text;
        return {};
    }

    static std::string print(const std::string& value) { return value; }
};

template <bool (*IsName)(std::string_view)>
struct Name : AnyText {
    static Reason parse(std::string_view text, std::string& into) {
        return IsName(text) ? AnyText::parse(text, into) : kNotAllowed;
    }
};

struct InterfaceName : AnyText {
    static Reason parse(std::string_view text, std::string& into) {
        // "all" and "default" would hide behind the folders of that name in /proc/sys/net.
        if (has_word("lo all default", text))
            return "the name is taken";
        return Name<is_interface_name>::parse(text, into);
    }
};

template <uint64_t First, uint64_t Last>
struct Number {
    template <class T>
    static Reason parse(std::string_view text, T& into) {
        const auto number = parse_number(text);
        if (!number || *number < First || *number > Last)
            return kNotAllowed;
        into = static_cast<T>(*number);
        return {};
    }

    static std::string print(uint64_t value) { return std::to_string(value); }
};

struct Memlock : Number<1, kMaxMemlock> {
    static Reason parse(std::string_view text, uint64_t& into) {
        if (text != "unlimited")
            return Number::parse(text, into);
        into = kMemlockUnlimited;
        return {};
    }
};

template <const auto& Words>
struct OneOf {
    template <class T>
    static Reason parse(std::string_view text, T& into) {
        const auto value = parse_word(Words, text);
        if (!value)
            return kNotAllowed;
        into = *value;
        return {};
    }

    template <class T>
    static std::string print(const T& value) {
        return std::string(word_of(Words, value));
    }
};

template <auto Parse>
struct Spelled {
    template <class T>
    static Reason parse(std::string_view text, T& into) {
        auto value = Parse(text);
        if (!value)
            return kNotAllowed;
        into = *std::move(value);
        return {};
    }

    template <class T>
    static std::string print(const T& value) {
        return std::string(to_string(value));
    }
};

struct UnicastMac : Spelled<netns::parse_mac> {
    static Reason parse(std::string_view text, netns::Mac& into) {
        if (auto reason = Spelled::parse(text, into))
            return reason;
        if (into.is_multicast() || into.is_zero())
            return "it is a multicast address or zero";
        return {};
    }
};

struct Guid {
    static Reason parse(std::string_view text, uint64_t& into) {
        const auto guid = parse_guid(text);
        if (!guid)
            return kNotAllowed;
        if (*guid == 0 || *guid == UINT64_MAX)
            return "it names no device";
        into = *guid;
        return {};
    }

    static std::string print(uint64_t guid) { return guid_text(guid); }
};

struct Trunk {
    static Reason parse(std::string_view text, std::vector<uint16_t>& into) {
        for (const auto part : split_list(text)) {
            const auto vlan = parse_number(part);
            if (!vlan || *vlan == 0 || *vlan > kMaxVlan || into.size() == kMaxTrunk)
                return kNotAllowed;
            if (std::ranges::find(into, *vlan) != into.end())
                return fmt::format("{} is there twice", *vlan);
            into.push_back(static_cast<uint16_t>(*vlan));
        }
        std::ranges::sort(into);
        return {};
    }

    static std::string print(const std::vector<uint16_t>& vlans) {
        return fmt::format("{}", fmt::join(vlans, ","));
    }
};

struct Devices {
    static Reason parse(std::string_view text, std::vector<DeviceSpec>& into) {
        // Behind a '#' commas stand between VFs.
        const bool has_vfs = text.find('#') != std::string_view::npos;
        for (const auto part : has_vfs ? std::vector{text} : split_list(text)) {
            std::optional near{DeviceSpec{.device = std::string(part), .vfs = {}}};
            auto spec = gpu_of(*near).empty() ? parse_device_spec(part) : std::move(near);
            if (!spec || spec->device.find(',') != std::string::npos)
                return kNotAllowed;
            if (std::ranges::find(into, *spec) != into.end())
                return fmt::format("'{}' is there twice", spec->device);
            if (into.size() == kMaxDevices)
                return fmt::format("more than {} devices", kMaxDevices);
            into.push_back(*std::move(spec));
        }
        if (into.size() > 1 && std::ranges::any_of(into, names_all))
            return "'all' leaves no other to name";
        return {};
    }

    static std::string print(const std::vector<DeviceSpec>& specs) { return devices_text(specs); }
};

std::optional<Address> parse_gateway(std::string_view text) {
    const auto address = netns::parse_ip(text);
    return address && netns::is_host_address(*address) ? address : std::nullopt;
}

struct Gateways {
    static Reason parse(std::string_view text, std::vector<Address>& into) {
        for (const auto part : split_list(text)) {
            const auto address = parse_gateway(part);
            if (!address)
                return fmt::format("'{}' is not the address of a gateway", printable(part));
            if (std::ranges::count(into, address->family, &Address::family) != 0)
                return "there are two of one family";
            into.push_back(*address);
        }
        return {};
    }

    static std::string print(const std::vector<Address>& gateways) {
        return gateway_text(gateways);
    }
};

struct Routes {
    static Reason parse(std::string_view text, std::vector<RouteRequest>& into) {
        for (const auto part : split_list(text)) {
            const auto at = part.find('@');
            const auto network = netns::parse_cidr(part.substr(0, at));
            if (!network || !netns::is_network(*network))
                return fmt::format("'{}' is not a network", printable(part.substr(0, at)));
            RouteRequest route{.network = *network, .gateway = {}};
            if (at != std::string_view::npos) {
                route.gateway = parse_gateway(part.substr(at + 1));
                if (!route.gateway || route.gateway->family != network->family)
                    return fmt::format("'{}' is no gateway for it", printable(part.substr(at + 1)));
            }
            if (std::ranges::count(into, route.network, &RouteRequest::network) != 0)
                return fmt::format("'{}' is there twice", to_string(route.network));
            if (into.size() == kMaxRoutes)
                return fmt::format("more than {} routes", kMaxRoutes);
            into.push_back(route);
        }
        return {};
    }

    static std::string print(const std::vector<RouteRequest>& routes) {
        return routes_text(routes);
    }
};

enum class Print { IfSet, Always };

// Returns the value of a member of Attachment, or of another of KeyValues, by the way to read and
// write its type.
template <auto Member, class Type, Print When = Print::IfSet>
constexpr Key::Value member() {
    Key::Value value;
    value.parse = [](KeyValues& values, std::string_view text) -> Reason {
        if constexpr (requires { (values.*Member).emplace(); })
            return Type::parse(text, (values.*Member).emplace());
        else
            return Type::parse(text, values.*Member);
    };
    value.clear = [](KeyValues& values) { values.*Member = {}; };
    if constexpr (std::is_invocable_v<decltype(Member), const Attachment&>)
        value.print = [](const Attachment& attachment) {
            const auto& own = attachment.*Member;
            if (When == Print::IfSet && own == std::remove_cvref_t<decltype(own)>{})
                return std::string();
            if constexpr (requires { own.has_value(); })
                return Type::print(*own);
            else
                return Type::print(own);
        };
    return value;
}

Reason add_address(KeyValues& values, std::string_view text) {
    const auto address = netns::parse_cidr(text);
    if (!address)
        return fmt::format("'{}' is not an address with prefix length", printable(text));
    if (!netns::is_host_address(*address))
        return fmt::format("'{}' cannot be the address of a host", printable(text));
    for (const Address& other : values.addresses) {
        if (other.family == address->family && other.bytes == address->bytes)
            return fmt::format("'{}' is there twice", ip_string(*address));
    }
    if (values.addresses.size() == kMaxAddresses)
        return fmt::format("more than {} addresses", kMaxAddresses);
    values.addresses.push_back(*address);
    return {};
}

Reason parse_ip(KeyValues& values, std::string_view text) {
    if (text == "auto" || text == "none") {
        values.ip_source = text == "auto" ? IpSource::Auto : IpSource::None;
        return {};
    }
    values.ip_source = IpSource::Static;
    for (const auto part : split_list(text)) {
        if (auto reason = add_address(values, part))
            return reason;
    }
    return {};
}

std::string print_ip(const Attachment& attachment) {
    if (attachment.ip_source != IpSource::Static)
        return attachment.ip_source == IpSource::Auto ? "auto" : "none";
    std::string text;
    for (const Address& address : attachment.addresses)
        text += (text.empty() ? "" : ",") + to_string(address);
    return text;
}

void clear_ip(KeyValues& values) {
    values.ip_source = IpSource::None;
    values.addresses.clear();
}

constexpr Word<bool> kTrueFalse[] = {{"true", true}, {"false", false}};
constexpr Word<bool> kOffload[] = {{"preferred", false}, {"required", true}};
using Rate = Number<0, kMaxRate>;
using Limit = Number<1, kMaxLimit>;

constexpr ModeInfo kModes[] = {
    {.name = "softroce",
     .keys = "parent placement ip gateway routes mac mtu ifname",
     .on_container_link = true,
     .checks = "kernel rdma_rxe macvlan parent"},
    {.name = "softiwarp",
     .keys = "parent ip gateway routes mac mtu ifname",
     .on_container_link = true,
     .module = "siw",
     .checks = "siw macvlan parent",
     .only_shared = "no kernel moves a siw into a container"},
    {.name = "shared",
     .keys = "parent device child macvlan_mode vlan ip gateway routes mac mtu ifname",
     .needs_address = true,
     .probes = true,
     .by_gpu = true,
     .module = "ib_uverbs",
     .checks = "macvlan gids parent hca",
     .only_shared = "no container can open the host's HCA"},
    {.name = "vf",
     .keys = "device provider ip gateway routes mac mtu ifname vlan vlan_qos vlan_proto spoofchk "
             "trust link_state min_tx_rate max_tx_rate node_guid port_guid",
     .finds = true,
     .changing_mac = true,
     .by_gpu = true,
     .checks = "pf vf"},
    {.name = "asap2",
     .keys = "device provider bridge ip gateway routes mac mtu ifname vlan trunk max_tx_rate "
             "offload",
     .finds = true,
     .changing_mac = true,
     .checks = "pf vf offload"},
    {.name = "host",
     .keys = "device umad",
     .of_host = true,
     .by_gpu = true,
     .module = "ib_uverbs",
     .checks = "host"},
};

// The keys in the order in which they are documented. The places in a journal are part of its
// format.
// clang-format off
constexpr Key kKeys[] = {
    {.name = "mode", .help = "the name of a mode",
     .reach = Key::Reach::EveryDevice, .value = member<&Attachment::mode, AnyText>(),
     .in_journal = 1, .in_policy = 1, .policy = check_mode},
    {.name = "pool", .help = "the name of a pool of the configuration (letters, digits and _.-)",
     .reach = Key::Reach::EveryDevice, .value = member<&Attachment::pool, Name<is_pool_name>>(),
     .in_journal = 2, .in_policy = 2, .policy = check_pool},
    {.name = "parent",
     .help = "the name of a network interface or RDMA device of the host, or to 'container'",
     .value = member<&Attachment::parent, Name<is_device_name>>(),
     .in_journal = 3, .in_policy = 3, .policy = check_parent},
    {.name = "placement", .help = "'container' or 'host'",
     .pool_default = true,
     .value = member<&Attachment::placement, OneOf<kPlacements>, Print::Always>(),
     .in_journal = 4, .in_policy = 11, .policy = check_leave,
     .leave = {"host", "placement_host", &Rules::placement_host}},
    {.name = "ifname", .help = "a name of 1 to 15 characters without space and '/:%'",
     .value = member<&Attachment::ifname, InterfaceName>(),
     .in_journal = 5},
    {.name = "ip", .help = "'auto', 'none' or up to 16 addresses such as 10.9.0.1/24,fd00::1/64",
     .pool_default = true, .value = {parse_ip, print_ip, clear_ip},
     .in_journal = 6, .in_policy = 6, .policy = check_addresses},
    {.name = "gateway",
     .help = "the address of a router, or one each of IPv4 and IPv6, such as 10.9.0.254",
     .pool_default = true, .value = member<&Attachment::gateways, Gateways>(),
     .in_journal = 7},
    {.name = "routes", .help = "up to 32 networks such as 10.8.0.0/16 or 10.8.0.0/16@10.9.0.253",
     .pool_default = true, .value = member<&Attachment::routes, Routes>(),
     .in_journal = 8},
    {.name = "mac", .help = "a unicast address such as 02:00:5e:10:00:01",
     .value = member<&Attachment::mac, UnicastMac>(),
     .in_journal = 9, .in_policy = 12, .policy = check_mac},
    {.name = "mtu", .help = "a whole number of bytes from 576 to 9978",
     .pool_default = true, .value = member<&Attachment::mtu, Number<kMinMtu, kMaxMtu>>(),
     .in_journal = 10},
    {.name = "child", .help = "'macvlan', 'ipvlan' or 'vlan'",
     .pool_default = true, .value = member<&Attachment::child, Spelled<netns::parse_child_kind>>(),
     .in_journal = 16},
    {.name = "macvlan_mode", .help = "'bridge', 'private' or 'vepa'",
     .pool_default = true,
     .value = member<&Attachment::macvlan_mode, Spelled<netns::parse_macvlan_mode>>(),
     .in_journal = 27},
    {.name = "device",
     .help = "a device by PCI address, netdev or RDMA device, to VFs of a PF such as enp1s0#0-3,5, "
             "to near:GPU such as near:0 or near:0000:17:00.0, or (mode host) to up to 16 devices "
             "such as mlx5_0,mlx5_1 or to 'all'",
     .value = member<&Attachment::devices, Devices>(),
     .in_journal = 14, .in_policy = 4, .policy = check_device,
     .instead = {"parent", "both name the HCA"}},
    {.name = "provider", .help = "'auto', 'device', 'rxe' or 'siw'",
     .pool_default = true, .value = member<&Attachment::provider, OneOf<kProviders>>(),
     .in_journal = 15},
    {.name = "vlan", .help = "a whole number from 1 to 4094",
     .pool_default = true, .value = member<&Attachment::vlan, Number<1, kMaxVlan>>(),
     .in_journal = 17, .in_policy = 7, .policy = check_vlans},
    {.name = "vlan_qos", .help = "a whole number from 0 to 7",
     .pool_default = true, .value = member<&Attachment::vlan_qos, Number<0, 7>>(),
     .in_journal = 18},
    {.name = "vlan_proto", .help = "'802.1q' or '802.1ad'",
     .pool_default = true, .value = member<&Attachment::vlan_proto, OneOf<kVlanProtocols>>(),
     .in_journal = 19},
    {.name = "spoofchk", .help = "'on' or 'off'",
     .pool_default = true, .value = member<&Attachment::spoofchk, OneOf<kSwitch>>(),
     .in_journal = 20, .in_policy = 16, .policy = check_leave,
     .leave = {"off", "spoofchk_off", &Rules::spoofchk_off, Key::Leave::Refused}},
    {.name = "trust", .help = "'on' or 'off'",
     .pool_default = true, .value = member<&Attachment::trust, OneOf<kSwitch>>(),
     .in_journal = 21, .in_policy = 15, .policy = check_leave,
     .leave = {"on", "trust", &Rules::trust, Key::Leave::Refused}},
    {.name = "link_state", .help = "'auto', 'on' or 'off'",
     .pool_default = true, .value = member<&Attachment::link_state, OneOf<kLinkStates>>(),
     .in_journal = 22},
    {.name = "min_tx_rate", .help = "a whole number of Mbit/s from 0 (none) to 1000000",
     .pool_default = true, .value = member<&Attachment::min_tx_rate, Rate>(),
     .in_journal = 23, .in_policy = 9, .policy = check_min_tx_rate},
    {.name = "max_tx_rate", .help = "a whole number of Mbit/s from 0 (none) to 1000000",
     .pool_default = true, .value = member<&Attachment::max_tx_rate, Rate>(),
     .in_journal = 24, .in_policy = 10, .policy = check_bound,
     .bound = {&KeyValues::max_tx_rate, &Rules::max_tx_rate}},
    {.name = "bridge", .help = "the name of a bridge of Open vSwitch",
     .value = member<&Attachment::bridge, Name<is_interface_name>>(),
     .in_journal = 11, .in_policy = 5, .policy = check_bridge},
    {.name = "trunk", .help = "up to 64 VLANs from 1 to 4094 such as 5,10",
     .pool_default = true, .value = member<&Attachment::trunk, Trunk>(),
     .in_journal = 12, .in_policy = 8, .policy = check_vlans,
     .instead = {"vlan", "a port is an access port or a trunk"}},
    {.name = "offload", .help = "'preferred' or 'required'",
     .pool_default = true, .value = member<&Attachment::offload_required, OneOf<kOffload>>(),
     .in_journal = 13},
    {.name = "node_guid", .help = "a GUID such as 00:11:22:33:44:55:66:77",
     .value = member<&Attachment::node_guid, Guid>(),
     .in_journal = 25, .in_policy = 13, .policy = check_leave, .leave = {"", "guid", &Rules::guid}},
    {.name = "port_guid", .help = "a GUID such as 00:11:22:33:44:55:66:77",
     .value = member<&Attachment::port_guid, Guid>(),
     .in_journal = 26, .in_policy = 14, .policy = check_leave, .leave = {"", "guid", &Rules::guid}},
    {.name = "umad", .help = "'on' or 'off'",
     .value = member<&Attachment::umad, OneOf<kSwitch>>(),
     .in_journal = 28, .in_policy = 19, .policy = check_leave,
     .leave = {"on", "umad", &Rules::umad, Key::Leave::Refused}},
    {.name = kHandlesKey, .help = "a whole number from 1 to 999999999",
     .reach = Key::Reach::EveryDevice, .pool_default = true,
     .value = member<&Limits::handles, Limit>(),
     .in_policy = 17, .policy = check_bound, .bound = {&KeyValues::handles, &Rules::handles}},
    {.name = kObjectsKey, .help = "a whole number from 1 to 999999999",
     .reach = Key::Reach::EveryDevice, .pool_default = true,
     .value = member<&Limits::objects, Limit>(),
     .in_policy = 18, .policy = check_bound, .bound = {&KeyValues::objects, &Rules::objects}},
    {.name = "memlock", .help = "a whole number of bytes from 1, or to 'unlimited'",
     .reach = Key::Reach::Container, .value = member<&KeyValues::memlock, Memlock>()},
    {.name = "optional", .help = "'true' or 'false'",
     .reach = Key::Reach::Container, .value = member<&KeyValues::optional, OneOf<kTrueFalse>>()},
};

// clang-format on

template <class Row>
const Row* find_row(std::span<const Row> rows, std::string_view name) {
    const auto row = std::ranges::find(rows, name, &Row::name);
    return row == rows.end() ? nullptr : &*row;
}

template <class Row>
std::vector<std::string_view> names_of(std::span<const Row> rows) {
    std::vector<std::string_view> names;
    for (const Row& row : rows)
        names.push_back(row.name);
    return names;
}

Result<Attachment> read_attachment(const Json& json) {
    const auto broken = [](std::string what) {
        return make_error(Code::BadInput, std::move(what))
            .advise("run rdmactl gc of the version that wrote it");
    };
    if (!json.is_object())
        return broken("not an object");
    KeyValues values;
    values.index = TRY(base::required<unsigned>(json, "index"));
    if (values.index > kMaxIndex)
        return broken(fmt::format("index {} is too large", values.index));
    for (const auto& [name, value] : json.items()) {
        if (name == "index")
            continue;
        const Key* key = find_key(name);
        if (key == nullptr || key->in_journal == 0)
            return broken(fmt::format("unknown member '{}'", printable(name)));
        TRY(parse_value(*key, name, TRY(base::as<std::string>(value, name)), values));
    }
    if (!json.contains("mode") || !json.contains("ip"))
        return broken("mode or ip is missing");
    return Attachment(std::move(values));
}

// Returns the keys that may be defaults of a pool of the mode.
std::vector<std::string_view> pool_defaults(const ModeInfo& mode) {
    std::vector<std::string_view> names;
    for (const Key& key : kKeys) {
        if (key.pool_default && takes(mode, key))
            names.push_back(key.name);
    }
    return names;
}
}  // namespace

netns::VfSettings vf_settings(const Attachment& a) {
    netns::VfSettings settings{.spoofchk = a.spoofchk,
                               .trust = a.trust,
                               .link_state = a.link_state,
                               .node_guid = a.node_guid,
                               .port_guid = a.port_guid};
    if (a.vlan)
        settings.vlan =
            netns::VfVlan{.id = *a.vlan,
                          .qos = a.vlan_qos.value_or(0),
                          .protocol = a.vlan_proto.value_or(netns::VlanProtocol::Dot1q)};
    if (a.min_tx_rate || a.max_tx_rate)
        settings.rate =
            netns::VfRate{.min = a.min_tx_rate.value_or(0), .max = a.max_tx_rate.value_or(0)};
    return settings;
}

netns::ChildType child_type(const Attachment& a) {
    return {.kind = a.child,
            .macvlan_mode = a.macvlan_mode,
            .vlan = a.child == netns::ChildKind::Vlan ? a.vlan.value_or(0) : uint16_t{0}};
}

bool stays_on_host(const Attachment& a) {
    const ModeInfo* mode = find_mode_info(a.mode);
    return a.placement == Placement::Host || (mode != nullptr && mode->of_host);
}

std::span<const ModeInfo> all_mode_infos() {
    return kModes;
}

const ModeInfo* find_mode_info(std::string_view name) {
    return find_row(all_mode_infos(), name);
}

std::vector<std::string_view> mode_names() {
    return names_of(all_mode_infos());
}

std::span<const Key> all_keys() {
    return kKeys;
}

const Key* find_key(std::string_view name) {
    return find_row(all_keys(), name);
}

std::vector<std::string_view> key_names() {
    return names_of(all_keys());
}

bool takes(const ModeInfo& mode, const Key& key) {
    return key.reach != Key::Reach::Mode || has_word(mode.keys, key.name);
}

bool takes(const ModeInfo& mode, std::string_view key) {
    return takes(mode, *find_key(key));
}

std::string why_cannot_give(const ModeInfo& mode, const DeviceSpec& spec) {
    const bool near = !gpu_of(spec).empty();
    if (near && !mode.by_gpu)
        return fmt::format("mode {} does not choose by a GPU", mode.name);
    if (!near && takes(mode, "parent"))
        return fmt::format("mode {} has its HCA by rdma.parent", mode.name);
    if (mode.of_host && !spec.vfs.empty())
        return fmt::format("mode {} gives whole devices", mode.name);
    if (!mode.of_host && names_all(spec))
        return fmt::format("mode {} gives one device", mode.name);
    return {};
}

std::vector<const Key*> in_order(uint8_t Key::*place) {
    std::vector<const Key*> keys;
    for (const Key& key : kKeys) {
        if (key.*place != 0)
            keys.push_back(&key);
    }
    std::ranges::sort(keys, {}, [&](const Key* key) { return key->*place; });
    return keys;
}

std::string annotation_key(unsigned index, std::string_view name) {
    return index == 0 ? fmt::format("rdma.{}", name) : fmt::format("rdma.{}.{}", index, name);
}

Error bad_value(std::string_view annotation,
                std::string_view value,
                std::string_view reason,
                std::string_view allowed) {
    return make_error(Code::BadInput,
                      fmt::format("{}='{}' is not acceptable{}{}",
                                  printable(annotation),
                                  printable(value),
                                  reason.empty() ? "" : ": ",
                                  reason))
        .advise(fmt::format("set {} to {}", printable(annotation), allowed));
}

Result<> parse_value(const Key& key,
                     std::string_view annotation,
                     std::string_view text,
                     KeyValues& values) {
    Reason reason;
    if (text.empty())
        reason = "the value is empty";
    else if (text.size() > kMaxValueBytes)
        reason = fmt::format("longer than {} bytes", kMaxValueBytes);
    else if (std::ranges::any_of(text, base::is_control))
        reason = "it has a control character";
    else
        reason = key.value.parse(values, text);
    return reason ? bad_value(annotation, text, *reason, key.help) : Result<>{};
}

Result<> parse_pool_default(const ModeInfo& mode,
                            std::string_view name,
                            std::string_view text,
                            KeyValues& values) {
    const auto known = pool_defaults(mode);
    if (std::ranges::find(known, name) == known.end())
        return make_error(
                   Code::BadConfig,
                   fmt::format(
                       "'{}' cannot be a default of a pool of mode {}", printable(name), mode.name))
            .advise(fmt::format(
                "did you mean {}? possible: {}", nearest(name, known), fmt::join(known, ", ")));
    auto done = parse_value(*find_key(name), name, text, values);
    if (done && name == "ip" && values.ip_source == IpSource::Static)
        done = bad_value(name, text, "containers cannot share addresses", "'auto' or 'none'");
    if (!done)
        done.error().code = Code::BadConfig;
    return done;
}

Json to_json(const Attachment& attachment) {
    Json json = base::object({{"index", attachment.index}});
    for (const Key* key : in_order(&Key::in_journal)) {
        if (auto text = key->value.print(attachment); !text.empty())
            json[key->name] = std::move(text);
    }
    return json;
}

Result<Attachment> attachment_from_json(const Json& json) {
    return read_attachment(json).context("attachment");
}

}  // namespace hook
