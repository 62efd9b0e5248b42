// SPDX-License-Identifier: Apache-2.0
#include "hook/modes/interface.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "hook/steps/free_vf.h"
#include "netns/base/ids.h"
#include "netns/rdma.h"
#include "netns/route.h"

namespace hook {

using netns::Address;

namespace {
// Returns the first `count` hex digits of a digest as a number.
uint64_t digest_number(const std::string& text, size_t count) {
    const std::string hex = base::sha256_hex(text).substr(0, count);
    uint64_t number = 0;
    (void)std::from_chars(hex.data(), hex.data() + hex.size(), number, 16);
    return number;
}

std::string seed(const std::string& text, const Attachment& attachment) {
    return fmt::format("{}/{}", text, attachment.index);
}

// Returns a netdev by its own name, or by that of the RDMA device on it.
Result<std::optional<netns::Link>> find_named(const std::string& name, Site& site) {
    if (const auto link = TRY(site.host.links.find_by_name(site.host_ns, name)))
        return link;
    const auto device = TRY(site.host.rdma.find_by_name(site.host_ns, name));
    const auto netdev =
        device ? TRY(site.host.rdma.netdev_of(site.host_ns, device->index)) : std::nullopt;
    if (device && !netdev)
        return without_netdev(name);
    const auto link = TRY(site.host.links.find(site.host_ns, netdev.value_or(0)));
    // The RDMA device of a bond is on one of its ports, and interfaces stand on the bond.
    const auto master = link && link->master != 0
                            ? TRY(site.host.links.find(site.host_ns, link->master))
                            : std::nullopt;
    return master && master->kind == "bond" ? master : link;
}

// The annotations leave no choice with `auto`.
constexpr char kAnotherRange[] =
    "give the pool another \"range\" in the configuration; see who has them: rdmactl list, "
    "arping or ndisc6";

// Returns the addresses of all leases, on any network. A pool may have several networks and a
// network several pools, and a range is given out once.
std::set<std::string> leased(const std::vector<std::string>& leases) {
    std::set<std::string> addresses;
    for (const std::string& name : leases)
        addresses.insert(name.substr(name.find('-') + 1));
    return addresses;
}

// Returns the first address of the range that has no lease and is not `in_use` by others.
Result<Address> first_free(const AddressRange& range,
                           const std::set<std::string>& taken,
                           const std::set<Address>& in_use) {
    for (uint64_t step = 0;; ++step) {
        const auto candidate = netns::advance(range.first, step);
        if (!candidate || *candidate > range.last)
            break;
        if (netns::is_host_address(*candidate) && !in_use.contains(*candidate) &&
            !taken.contains(netns::ip_string(*candidate)))
            return *candidate;
    }
    const bool all_ours = in_use.empty();
    return make_error(Code::Busy,
                      fmt::format("no free address from {} to {}",
                                  netns::ip_string(range.first),
                                  netns::ip_string(range.last)))
        .advise(all_ours ? "see who has them: rdmactl list; or widen the pool's range in the "
                           "configuration"
                         : kAnotherRange);
}

// Returns the largest of RoCE's five payloads whose packets fit into an MTU. It counts as rxe does,
// with 80 bytes of headers (rxe_param.h, eth_mtu_int_to_enum).
uint32_t roce_mtu(uint32_t mtu) {
    constexpr uint32_t kHeaders = 80;
    uint32_t payload = 4096;
    while (payload > 256 && payload + kHeaders > mtu)
        payload /= 2;
    return payload;
}

// Returns the name of the lease's file.
std::string lease_name(const Segment& segment, const Address& address) {
    const std::string vlan = segment.vlan == 0 ? "" : fmt::format(".{}", segment.vlan);
    return fmt::format("{}{}-{}", segment.netdev, vlan, netns::ip_string(address));
}

constexpr uint32_t kFirstPriority = 1000;  // before the main table's 32766

void add_own_table(Plan& plan, const Attachment& attachment) {
    const uint32_t table = plan.endpoint.netdev;  // this rail's table, and no other's
    std::vector<Address> networks;                // several addresses may be in one network
    for (const Address& address : plan.endpoint.addresses) {
        const Address source = *netns::parse_ip(netns::ip_string(address));
        const Address network = netns::network_of(address);
        if (std::ranges::count(networks, network) == 0)
            plan.add(AddRoute{{.family = address.family,
                               .destination = network,
                               .source = source,
                               .link = plan.endpoint.netdev,
                               .table = table}});
        networks.push_back(network);
        plan.add(AddRule{
            .source = {source}, .table = table, .priority = kFirstPriority + attachment.index});
    }
    for (const Address& gateway : attachment.gateways)
        plan.add(AddRoute{{.family = gateway.family,
                           .gateway = gateway,
                           .link = plan.endpoint.netdev,
                           .table = table}});
}
}  // namespace

base::Error not_ethernet(const std::string& what) {
    return make_error(Code::Refused, what + " is not Ethernet")
        .advise("set rdma.parent to an Ethernet netdev");
}

Result<netns::Link> find_parent(const Attachment& attachment, Site& site) {
    netns::Links& links = site.host.links;
    std::optional<netns::Link> link;
    if (!attachment.parent.empty()) {
        link = TRY(find_named(attachment.parent, site));
        if (!link)
            return make_error(Code::Unavailable,
                              "rdma.parent='" + attachment.parent +
                                  "': no such network interface or RDMA device on this host")
                .advise("set rdma.parent to one that `rdma link show` or `ip -br link` lists");
    } else if (const auto index = TRY(links.default_route_link(site.host_ns))) {
        link = TRY(links.find(site.host_ns, *index));
    }
    if (!link)
        return make_error(Code::Unavailable,
                          "rdma.parent is not set, and the host has no default route whose "
                          "interface it could be")
            .advise("set rdma.parent to one that `rdma link show` or `ip -br link` lists");
    if (link->loopback || !link->ethernet)
        return not_ethernet("netdev '" + link->name + "'");
    if (!link->up)
        return make_error(Code::Unavailable, "netdev '" + link->name + "' is down")
            .advise("run: ip link set " + link->name + " up");
    return *link;
}

Result<> check_mtu(const Attachment& attachment, const netns::Link& upon, const char* called) {
    if (!attachment.mtu || *attachment.mtu <= upon.mtu)
        return {};
    return make_error(Code::BadInput,
                      fmt::format("rdma.mtu={} is above the {} of its {} {}",
                                  *attachment.mtu,
                                  upon.mtu,
                                  called,
                                  upon.name))
        .advise(fmt::format(
            "run: ip link set {} mtu {}; or set a smaller rdma.mtu", upon.name, *attachment.mtu));
}

Result<netns::Link> find_container_link(Site& site) {
    const auto missing = [] {
        return make_error(Code::Unavailable,
                          "the container's network has no interface to put RDMA on")
            .advise(
                "give it a bridge network, or (under Docker, which makes it later) set rdma.parent "
                "to a host netdev");
    };
    if (!site.container)
        return missing();
    netns::Links& links = site.host.links;
    if (const auto index = TRY(links.default_route_link(*site.container))) {
        if (const auto link = TRY(links.find(*site.container, *index)))
            return *link;
    }
    std::optional<netns::Link> only;
    for (const netns::Link& link : TRY(links.list(*site.container))) {
        if (link.loopback || !link.ethernet || !link.up)
            continue;
        if (only)
            return make_error(Code::Refused,
                              "the container has several interfaces and no default route")
                .advise("set rdma.parent to a host netdev");
        only = link;
    }
    return only ? Result<netns::Link>{*only} : Result<netns::Link>{missing()};
}

Result<std::optional<netns::Link>> find_bridge_of(const netns::Link& link, Site& site) {
    const std::optional<netns::Link> none;
    netns::Links& links = site.host.links;
    if (link.kind != "veth")
        return none;
    const auto peer = TRY(links.find(site.host_ns, link.parent));
    // The index belongs to a link of another namespace if the other end is not the host's.
    if (!peer || peer->kind != link.kind || peer->parent != link.index || peer->master == 0)
        return none;
    const auto master = TRY(links.find(site.host_ns, peer->master));
    return master && master->kind == "bridge" ? master : none;
}

Result<> check_bridge_ports(const netns::Link& bridge,
                            uint32_t mtu,
                            const std::string& fix,
                            Site& site) {
    netns::Links& links = site.host.links;
    for (const uint32_t index : TRY(links.ports_of(site.host_ns, bridge.index))) {
        const auto port = TRY(links.find(site.host_ns, index));
        if (!port || port->kind == "veth" || roce_mtu(port->mtu) >= roce_mtu(mtu))
            continue;
        return make_error(Code::Refused,
                          fmt::format("with MTU {} RoCE sends packets of {} bytes, and port {} of "
                                      "bridge {}, with MTU {}, would drop them without a word",
                                      mtu,
                                      roce_mtu(mtu),
                                      port->name,
                                      bridge.name,
                                      port->mtu))
            .advise(fmt::format(
                "{}={}; or run: ip link set {} mtu {}", fix, port->mtu, port->name, mtu));
    }
    return {};
}

netns::Gid main_gid(const std::vector<Address>& addresses, const netns::Mac& mac) {
    for (const auto family : {netns::Family::V4, netns::Family::V6}) {
        for (const Address& address : addresses) {
            if (address.family == family && !netns::is_link_local(address))
                return netns::gid_of(address);
        }
    }
    return netns::link_local_gid(mac);
}

void claim_addresses(Plan& plan, const Survey& survey, const Segment& segment) {
    for (const Address& address : plan.endpoint.addresses)
        plan.add(Claim{.what = "address " + netns::ip_string(address),
                       .lease = {.path = survey.store.lease_path(lease_name(segment, address)),
                                 .owner = survey.attachment_key}});
    plan.claims = plan.steps.size();
}

void probe_addresses(Plan& plan, const Attachment& attachment, const Survey& survey) {
    constexpr std::chrono::milliseconds kWait{200};
    const Pool* pool = find_pool(survey.config, attachment.mode, attachment.pool);
    const bool usual = find_mode_info(attachment.mode)->probes;
    const bool wanted = pool != nullptr ? pool->probe.value_or(usual) : usual;
    if (wanted && !plan.endpoint.addresses.empty())
        plan.add(
            ProbeAddresses{.link = plan.endpoint.netdev,
                           .addresses = plan.endpoint.addresses,
                           .wait = kWait,
                           .fix = attachment.ip_source == IpSource::Auto
                                      ? kAnotherRange
                                      : "choose another rdma.ip; see who it is: arping or ndisc6"});
}

void add_addresses(Plan& plan) {
    plan.add(StrictArp{.link = plan.endpoint.netdev});
    // Addresses come before an rxe: a new device takes the existing addresses into its GID table at
    // once.
    for (const Address& address : plan.endpoint.addresses)
        plan.add(AddAddress{.link = plan.endpoint.netdev, .address = address, .with_link = true});
}

void add_routes(Plan& plan, const Attachment& attachment) {
    if (attachment.index > 0 || !attachment.gateways.empty())
        add_own_table(plan, attachment);
    for (const RouteRequest& route : attachment.routes) {
        const bool is_default = route.network.prefix == 0;  // it has no destination in the kernel
        plan.add(AddRoute{{.family = route.network.family,
                           .destination = is_default ? std::nullopt : std::optional{route.network},
                           .gateway = route.gateway,
                           .link = plan.endpoint.netdev,
                           .table = netns::kMainTable}});
    }
}

Result<std::vector<Address>> choose_addresses(const Attachment& attachment,
                                              const Survey& survey,
                                              uint32_t parent) {
    if (attachment.ip_source != IpSource::Auto)
        return attachment.addresses;
    const Pool* pool = find_pool(survey.config, attachment.mode, attachment.pool);
    if (pool == nullptr || pool->ranges.empty())
        return make_error(Code::BadInput, "rdma.ip=auto needs a pool with an address range")
            .advise("set rdma.pool, or rdma.ip to an address");
    base::Files& files = survey.store.files();
    std::set<std::string> taken = leased(TRY(files.list(survey.store.folder("leases"))));
    // The host's own addresses on the parent are taken: the parent does not answer a probe from its
    // child.
    Site& site = survey.site;
    for (const Address& own : TRY(site.host.links.addresses(site.host_ns, parent)))
        taken.insert(netns::ip_string(own));
    std::vector<Address> addresses;
    for (const AddressRange& range : pool->ranges)
        addresses.push_back(TRY(first_free(range, taken, survey.in_use)));
    return addresses;
}

std::string device_name(const char* prefix, const Attachment& attachment, const Survey& survey) {
    return fmt::format(
        "{}{:08x}", prefix, digest_number(seed(survey.container.uuid, attachment), 8));
}

namespace {
uint32_t drawn_index(const Attachment& attachment, const std::string& text) {
    // The kernel itself counts up from 1 in a new namespace.
    constexpr uint32_t kHalf = 1U << 15U;
    auto number = static_cast<uint32_t>(digest_number(text, 4));
    // The name keeps the interfaces of one start apart: names that differ only in their number
    // never give the same index.
    for (const char c : attachment.ifname)
        number = (number * 33 + static_cast<unsigned char>(c)) % kHalf;
    return kHalf | number;
}

// Returns whether the host, or another container of the same network, has the index. An undo would
// remove its link by this index.
Result<bool> is_taken(Site& site, uint32_t index) {
    netns::Links& links = site.host.links;
    if (TRY(links.find(site.host_ns, index)))
        return true;
    return site.container && TRY(links.find(*site.container, index));
}
}  // namespace

Result<uint32_t> link_index(const Attachment& attachment, const Survey& survey) {
    constexpr int kDraws = 16;
    std::string text = survey.container.uuid;
    for (int draw = 0; draw < kDraws; ++draw, text += '+') {
        const uint32_t index = drawn_index(attachment, text);
        if (!TRY(is_taken(survey.site, index)))
            return index;
    }
    return make_error(Code::Busy,
                      "the host or the container's network has interfaces of all indexes that were "
                      "drawn")
        .advise("try again: others are drawn at each start");
}

netns::Mac stable_mac(const Attachment& attachment,
                      const Survey& survey,
                      const netns::Mac& parent) {
    const std::string own = seed(survey.container.key, attachment);
    const uint64_t number = digest_number(own + "/" + to_string(parent), 10);
    netns::Mac mac{{0x02}};
    for (size_t i = 1; i < mac.bytes.size(); ++i)
        mac.bytes[i] = static_cast<uint8_t>(number >> (8 * (i - 1)));
    return mac;
}

}  // namespace hook
