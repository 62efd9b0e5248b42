// SPDX-License-Identifier: Apache-2.0
#include "hook/request/ovs_annotations.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/request/vf_annotations.h"

namespace hook {

using base::Code;
using base::make_error;

namespace {
constexpr size_t kMostVlans = 64;

Result<> choose_bridge(const Choice& choice, Attachment& attachment) {
    const Draft& draft = choice.draft();
    const Pool* pool = choice.pool();
    const std::string usual = pool != nullptr ? pool->bridge : "";
    attachment.bridge = draft.wish.bridge.value_or(usual);
    if (attachment.bridge.empty())
        return make_error(Code::BadInput,
                          fmt::format("{} needs a bridge, and {}",
                                      draft.given.at("mode").text(),
                                      pool != nullptr ? "pool " + pool->name + " names none"
                                                      : std::string("there is no pool")))
            .advise(fmt::format("set {} to a bridge of Open vSwitch, or \"bridge\" of a pool in {}",
                                draft.name("bridge"),
                                kConfigPath));
    if (usual.empty() || usual == attachment.bridge)
        return {};
    return make_error(
               Code::Refused,
               fmt::format(
                   "{} is not the bridge of pool {}", draft.given.at("bridge").text(), pool->name))
        .advise(fmt::format("remove it, or choose another {}", draft.name("pool")));
}

// A port is an access port or a trunk. What the annotations say goes before what a pool does.
Result<> choose_vlans(const Choice& choice, Attachment& attachment) {
    const Draft& draft = choice.draft();
    if (draft.has("vlan") && draft.has("trunk"))
        return make_error(Code::BadInput,
                          fmt::format("{} does not go with {}",
                                      draft.given.at("trunk").text(),
                                      draft.given.at("vlan").text()))
            .advise("remove one of them: a port is an access port or a trunk");
    if (draft.has("vlan"))
        return {};
    attachment.trunk = choice.get(&Wish::trunk, std::vector<uint16_t>{});
    if (!attachment.trunk.empty())
        attachment.vf.vlan.reset();
    return {};
}
}  // namespace

Result<> set_bridge(Wish& wish, std::string_view value) {
    if (!is_interface_name(value))
        return make_error(Code::BadInput, "");
    wish.bridge = value;
    return {};
}

Result<> set_trunk(Wish& wish, std::string_view value) {
    std::vector<uint16_t> vlans;
    for (;;) {
        const auto comma = value.find(',');
        const auto vlan = parse_number(value.substr(0, comma));
        if (!vlan || *vlan == 0 || *vlan > kMaxVlan || vlans.size() == kMostVlans)
            return make_error(Code::BadInput, "");
        if (std::ranges::find(vlans, *vlan) != vlans.end())
            return make_error(Code::BadInput, fmt::format("{} is there twice", *vlan));
        vlans.push_back(static_cast<uint16_t>(*vlan));
        if (comma == std::string_view::npos)
            break;
        value.remove_prefix(comma + 1);
    }
    std::ranges::sort(vlans);
    wish.trunk = std::move(vlans);
    return {};
}

Result<> set_offload(Wish& wish, std::string_view value) {
    if (value != "preferred" && value != "required")
        return make_error(Code::BadInput, "");
    wish.offload_required = value == "required";
    return {};
}

std::string trunk_text(const std::vector<uint16_t>& vlans) {
    return fmt::format("{}", fmt::join(vlans, ","));
}

Result<> choose_port(const Choice& choice, Attachment& attachment) {
    if (!takes(choice.mode(), *find_key("bridge")))
        return {};
    TRY(choose_bridge(choice, attachment));
    TRY(choose_vlans(choice, attachment));
    attachment.offload_required = choice.get(&Wish::offload_required, false);
    return {};
}

}  // namespace hook
