// SPDX-License-Identifier: Apache-2.0
#include "hook/request/annotations.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "hook/request/child_annotations.h"
#include "hook/request/ovs_annotations.h"
#include "hook/request/route_annotations.h"
#include "hook/request/vf_annotations.h"

namespace hook {

using base::Code;
using base::Error;
using base::make_error;
using base::printable;

namespace {
// IB_DEVICE_NAME_MAX and IFNAMSIZ (kernel uapi), less the terminating zero.
constexpr size_t kMaxDeviceName = 63;
constexpr size_t kMaxInterfaceName = 15;
// RoCE v2 needs the smallest IB MTU (256) and its headers to fit; no NIC has more than 9978.
constexpr uint64_t kMinMtu = 576;
constexpr uint64_t kMaxMtu = 9978;
// Above this, kernel and runtimes disagree about what is infinite.
constexpr uint64_t kMaxMemlock = INT64_MAX;

Error because(std::string reason) {
    return make_error(Code::BadInput, std::move(reason));
}

bool is_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// What dev_valid_name() of the kernel takes, in printable ASCII, without '%': the kernel would
// take "rdma%d" for a template and choose another name.
bool is_name(std::string_view text, size_t limit) {
    const auto fits = [](char c) {
        return c > ' ' && c < 0x7f && c != '/' && c != ':' && c != '%';
    };
    return !text.empty() && text.size() <= limit && text != "." && text != ".." &&
           std::all_of(text.begin(), text.end(), fits);
}

Result<> set_mode(Wish& wish, std::string_view value) {
    wish.mode = value;
    return {};
}

Result<> set_pool(Wish& wish, std::string_view value) {
    if (!is_pool_name(value))
        return because("");
    wish.pool = value;
    return {};
}

Result<> set_parent(Wish& wish, std::string_view value) {
    if (!is_device_name(value))
        return because("");
    wish.parent = value;
    return {};
}

Result<> set_placement(Wish& wish, std::string_view value) {
    if (value != "container" && value != "host")
        return because("");
    wish.placement = value == "host" ? Placement::Host : Placement::Container;
    return {};
}

Result<> set_ifname(Wish& wish, std::string_view value) {
    // "all" and "default" would hide behind the folders of that name in /proc/sys/net.
    for (const std::string_view taken : {"lo", "all", "default"}) {
        if (value == taken)
            return because("the name is taken");
    }
    if (!is_name(value, kMaxInterfaceName))
        return because("");
    wish.ifname = value;
    return {};
}

Result<> add_address(Wish& wish, std::string_view text) {
    const auto address = netns::parse_cidr(text);
    if (!address)
        return because(fmt::format("'{}' is not an address with prefix length", printable(text)));
    if (!netns::is_host_address(*address))
        return because(fmt::format("'{}' cannot be the address of a host", printable(text)));
    for (const auto& other : wish.addresses) {
        if (other.family == address->family && other.bytes == address->bytes)
            return because(fmt::format("'{}' is there twice", netns::ip_string(*address)));
    }
    if (wish.addresses.size() == kMaxAddresses)
        return because(fmt::format("more than {} addresses", kMaxAddresses));
    wish.addresses.push_back(*address);
    return {};
}

Result<> set_ip(Wish& wish, std::string_view value) {
    wish.addresses.clear();
    if (value == "auto" || value == "none") {
        wish.ip_source = value == "auto" ? IpSource::Auto : IpSource::None;
        return {};
    }
    wish.ip_source = IpSource::Static;
    for (;;) {
        const auto comma = value.find(',');
        TRY(add_address(wish, value.substr(0, comma)));
        if (comma == std::string_view::npos)
            return {};
        value.remove_prefix(comma + 1);
    }
}

Result<> set_mac(Wish& wish, std::string_view value) {
    const auto mac = netns::parse_mac(value);
    if (!mac)
        return because("");
    if (mac->is_multicast() || mac->is_zero())
        return because("it is a multicast address or zero");
    wish.mac = mac;
    return {};
}

Result<> set_mtu(Wish& wish, std::string_view value) {
    const auto mtu = parse_number(value);
    if (!mtu || *mtu < kMinMtu || *mtu > kMaxMtu)
        return because("");
    wish.mtu = static_cast<uint32_t>(*mtu);
    return {};
}

Result<> store_limit(std::optional<uint32_t>& wish, std::string_view value) {
    const auto limit = parse_number(value);
    if (!limit || *limit == 0 || *limit > kMaxLimit)
        return because("");
    wish = static_cast<uint32_t>(*limit);
    return {};
}

Result<> set_max_handles(Wish& wish, std::string_view value) {
    return store_limit(wish.max_handles, value);
}

Result<> set_max_objects(Wish& wish, std::string_view value) {
    return store_limit(wish.max_objects, value);
}

Result<> set_memlock(Wish& wish, std::string_view value) {
    const auto bytes = value == "unlimited" ? kMemlockUnlimited : parse_number(value).value_or(0);
    if (bytes == 0 || (bytes > kMaxMemlock && value != "unlimited"))
        return because("");
    wish.memlock = bytes;
    return {};
}

Result<> set_optional(Wish& wish, std::string_view value) {
    if (value != "true" && value != "false")
        return because("");
    wish.optional = value == "true";
    return {};
}

// The one table of keys; hook/README.md and runtime-config/install/schema/annotations.schema.json are kept
// equal to it by a unit test.
constexpr Key kKeys[] = {
    {"mode", "the name of a mode", set_mode, Key::Reach::AnyMode},
    {"pool",
     "the name of a pool of the configuration (letters, digits and _.-)",
     set_pool,
     Key::Reach::AnyMode},
    {"parent",
     "the name of a network interface or RDMA device of the host, or to 'container'",
     set_parent},
    {"placement", "'container' or 'host'", set_placement, Key::Reach::Mode, true},
    {"ifname", "a name of 1 to 15 characters without space and '/:%'", set_ifname},
    {"ip",
     "'auto', 'none' or up to 16 addresses such as 10.9.0.1/24,fd00::1/64",
     set_ip,
     Key::Reach::Mode,
     true},
    {"gateway",
     "the address of a router, or one each of IPv4 and IPv6, such as 10.9.0.254",
     set_gateway,
     Key::Reach::Mode,
     true},
    {"routes",
     "up to 32 networks such as 10.8.0.0/16 or 10.8.0.0/16@10.9.0.253",
     set_routes,
     Key::Reach::Mode,
     true},
    {"mac", "a unicast address such as 02:00:5e:10:00:01", set_mac},
    {"mtu", "a whole number of bytes from 576 to 9978", set_mtu, Key::Reach::Mode, true},
    {"child", "'macvlan', 'ipvlan' or 'vlan'", set_child, Key::Reach::Mode, true},
    {"macvlan_mode", "'bridge', 'private' or 'vepa'", set_macvlan_mode, Key::Reach::Mode, true},
    {"device",
     "a PF or VF by PCI address, netdev or RDMA device, or VFs of a PF such as enp1s0#0-3,5",
     set_device},
    {"provider", "'auto', 'device', 'rxe' or 'siw'", set_provider, Key::Reach::Mode, true},
    {"vlan", "a whole number from 1 to 4094", set_vlan, Key::Reach::Mode, true},
    {"vlan_qos", "a whole number from 0 to 7", set_vlan_qos, Key::Reach::Mode, true},
    {"vlan_proto", "'802.1q' or '802.1ad'", set_vlan_proto, Key::Reach::Mode, true},
    {"spoofchk", "'on' or 'off'", set_spoofchk, Key::Reach::Mode, true},
    {"trust", "'on' or 'off'", set_trust, Key::Reach::Mode, true},
    {"link_state", "'auto', 'on' or 'off'", set_link_state, Key::Reach::Mode, true},
    {"min_tx_rate",
     "a whole number of Mbit/s from 0 (none) to 1000000",
     set_min_tx_rate,
     Key::Reach::Mode,
     true},
    {"max_tx_rate",
     "a whole number of Mbit/s from 0 (none) to 1000000",
     set_max_tx_rate,
     Key::Reach::Mode,
     true},
    {"bridge", "the name of a bridge of Open vSwitch", set_bridge},
    {"trunk", "up to 64 VLANs from 1 to 4094 such as 5,10", set_trunk, Key::Reach::Mode, true},
    {"offload", "'preferred' or 'required'", set_offload, Key::Reach::Mode, true},
    {"node_guid", "a GUID such as 00:11:22:33:44:55:66:77", set_node_guid},
    {"port_guid", "a GUID such as 00:11:22:33:44:55:66:77", set_port_guid},
    {kHandlesKey, "a whole number from 1 to 999999999", set_max_handles, Key::Reach::AnyMode, true},
    {kObjectsKey, "a whole number from 1 to 999999999", set_max_objects, Key::Reach::AnyMode, true},
    {"memlock",
     "a whole number of bytes from 1, or to 'unlimited'",
     set_memlock,
     Key::Reach::Container},
    {"optional", "'true' or 'false'", set_optional, Key::Reach::Container},
};
}  // namespace

std::string annotation_key(unsigned index, std::string_view name) {
    return index == 0 ? fmt::format("rdma.{}", name) : fmt::format("rdma.{}.{}", index, name);
}

std::span<const Key> all_keys() {
    return kKeys;
}

const Key* find_key(std::string_view name) {
    const auto* key = std::find_if(
        std::begin(kKeys), std::end(kKeys), [&](const Key& entry) { return entry.name == name; });
    return key == std::end(kKeys) ? nullptr : key;
}

std::vector<std::string_view> key_names() {
    std::vector<std::string_view> names;
    for (const Key& key : kKeys)
        names.push_back(key.name);
    return names;
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

Result<> set_value(const Key& key,
                   std::string_view annotation,
                   std::string_view value,
                   Wish& wish) {
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    if (value.empty())
        return bad_value(annotation, value, "the value is empty", key.allowed);
    if (value.size() > kMaxValueBytes)
        return bad_value(
            annotation, value, fmt::format("longer than {} bytes", kMaxValueBytes), key.allowed);
    if (std::any_of(value.begin(), value.end(), is_control))
        return bad_value(annotation, value, "it has a control character", key.allowed);
    const auto done = key.set(wish, value);
    if (!done)
        return bad_value(annotation, value, done.error().text, key.allowed);
    return {};
}

bool is_device_name(std::string_view text) {
    return text != "lo" && is_name(text, kMaxDeviceName);
}

bool is_interface_name(std::string_view text) {
    return text != "lo" && is_name(text, kMaxInterfaceName);
}

bool is_pool_name(std::string_view text) {
    const auto fits = [](char c) { return is_alnum(c) || c == '_' || c == '.' || c == '-'; };
    return !text.empty() && text.size() <= kMaxDeviceName && is_alnum(text[0]) &&
           std::all_of(text.begin(), text.end(), fits);
}

std::optional<uint64_t> parse_number(std::string_view text) {
    uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    // from_chars takes no sign for unsigned types, but it takes leading zeros.
    if (text.empty() || error != std::errc{} || stop != end || (text.size() > 1 && text[0] == '0'))
        return std::nullopt;
    return value;
}

}  // namespace hook
