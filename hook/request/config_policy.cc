// SPDX-License-Identifier: Apache-2.0
#include "hook/request/config_policy.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/request/config_ports.h"
#include "hook/request/draft.h"
#include "hook/request/nearest.h"
#include "hook/request/vf_annotations.h"

namespace hook {

using base::printable;

namespace {
// The tables of members; a unit test keeps runtime-config/install/schema/config.schema.json equal to them.
// Of an attachment, and so of a pool's policy, too.
constexpr std::array kRules = {Member{"parents", Type::List},
                               Member{"devices", Type::List},
                               Member{"bridges", Type::List},
                               Member{"addresses", Type::List},
                               Member{"vlans", Type::List},
                               Member{"mac", Type::Any},
                               Member{"min_tx_rate", Type::Any},
                               Member{"max_tx_rate", Type::Any},
                               Member{"guid", Type::Bool},
                               Member{"placement_host", Type::Bool},
                               Member{"privileged", Type::Bool},
                               Member{"trust", Type::Bool},
                               Member{"spoofchk_off", Type::Bool},
                               Member{"forbid_capabilities", Type::Any},
                               Member{kHandlesKey, Type::Any},
                               Member{kObjectsKey, Type::Any}};
// Of the container.
constexpr std::array kOfContainer = {Member{"modes", Type::List},
                                     Member{"pools", Type::List},
                                     Member{"attachments", Type::Any},
                                     Member{"memlock", Type::Any},
                                     Member{"char_devices", Type::List}};

std::vector<Member> policy_table() {
    std::vector<Member> all(kOfContainer.begin(), kOfContainer.end());
    all.insert(all.end(), kRules.begin(), kRules.end());
    return all;
}

std::string item(const std::string& place, size_t index) {
    return fmt::format("{}[{}]", place, index);
}

// Reads a member if it is there.
template <class T, class Read>
Result<std::optional<T>> if_there(const Json& json, const char* key, Read read) {
    if (find(json, key) == nullptr)
        return std::optional<T>{};
    return std::optional<T>(TRY(read()));
}

Result<std::optional<bool>> optional_flag(const Json& json, const char* key) {
    return if_there<bool>(json, key, [&]() -> Result<bool> { return flag(json, key); });
}

Result<std::vector<netns::Address>> parse_networks(const Json& json, const std::string& place) {
    std::vector<netns::Address> networks;
    for (const auto& text : TRY(strings(json, "addresses", place))) {
        const auto network = netns::parse_cidr(text);
        if (!network || !netns::is_network(*network))
            return bad(
                item(join(place, "addresses"), networks.size()),
                fmt::format("must be a network such as 10.9.0.0/16, not '{}'", printable(text)));
        networks.push_back(*network);
    }
    return networks;
}

// "7" or "100-199".
std::optional<VlanRange> parse_vlans(std::string_view text) {
    const auto dash = text.find('-');
    const auto first = parse_number(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1));
    if (!first || !last || *first == 0 || *first > *last || *last > kMaxVlan)
        return std::nullopt;
    return VlanRange{static_cast<uint16_t>(*first), static_cast<uint16_t>(*last)};
}

Result<std::vector<VlanRange>> parse_vlan_list(const Json& json, const std::string& place) {
    std::vector<VlanRange> ranges;
    for (const auto& text : TRY(strings(json, "vlans", place))) {
        const auto range = parse_vlans(text);
        if (!range)
            return bad(item(join(place, "vlans"), ranges.size()),
                       fmt::format("must be a VLAN or a range of them, not '{}'", printable(text)))
                .advise("write it as \"7\" or \"100-199\", from 1 to 4094");
        ranges.push_back(*range);
    }
    return ranges;
}

// "02:00:5e:10:00:01" or "02:00:5e:00:00:00-02:00:5e:ff:ff:ff".
std::optional<MacRange> parse_macs(std::string_view text) {
    const auto dash = text.find('-');
    const auto first = netns::parse_mac(text.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : netns::parse_mac(text.substr(dash + 1));
    if (!first || !last || *last < *first)
        return std::nullopt;
    return MacRange{*first, *last};
}

Result<std::vector<MacRange>> parse_mac_list(const Json& json, const std::string& place) {
    const Json& value = *find(json, "mac");
    const std::string here = join(place, "mac");
    if (value.is_boolean()) {
        netns::Mac highest;
        highest.bytes.fill(0xff);
        return value.get<bool>() ? std::vector{MacRange{{}, highest}} : std::vector<MacRange>{};
    }
    if (!value.is_array())
        return bad_type(here, "true or false, or a list of addresses", value);
    std::vector<MacRange> ranges;
    for (const auto& text : TRY(strings(json, "mac", place))) {
        const auto range = parse_macs(text);
        if (!range)
            return bad(item(here, ranges.size()),
                       fmt::format("must be an address or a range of them, not '{}'",
                                   printable(text)))
                .advise("write it as 02:00:5e:00:00:00-02:00:5e:ff:ff:ff");
        ranges.push_back(*range);
    }
    return ranges;
}

Result<std::optional<uint32_t>> parse_bound(const Json& json,
                                            const char* key,
                                            uint32_t most,
                                            const std::string& place) {
    const Json* value = find(json, key);
    if (value == nullptr)
        return std::optional<uint32_t>{};
    if (base::detail::fits<uint32_t>(*value) && *value >= 1 && *value <= most)
        return std::optional(value->get<uint32_t>());
    return bad_type(join(place, key), fmt::format("a whole number from 1 to {}", most), *value);
}

bool is_capability(const std::string& name) {
    const auto fits = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
    return name.starts_with("CAP_") && name.size() > 4 && name.size() <= 40 &&
           std::ranges::all_of(name, fits);
}

Result<std::vector<std::string>> capability_names(const Json& object,
                                                  const char* key,
                                                  const std::string& place) {
    auto all = TRY(strings(object, key, place));
    for (size_t i = 0; i < all.size(); ++i) {
        if (!is_capability(all[i]))
            return bad(item(join(place, key), i),
                       fmt::format("must be a capability such as CAP_NET_RAW, not '{}'",
                                   printable(all[i])));
    }
    return all;
}

using Forbidden = std::map<std::string, std::vector<std::string>>;

// A list is for every mode that it could be for; an object has one for each mode that it names.
Result<Forbidden> parse_forbidden(const Json& json,
                                  const std::vector<std::string_view>& modes,
                                  const std::string& place) {
    constexpr char kKey[] = "forbid_capabilities";
    const Json& value = *find(json, kKey);
    const std::string here = join(place, kKey);
    Forbidden all;
    if (value.is_array()) {
        const auto list = TRY(capability_names(json, kKey, place));
        for (const auto mode : modes)
            all.emplace(mode, list);
        return all;
    }
    if (!value.is_object())
        return bad_type(
            here, "a list of capabilities, or an object with a list for each mode", value);
    for (const auto& [mode, list] : value.items()) {
        TRY(check_mode(mode, join(here, mode)));
        if (std::ranges::find(modes, mode) == modes.end())
            return bad(join(here, mode), fmt::format("is not for a pool of mode {}", modes.front()))
                .advise("remove it");
        TRY(expect(list, Type::List, join(here, mode)));
        all.emplace(mode, TRY(capability_names(value, mode.c_str(), here)));
    }
    return all;
}

Result<> parse_rules(const Json& json,
                     const std::vector<std::string_view>& modes,
                     const std::string& place,
                     Rules& rules) {
    using Strings = std::vector<std::string>;
    rules.parents =
        TRY(if_there<Strings>(json, "parents", [&] { return device_names(json, place); }));
    rules.devices = TRY(if_there<std::vector<DeviceSpec>>(
        json, "devices", [&] { return device_specs(json, "devices", place); }));
    rules.bridges =
        TRY(if_there<Strings>(json, "bridges", [&] { return parse_bridges(json, place); }));
    rules.addresses = TRY(if_there<std::vector<netns::Address>>(
        json, "addresses", [&] { return parse_networks(json, place); }));
    rules.vlans = TRY(if_there<std::vector<VlanRange>>(
        json, "vlans", [&] { return parse_vlan_list(json, place); }));
    rules.mac = TRY(
        if_there<std::vector<MacRange>>(json, "mac", [&] { return parse_mac_list(json, place); }));
    rules.min_tx_rate = TRY(parse_bound(json, "min_tx_rate", kMaxRate, place));
    rules.max_tx_rate = TRY(parse_bound(json, "max_tx_rate", kMaxRate, place));
    rules.guid = TRY(optional_flag(json, "guid"));
    rules.placement_host = TRY(optional_flag(json, "placement_host"));
    rules.privileged = TRY(optional_flag(json, "privileged"));
    rules.trust = TRY(optional_flag(json, "trust"));
    rules.spoofchk_off = TRY(optional_flag(json, "spoofchk_off"));
    rules.forbid_capabilities = TRY(if_there<Forbidden>(
        json, "forbid_capabilities", [&] { return parse_forbidden(json, modes, place); }));
    rules.limits = TRY(limits_from_json(json, place));
    return {};
}

Result<uint64_t> parse_memlock_max(const Json& policy) {
    const Json* value = find(policy, "memlock");
    if (value == nullptr)
        return uint64_t{0};
    if (*value == "unlimited")
        return kMemlockUnlimited;
    // UINT64_MAX as a number would be a second spelling of "unlimited".
    if (base::detail::fits<int64_t>(*value) && value->get<int64_t>() >= 0)
        return value->get<uint64_t>();
    return bad_type("policy.memlock", "a whole number of bytes, or \"unlimited\"", *value);
}

Result<std::vector<std::string>> parse_pool_list(const Json& policy,
                                                 const std::vector<Pool>& pools) {
    auto all = TRY(strings(policy, "pools", "policy"));
    for (size_t i = 0; i < all.size(); ++i) {
        const bool known =
            std::ranges::any_of(pools, [&](const Pool& pool) { return pool.name == all[i]; });
        if (!known)
            return bad(item("policy.pools", i),
                       fmt::format("names the unknown pool '{}'", printable(all[i])));
    }
    return all;
}

Result<std::vector<std::string>> parse_char_devices(const Json& policy) {
    auto all = TRY(strings(policy, "char_devices", "policy"));
    for (size_t i = 0; i < all.size(); ++i) {
        if (!all[i].starts_with("/dev/"))
            return bad(item("policy.char_devices", i),
                       fmt::format("must be a device's path on the host such as "
                                   "/dev/infiniband/umad0, not '{}'",
                                   printable(all[i])));
    }
    return all;
}
}  // namespace

Result<> check_mode(const std::string& mode, const std::string& place) {
    if (find_mode(mode) != nullptr)
        return {};
    return bad(place, fmt::format("names the unknown mode '{}'", printable(mode)))
        .advise(fmt::format("did you mean {}? modes: {}",
                            nearest(mode, mode_names()),
                            fmt::join(mode_names(), ", ")));
}

Result<std::vector<std::string>> device_names(const Json& object, const std::string& place) {
    auto all = TRY(strings(object, "parents", place));
    for (size_t i = 0; i < all.size(); ++i) {
        if (!is_device_name(all[i]))
            return bad(fmt::format("{}.parents[{}]", place, i),
                       fmt::format("must be the name of an interface or RDMA device, or "
                                   "'container', not '{}'",
                                   printable(all[i])));
    }
    return all;
}

Result<std::vector<DeviceSpec>> device_specs(const Json& object,
                                             const char* key,
                                             const std::string& place) {
    std::vector<DeviceSpec> specs;
    for (const auto& text : TRY(strings(object, key, place))) {
        auto spec = parse_device_spec(text);
        if (!spec)
            return bad(fmt::format("{}[{}]", join(place, key), specs.size()),
                       fmt::format("must be a PF or VF, or VFs of a PF, not '{}'", printable(text)))
                .advise("write it as 0000:3b:00.0, enp1s0 or enp1s0#0-3,5");
        specs.push_back(*std::move(spec));
    }
    return specs;
}

std::vector<std::string_view> policy_members(bool of_pool) {
    return of_pool ? names(kRules) : names(policy_table());
}

Result<Policy> parse_policy(const Json& json, const std::vector<Pool>& pools) {
    TRY(check_members(json, policy_table(), "policy"));
    Policy policy;
    TRY(parse_rules(json, mode_names(), "policy", policy));
    policy.modes = TRY(strings(json, "modes", "policy"));
    for (size_t i = 0; i < policy.modes.size(); ++i)
        TRY(check_mode(policy.modes[i], item("policy.modes", i)));
    policy.pools = TRY(if_there<std::vector<std::string>>(
        json, "pools", [&] { return parse_pool_list(json, pools); }));
    policy.attachments = TRY(parse_bound(json, "attachments", kMaxIndex + 1, "policy"));
    policy.memlock_max = TRY(parse_memlock_max(json));
    policy.char_devices = TRY(parse_char_devices(json));
    return policy;
}

Result<Rules> parse_pool_policy(const Json& json,
                                const std::string& mode,
                                const std::string& place) {
    TRY(check_members(json, kRules, place));
    Rules rules;
    TRY(parse_rules(json, {mode}, place, rules));
    return rules;
}

}  // namespace hook
