// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/vf_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/request/values.h"

namespace hook {

using netns::VfSettings;

namespace {
// Calls `visit` with a pointer to each member.
template <class Visit>
void each_member(const Visit& visit) {
    visit(&VfSettings::mac);
    visit(&VfSettings::vlan);
    visit(&VfSettings::rate);
    visit(&VfSettings::spoofchk);
    visit(&VfSettings::trust);
    visit(&VfSettings::link_state);
    visit(&VfSettings::node_guid);
    visit(&VfSettings::port_guid);
}

template <class T>
Result<std::optional<T>> member(const Json& json, const char* key) {
    if (!json.contains(key))
        return std::optional<T>{};
    return std::optional<T>{TRY(base::required<T>(json, key))};
}

Result<netns::VfVlan> vlan_from_json(const Json& json) {
    netns::VfVlan vlan;
    vlan.id = TRY(base::required<uint16_t>(json, "id"));
    vlan.qos = TRY(base::required<uint8_t>(json, "qos"));
    if (TRY(base::required<bool>(json, "802.1ad")))
        vlan.protocol = netns::VlanProtocol::Dot1ad;
    return vlan;
}

Result<netns::VfRate> rate_from_json(const Json& json) {
    netns::VfRate rate;
    rate.min = TRY(base::required<uint32_t>(json, "min"));
    rate.max = TRY(base::required<uint32_t>(json, "max"));
    return rate;
}
}  // namespace

Json to_json(const VfSettings& settings) {
    Json json = Json::object();
    if (settings.mac)
        json["mac"] = netns::to_string(*settings.mac);
    if (settings.vlan)
        json["vlan"] = Json{{"id", settings.vlan->id},
                            {"qos", settings.vlan->qos},
                            {"802.1ad", settings.vlan->protocol == netns::VlanProtocol::Dot1ad}};
    if (settings.rate)
        json["rate"] = Json{{"min", settings.rate->min}, {"max", settings.rate->max}};
    if (settings.spoofchk)
        json["spoofchk"] = *settings.spoofchk;
    if (settings.trust)
        json["trust"] = *settings.trust;
    if (settings.link_state)
        json["link_state"] = static_cast<int>(*settings.link_state);
    if (settings.node_guid)
        json["node_guid"] = *settings.node_guid;
    if (settings.port_guid)
        json["port_guid"] = *settings.port_guid;
    return json;
}

Result<VfSettings> vf_settings_from_json(const Json& json) {
    VfSettings settings;
    if (const auto text = TRY(member<std::string>(json, "mac"))) {
        settings.mac = netns::parse_mac(*text);
        if (!settings.mac)
            return base::make_error(base::Code::Internal, "broken MAC of a VF");
    }
    if (json.contains("vlan"))
        settings.vlan = TRY(vlan_from_json(json["vlan"]));
    if (json.contains("rate"))
        settings.rate = TRY(rate_from_json(json["rate"]));
    settings.spoofchk = TRY(member<bool>(json, "spoofchk"));
    settings.trust = TRY(member<bool>(json, "trust"));
    if (const auto state = TRY(member<uint8_t>(json, "link_state")))
        settings.link_state = static_cast<netns::VfLinkState>(*state % 3);
    settings.node_guid = TRY(member<uint64_t>(json, "node_guid"));
    settings.port_guid = TRY(member<uint64_t>(json, "port_guid"));
    return settings;
}

std::string settings_text(const VfSettings& settings) {
    std::vector<std::string> words;
    const auto put_switch = [&](const char* name, const std::optional<bool>& value) {
        if (value)
            words.push_back(fmt::format("{} {}", name, *value ? "on" : "off"));
    };
    if (settings.mac)
        words.push_back("mac " + netns::to_string(*settings.mac));
    if (settings.vlan)
        words.push_back(fmt::format("vlan {} (qos {}, {})",
                                    settings.vlan->id,
                                    settings.vlan->qos,
                                    word_of(kVlanProtocols, settings.vlan->protocol)));
    if (settings.rate)
        words.push_back(
            fmt::format("tx rate {} to {} Mbit/s", settings.rate->min, settings.rate->max));
    put_switch("spoofchk", settings.spoofchk);
    put_switch("trust", settings.trust);
    if (settings.link_state)
        words.push_back(fmt::format("link state {}", word_of(kLinkStates, *settings.link_state)));
    if (settings.node_guid)
        words.push_back("node GUID " + guid_text(*settings.node_guid));
    if (settings.port_guid)
        words.push_back("port GUID " + guid_text(*settings.port_guid));
    return fmt::format("{}", fmt::join(words, ", "));
}

bool is_empty(const VfSettings& settings) {
    return settings == VfSettings{};
}

VfSettings difference(const VfSettings& wanted, const VfSettings& present) {
    VfSettings out;
    each_member([&](auto field) {
        if (wanted.*field && wanted.*field != present.*field)
            out.*field = wanted.*field;
    });
    return out;
}

VfSettings members_of(const VfSettings& chosen, const VfSettings& present) {
    VfSettings out;
    each_member([&](auto field) {
        if (chosen.*field)
            out.*field = present.*field;
    });
    return out;
}

}  // namespace hook
