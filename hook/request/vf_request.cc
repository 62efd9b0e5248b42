// SPDX-License-Identifier: Apache-2.0
// The annotations of a virtual function beside each other, and beside the pool.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/request/choice.h"

namespace hook {

using base::Code;
using base::Error;
using base::make_error;

namespace {
Error needs_other(const Draft& draft, std::string_view key, std::string_view other) {
    return make_error(Code::BadInput,
                      fmt::format("{} needs {}", draft.given.at(key).text(), draft.name(other)))
        .advise(fmt::format("set {}, or remove {}", draft.name(other), draft.name(key)));
}

std::string list_text(const std::vector<DeviceSpec>& specs) {
    std::vector<std::string> texts;
    for (const DeviceSpec& spec : specs)
        texts.push_back(to_string(spec));
    return fmt::format("{}", fmt::join(texts, ", "));
}

Result<> choose_device(const Choice& choice, Attachment& attachment) {
    const Draft& draft = choice.draft();
    const Pool* pool = choice.pool();
    const bool listed = pool != nullptr && (!pool->devices.empty() || !pool->functions.empty());
    attachment.device = draft.wish.device;
    if (!attachment.device && !listed)
        return make_error(Code::BadInput,
                          fmt::format("{} needs a device, and {}",
                                      draft.given.at("mode").text(),
                                      pool != nullptr ? "pool " + pool->name + " lists none"
                                                      : std::string("there is no pool")))
            .advise(fmt::format("set {} to a PF or VF, or \"devices\" of a pool in {}",
                                draft.name("device"),
                                kConfigPath));
    if (attachment.device && listed && !lies_inside(*attachment.device, devices_of(*pool)))
        return make_error(Code::Refused,
                          fmt::format("{} is not a device of pool {}",
                                      draft.given.at("device").text(),
                                      pool->name))
            .advise(fmt::format("choose one of {}, or another {}",
                                list_text(devices_of(*pool)),
                                draft.name("pool")));
    return {};
}

// A VLAN's quality of service and protocol mean nothing without a VLAN: of a pool's defaults they
// are then left out.
Result<> choose_vlan(const Choice& choice, Attachment& attachment) {
    const auto id = choice.find(&Wish::vlan);
    for (const char* key : {"vlan_qos", "vlan_proto"}) {
        if (!id && choice.draft().has(key))
            return needs_other(choice.draft(), key, "vlan");
    }
    if (id)
        attachment.vf.vlan =
            netns::VfVlan{.id = *id,
                          .qos = choice.get(&Wish::vlan_qos, uint8_t{0}),
                          .protocol = choice.get(&Wish::vlan_proto, netns::VlanProtocol::Dot1q)};
    return {};
}

// The annotation; else the pool's default, as far as the policy lets it; else the policy's bound.
std::optional<uint32_t> max_rate(const Choice& choice, std::optional<uint32_t> most) {
    if (choice.draft().wish.max_tx_rate)
        return choice.draft().wish.max_tx_rate;
    const auto usual = choice.usual(&Wish::max_tx_rate);
    const bool within = usual && (!most || (*usual != 0 && *usual <= *most));
    return within ? usual : most;
}

Result<> choose_rate(const Choice& choice, Attachment& attachment, std::optional<uint32_t> most) {
    const auto min = choice.find(&Wish::min_tx_rate);
    const auto max = max_rate(choice, most);
    if (!min && !max)
        return {};
    attachment.vf.rate = netns::VfRate{.min = min.value_or(0), .max = max.value_or(0)};
    if (attachment.vf.rate->max == 0 || attachment.vf.rate->min <= attachment.vf.rate->max)
        return {};
    return make_error(Code::BadInput,
                      fmt::format("{}='{}' is above {}='{}'",
                                  choice.draft().name("min_tx_rate"),
                                  *min,
                                  choice.draft().name("max_tx_rate"),
                                  *max))
        .advise("set a smaller minimum or a larger maximum");
}
}  // namespace

Result<> choose_vf(const Choice& choice, Attachment& attachment, std::optional<uint32_t> most) {
    if (!takes(choice.mode(), *find_key("device")))
        return {};
    TRY(choose_device(choice, attachment));
    TRY(choose_vlan(choice, attachment));
    TRY(choose_rate(choice, attachment, most));
    attachment.provider = choice.get(&Wish::provider, Provider::Auto);
    attachment.vf.spoofchk = choice.find(&Wish::spoofchk);
    attachment.vf.trust = choice.find(&Wish::trust);
    attachment.vf.link_state = choice.find(&Wish::link_state);
    attachment.vf.node_guid = choice.draft().wish.node_guid;
    attachment.vf.port_guid = choice.draft().wish.port_guid;
    return {};
}

}  // namespace hook
