// SPDX-License-Identifier: Apache-2.0
// vf: one SR-IOV virtual function for one container: chosen among the free ones, set up through its
// PF, moved, and given back as it was. RDMA is the VF's own device, or rxe or siw over its netdev.
#include "hook/modes/vf.h"

#include <array>

#include <fmt/format.h>

#include "hook/modes/interface.h"
#include "hook/modes/routes.h"
#include "hook/modes/software_device.h"
#include "hook/steps/configure_vf.h"
#include "hook/steps/move_link.h"
#include "hook/steps/move_rdma_device.h"
#include "hook/steps/pin_netns.h"
#include "hook/steps/rebind_vf.h"
#include "hook/steps/restore_vf.h"
#include "hook/steps/vf_settings.h"
#include "hook/vf_choice.h"

namespace hook {

using base::Code;
using base::make_error;
using netns::RdmaNetnsMode;
using netns::VfSettings;

namespace {
constexpr std::array<std::string_view, 20> kVfKeys = {
    "device",      "provider",    "ip",        "gateway",    "routes",   "mac",     "mtu",
    "ifname",      "vlan",        "vlan_qos",  "vlan_proto", "spoofchk", "trust",   "link_state",
    "min_tx_rate", "max_tx_rate", "node_guid", "port_guid",  "memlock",  "optional"};

// What the plan is made of.
struct Chosen {
    FreeVf vf;
    RdmaNetnsMode mode = RdmaNetnsMode::Shared;
    std::string own_device;          // the VF's RDMA device, if it is to be used
    SoftwareDriver software = kRxe;  // else
    uint64_t node_guid = 0;          // of the VF's RDMA device
    VfSettings before;               // of what is written
    VfSettings after;
    bool rebind = false;
    netns::Mac host_mac;  // that it has, or will have as soon as its driver looks
    netns::Mac mac;       // in the container
};

std::string name_of(const FreeVf& vf) {
    return fmt::format("VF {} of {}", vf.function.number, vf.pf_link.name);
}

// An InfiniBand device that moves takes its IPoIB netdev down, and the kernel makes another.
Result<> check_own_device(const Chosen& chosen) {
    if (chosen.vf.link.ethernet || chosen.mode == RdmaNetnsMode::Shared)
        return {};
    return make_error(Code::Unsupported,
                      name_of(chosen.vf) +
                          " is InfiniBand, and in RDMA netns mode exclusive the "
                          "move of its device would destroy its netdev")
        .advise("boot with the mode shared (ib_core netns_mode=1)");
}

Result<> choose_provider(const Attachment& a, const Survey& s, Chosen& chosen) {
    const FreeVf& vf = chosen.vf;
    const auto& names = vf.function.rdma_names;
    if (!names.empty()) {
        const auto device = TRY(s.site.host.rdma.find_by_name(s.site.host_ns, names.front()));
        chosen.node_guid = device ? device->node_guid : 0;
    }
    const bool software = a.provider == Provider::Rxe || a.provider == Provider::Siw;
    if (!software && !names.empty())
        chosen.own_device = names.front();
    if (a.provider == Provider::Siw)
        chosen.software = kSiw;
    if (a.provider == Provider::Device && names.empty())
        return make_error(Code::Refused,
                          fmt::format("{} (driver {}) has no RDMA device of its own",
                                      name_of(vf),
                                      vf.function.driver))
            .advise("set rdma.provider to rxe, or load the driver's RDMA module");
    if (!chosen.own_device.empty())
        return check_own_device(chosen);
    if (!vf.link.ethernet)
        return make_error(Code::Refused,
                          fmt::format("{} is not Ethernet: {} cannot run over it",
                                      name_of(vf),
                                      chosen.software.type))
            .advise("set rdma.provider to device");
    return check_netns_mode(chosen.software, chosen.mode);
}

// A member that is asked for and that the PF does not report: its driver has no such thing.
Result<> check_known(const VfSettings& asked, const VfSettings& present, const FreeVf& vf) {
    const struct {
        const char* key;
        bool lacking;
    } rows[] = {{"mac", asked.mac && !present.mac},
                {"vlan", asked.vlan && !present.vlan},
                {"max_tx_rate", asked.rate && !present.rate},
                {"spoofchk", asked.spoofchk && !present.spoofchk},
                {"trust", asked.trust && !present.trust},
                {"link_state", asked.link_state && !present.link_state},
                {"node_guid", asked.node_guid && !present.node_guid},
                {"port_guid", asked.port_guid && !present.port_guid}};

    for (const auto& row : rows) {
        if (row.lacking)
            return make_error(Code::Unsupported,
                              fmt::format("driver {} of PF {} does not know rdma.{}",
                                          vf.pf.driver,
                                          vf.pf_link.name,
                                          row.key))
                .advise(fmt::format("remove rdma.{}", row.key));
    }
    return {};
}

Result<> check_asked(const Attachment& a, const FreeVf& vf) {
    if (vf.link.ethernet && (a.vf.node_guid || a.vf.port_guid))
        return make_error(Code::Refused,
                          fmt::format("rdma.{} is for InfiniBand, and {} is Ethernet",
                                      a.vf.node_guid ? "node_guid" : "port_guid",
                                      name_of(vf)))
            .advise("remove it: set rdma.mac, from which the GUID is made");
    return check_mtu(a, vf.pf_link, "PF");
}

Result<> choose_settings(const Attachment& a, const Survey& s, Chosen& chosen) {
    const FreeVf& vf = chosen.vf;
    VfSettings asked = a.vf;
    asked.mac = a.mac;
    const VfSettings present =
        TRY(s.site.host.sriov.settings(s.site.host_ns, vf.pf_link.index, vf.function.number));
    // A MAC that was set through the PF while the VF's driver did not look is taken over when the
    // netdev comes up.
    chosen.host_mac = present.mac && !present.mac->is_zero() ? *present.mac : vf.link.mac;
    chosen.mac = a.mac.value_or(chosen.host_mac);
    TRY(check_known(asked, present, vf));
    chosen.after = difference(asked, present);
    chosen.before = members_of(chosen.after, present);
    // Drivers read MAC and GUIDs when they are bound; some take them later, too, but then the node
    // GUID that is made of the MAC stays the old one.
    chosen.rebind = chosen.after.node_guid || chosen.after.port_guid || chosen.mac != vf.link.mac;
    return {};
}

Result<Chosen> choose(const Attachment& a, const Survey& s) {
    Chosen chosen;
    chosen.mode = TRY(s.site.host.rdma.mode());
    chosen.vf = TRY(choose_free_vf(a, s));
    TRY(check_asked(a, chosen.vf));
    TRY(choose_provider(a, s, chosen));
    TRY(choose_settings(a, s, chosen));
    return chosen;
}

// The steps from a VF on the host to its netdev in the container.
void add_vf(Plan& plan, const Attachment& a, const Chosen& chosen, const Lease& lease) {
    const FreeVf& vf = chosen.vf;
    plan.add<RestoreVf>({.vf = vf.function.address,
                         .driver = vf.function.driver,
                         .name = vf.link.name,
                         .alias = vf.link.alias,
                         .mac = chosen.host_mac,
                         .mtu = vf.link.mtu,
                         .rdma = vf.function.rdma_names.empty() ? "" : vf.function.rdma_names[0],
                         .node_guid = chosen.node_guid,
                         .rebound = chosen.rebind,
                         .lease = lease});
    if (!is_empty(chosen.after))
        plan.add<ConfigureVf>({.pf = vf.pf.address,
                               .number = vf.function.number,
                               .vf = vf.function.address,
                               .before = chosen.before,
                               .after = chosen.after,
                               .lease = lease});
    if (chosen.rebind)
        plan.add<RebindVf>({.vf = vf.function.address,
                            .driver = vf.function.driver,
                            .rdma = !vf.function.rdma_names.empty()});
    plan.add<MoveLink>({.vf = vf.function.address,
                        .host_name = vf.link.name,
                        .host_index = vf.link.index,
                        .host_mtu = vf.link.mtu,
                        .host_alias = vf.link.alias,
                        .name = a.ifname,
                        .index = plan.endpoint.netdev,
                        .mtu = a.mtu.value_or(vf.link.mtu),
                        .mac = a.mac,
                        .lease = lease});
}

// The VF's own RDMA device. In mode shared there is nothing to move: it follows its netdev.
void add_own_device(Plan& plan, const Chosen& chosen, const Lease& lease) {
    if (chosen.mode != RdmaNetnsMode::Exclusive)
        return;
    plan.add<MoveRdmaDevice>({.name = chosen.own_device,
                              .with_link = false,
                              .vf = chosen.vf.function.address,
                              .netdev = plan.endpoint.netdev,
                              .lease = lease});
    plan.endpoint.moved = true;
}

// InfiniBand has one GID from its subnet manager, and none of addresses.
std::optional<netns::Gid> gid_of(const Chosen& chosen,
                                 const std::vector<netns::Address>& addresses) {
    if (chosen.own_device.empty())
        return choose_gid(chosen.software, addresses, chosen.mac);
    return chosen.vf.link.ethernet ? std::optional{main_gid(addresses, chosen.mac)} : std::nullopt;
}

Result<Plan> plan_vf(const Attachment& a, const Survey& s) {
    const Chosen chosen = TRY(choose(a, s));
    const FreeVf& vf = chosen.vf;
    const bool own = !chosen.own_device.empty();
    const Lease lease{.path = s.store.lease_path(vf_lease(vf.function.address)),
                      .owner = s.attachment_key};
    Plan plan;
    plan.endpoint = {.where = Where::Container,
                     .netdev = link_index(a, s),
                     .device = own ? chosen.own_device : device_name(chosen.software.type, a, s),
                     .gid = {},
                     .addresses = TRY(choose_addresses(a, s, vf.pf_link.index))};
    plan.endpoint.gid = gid_of(chosen, plan.endpoint.addresses);
    plan.add<PinNetns>({.path = s.store.pin_path(s.attachment_key)});
    plan.add<Claim>(
        {.what = fmt::format("{} ({})", name_of(vf), vf.function.address), .lease = lease});
    claim_addresses(plan, s, vf.pf_link.index);
    add_vf(plan, a, chosen, lease);
    add_addresses(plan);
    add_routes(plan, a);
    if (own)
        add_own_device(plan, chosen, lease);
    else
        add_device(plan, chosen.software, chosen.mac, chosen.mode);
    return plan;
}

Result<Scope> vf_scope(const Attachment& a, Site&) {
    return Scope{Where::Container, a.ifname};
}
}  // namespace

const Mode kVf{.name = "vf",
               .keys = kVfKeys,
               .scope = vf_scope,
               .plan = plan_vf,
               .finds = true,
               .changing_mac = true};

}  // namespace hook
