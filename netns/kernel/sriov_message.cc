// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/sriov_message.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>

#include "netns/kernel/link_message.h"

namespace netns {

using netlink::Attributes;
using netlink::Bytes;
using netlink::Reply;
using netlink::Request;

namespace {
// A driver without spoof check or trust leaves this value, which the kernel presets.
constexpr uint32_t kNotSupported = UINT32_MAX;

template <class Value>
std::optional<Value> value_in(const Attributes& vf, int attribute) {
    const auto bytes = vf.find(attribute);
    return bytes ? netlink::read_header<Value>(*bytes) : std::nullopt;
}

template <class Value>
Bytes bytes_of(const Value& value) {
    return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
}

std::optional<Mac> mac_of(const Attributes& vf) {
    const auto found = value_in<ifla_vf_mac>(vf, IFLA_VF_MAC);
    if (!found)
        return std::nullopt;
    Mac mac;
    std::copy_n(found->mac, mac.bytes.size(), mac.bytes.begin());
    return mac;
}

// The list has the protocol, too; it has one entry.
std::optional<VfVlan> vlan_of(const Attributes& vf) {
    const auto found = value_in<ifla_vf_vlan_info>(vf.nested(IFLA_VF_VLAN_LIST), IFLA_VF_VLAN_INFO);
    if (!found)
        return std::nullopt;
    VfVlan vlan;
    vlan.id = static_cast<uint16_t>(found->vlan);
    vlan.qos = static_cast<uint8_t>(found->qos);
    vlan.protocol =
        ntohs(found->vlan_proto) == ETH_P_8021AD ? VlanProtocol::Dot1ad : VlanProtocol::Dot1q;
    return vlan;
}

template <class Value>
std::optional<bool> switch_of(const Attributes& vf, int attribute) {
    const auto found = value_in<Value>(vf, attribute);
    if (!found || found->setting == kNotSupported)
        return std::nullopt;
    return found->setting != 0;
}

std::optional<VfLinkState> link_state_of(const Attributes& vf) {
    const auto found = value_in<ifla_vf_link_state>(vf, IFLA_VF_LINK_STATE);
    if (!found)
        return std::nullopt;
    switch (found->link_state) {
        case IFLA_VF_LINK_STATE_ENABLE:
            return VfLinkState::On;
        case IFLA_VF_LINK_STATE_DISABLE:
            return VfLinkState::Off;
        default:
            return VfLinkState::Auto;
    }
}

uint32_t kernel_state(VfLinkState state) {
    if (state == VfLinkState::Auto)
        return IFLA_VF_LINK_STATE_AUTO;
    return state == VfLinkState::On ? IFLA_VF_LINK_STATE_ENABLE : IFLA_VF_LINK_STATE_DISABLE;
}

std::optional<uint64_t> guid_of(const Attributes& vf, int attribute) {
    const auto found = value_in<ifla_vf_guid>(vf, attribute);
    return found ? std::optional<uint64_t>{found->guid} : std::nullopt;
}

VfSettings settings_of(const Attributes& vf, bool ethernet) {
    VfSettings settings;
    if (ethernet) {  // an IPoIB netdev's VFs have none of them, whatever the message has
        settings.mac = mac_of(vf);
        settings.vlan = vlan_of(vf);
        if (const auto rate = value_in<ifla_vf_rate>(vf, IFLA_VF_RATE))
            settings.rate = VfRate{.min = rate->min_tx_rate, .max = rate->max_tx_rate};
    }
    settings.spoofchk = switch_of<ifla_vf_spoofchk>(vf, IFLA_VF_SPOOFCHK);
    settings.trust = switch_of<ifla_vf_trust>(vf, IFLA_VF_TRUST);
    settings.link_state = link_state_of(vf);
    settings.node_guid = guid_of(vf, IFLA_VF_IB_NODE_GUID);
    settings.port_guid = guid_of(vf, IFLA_VF_IB_PORT_GUID);
    return settings;
}

Bytes attributes_of_link(const Reply& reply) {
    return Bytes{reply.payload}.subspan(std::min(reply.payload.size(), sizeof(ifinfomsg)));
}

// Takes the first attribute off the bytes. Returns its type and value; nothing if there is no
// complete one.
std::optional<std::pair<int, Bytes>> take_attribute(Bytes& bytes) {
    const auto header = netlink::read_header<nlattr>(bytes);
    if (!header || header->nla_len < sizeof *header || header->nla_len > bytes.size())
        return std::nullopt;
    const std::pair taken{header->nla_type & NLA_TYPE_MASK,
                          bytes.subspan(NLA_HDRLEN, header->nla_len - NLA_HDRLEN)};
    bytes = bytes.subspan(
        std::min(bytes.size(), size_t{NLA_ALIGN(static_cast<size_t>(header->nla_len))}));
    return taken;
}

// Returns the bytes from the first attribute of a type on, whatever its length; empty if there is
// none.
Bytes from_attribute(Bytes bytes, int type) {
    for (;;) {
        const auto header = netlink::read_header<nlattr>(bytes);
        if (header && (header->nla_type & NLA_TYPE_MASK) == type)
            return bytes;
        if (!take_attribute(bytes))
            return {};
    }
}

// Sets all bytes in place to zero, with the padding: a copy may have any padding.
template <class Value>
void clear(Value& value, uint32_t number) {
    std::memset(&value, 0, sizeof value);
    value.vf = number;
}

Request begin(uint32_t pf) {
    Request request{RTM_SETLINK, 0};
    request.header(link_header(pf)).begin(IFLA_VFINFO_LIST).begin(IFLA_VF_INFO);
    return request;
}

template <class Value>
VfRequest one(std::string setting, uint32_t pf, int attribute, const Value& value) {
    Request request = begin(pf);
    request.put(attribute, bytes_of(value)).end().end();
    return {std::move(setting), std::move(request)};
}

VfRequest mac_request(uint32_t pf, uint32_t number, const Mac& mac) {
    ifla_vf_mac value{};
    clear(value, number);
    std::copy(mac.bytes.begin(), mac.bytes.end(), value.mac);
    return one("mac", pf, IFLA_VF_MAC, value);
}

VfRequest vlan_request(uint32_t pf, uint32_t number, const VfVlan& vlan) {
    ifla_vf_vlan_info value{};
    clear(value, number);
    value.vlan = vlan.id;
    value.qos = vlan.qos;
    value.vlan_proto = htons(vlan.protocol == VlanProtocol::Dot1ad ? ETH_P_8021AD : ETH_P_8021Q);
    Request request = begin(pf);
    request.begin(IFLA_VF_VLAN_LIST).put(IFLA_VF_VLAN_INFO, bytes_of(value)).end().end().end();
    return {"vlan", std::move(request)};
}

VfRequest rate_request(uint32_t pf, uint32_t number, const VfRate& rate) {
    ifla_vf_rate value{};
    clear(value, number);
    value.min_tx_rate = rate.min;
    value.max_tx_rate = rate.max;
    return one("rate", pf, IFLA_VF_RATE, value);
}

VfRequest guid_request(uint32_t pf, uint32_t number, int attribute, uint64_t guid) {
    ifla_vf_guid value{};
    clear(value, number);
    value.guid = guid;
    return one(attribute == IFLA_VF_IB_NODE_GUID ? "node GUID" : "port GUID", pf, attribute, value);
}
}  // namespace

Request vf_list_request(uint32_t pf) {
    Request request{RTM_GETLINK, 0};
    request.header(link_header(pf))
        .put(IFLA_EXT_MASK, uint32_t{RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS});
    return request;
}

uint32_t count_vfs(const Reply& reply) {
    Bytes rest = from_attribute(attributes_of_link(reply), IFLA_NUM_VF);
    const auto count = take_attribute(rest);
    return count ? netlink::read_header<uint32_t>(count->second).value_or(0) : 0;
}

std::optional<VfSettings> parse_vf(const Reply& reply, uint32_t number) {
    const auto link = netlink::read_header<ifinfomsg>(reply.payload);
    Bytes rest = from_attribute(attributes_of_link(reply), IFLA_VFINFO_LIST);
    rest = rest.subspan(std::min<size_t>(rest.size(), NLA_HDRLEN));
    // Does not use the list's own length, which has 16 bits and wraps with about 270 VFs.
    for (auto entry = take_attribute(rest); entry && entry->first == IFLA_VF_INFO;
         entry = take_attribute(rest)) {
        const auto vf = Attributes::parse(entry->second);
        const auto mac = vf ? value_in<ifla_vf_mac>(*vf, IFLA_VF_MAC) : std::nullopt;
        if (mac && mac->vf == number)
            return settings_of(*vf, link->ifi_type == ARPHRD_ETHER);
    }
    return std::nullopt;
}

std::vector<VfRequest> vf_requests(uint32_t pf, uint32_t number, const VfSettings& change) {
    std::vector<VfRequest> all;
    if (change.mac)
        all.push_back(mac_request(pf, number, *change.mac));
    if (change.vlan)
        all.push_back(vlan_request(pf, number, *change.vlan));
    if (change.rate)
        all.push_back(rate_request(pf, number, *change.rate));
    if (change.spoofchk) {
        ifla_vf_spoofchk value{};
        clear(value, number);
        value.setting = *change.spoofchk ? 1 : 0;
        all.push_back(one("spoofchk", pf, IFLA_VF_SPOOFCHK, value));
    }
    if (change.trust) {
        ifla_vf_trust value{};
        clear(value, number);
        value.setting = *change.trust ? 1 : 0;
        all.push_back(one("trust", pf, IFLA_VF_TRUST, value));
    }
    if (change.link_state) {
        ifla_vf_link_state value{};
        clear(value, number);
        value.link_state = kernel_state(*change.link_state);
        all.push_back(one("link state", pf, IFLA_VF_LINK_STATE, value));
    }
    if (change.node_guid)
        all.push_back(guid_request(pf, number, IFLA_VF_IB_NODE_GUID, *change.node_guid));
    if (change.port_guid)
        all.push_back(guid_request(pf, number, IFLA_VF_IB_PORT_GUID, *change.port_guid));
    return all;
}

Error explain_setting(const std::string& setting, Error refusal) {
    switch (refusal.sys) {
        case EOPNOTSUPP:
            return std::move(refusal).as(
                Code::Unsupported,
                "leave out " + setting +
                    ": the PF's driver, or its e-switch mode, does not let it be set");
        case EPROTONOSUPPORT:
            return std::move(refusal).as(
                Code::Unsupported, "set rdma.vlan_proto=802.1q: the PF's driver knows no other");
        case EINVAL:
        case ERANGE:
        case EADDRNOTAVAIL:
            return std::move(refusal).as(
                Code::BadInput,
                setting == "rate"
                    ? "set a rate of at most the speed of the PF's link, which must be up"
                    : "");
        case ENODEV:
            return std::move(refusal).as(Code::Unavailable);
        case EAGAIN:
        case EBUSY:
            return std::move(refusal).as(Code::Busy);
        case EPERM:
            return std::move(refusal).advise(
                setting == "vlan"
                    ? "run as root; if it is root: take off the list of VLANs that the "
                      "VF may tag itself (VGT+ of MLNX_OFED)"
                    : "run as root");
        default:
            return refusal;
    }
}

}  // namespace netns
