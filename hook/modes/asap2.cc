// SPDX-License-Identifier: Apache-2.0
// asap2: a VF whose traffic the rules of Open vSwitch steer, in the NIC where the host can. It is
// set up as in mode vf, and its representor becomes a port of a bridge. The administrator sets up
// the e-switch, the bridge and its uplink (rdmactl asap2 enable).
#include <fmt/format.h>

#include "hook/modes/interface.h"
#include "hook/modes/virtual_function.h"
#include "hook/steps/eswitch.h"
#include "netns/link.h"
#include "netns/tc_offload.h"

namespace hook {

namespace {
// The most bytes that a tunnel puts around a packet: IPv6, UDP, VXLAN or GENEVE without options,
// Ethernet.
constexpr uint32_t kTunnelBytes = 40 + 8 + 8 + 14;

struct Bridge {
    netns::Link link;  // the bridge's own netdev, which stands for its L2 network
    bool tunnels = false;
    bool hw_offload = false;  // Open vSwitch may use hardware
};

Result<Bridge> find_bridge(const std::string& name, Site& site) {
    const auto view = TRY(site.host.ovs.view(name, Deadline::in(kOvsTimeout)));
    const auto link =
        view.bridge ? TRY(site.host.links.find_by_name(site.host_ns, name)) : std::nullopt;
    if (link)
        return Bridge{*link, view.bridge->tunnels, hw_offload(view.settings)};
    return make_error(Code::Unavailable, "Open vSwitch has no bridge '" + name + "'")
        .advise("make it: rdmactl asap2 enable PF --bridge " + name +
                "; or set rdma.bridge to one that `ovs-vsctl show` lists");
}

// Returns the MTU that was asked for, else the VF's own as far as the bridge's tunnels leave room
// for it.
Result<uint32_t> choose_vf_mtu(const Attachment& a,
                               const Bridge& bridge,
                               const netns::Link& uplink,
                               const netns::Link& vf) {
    TRY(check_mtu(a, uplink, "uplink"));
    const uint32_t room = bridge.tunnels ? uplink.mtu - kTunnelBytes : uplink.mtu;
    if (!a.mtu || *a.mtu <= room)
        return a.mtu.value_or(std::min(vf.mtu, room));
    return make_error(
               Code::BadInput,
               fmt::format("rdma.mtu={} is above the {} that the tunnels on bridge {} leave of "
                           "uplink {}",
                           *a.mtu,
                           room,
                           a.bridge,
                           uplink.name))
        .advise("set a smaller rdma.mtu, or none");
}

// Returns why the host would forward this representor's packets in software; empty if hardware may.
Result<std::string> software_path(const netns::Link& representor,
                                  const Bridge& bridge,
                                  Site& site) {
    if (!bridge.hw_offload)
        return std::string("Open vSwitch has other_config:hw-offload not set to true");
    const auto feature = TRY(site.host.tc.feature(site.host_ns, representor.index));
    if (feature.on)
        return std::string();
    return feature.fixed
               ? fmt::format(
                     "representor {} has hw-tc-offload: off [fixed], this kernel's driver cannot",
                     representor.name)
               : fmt::format("representor {} has hw-tc-offload: off", representor.name);
}

Result<std::string> check_offload(const Attachment& a,
                                  const Representor& representor,
                                  const Bridge& bridge,
                                  Site& site) {
    std::string reason = TRY(software_path(representor.link, bridge, site));
    if (reason.empty() || !a.offload_required)
        return reason;
    return make_error(Code::Unsupported, "rdma.offload=required, and " + reason)
        .advise("see what is missing: rdmactl asap2 status");
}

// Returns the VLAN of which the representor is an access port.
uint16_t tag_of(const Attachment& a) {
    return a.vlan.value_or(netns::kUntagged);
}

// Returns the representor's port, with Open vSwitch's settings for the VF. An e-switch in switchdev
// keeps the others.
AddOvsPort port_of(const Attachment& a, const Survey& s, const netns::Link& representor) {
    constexpr uint32_t kKbitPerMbit = 1000;
    return {.bridge = a.bridge,
            .netdev = representor.name,
            .attachment = s.attachment_key,
            .container = s.container.id,
            .policing_kbps = a.max_tx_rate.value_or(0) * kKbitPerMbit,
            .trunks = a.trunk,
            // A port without tag and trunks would be a trunk of all VLANs of the bridge.
            .tag = a.trunk.empty() ? std::optional{tag_of(a)} : std::nullopt};
}

Result<Plan> plan_asap2(const Attachment& asked, const Survey& s) {
    FreeVf vf = TRY(choose_free_vf(asked, s));
    const Representor representor = TRY(representor_of(vf, s.site));
    const Bridge bridge = TRY(find_bridge(asked.bridge, s.site));
    Attachment a = asked;
    a.mtu = TRY(choose_vf_mtu(asked, bridge, representor.uplink, vf.link));
    const std::string reason = TRY(check_offload(a, representor, bridge, s.site));
    const ChosenVf chosen = TRY(choose_vf_settings(a, s, std::move(vf), {}));
    TRY(check_roce(chosen));
    const netns::Link& link = representor.link;
    Plan plan;
    plan.endpoint = TRY(endpoint_of(a, s, chosen, TRY(choose_addresses(a, s, bridge.link.index))));
    plan.endpoint.software_path = reason;
    claim_vf(plan, s, chosen, {.netdev = bridge.link.index, .vlan = tag_of(a)});
    plan.add(RaiseRepresentor{.eswitch = representor.eswitch,
                              .port = representor.port,
                              .index = link.index,
                              .mtu_before = link.mtu,
                              .mtu = std::max(link.mtu, *a.mtu),
                              .up_before = link.up,
                              .lease = lease_of(chosen.vf, s)});
    plan.add(port_of(a, s, link));
    add_vf(plan, a, s, chosen);
    return plan;
}

}  // namespace

const Mode kAsap2{.name = "asap2", .plan = plan_asap2};

}  // namespace hook
