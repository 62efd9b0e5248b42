// SPDX-License-Identifier: Apache-2.0
#include "hook/modes/virtual_function.h"

#include <fmt/format.h>

#include "hook/modes/interface.h"
#include "hook/modes/routes.h"
#include "hook/steps/configure_vf.h"
#include "hook/steps/move_link.h"
#include "hook/steps/move_rdma_device.h"
#include "hook/steps/pin_netns.h"
#include "hook/steps/rebind_vf.h"
#include "hook/steps/restore_vf.h"
#include "hook/steps/vf_settings.h"

namespace hook {

using base::Code;
using base::make_error;
using netns::RdmaNetnsMode;
using netns::VfSettings;

namespace {
bool has_pf(const FreeVf& vf) {
    return !vf.pf.address.empty();
}

// An InfiniBand device that moves takes its IPoIB netdev down, and the kernel makes another.
Result<> check_own_device(const ChosenVf& chosen) {
    if (chosen.vf.link.ethernet || chosen.mode == RdmaNetnsMode::Shared)
        return {};
    return make_error(Code::Unsupported,
                      name_of(chosen.vf) +
                          " is InfiniBand, and in RDMA netns mode exclusive the "
                          "move of its device would destroy its netdev")
        .advise("boot with ib_core.netns_mode=1 (the mode shared)");
}

Result<> choose_provider(const Attachment& a, const Survey& s, ChosenVf& chosen) {
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

// A MAC that was set through the PF while the VF's driver did not look is taken over when the
// netdev comes up. Drivers read MAC and GUIDs when they are bound; some take them later, too, but
// then the node GUID that is made of the MAC stays the old one.
Result<> choose_settings(const Survey& s, const VfSettings& asked, ChosenVf& chosen) {
    const FreeVf& vf = chosen.vf;
    const VfSettings present =
        TRY(s.site.host.sriov.settings(s.site.host_ns, vf.pf_link.index, vf.function.number));
    chosen.host_mac = present.mac && !present.mac->is_zero() ? *present.mac : vf.link.mac;
    chosen.mac = asked.mac.value_or(chosen.host_mac);
    TRY(check_known(asked, present, vf));
    chosen.after = difference(asked, present);
    chosen.before = members_of(chosen.after, present);
    chosen.rebind = chosen.after.node_guid || chosen.after.port_guid || chosen.mac != vf.link.mac;
    return {};
}

// From the VF on the host to its netdev in the container.
void add_netdev(Plan& plan, const Attachment& a, const ChosenVf& chosen, const Lease& lease) {
    const FreeVf& vf = chosen.vf;
    plan.add<RestoreVf>({.vf = vf.function.address,
                         .driver = vf.function.driver,
                         .name = vf.link.name,
                         .alias = vf.link.alias,
                         .altnames = vf.link.altnames,
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
        plan.add<RebindVf>(
            {.vf = vf.function.address,
             .driver = vf.function.driver,
             .rdma = !vf.function.rdma_names.empty(),
             .rdma_name = vf.function.rdma_names.empty() ? "" : vf.function.rdma_names.front()});
    plan.add<MoveLink>({.vf = vf.function.address,
                        .host_name = vf.link.name,
                        .host_index = vf.link.index,
                        .rebound = chosen.rebind,
                        .host_mtu = vf.link.mtu,
                        .host_alias = vf.link.alias,
                        .altnames = vf.link.altnames,
                        .name = a.ifname,
                        .index = plan.endpoint.netdev,
                        .mtu = a.mtu.value_or(vf.link.mtu),
                        .mac = a.mac,
                        .lease = lease});
}

// The VF's own RDMA device. In mode shared there is nothing to move: it follows its netdev.
void add_own_device(Plan& plan, const ChosenVf& chosen, const Lease& lease) {
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
std::optional<netns::Gid> gid_of(const ChosenVf& chosen,
                                 const std::vector<netns::Address>& addresses) {
    if (chosen.own_device.empty())
        return choose_gid(chosen.software, addresses, chosen.mac);
    return chosen.vf.link.ethernet ? std::optional{main_gid(addresses, chosen.mac)} : std::nullopt;
}
}  // namespace

std::string name_of(const FreeVf& vf) {
    return has_pf(vf) ? fmt::format("VF {} of {}", vf.function.number, vf.pf_link.name)
                      : vf.function.address;
}

Result<ChosenVf> choose_vf_settings(const Attachment& attachment,
                                    const Survey& survey,
                                    FreeVf vf,
                                    VfSettings asked) {
    ChosenVf chosen;
    chosen.mode = TRY(survey.site.host.rdma.mode());
    chosen.vf = std::move(vf);
    TRY(choose_provider(attachment, survey, chosen));
    asked.mac = attachment.mac;
    if (has_pf(chosen.vf)) {
        TRY(choose_settings(survey, asked, chosen));
    } else {
        chosen.host_mac = chosen.vf.link.mac;
        chosen.mac = attachment.mac.value_or(chosen.host_mac);
    }
    return chosen;
}

Lease lease_of(const FreeVf& vf, const Survey& survey) {
    return {.path = survey.store.lease_path(vf_lease(vf.function.address)),
            .owner = survey.attachment_key};
}

Result<Endpoint> endpoint_of(const Attachment& attachment,
                             const Survey& survey,
                             const ChosenVf& chosen,
                             std::vector<netns::Address> addresses) {
    Endpoint endpoint;
    endpoint.where = Where::Container;
    endpoint.netdev = TRY(link_index(attachment, survey));
    endpoint.device = chosen.own_device.empty()
                          ? device_name(chosen.software.type, attachment, survey)
                          : chosen.own_device;
    endpoint.gid = gid_of(chosen, addresses);
    endpoint.addresses = std::move(addresses);
    return endpoint;
}

void claim_vf(Plan& plan, const Survey& survey, const ChosenVf& chosen, uint32_t parent) {
    plan.add<PinNetns>({.path = survey.store.pin_path(survey.attachment_key)});
    plan.add<Claim>({.what = fmt::format("{} ({})", name_of(chosen.vf), chosen.vf.function.address),
                     .lease = lease_of(chosen.vf, survey)});
    claim_addresses(plan, survey, parent);
}

void add_vf(Plan& plan,
            const Attachment& attachment,
            const Survey& survey,
            const ChosenVf& chosen) {
    const Lease lease = lease_of(chosen.vf, survey);
    add_netdev(plan, attachment, chosen, lease);
    add_addresses(plan);
    add_routes(plan, attachment);
    if (chosen.own_device.empty())
        add_device(plan, chosen.software, chosen.mac, chosen.mode);
    else
        add_own_device(plan, chosen, lease);
}

}  // namespace hook
