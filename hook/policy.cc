// SPDX-License-Identifier: Apache-2.0
// What the administrator allows. Without a policy everything is allowed but what would let a VF
// pass for another (trust on, spoof check off): whoever may set other annotations on such a host
// may as well do without us. With one, what it does not list is denied.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/draft.h"

namespace hook {

using base::Code;
using base::make_error;
using base::printable;

namespace {
// "rdma.2.mtu" for a key of an attachment.
std::string key_of(const Attachment& attachment, std::string_view key) {
    return attachment.index == 0 ? fmt::format("rdma.{}", key)
                                 : fmt::format("rdma.{}.{}", attachment.index, key);
}

Result<> denied(const std::string& what, const std::string& rule, const std::string& fix) {
    return make_error(Code::Refused, fmt::format("policy.{} does not allow {}", rule, what))
        .advise(fmt::format("{}, or ask for {} in {}", fix, rule, kConfigPath));
}

std::string choices(const std::vector<std::string>& allowed) {
    return allowed.empty() ? "remove the rdma.* annotations"
                           : fmt::format("choose one of {}", fmt::join(allowed, ", "));
}

bool lists(const std::vector<std::string>& allowed, const std::string& value) {
    return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

Result<> check_parent(const Attachment& attachment, const Policy& policy) {
    const std::string key = key_of(attachment, "parent");
    // Which interface has the default route is not known here, and may change under a policy.
    if (attachment.parent.empty())
        return denied("the default route's interface as " + key, "parents", "set " + key);
    if (lists(policy.parents, attachment.parent))
        return {};
    return denied(fmt::format("{}='{}'", key, printable(attachment.parent)),
                  "parents",
                  choices(policy.parents));
}

// Leased addresses come from a range that the administrator wrote; these do not.
Result<> check_addresses(const Attachment& attachment, const Policy& policy) {
    for (const auto& address : attachment.addresses) {
        // A shorter prefix than the network's would put strangers on the link.
        const bool inside =
            std::any_of(policy.addresses.begin(), policy.addresses.end(), [&](const auto& net) {
                return netns::contains(net, address) && address.prefix >= net.prefix;
            });
        if (!inside)
            return denied(fmt::format("{}='{}'", key_of(attachment, "ip"), to_string(address)),
                          "addresses",
                          "choose another address");
    }
    return {};
}

// All that the attachment may be given: what it names, else what its pool lists.
Result<> check_devices(const Attachment& attachment, const Config& config) {
    std::vector<DeviceSpec> asked;
    if (attachment.device)
        asked.push_back(*attachment.device);
    else if (const Pool* pool = find_pool(config, attachment.mode, attachment.pool))
        asked = devices_of(*pool);
    std::vector<std::string> allowed;
    for (const DeviceSpec& spec : config.policy->devices)
        allowed.push_back(to_string(spec));
    for (const DeviceSpec& spec : asked) {
        if (!lies_inside(spec, config.policy->devices))
            return denied(fmt::format("{}='{}'", key_of(attachment, "device"), to_string(spec)),
                          "devices",
                          choices(allowed));
    }
    return {};
}

Result<> check_bridge(const Attachment& attachment, const Policy& policy) {
    if (attachment.bridge.empty() || lists(policy.bridges, attachment.bridge))
        return {};
    return denied(fmt::format("{}='{}'", key_of(attachment, "bridge"), attachment.bridge),
                  "bridges",
                  choices(policy.bridges));
}

// Settings of a VF that need leave even where there is no policy.
Result<> check_vf(const Attachment& attachment, const std::optional<Policy>& policy) {
    const struct {
        const char* key;
        const char* value;
        const char* rule;
        bool asked;
        bool allowed;
    } rows[] = {{"trust", "on", "trust", attachment.vf.trust == true, policy && policy->trust},
                {"spoofchk",
                 "off",
                 "spoofchk_off",
                 attachment.vf.spoofchk == false,
                 policy && policy->spoofchk_off}};

    for (const auto& row : rows) {
        const std::string what = fmt::format("{}='{}'", key_of(attachment, row.key), row.value);
        if (!row.asked || row.allowed)
            continue;
        if (policy)
            return denied(what, row.rule, "remove the annotation");
        return make_error(Code::Refused, what + " lets a VF pass for another, and needs a policy")
            .advise(fmt::format(
                "remove it, or write a \"policy\" with \"{}\": true in {}", row.rule, kConfigPath));
    }
    return {};
}

Result<> check_attachment(const Attachment& attachment, const Config& config) {
    const Policy& policy = *config.policy;
    if (!lists(policy.modes, attachment.mode))
        return denied(fmt::format("{}='{}'", key_of(attachment, "mode"), attachment.mode),
                      "modes",
                      choices(policy.modes));
    const Mode* mode = find_mode(attachment.mode);
    if (mode != nullptr && takes(*mode, *find_key("device")))
        TRY(check_devices(attachment, config));
    else
        TRY(check_parent(attachment, policy));
    TRY(check_bridge(attachment, policy));
    TRY(check_addresses(attachment, policy));
    if (attachment.placement == Placement::Host && !policy.placement_host)
        return denied(
            key_of(attachment, "placement") + "='host'", "placement_host", "remove the annotation");
    if (attachment.mac && !policy.mac)
        return denied(fmt::format("{}='{}'", key_of(attachment, "mac"), to_string(*attachment.mac)),
                      "mac",
                      "remove the annotation");
    return {};
}

Result<> check_limit(const std::string& key,
                     std::optional<uint32_t> asked,
                     std::optional<uint32_t> bound) {
    if (!asked || !bound || *asked <= *bound)
        return {};
    const std::string rule = key.substr(key.rfind('.') + 1);
    return denied(fmt::format("{}='{}'", key, *asked), rule, fmt::format("set at most {}", *bound));
}

// A limit only takes: any is allowed, up to the policy's own.
Result<> check_limits(const Request& request, const Limits& bounds) {
    for (const Attachment& attachment : request.attachments) {
        const auto limits = request.limits.find(attachment.index);
        if (limits == request.limits.end())
            continue;
        TRY(check_limit(key_of(attachment, kHandlesKey), limits->second.handles, bounds.handles));
        TRY(check_limit(key_of(attachment, kObjectsKey), limits->second.objects, bounds.objects));
    }
    return {};
}

Result<> check_memlock(uint64_t asked, uint64_t max) {
    if (asked <= max)
        return {};
    const std::string value = asked == kMemlockUnlimited ? "unlimited" : std::to_string(asked);
    return denied(
        fmt::format("rdma.memlock='{}'", value), "memlock", fmt::format("set at most {}", max));
}
}  // namespace

Result<> check_policy(const Request& request, const Config& config, bool privileged) {
    for (const auto& attachment : request.attachments)
        TRY(check_vf(attachment, config.policy));
    if (request.attachments.empty() || !config.policy)
        return {};
    const Policy& policy = *config.policy;
    for (const auto& attachment : request.attachments)
        TRY(check_attachment(attachment, config));
    TRY(check_limits(request, policy.limits));
    if (request.memlock)
        TRY(check_memlock(*request.memlock, policy.memlock_max));
    if (privileged && !policy.privileged)
        return denied("RDMA in a --privileged container", "privileged", "start it without");
    return {};
}

}  // namespace hook
