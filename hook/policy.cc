// SPDX-License-Identifier: Apache-2.0
// What the administrator allows. Without a policy everything that is implemented so far is allowed:
// whoever may set annotations on such a host may as well do without us. With one, what it does not
// list is denied.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/annotations.h"
#include "hook/request.h"

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

Result<> check_attachment(const Attachment& attachment, const Policy& policy) {
    if (!lists(policy.modes, attachment.mode))
        return denied(fmt::format("{}='{}'", key_of(attachment, "mode"), attachment.mode),
                      "modes",
                      choices(policy.modes));
    TRY(check_parent(attachment, policy));
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

Result<> check_memlock(uint64_t asked, uint64_t max) {
    if (asked <= max)
        return {};
    const std::string value = asked == kMemlockUnlimited ? "unlimited" : std::to_string(asked);
    return denied(
        fmt::format("rdma.memlock='{}'", value), "memlock", fmt::format("set at most {}", max));
}
}  // namespace

Result<> check_policy(const Request& request, const Config& config, bool privileged) {
    if (request.attachments.empty() || !config.policy)
        return {};
    const Policy& policy = *config.policy;
    for (const auto& attachment : request.attachments)
        TRY(check_attachment(attachment, policy));
    if (request.memlock)
        TRY(check_memlock(*request.memlock, policy.memlock_max));
    if (privileged && !policy.privileged)
        return denied("RDMA in a --privileged container", "privileged", "start it without");
    return {};
}

}  // namespace hook
