// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/link_message.h"

#include <algorithm>
#include <cstring>

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <net/if.h>
#include <net/if_arp.h>

namespace netns {

using netlink::Attributes;
using netlink::Bytes;
using netlink::Reply;
using netlink::Request;

namespace {
// Returns the attributes behind a message's header.
template <class Header>
std::optional<Attributes> attributes_of(const Reply& reply) {
    if (reply.payload.size() < sizeof(Header))
        return std::nullopt;
    return Attributes::parse(netlink::after_header(reply.payload, sizeof(Header)));
}

// Values of arp_ignore and arp_announce: ip-sysctl in the kernel's documentation.
constexpr uint32_t kOwnAddressesOnly = 1;
constexpr uint32_t kBestOwnAddress = 2;

// IFLA_INET_CONF of a reply is an array of 32-bit values; setting N is at N - 1.
uint32_t setting(Bytes settings, size_t number) {
    uint32_t value = 0;
    if (settings.size() >= number * sizeof value)
        std::memcpy(&value, settings.data() + (number - 1) * sizeof value, sizeof value);
    return value;
}

bool has_strict_arp(const Attributes& link) {
    const auto settings = link.nested(IFLA_AF_SPEC).nested(AF_INET).find(IFLA_INET_CONF);
    return settings && setting(*settings, IPV4_DEVCONF_ARP_IGNORE) == kOwnAddressesOnly &&
           setting(*settings, IPV4_DEVCONF_ARP_ANNOUNCE) == kBestOwnAddress;
}

std::vector<std::string> altnames_of(const Attributes& link) {
    std::vector<std::string> names;
    const Attributes properties = link.nested(IFLA_PROP_LIST);
    for (const auto& [type, bytes] : properties.all()) {
        if (type != IFLA_ALT_IFNAME)
            continue;
        const auto end = std::find(bytes.begin(), bytes.end(), uint8_t{0});
        names.emplace_back(bytes.begin(), end);
    }
    return names;
}

uint32_t kernel_mode(MacvlanMode mode) {
    switch (mode) {
        case MacvlanMode::Private:
            return MACVLAN_MODE_PRIVATE;
        case MacvlanMode::Vepa:
            return MACVLAN_MODE_VEPA;
        case MacvlanMode::Bridge:
            break;
    }
    return MACVLAN_MODE_BRIDGE;
}

// Adds the IFLA_INFO_DATA of the kind.
void put_child_data(Request& request, const ChildType& type) {
    switch (type.kind) {
        case ChildKind::Macvlan:
            request.put(IFLA_MACVLAN_MODE, kernel_mode(type.macvlan_mode));
            return;
        case ChildKind::Ipvlan:
            request.put16(IFLA_IPVLAN_MODE, IPVLAN_MODE_L2);
            return;
        case ChildKind::Vlan:
            request.put16(IFLA_VLAN_ID, type.vlan);
    }
}
}  // namespace

ifinfomsg link_header(uint32_t index) {
    ifinfomsg header{};
    header.ifi_family = AF_UNSPEC;
    header.ifi_index = static_cast<int>(index);
    return header;
}

Request link_query(uint32_t index) {
    Request request{RTM_GETLINK, 0};
    request.header(link_header(index)).put(IFLA_EXT_MASK, uint32_t{RTEXT_FILTER_SKIP_STATS});
    return request;
}

Result<Link> parse_link(const Reply& reply) {
    const auto header = netlink::read_header<ifinfomsg>(reply.payload);
    const auto attributes = attributes_of<ifinfomsg>(reply);
    if (!attributes || header->ifi_index <= 0)
        return make_error(Code::Internal, "the kernel describes a link in a malformed message");
    Link link;
    link.index = static_cast<uint32_t>(header->ifi_index);
    link.name = attributes->text(IFLA_IFNAME).value_or("");
    link.kind = attributes->nested(IFLA_LINKINFO).text(IFLA_INFO_KIND).value_or("");
    link.mtu = attributes->u32(IFLA_MTU).value_or(0);
    link.up = (header->ifi_flags & IFF_UP) != 0;
    link.ethernet = header->ifi_type == ARPHRD_ETHER;
    link.loopback = (header->ifi_flags & IFF_LOOPBACK) != 0;
    link.parent = attributes->u32(IFLA_LINK).value_or(0);
    link.master = attributes->u32(IFLA_MASTER).value_or(0);
    link.strict_arp = has_strict_arp(*attributes);
    link.device = attributes->text(IFLA_PARENT_DEV_NAME).value_or("");
    link.alias = attributes->text(IFLA_IFALIAS).value_or("");
    link.altnames = altnames_of(*attributes);
    link.promiscuous = attributes->u32(IFLA_PROMISCUITY).value_or(0) != 0;
    const auto program = attributes->nested(IFLA_XDP).find(IFLA_XDP_ATTACHED);
    link.xdp = program && !program->empty() && program->front() != XDP_ATTACHED_NONE;
    const auto mac = attributes->find(IFLA_ADDRESS);
    if (mac && mac->size() == link.mac.bytes.size())
        std::copy(mac->begin(), mac->end(), link.mac.bytes.begin());
    return link;
}

uint8_t kernel_family(Family family) {
    return family == Family::V4 ? AF_INET : AF_INET6;
}

Bytes raw(const Address& address) {
    return Bytes{address.bytes}.first(address_bytes(address.family));
}

std::optional<Address> parse_address(const Reply& reply) {
    const auto header = netlink::read_header<ifaddrmsg>(reply.payload);
    const auto attributes = attributes_of<ifaddrmsg>(reply);
    if (!attributes || reply.type != RTM_NEWADDR)
        return std::nullopt;
    if (header->ifa_family != AF_INET && header->ifa_family != AF_INET6)
        return std::nullopt;
    const Family family = header->ifa_family == AF_INET ? Family::V4 : Family::V6;
    // On a point-to-point link IFA_ADDRESS is the peer's, and IFA_LOCAL is the link's own.
    auto bytes = attributes->find(IFA_LOCAL);
    if (!bytes)
        bytes = attributes->find(IFA_ADDRESS);
    if (!bytes || bytes->size() != address_bytes(family) ||
        header->ifa_prefixlen > address_bytes(family) * 8)
        return std::nullopt;
    Address address{.family = family, .bytes = {}, .prefix = header->ifa_prefixlen};
    std::copy(bytes->begin(), bytes->end(), address.bytes.begin());
    return address;
}

Request change_request(uint32_t index, const LinkChange& change, std::optional<int> target) {
    Request request{RTM_SETLINK, 0};
    ifinfomsg header = link_header(index);
    if (change.up) {
        header.ifi_flags = *change.up ? IFF_UP : 0;
        header.ifi_change = IFF_UP;
    }
    request.header(header);
    if (target)
        request.put(IFLA_NET_NS_FD, static_cast<uint32_t>(*target));
    if (target && change.index)
        request.put(IFLA_NEW_IFINDEX, *change.index);
    if (change.mac)
        request.put(IFLA_ADDRESS, Bytes{change.mac->bytes});
    if (change.mtu)
        request.put(IFLA_MTU, *change.mtu);
    if (change.name)
        request.put(IFLA_IFNAME, *change.name);
    // Without a NUL, so that an empty text removes the alias.
    if (change.alias)
        request.put(
            IFLA_IFALIAS,
            Bytes{reinterpret_cast<const uint8_t*>(change.alias->data()), change.alias->size()});
    return request;
}

Request altname_request(int type, int flags, uint32_t index, const std::string& name) {
    Request request{type, flags};
    request.header(link_header(index)).begin(IFLA_PROP_LIST).put(IFLA_ALT_IFNAME, name).end();
    return request;
}

Request strict_arp_request(uint32_t index) {
    Request request{RTM_SETLINK, 0};
    request.header(link_header(index))
        .begin(IFLA_AF_SPEC)
        .begin(AF_INET)
        .begin(IFLA_INET_CONF)
        .put(IPV4_DEVCONF_ARP_IGNORE, kOwnAddressesOnly)
        .put(IPV4_DEVCONF_ARP_ANNOUNCE, kBestOwnAddress)
        .end()
        .end()
        .end();
    return request;
}

Request address_request(int type, int flags, uint32_t index, const Address& address) {
    Request request{type, flags};
    ifaddrmsg header{};
    header.ifa_family = kernel_family(address.family);
    header.ifa_prefixlen = address.prefix;
    header.ifa_index = index;
    // Duplicate address detection would leave a v6 address tentative, and its GID useless, for a
    // second or more.
    if (address.family == Family::V6 && type == RTM_NEWADDR)
        header.ifa_flags = IFA_F_NODAD;
    request.header(header).put(IFA_LOCAL, raw(address)).put(IFA_ADDRESS, raw(address));
    return request;
}

std::optional<uint32_t> default_link(const Reply& reply) {
    const auto header = netlink::read_header<rtmsg>(reply.payload);
    const auto attributes = attributes_of<rtmsg>(reply);
    if (!attributes || header->rtm_dst_len != 0 || header->rtm_type != RTN_UNICAST)
        return std::nullopt;
    if (const auto link = attributes->u32(RTA_OIF))
        return link;
    // With several next hops, use the first one's link.
    const auto hops = attributes->find(RTA_MULTIPATH);
    const auto hop = hops ? netlink::read_header<rtnexthop>(*hops) : std::nullopt;
    if (!hop || hop->rtnh_ifindex <= 0)
        return std::nullopt;
    return static_cast<uint32_t>(hop->rtnh_ifindex);
}

Request child_request(const ChildSpec& spec, int fd) {
    // NLM_F_EXCL: without it the kernel would change a link of that index or name.
    Request request{RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL};
    ifinfomsg header = link_header(spec.index);
    header.ifi_flags = IFF_UP;
    header.ifi_change = IFF_UP;
    request.header(header).put(IFLA_LINK, spec.parent).put(IFLA_IFNAME, spec.name);
    if (spec.type.kind != ChildKind::Ipvlan)
        request.put(IFLA_ADDRESS, Bytes{spec.mac.bytes});
    request.put(IFLA_MTU, spec.mtu)
        .put(IFLA_NET_NS_FD, static_cast<uint32_t>(fd))
        .begin(IFLA_LINKINFO)
        .put(IFLA_INFO_KIND, std::string(to_string(spec.type.kind)))
        .begin(IFLA_INFO_DATA);
    put_child_data(request, spec.type);
    request.end().end();
    return request;
}

}  // namespace netns
