// SPDX-License-Identifier: Apache-2.0
#include "hook/request/judge.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include <fmt/ranges.h>

#include "hook/request/vf_annotations.h"

namespace hook {

using base::printable;

namespace {
constexpr char kRemove[] = "remove the annotation";

std::string choices(const std::vector<std::string>& allowed) {
    return allowed.empty() ? "remove the rdma.* annotations"
                           : fmt::format("choose one of {}", fmt::join(allowed, ", "));
}

bool lists(const std::vector<std::string>& allowed, const std::string& value) {
    return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

// What a rule allows, as people write it.
template <class T, class Show>
std::vector<std::string> listed(const Ruling<std::vector<T>>& ruling, Show show) {
    std::vector<std::string> all;
    if (ruling.said != nullptr)
        std::ranges::transform(*ruling.said, std::back_inserter(all), show);
    return all;
}
}  // namespace

void Judge::leave(std::string_view key,
                  std::string_view value,
                  std::optional<bool> Rules::*member,
                  std::string_view name,
                  bool otherwise) {
    const auto ruling = bench_.ruling(member, name);
    const bool allowed = ruling.said != nullptr ? *ruling.said : ruling.by_default && otherwise;
    // Without a policy nobody would find the word for it. A global one would deny all that it does
    // not list: a pool's own does not.
    pass(key,
         value,
         ruling.rule,
         allowed,
         ruling.by_default
             ? fmt::format("remove it, or let a pool have it: \"policy\": {{\"{}\": true}} in the "
                           "pool, in {}, and the pool in {}",
                           name,
                           kConfigPath,
                           key_of("pool"))
             : kRemove);
}

void Judge::bound(std::string_view key,
                  uint32_t value,
                  const Ruling<uint32_t>& most,
                  bool without) {
    const bool allowed = most.said != nullptr ? value <= *most.said : without || most.by_default;
    pass(key,
         std::to_string(value),
         most.rule,
         allowed,
         most.said != nullptr ? fmt::format("set at most {}", *most.said) : kRemove);
}

void Judge::mode() {
    const auto& policy = bench_.config().policy;
    pass("mode",
         attachment_.mode,
         policy ? "policy.modes" : kDefaultPolicy,
         !policy || lists(policy->modes, attachment_.mode),
         policy ? choices(policy->modes) : kRemove);
}

// The administrator wrote the pools: only a policy that lists some leaves the others out.
void Judge::pool() {
    const auto& policy = bench_.config().policy;
    const bool listed = policy && policy->pools;
    if (attachment_.pool.empty() && !listed)
        return;
    const std::string rule = policy ? "policy.pools" : kDefaultPolicy;
    const bool allowed = !listed || lists(*policy->pools, attachment_.pool);
    const std::string fix = listed ? choices(*policy->pools) : kRemove;
    if (attachment_.pool.empty())
        verdicts_.push_back({.key = {},
                             .asked = key_of("mode") + " without a pool",
                             .rule = rule,
                             .allowed = allowed,
                             .fix = fmt::format("set {}: {}", key_of("pool"), fix)});
    else
        pass("pool", attachment_.pool, rule, allowed, fix);
}

// All that the attachment may be given: what it names, else what its pool lists.
void Judge::device() {
    std::vector<DeviceSpec> asked;
    if (attachment_.device)
        asked.push_back(*attachment_.device);
    else if (bench_.pool() != nullptr)
        asked = devices_of(*bench_.pool());
    const auto ruling = bench_.ruling(&Rules::devices, "devices");
    const auto allowed = listed(ruling, [](const DeviceSpec& spec) { return to_string(spec); });
    for (const DeviceSpec& spec : asked)
        pass("device",
             to_string(spec),
             ruling.rule,
             ruling.allows([&](const auto& list) { return lies_inside(spec, list); }),
             choices(allowed));
}

void Judge::parent() {
    const auto ruling = bench_.ruling(&Rules::parents, "parents");
    if (!attachment_.parent.empty())
        return pass(
            "parent",
            attachment_.parent,
            ruling.rule,
            ruling.allows([&](const auto& list) { return lists(list, attachment_.parent); }),
            choices(listed(ruling, std::identity())));
    // Which interface has the default route is not known here, and may change under a policy.
    verdicts_.push_back({.key = {},
                         .asked = "the default route's interface as " + key_of("parent"),
                         .rule = ruling.rule,
                         .allowed = ruling.by_default,
                         .fix = "set " + key_of("parent")});
}

void Judge::bridge() {
    if (attachment_.bridge.empty())
        return;
    const auto ruling = bench_.ruling(&Rules::bridges, "bridges");
    pass("bridge",
         attachment_.bridge,
         ruling.rule,
         ruling.allows([&](const auto& list) { return lists(list, attachment_.bridge); }),
         choices(listed(ruling, std::identity())));
}

// Leased addresses come from a range that the administrator wrote; these do not.
void Judge::addresses() {
    const auto ruling = bench_.ruling(&Rules::addresses, "addresses");
    for (const auto& address : attachment_.addresses) {
        // A shorter prefix than the network's would put strangers on the link.
        const auto inside = [&](const netns::Address& network) {
            return netns::contains(network, address) && address.prefix >= network.prefix;
        };
        pass("ip",
             to_string(address),
             ruling.rule,
             ruling.allows([&](const auto& list) { return std::ranges::any_of(list, inside); }),
             "choose another address");
    }
}

void Judge::vlan(std::string_view key, uint16_t vlan) {
    const auto ruling = bench_.ruling(&Rules::vlans, "vlans");
    const auto inside = [&](const VlanRange& range) {
        return range.first <= vlan && vlan <= range.last;
    };
    const auto allowed = listed(ruling, [](const VlanRange& range) {
        return range.first == range.last ? std::to_string(range.first)
                                         : fmt::format("{}-{}", range.first, range.last);
    });
    pass(key,
         std::to_string(vlan),
         ruling.rule,
         ruling.allows([&](const auto& list) { return std::ranges::any_of(list, inside); }),
         allowed.empty() ? kRemove : choices(allowed));
}

void Judge::vlans() {
    if (attachment_.vf.vlan)
        vlan("vlan", attachment_.vf.vlan->id);
    if (attachment_.child.vlan != 0)
        vlan("vlan", attachment_.child.vlan);
    for (const uint16_t one : attachment_.trunk)
        vlan("trunk", one);
}

// A reservation takes from the others, and so needs leave. A cap only takes from who has it: any is
// allowed, up to the policy's own; none (0) is more than any.
void Judge::rates() {
    if (!attachment_.vf.rate)
        return;
    const auto& [min, max] = *attachment_.vf.rate;
    if (min != 0)
        bound("min_tx_rate", min, bench_.ruling(&Rules::min_tx_rate, "min_tx_rate"), false);
    const auto most = bench_.ruling(&Rules::max_tx_rate, "max_tx_rate");
    if (max != 0)
        bound("max_tx_rate", max, most, true);
    else if (most.said != nullptr)
        pass("max_tx_rate", "0", most.rule, false, fmt::format("set at most {}", *most.said));
}

// What others know the attachment by.
void Judge::identity() {
    if (attachment_.mac) {
        const auto ruling = bench_.ruling(&Rules::mac, "mac");
        const auto inside = [&](const MacRange& range) {
            return range.first <= *attachment_.mac && *attachment_.mac <= range.last;
        };
        const auto allowed = listed(ruling, [](const MacRange& range) {
            return fmt::format("{}-{}", to_string(range.first), to_string(range.last));
        });
        pass("mac",
             to_string(*attachment_.mac),
             ruling.rule,
             ruling.allows([&](const auto& list) { return std::ranges::any_of(list, inside); }),
             allowed.empty() ? kRemove : choices(allowed));
    }
    if (attachment_.vf.node_guid)
        leave("node_guid", guid_text(*attachment_.vf.node_guid), &Rules::guid, "guid");
    if (attachment_.vf.port_guid)
        leave("port_guid", guid_text(*attachment_.vf.port_guid), &Rules::guid, "guid");
    if (attachment_.vf.trust == true)
        leave("trust", "on", &Rules::trust, "trust", false);
    if (attachment_.vf.spoofchk == false)
        leave("spoofchk", "off", &Rules::spoofchk_off, "spoofchk_off", false);
}

void Judge::placement() {
    if (attachment_.placement == Placement::Host)
        leave("placement", "host", &Rules::placement_host, "placement_host");
}

// A limit only takes: any is allowed, up to the policy's own.
void Judge::limits(const Limits& asked) {
    if (asked.handles)
        bound(kHandlesKey, *asked.handles, bench_.limit(&Limits::handles, kHandlesKey), true);
    if (asked.objects)
        bound(kObjectsKey, *asked.objects, bench_.limit(&Limits::objects, kObjectsKey), true);
}

void Judge::powers(const Powers& powers) {
    const auto forbidden = bench_.ruling(&Rules::forbid_capabilities, "forbid_capabilities");
    if (forbidden.said != nullptr && forbidden.said->contains(attachment_.mode)) {
        for (const std::string& name : forbidden.said->at(attachment_.mode)) {
            if (!lists(powers.capabilities, name))
                continue;
            verdicts_.push_back(
                {.key = {},
                 .asked = fmt::format("{} beside {}='{}'", name, key_of("mode"), attachment_.mode),
                 .rule = forbidden.rule,
                 .allowed = false,
                 .fix = "start it with --cap-drop " + name.substr(4)});
        }
    }
    const auto ruling = bench_.ruling(&Rules::privileged, "privileged");
    // As a privileged container it has the devices of all others. Without a policy it is refused
    // like a single one by the engine's own hand.
    for (const std::string& rule : powers.open_rules)
        verdicts_.push_back({.key = {},
                             .asked = fmt::format("device rule {} beside rdma.*", rule),
                             .rule = ruling.rule,
                             .allowed = ruling.said != nullptr && *ruling.said,
                             .fix = "leave it out: the container is given its own device"});
    if (!powers.privileged)
        return;
    verdicts_.push_back({.key = {},
                         .asked = "RDMA in a --privileged container",
                         .rule = ruling.rule,
                         .allowed = ruling.said != nullptr ? *ruling.said : ruling.by_default,
                         .fix = "start it without"});
}

}  // namespace hook
