// SPDX-License-Identifier: Apache-2.0
// Without a policy three things are denied. One is a VF that could pass for another (trust on, spoof
// check off). Another is access to the fabric's management (umad). The third is an RDMA device that
// the engine gives itself, since nobody would take it back or limit it. Everything else is allowed:
// a user who may set other annotations on such a host may as well do without rdma-hook.
// budget: a rule is a few lines, and there are seventeen.
#include "hook/request/policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "hook/request/request.h"

namespace hook {

namespace {
constexpr char kDefaultPolicy[] = "default policy";
constexpr char kRemove[] = "remove the annotation";
constexpr char kRemoveAll[] = "remove the rdma.* annotations";

// A member of the rules, and its place.
template <class T>
struct Rule {
    const T* said = nullptr;  // nullptr if a policy leaves it out, or there is none
    std::string name;
    bool by_default = false;  // there is no policy, and no rule of the pool
};

// Returns the pool's own rule, else the policy's, else the default policy.
template <class T>
Rule<T> find_rule(const Config& config,
                  const Pool* pool,
                  std::optional<T> Rules::*member,
                  std::string_view name) {
    if (pool != nullptr && pool->rules.*member)
        return {&*(pool->rules.*member), fmt::format("pools.{}.policy.{}", pool->name, name)};
    if (!config.policy)
        return {nullptr, kDefaultPolicy, true};
    const auto& own = (*config.policy).*member;
    return {own ? &*own : nullptr, fmt::format("policy.{}", name)};
}

bool lists(const std::vector<std::string>& allowed, const std::string& value) {
    return std::ranges::find(allowed, value) != allowed.end();
}

template <class T>
bool includes(const std::vector<Range<T>>& ranges, const T& value) {
    return std::ranges::any_of(
        ranges, [&](const Range<T>& range) { return range.first <= value && value <= range.last; });
}

// Returns items of rules as people write them.
std::string show(const std::string& name) {
    return name;
}

std::string show(const DeviceSpec& spec) {
    return to_string(spec);
}

std::string show(const VlanRange& range) {
    return range.first == range.last ? std::to_string(range.first)
                                     : fmt::format("{}-{}", range.first, range.last);
}

std::string show(const MacRange& range) {
    return fmt::format("{}-{}", to_string(range.first), to_string(range.last));
}

template <class T>
std::string choices(const std::vector<T>* allowed, const char* if_none = kRemoveAll) {
    std::string all;
    for (size_t i = 0; allowed != nullptr && i < allowed->size(); ++i)
        all += (i == 0 ? "choose one of " : ", ") + show((*allowed)[i]);
    return all.empty() ? if_none : all;
}
}  // namespace

// The decisions on one attachment, a key at a time.
struct PolicyCheck {
    const KeyValues& asked;
    const Config& config;
    const Pool* pool;
    std::vector<Decision>& decisions;
    const Key* key = nullptr;  // the row that decides

    // Returns "rdma.2.mtu" for a key of the attachment.
    [[nodiscard]] std::string name_of(std::string_view other) const {
        return annotation_key(asked.index, other);
    }

    template <class T>
    Rule<T> rule(std::optional<T> Rules::*member, std::string_view name) const {
        return find_rule(config, pool, member, name);
    }

    // Decides on something that no annotation asks for.
    void decide_on(std::string what, std::string rule, bool allowed, std::string fix) {
        decisions.push_back({.key = {},
                             .asked = std::move(what),
                             .rule = std::move(rule),
                             .allowed = allowed,
                             .fix = std::move(fix)});
    }

    // Decides on a value of the annotation.
    void decide(std::string_view value, std::string rule, bool allowed, std::string fix = kRemove) {
        const std::string name = name_of(key->name);
        decide_on(fmt::format("{}='{}'", name, printable(value)),
                  std::move(rule),
                  allowed,
                  std::move(fix));
        decisions.back().key = name;
    }

    // Decides on a value that must be among those that a rule lists. Without a policy every value
    // is allowed.
    template <class T, class Among>
    void decide_listed(std::string_view value,
                       std::optional<std::vector<T>> Rules::*member,
                       std::string_view name,
                       Among among,
                       const char* if_none = kRemoveAll) {
        const auto list = rule(member, name);
        decide(value,
               list.name,
               list.said != nullptr ? among(*list.said) : list.by_default,
               choices(list.said, if_none));
    }

    void decide_name(const std::string& value,
                     std::optional<std::vector<std::string>> Rules::*member,
                     std::string_view name) {
        decide_listed(value, member, name, [&](const auto& list) { return lists(list, value); });
    }

    // Decides on a number that must not be above the rule's. `without` is the answer of a policy
    // that has no such rule.
    void decide_number(uint32_t value, std::optional<uint32_t> Rules::*member, bool without) {
        const auto most = rule(member, key->name);
        decide(
            std::to_string(value),
            most.name,
            most.said != nullptr ? value != 0 && value <= *most.said : without || most.by_default,
            most.said != nullptr ? fmt::format("set at most {}", *most.said) : kRemove);
    }
};

void check_mode(PolicyCheck& check) {
    const auto& policy = check.config.policy;
    check.decide(check.asked.mode,
                 policy ? "policy.modes" : kDefaultPolicy,
                 !policy || lists(policy->modes, check.asked.mode),
                 policy ? choices(&policy->modes) : kRemove);
}

// The administrator wrote the pools: only a policy that lists some leaves the others out.
void check_pool(PolicyCheck& check) {
    const auto& policy = check.config.policy;
    const std::string& pool = check.asked.pool;
    const bool listed = policy && policy->pools;
    if (pool.empty() && !listed)
        return;
    const std::string rule = policy ? "policy.pools" : kDefaultPolicy;
    const bool allowed = !listed || lists(*policy->pools, pool);
    const std::string fix = listed ? choices(&*policy->pools) : kRemove;
    if (pool.empty())
        check.decide_on(check.name_of("mode") + " without a pool",
                        rule,
                        allowed,
                        fmt::format("set {}: {}", check.name_of("pool"), fix));
    else
        check.decide(pool, rule, allowed, fix);
}

void check_parent(PolicyCheck& check) {
    if (!check.asked.parent.empty())
        return check.decide_name(check.asked.parent, &Rules::parents, "parents");
    // The interface of the default route is not known here, and may change under a policy.
    const auto parents = check.rule(&Rules::parents, "parents");
    check.decide_on("the default route's interface as " + check.name_of("parent"),
                    parents.name,
                    parents.by_default,
                    "set " + check.name_of("parent"));
}

// Decides on everything that the attachment may be given: the device that it names, else those that
// its pool lists.
void check_device(PolicyCheck& check) {
    std::vector<DeviceSpec> asked = check.asked.devices;
    if (asked.empty() && check.pool != nullptr)
        asked = devices_of(*check.pool);
    for (const DeviceSpec& spec : asked)
        check.decide_listed(to_string(spec), &Rules::devices, "devices", [&](const auto& list) {
            return lies_inside(spec, list);
        });
}

void check_bridge(PolicyCheck& check) {
    if (!check.asked.bridge.empty())
        check.decide_name(check.asked.bridge, &Rules::bridges, "bridges");
}

// Decides on addresses that were asked for. Leased addresses come from a range that the
// administrator wrote; these do not.
void check_addresses(PolicyCheck& check) {
    const auto addresses = check.rule(&Rules::addresses, "addresses");
    for (const auto& address : check.asked.addresses) {
        // A shorter prefix than the network's would put strangers on the link.
        const auto inside = [&](const netns::Address& network) {
            return netns::contains(network, address) && address.prefix >= network.prefix;
        };
        check.decide(to_string(address),
                     addresses.name,
                     addresses.said != nullptr ? std::ranges::any_of(*addresses.said, inside)
                                               : addresses.by_default,
                     "choose another address");
    }
}

void check_vlans(PolicyCheck& check) {
    const std::string all = check.key->value.print(check.asked);
    for (const auto text : split_list(all)) {
        if (const auto vlan = parse_number(text))
            check.decide_listed(
                text,
                &Rules::vlans,
                "vlans",
                [&](const auto& list) { return includes(list, static_cast<uint16_t>(*vlan)); },
                kRemove);
    }
}

// Decides on a reservation, which takes from the others and so needs leave.
void check_min_tx_rate(PolicyCheck& check) {
    if (check.asked.min_tx_rate.value_or(0) != 0)
        check.decide_number(*check.asked.min_tx_rate, &Rules::min_tx_rate, false);
}

// Decides on a limit. It only takes from containers that have it: any is allowed, up to the
// policy's own. None (0) is more than any.
void check_bound(PolicyCheck& check) {
    const auto& [value, most] = check.key->bound;
    const auto asked = check.asked.*value;
    if (asked && (*asked != 0 || find_said(check.config, check.pool, most)))
        check.decide_number(*asked, most, true);
}

// Decides on a value that needs leave. Without a policy nobody would find the name of a rule. A
// global policy would deny everything that it does not list; a pool's own does not.
void check_leave(PolicyCheck& check) {
    const Key::Leave& leave = check.key->leave;
    const std::string value = check.key->value.print(check.asked);
    if (value.empty() || (!leave.value.empty() && value != leave.value))
        return;
    const auto rule = check.rule(leave.rule, leave.name);
    const bool unruled = rule.by_default && leave.without_policy == Key::Leave::Given;
    check.decide(value,
                 rule.name,
                 rule.said != nullptr ? *rule.said : unruled,
                 rule.by_default ? fmt::format("remove it, or let a pool have it: \"policy\": "
                                               "{{\"{}\": true}} in the pool, in {}, and the pool "
                                               "in {}",
                                               leave.name,
                                               kConfigPath,
                                               check.name_of("pool"))
                                 : kRemove);
}

void check_mac(PolicyCheck& check) {
    const auto& mac = check.asked.mac;
    if (mac)
        check.decide_listed(
            to_string(*mac),
            &Rules::mac,
            "mac",
            [&](const auto& list) { return includes(list, *mac); },
            kRemove);
}

namespace {
// Decides on things that the engine gives the container beside an attachment.
void check_powers(PolicyCheck& check, const Powers& powers) {
    const std::string& mode = check.asked.mode;
    const auto forbidden = check.rule(&Rules::forbid_capabilities, "forbid_capabilities");
    if (forbidden.said != nullptr && forbidden.said->contains(mode)) {
        for (const std::string& name : forbidden.said->at(mode)) {
            if (lists(powers.capabilities, name))
                check.decide_on(fmt::format("{} beside {}='{}'", name, check.name_of("mode"), mode),
                                forbidden.name,
                                false,
                                "start it with --cap-drop " + name.substr(4));
        }
    }
    const auto privileged = check.rule(&Rules::privileged, "privileged");
    // A container with such a rule has the devices of all others, like a privileged one. Without a
    // policy the rule is refused like a single device that the engine gives itself.
    for (const std::string& rule : powers.open_rules)
        check.decide_on(fmt::format("device rule {} beside rdma.*", rule),
                        privileged.name,
                        privileged.said != nullptr && *privileged.said,
                        "leave it out: the container is given its own device");
    if (powers.privileged)
        check.decide_on("RDMA in a --privileged container",
                        privileged.name,
                        privileged.said != nullptr ? *privileged.said : privileged.by_default,
                        "start it without");
}

void check_attachment(const Attachment& attachment,
                      const Request& request,
                      const Config& config,
                      const Powers& powers,
                      std::vector<Decision>& decisions) {
    KeyValues asked{attachment, {}, {}, {}};
    if (const auto limits = request.limits.find(attachment.index); limits != request.limits.end())
        static_cast<Limits&>(asked) = limits->second;
    PolicyCheck check{.asked = asked,
                      .config = config,
                      .pool = find_pool(config, attachment.mode, attachment.pool),
                      .decisions = decisions};
    const ModeInfo* mode = find_mode_info(attachment.mode);
    for (const Key* key : in_order(&Key::in_policy)) {
        check.key = key;
        // A value counts even if the mode does not take its key. Only parent and device are the
        // mode's to choose between: each is decided on where nobody has set it, too.
        const bool of_mode = key->policy == check_parent || key->policy == check_device;
        if (!of_mode || (mode != nullptr && takes(*mode, *key)))
            key->policy(check);
    }
    check_powers(check, powers);
}

std::string text_of(const GivenNode& node) {
    const std::string number = fmt::format("{}:{}", node.number.major, node.number.minor);
    return node.path.empty() ? "device rule c " + number
                             : fmt::format("--device {} ({})", printable(node.path), number);
}

// Returns the number of attachments that the host may make of the request: each device that a mode
// of the host's devices gives becomes one, and "all" may be as many as there are indexes.
size_t most_attachments(const Request& request) {
    size_t count = 0;
    for (const Attachment& a : request.attachments) {
        const size_t devices = std::max<size_t>(a.devices.size(), 1);
        count += std::ranges::any_of(a.devices, names_all) ? kMaxIndex + 1 : devices;
    }
    return count;
}

// Decides on things that belong to the container and not to a single attachment.
void check_container(const Request& request,
                     const std::optional<Policy>& policy,
                     const Powers& powers,
                     std::vector<Decision>& decisions) {
    const auto add = [&](const char* rule, std::string asked, bool allowed, std::string fix) {
        decisions.push_back({.key = {},
                             .asked = std::move(asked),
                             .rule = policy ? fmt::format("policy.{}", rule) : kDefaultPolicy,
                             .allowed = allowed,
                             .fix = std::move(fix)});
    };
    if (const size_t count = most_attachments(request); policy && policy->attachments)
        add("attachments",
            fmt::format("{} attachments", count),
            count <= *policy->attachments,
            fmt::format("ask for at most {}", *policy->attachments));
    if (request.memlock) {
        const uint64_t most = policy ? policy->memlock_max : kMemlockUnlimited;
        const std::string value =
            *request.memlock == kMemlockUnlimited ? "unlimited" : std::to_string(*request.memlock);
        add("memlock",
            fmt::format("rdma.memlock='{}'", value),
            *request.memlock <= most,
            most == 0 ? kRemove : fmt::format("set at most {}", most));
        decisions.back().key = "rdma.memlock";
    }
    for (const GivenNode& node : powers.char_devices)
        add("char_devices",
            text_of(node) + " beside rdma.*",
            std::ranges::find(powers.listed, node.number) != powers.listed.end(),
            "leave it out: the container is given its own");
}
}  // namespace

std::vector<Decision> decide(const Request& request, const Config& config, const Powers& powers) {
    std::vector<Decision> decisions;
    if (request.attachments.empty())
        return decisions;
    for (const auto& attachment : request.attachments)
        check_attachment(attachment, request, config, powers, decisions);
    check_container(request, config.policy, powers, decisions);
    return decisions;
}

Result<> check_policy(const Request& request, const Config& config, const Powers& powers) {
    for (Decision& decision : decide(request, config, powers)) {
        if (decision.allowed)
            continue;
        const bool by_default = decision.rule == kDefaultPolicy;
        return make_error(Code::Refused,
                          fmt::format("{}{} does not allow {}",
                                      by_default ? "the " : "",
                                      decision.rule,
                                      decision.asked))
            .advise(by_default ? decision.fix
                               : fmt::format("{}, or have {} allow it in {}",
                                             decision.fix,
                                             decision.rule,
                                             kConfigPath));
    }
    return {};
}

template <class T>
std::optional<T> find_said(const Config& config,
                           const Pool* pool,
                           std::optional<T> Rules::*member) {
    const T* said = find_rule(config, pool, member, {}).said;
    return said != nullptr ? std::optional(*said) : std::nullopt;
}

// The types of the rules that others ask for.
template std::optional<uint32_t> find_said(const Config&,
                                           const Pool*,
                                           std::optional<uint32_t> Rules::*);
template std::optional<std::vector<std::string>> find_said(
    const Config&, const Pool*, std::optional<std::vector<std::string>> Rules::*);
template std::optional<std::vector<DeviceSpec>> find_said(
    const Config&, const Pool*, std::optional<std::vector<DeviceSpec>> Rules::*);

}  // namespace hook
