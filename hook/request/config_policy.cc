// SPDX-License-Identifier: Apache-2.0
#include "hook/request/config_policy.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "hook/request/keys.h"
#include "netns/base/json.h"

namespace hook {

namespace {
using Forbidden = std::map<std::string, std::vector<std::string>>;

bool is_capability(std::string_view name) {
    const auto fits = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
    return name.starts_with("CAP_") && name.size() > 4 && name.size() <= 40 &&
           std::ranges::all_of(name, fits);
}

bool is_device_path(std::string_view path) {
    return path.starts_with("/dev/");
}

std::optional<netns::Address> parse_network(std::string_view text) {
    const auto network = netns::parse_cidr(text);
    return network && netns::is_network(*network) ? network : std::nullopt;
}

// Reads "7" or "100-199".
std::optional<VlanRange> parse_vlans(std::string_view text) {
    const auto [first_text, last_text] = split_range(text);
    const auto first = parse_number(first_text);
    const auto last = parse_number(last_text);
    if (!first || !last || *first == 0 || *first > *last || *last > kMaxVlan)
        return std::nullopt;
    return VlanRange{static_cast<uint16_t>(*first), static_cast<uint16_t>(*last)};
}

// Reads "02:00:5e:10:00:01" or "02:00:5e:00:00:00-02:00:5e:ff:ff:ff".
std::optional<MacRange> parse_macs(std::string_view text) {
    const auto [first_text, last_text] = split_range(text);
    const auto first = netns::parse_mac(first_text);
    const auto last = netns::parse_mac(last_text);
    if (!first || !last || *last < *first)
        return std::nullopt;
    return MacRange{*first, *last};
}

constexpr Item<netns::Address> kNetworks{parse_network, "must be a network such as 10.9.0.0/16"};
constexpr Item<VlanRange> kVlans{parse_vlans,
                                 "must be a VLAN or a range of them",
                                 "write it as \"7\" or \"100-199\", from 1 to 4094"};
constexpr Item<MacRange> kMacs{parse_macs,
                               "must be an address or a range of them",
                               "write it as 02:00:5e:00:00:00-02:00:5e:ff:ff:ff"};
constexpr Item<std::string> kCapabilities{parse_name<is_capability>,
                                          "must be a capability such as CAP_NET_RAW"};
constexpr Item<std::string> kCharDevices{
    parse_name<is_device_path>,
    "must be a device's path on the host such as /dev/infiniband/umad0"};

// A member that the rules have.
struct Reading {
    const Json& json;  // the rules
    const char* key;
    const std::string& place;                    // the place of the rules
    const std::vector<std::string_view>& modes;  // modes for which they could be
    Rules& rules;

    [[nodiscard]] const Json& value() const { return *find(json, key); }

    [[nodiscard]] std::string here() const { return join(place, key); }
};

struct RuleMember : Member {
    Result<> (*read)(const Reading& in);
};

template <auto M, const auto& Each>
Result<> read_items(const Reading& in) {
    in.rules.*M = TRY(read_list(in.json, in.key, in.place, Each));
    return {};
}

template <std::optional<bool> Rules::*M>
Result<> read_flag(const Reading& in) {
    in.rules.*M = flag(in.json, in.key);
    return {};
}

// Reads a whole number from 1; nothing if it is missing.
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

template <auto M, uint32_t Most>
Result<> read_bound(const Reading& in) {
    in.rules.*M = TRY(parse_bound(in.json, in.key, Most, in.place));
    return {};
}

Result<> read_macs(const Reading& in) {
    if (in.value().is_boolean()) {
        netns::Mac highest;
        highest.bytes.fill(0xff);
        in.rules.mac.emplace();
        if (in.value().get<bool>())
            in.rules.mac->push_back({{}, highest});
        return {};
    }
    if (!in.value().is_array())
        return bad_type(in.here(), "true or false, or a list of addresses", in.value());
    return read_items<&Rules::mac, kMacs>(in);
}

// Reads a list, which is for every mode that it could be for, or an object with a list for each
// mode that it names.
Result<> read_forbidden(const Reading& in) {
    const Json& value = in.value();
    Forbidden& all = in.rules.forbid_capabilities.emplace();
    if (value.is_array()) {
        const auto list = TRY(read_list(in.json, in.key, in.place, kCapabilities));
        for (const auto mode : in.modes)
            all.emplace(mode, list);
        return {};
    }
    if (!value.is_object())
        return bad_type(
            in.here(), "a list of capabilities, or an object with a list for each mode", value);
    for (const auto& [mode, list] : value.items()) {
        const std::string here = join(in.here(), mode);
        TRY(expect_mode(mode, here));
        if (std::ranges::find(in.modes, mode) == in.modes.end())
            return bad(here, fmt::format("is not for a pool of mode {}", in.modes.front()))
                .advise("remove it");
        TRY(expect(list, Type::List, here));
        all.emplace(mode, TRY(read_list(value, mode.c_str(), in.here(), kCapabilities)));
    }
    return {};
}

// Members for an attachment, and so for a pool's policy, too.
constexpr RuleMember kRules[] = {
    {{"parents", Type::List}, read_items<&Rules::parents, kParents>},
    {{"devices", Type::List}, read_items<&Rules::devices, kDevices>},
    {{"bridges", Type::List}, read_items<&Rules::bridges, kBridges>},
    {{"addresses", Type::List}, read_items<&Rules::addresses, kNetworks>},
    {{"vlans", Type::List}, read_items<&Rules::vlans, kVlans>},
    {{"mac", Type::Any}, read_macs},
    {{"min_tx_rate", Type::Any}, read_bound<&Rules::min_tx_rate, kMaxRate>},
    {{"max_tx_rate", Type::Any}, read_bound<&Rules::max_tx_rate, kMaxRate>},
    {{"guid", Type::Bool}, read_flag<&Rules::guid>},
    {{"placement_host", Type::Bool}, read_flag<&Rules::placement_host>},
    {{"privileged", Type::Bool}, read_flag<&Rules::privileged>},
    {{"trust", Type::Bool}, read_flag<&Rules::trust>},
    {{"spoofchk_off", Type::Bool}, read_flag<&Rules::spoofchk_off>},
    {{"umad", Type::Bool}, read_flag<&Rules::umad>},
    {{"forbid_capabilities", Type::Any}, read_forbidden},
    {{kHandlesKey, Type::Any}, read_bound<&Rules::handles, kMaxLimit>},
    {{kObjectsKey, Type::Any}, read_bound<&Rules::objects, kMaxLimit>}};
// Members for the container.
constexpr Member kOfContainer[] = {{"modes", Type::List},
                                   {"pools", Type::List},
                                   {"attachments", Type::Any},
                                   {"memlock", Type::Any},
                                   {"char_devices", Type::List}};

std::vector<Member> policy_table(bool of_pool) {
    std::vector<Member> all;
    if (!of_pool)
        all.assign(std::begin(kOfContainer), std::end(kOfContainer));
    all.insert(all.end(), std::begin(kRules), std::end(kRules));
    return all;
}

Result<> parse_rules(const Json& json,
                     const std::vector<std::string_view>& modes,
                     const std::string& place,
                     Rules& rules) {
    for (const RuleMember& member : kRules) {
        if (find(json, member.name) != nullptr)
            TRY(member.read({.json = json,
                             .key = member.name,
                             .place = place,
                             .modes = modes,
                             .rules = rules}));
    }
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

Result<> parse_pool_list(const Json& policy, const std::vector<Pool>& pools, Policy& into) {
    if (find(policy, "pools") == nullptr)
        return {};
    into.pools = TRY(strings(policy, "pools", "policy"));
    for (size_t i = 0; i < into.pools->size(); ++i) {
        const std::string& name = (*into.pools)[i];
        if (std::ranges::find(pools, name, &Pool::name) == pools.end())
            return bad(item("policy.pools", i),
                       fmt::format("names the unknown pool '{}'", printable(name)));
    }
    return {};
}
}  // namespace

Result<> expect_mode(const std::string& mode, const std::string& place) {
    if (find_mode_info(mode) != nullptr)
        return {};
    return bad(place, fmt::format("names the unknown mode '{}'", printable(mode)))
        .advise(fmt::format("did you mean {}? modes: {}",
                            nearest(mode, mode_names()),
                            fmt::join(mode_names(), ", ")));
}

std::vector<std::string_view> policy_members(bool of_pool) {
    return names(policy_table(of_pool));
}

Result<Policy> parse_policy(const Json& json, const std::vector<Pool>& pools) {
    TRY(check_members(json, policy_table(false), "policy"));
    Policy policy;
    TRY(parse_rules(json, mode_names(), "policy", policy));
    policy.modes = TRY(strings(json, "modes", "policy"));
    for (size_t i = 0; i < policy.modes.size(); ++i)
        TRY(expect_mode(policy.modes[i], item("policy.modes", i)));
    TRY(parse_pool_list(json, pools, policy));
    policy.attachments = TRY(parse_bound(json, "attachments", kMaxIndex + 1, "policy"));
    policy.memlock_max = TRY(parse_memlock_max(json));
    policy.char_devices = TRY(read_list(json, "char_devices", "policy", kCharDevices));
    return policy;
}

Result<Rules> parse_pool_policy(const Json& json,
                                const std::string& mode,
                                const std::string& place) {
    TRY(check_members(json, policy_table(true), place));
    Rules rules;
    TRY(parse_rules(json, {mode}, place, rules));
    return rules;
}

}  // namespace hook
