// SPDX-License-Identifier: Apache-2.0
// An attachment as JSON: the annotations that would ask for exactly it, in canonical spelling, so
// that a journal reads like the request and one grammar serves both.
#include <fmt/format.h>

#include "hook/request/ovs_annotations.h"
#include "hook/request/request.h"
#include "hook/request/route_annotations.h"
#include "hook/request/vf_annotations.h"

namespace hook {

using base::Code;
using base::make_error;
using base::printable;

namespace {
std::string ip_text(const Attachment& attachment) {
    if (attachment.ip_source != IpSource::Static)
        return attachment.ip_source == IpSource::Auto ? "auto" : "none";
    std::string text;
    for (const auto& address : attachment.addresses)
        text += (text.empty() ? "" : ",") + to_string(address);
    return text;
}

// What is there of a VF's settings; both rates go together, as the PF keeps them.
void put_vf(Json& json, const Attachment& attachment) {
    const netns::VfSettings& vf = attachment.vf;
    const auto put_switch = [&](const char* key, const std::optional<bool>& value) {
        if (value)
            json[key] = *value ? "on" : "off";
    };
    if (attachment.device)
        json["device"] = to_string(*attachment.device);
    if (attachment.provider != Provider::Auto)
        json["provider"] = to_string(attachment.provider);
    if (vf.vlan) {
        json["vlan"] = std::to_string(vf.vlan->id);
        json["vlan_qos"] = std::to_string(vf.vlan->qos);
        json["vlan_proto"] = to_string(vf.vlan->protocol);
    }
    put_switch("spoofchk", vf.spoofchk);
    put_switch("trust", vf.trust);
    if (vf.link_state)
        json["link_state"] = to_string(*vf.link_state);
    if (vf.rate) {
        json["min_tx_rate"] = std::to_string(vf.rate->min);
        json["max_tx_rate"] = std::to_string(vf.rate->max);
    }
    if (vf.node_guid)
        json["node_guid"] = guid_text(*vf.node_guid);
    if (vf.port_guid)
        json["port_guid"] = guid_text(*vf.port_guid);
}

// What differs from a macvlan in bridge mode.
void put_child(Json& json, const netns::ChildType& child) {
    if (child.kind != netns::ChildKind::Macvlan)
        json["child"] = netns::to_string(child.kind);
    if (child.kind == netns::ChildKind::Vlan)
        json["vlan"] = std::to_string(child.vlan);
    if (child.macvlan_mode != netns::MacvlanMode::Bridge)
        json["macvlan_mode"] = netns::to_string(child.macvlan_mode);
}

netns::ChildType child_type(const Wish& wish) {
    netns::ChildType child;
    child.kind = wish.child.value_or(child.kind);
    child.macvlan_mode = wish.macvlan_mode.value_or(child.macvlan_mode);
    if (child.kind == netns::ChildKind::Vlan)
        child.vlan = wish.vlan.value_or(0);
    return child;
}

netns::VfSettings vf_settings(const Wish& wish) {
    netns::VfSettings vf;
    if (wish.vlan && wish.child != netns::ChildKind::Vlan)
        vf.vlan = netns::VfVlan{*wish.vlan,
                                wish.vlan_qos.value_or(0),
                                wish.vlan_proto.value_or(netns::VlanProtocol::Dot1q)};
    if (wish.min_tx_rate || wish.max_tx_rate)
        vf.rate = netns::VfRate{wish.min_tx_rate.value_or(0), wish.max_tx_rate.value_or(0)};
    vf.spoofchk = wish.spoofchk;
    vf.trust = wish.trust;
    vf.link_state = wish.link_state;
    vf.node_guid = wish.node_guid;
    vf.port_guid = wish.port_guid;
    return vf;
}

Result<Wish> read_members(const Json& json) {
    Wish wish;
    for (const auto& [name, value] : json.items()) {
        if (name == "index")
            continue;
        const Key* key = find_key(name);
        // Limits are a holder's, not the attachment's.
        const bool is_limit = name == kHandlesKey || name == kObjectsKey;
        if (key == nullptr || key->reach == Key::Reach::Container || is_limit)
            return make_error(Code::BadInput, fmt::format("unknown member '{}'", printable(name)));
        TRY(set_value(*key, name, TRY(base::as<std::string>(value, name)), wish));
    }
    return wish;
}

Result<Attachment> read_attachment(const Json& json) {
    if (!json.is_object())
        return make_error(Code::BadInput, "not an object");
    Attachment attachment;
    attachment.index = TRY(base::required<unsigned>(json, "index"));
    if (attachment.index > kMaxIndex)
        return make_error(Code::BadInput, fmt::format("index {} is too large", attachment.index));
    const Wish wish = TRY(read_members(json));
    if (!wish.mode || !wish.ip_source)
        return make_error(Code::BadInput, "mode or ip is missing");
    attachment.mode = *wish.mode;
    attachment.pool = wish.pool.value_or("");
    attachment.parent = wish.parent.value_or("");
    attachment.placement = wish.placement.value_or(Placement::Container);
    attachment.ifname = wish.ifname.value_or("");
    attachment.ip_source = *wish.ip_source;
    attachment.addresses = wish.addresses;
    attachment.gateways = wish.gateways.value_or(std::vector<netns::Address>{});
    attachment.routes = wish.routes.value_or(std::vector<RouteWish>{});
    attachment.mac = wish.mac;
    attachment.mtu = wish.mtu;
    attachment.device = wish.device;
    attachment.provider = wish.provider.value_or(Provider::Auto);
    attachment.vf = vf_settings(wish);
    attachment.bridge = wish.bridge.value_or("");
    attachment.trunk = wish.trunk.value_or(std::vector<uint16_t>{});
    attachment.offload_required = wish.offload_required.value_or(false);
    attachment.child = child_type(wish);
    return attachment;
}
}  // namespace

Json to_json(const Attachment& attachment) {
    Json json = base::object({{"index", attachment.index}, {"mode", attachment.mode}});
    const auto put = [&](const char* key, const std::string& value) {
        if (!value.empty())
            json[key] = value;
    };
    put("pool", attachment.pool);
    put("parent", attachment.parent);
    put("placement", attachment.placement == Placement::Host ? "host" : "container");
    put("ifname", attachment.ifname);
    put("ip", ip_text(attachment));
    put("gateway", gateway_text(attachment.gateways));
    put("routes", routes_text(attachment.routes));
    put("mac", attachment.mac ? to_string(*attachment.mac) : "");
    put("mtu", attachment.mtu ? std::to_string(*attachment.mtu) : "");
    put("bridge", attachment.bridge);
    put("trunk", trunk_text(attachment.trunk));
    put("offload", attachment.offload_required ? "required" : "");
    put_vf(json, attachment);
    put_child(json, attachment.child);
    return json;
}

Result<Attachment> attachment_from_json(const Json& json) {
    return read_attachment(json).context("attachment");
}

}  // namespace hook
