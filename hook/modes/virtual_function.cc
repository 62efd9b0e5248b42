// SPDX-License-Identifier: Apache-2.0
#include "hook/modes/virtual_function.h"

#include <fmt/format.h>

#include "netns/rdma.h"

namespace hook {

using netns::RdmaNetnsMode;
using netns::VfSettings;

namespace {
bool has_pf(const FreeVf& vf) {
    return !vf.pf.address.empty();
}

// Refuses to move an InfiniBand device: the move takes its IPoIB netdev down, and the kernel makes
// another.
Result<> check_own_device(const ChosenVf& chosen) {
    if (chosen.vf.link.ethernet || chosen.mode == RdmaNetnsMode::Shared)
        return {};
    return make_error(Code::Unsupported,
                      name_of(chosen.vf) +
                          " is InfiniBand, and in RDMA namespace mode exclusive the "
                          "move of its device would destroy its netdev")
        .advise("boot with ib_core.netns_mode=1 (the mode shared)");
}

Result<> choose_provider(const Attachment& a, const Survey& s, ChosenVf& chosen) {
    const FreeVf& vf = chosen.vf;
    const auto& names = vf.function.rdma_names;
    std::optional<netns::RdmaDevice> device;
    if (!names.empty()) {
        device = TRY(s.site.host.rdma.find_by_name(s.site.host_ns, names.front()));
        chosen.node_guid = device ? device->node_guid : 0;
        chosen.iwarp = device && device->iwarp;
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
    // A software device where hardware was meant has a tenth of the speed and costs the host's
    // CPUs.
    if (a.provider == Provider::Auto && names.empty() && !vf.pf.rdma_names.empty())
        return make_error(Code::Refused,
                          fmt::format("{} (driver {}) has no RDMA device of its own, and its PF "
                                      "has one ({})",
                                      name_of(vf),
                                      vf.function.driver,
                                      vf.pf.rdma_names.front()))
            .advise(
                "load the RDMA module of the VF's driver, if it has one; or set "
                "rdma.provider=rxe for SoftRoCE");
    if (!chosen.own_device.empty()) {
        // A container would wait for a GID; the table shows at once that RoCE is switched off.
        if (device)
            (void)TRY(s.site.host.rdma.gid_space(s.site.host_ns, *device, 0));
        return check_own_device(chosen);
    }
    if (!vf.link.ethernet)
        return make_error(Code::Refused,
                          fmt::format("{} is not Ethernet: {} cannot run over it",
                                      name_of(vf),
                                      chosen.software.type))
            .advise("set rdma.provider to device");
    return check_netns_mode(chosen.software, chosen.mode);
}

// Refuses a setting that the PF does not report: its driver has no such thing, or another host
// manages the adapter.
Result<> check_known(const VfSettings& asked,
                     const std::optional<VfSettings>& reported,
                     const FreeVf& vf) {
    const auto keys = keys_of_missing(asked, reported.value_or(VfSettings{}));
    if (keys.empty())
        return {};
    const std::string_view key = keys.front();
    if (!reported)
        return make_error(Code::Unsupported,
                          fmt::format("PF {} does not manage its VFs, and cannot set rdma.{}",
                                      vf.pf_link.name,
                                      key))
            .advise(
                fmt::format("remove rdma.{}; the host of a BlueField in DPU mode has its VFs set "
                            "up on the DPU",
                            key));
    return make_error(
               Code::Unsupported,
               fmt::format(
                   "driver {} of PF {} does not know rdma.{}", vf.pf.driver, vf.pf_link.name, key))
        .advise(fmt::format("remove rdma.{}", key));
}

// Leaves zero GUIDs out of `before`. A PF reports zero for a GUID that nobody has set, and a driver
// need not take that back.
void keep_zero_guids(VfSettings& before) {
    for (const auto guid : {&VfSettings::node_guid, &VfSettings::port_guid}) {
        if (before.*guid == 0U)
            (before.*guid).reset();
    }
}

// Checks that the VF's RDMA device has a node GUID, which mlx5 makes of the MAC that the PF gives.
// librdmacm, UCX and MPI know adapters by it, and would take two devices without one for the same.
Result<> check_node_guid(const ChosenVf& chosen) {
    const FreeVf& vf = chosen.vf;
    if (chosen.own_device.empty() || !vf.link.ethernet || chosen.node_guid != 0 || chosen.rebind)
        return {};
    return make_error(Code::Unavailable,
                      fmt::format("{} ({}) has no node GUID: nobody has set its MAC",
                                  name_of(vf),
                                  chosen.own_device))
        .advise(has_pf(vf) ? fmt::format("run: rdmactl vf enable {} {}; or set rdma.mac (of a "
                                         "BlueField in DPU mode set it on the DPU)",
                                         vf.pf_link.name,
                                         vf.pf.num_vfs)
                           : "run: devlink port function set PORT hw_addr MAC, and bind its driver "
                             "again");
}

// Chooses MAC and settings, and whether the driver must be bound again. A MAC set through the PF
// while the VF's driver did not look is taken over when the netdev comes up. Drivers read MAC and
// GUIDs when they are bound. Some take them later, too, but then the node GUID that is made of the
// MAC stays the old one.
Result<> choose_settings(const Survey& s, VfSettings asked, ChosenVf& chosen) {
    const FreeVf& vf = chosen.vf;
    const auto reported =
        TRY(s.site.host.sriov.settings(s.site.host_ns, vf.pf_link.index, vf.function.number));
    const VfSettings present = reported.value_or(VfSettings{});
    // InfiniBand's preset is Off, with which no port comes up.
    if (!vf.link.ethernet && !asked.link_state && present.link_state == netns::VfLinkState::Off)
        asked.link_state = netns::VfLinkState::Auto;
    chosen.host_mac = present.mac && !present.mac->is_zero() ? *present.mac : vf.link.mac;
    chosen.mac = asked.mac.value_or(chosen.host_mac);
    const auto& vlan = asked.vlan ? asked.vlan : present.vlan;
    chosen.vlan = vlan ? vlan->id : 0;
    TRY(check_known(asked, reported, vf));
    chosen.after = difference(asked, present);
    chosen.before = members_of(chosen.after, present);
    keep_zero_guids(chosen.before);
    chosen.rebind = chosen.after.node_guid || chosen.after.port_guid || chosen.mac != vf.link.mac;
    return {};
}

// Adds the steps from the VF on the host to its netdev in the container.
void add_netdev(Plan& plan, const Attachment& a, const ChosenVf& chosen, const Lease& lease) {
    const FreeVf& vf = chosen.vf;
    plan.add(RestoreVf{.vf = vf.function.address,
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
        plan.add(ConfigureVf{.pf = vf.pf.address,
                             .number = vf.function.number,
                             .vf = vf.function.address,
                             .before = chosen.before,
                             .after = chosen.after,
                             .lease = lease});
    if (chosen.rebind)
        plan.add(RebindVf{
            .vf = vf.function.address,
            .driver = vf.function.driver,
            .rdma = !vf.function.rdma_names.empty(),
            .rdma_name = vf.function.rdma_names.empty() ? "" : vf.function.rdma_names.front()});
    plan.add(MoveLink{.vf = vf.function.address,
                      .host_name = vf.link.name,
                      .host_index = vf.link.index,
                      .host_mtu = vf.link.mtu,
                      .host_alias = vf.link.alias,
                      .altnames = vf.link.altnames,
                      .name = a.ifname,
                      .index = plan.endpoint.netdev,
                      .mtu = a.mtu.value_or(vf.link.mtu),
                      .lease = lease,
                      .mac = a.mac});
}

// Adds the move of the VF's own RDMA device. In mode shared there is nothing to move: it follows
// its netdev.
void add_own_device(Plan& plan, const ChosenVf& chosen, const Lease& lease) {
    if (chosen.mode != RdmaNetnsMode::Exclusive)
        return;
    plan.add(MoveRdmaDevice{
        .name = chosen.own_device,
        .with_link = false,
        .of = VfDevice{
            .vf = chosen.vf.function.address, .netdev = plan.endpoint.netdev, .lease = lease}});
    plan.endpoint.moved = true;
}

// Returns the GID of the endpoint. InfiniBand has one GID from its subnet manager, iWARP one of its
// MAC, and neither has GIDs of addresses.
std::optional<netns::Gid> gid_of(const ChosenVf& chosen,
                                 const std::vector<netns::Address>& addresses) {
    if (chosen.own_device.empty())
        return choose_gid(chosen.software, addresses, chosen.mac);
    if (chosen.iwarp || !chosen.vf.link.ethernet)
        return std::nullopt;
    return main_gid(addresses, chosen.mac);
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
    TRY(check_node_guid(chosen));
    return chosen;
}

Result<> check_roce(const ChosenVf& chosen) {
    if (chosen.own_device.empty() || !chosen.iwarp)
        return {};
    return make_error(Code::Refused,
                      fmt::format("{} of {} is an iWARP device, and mode asap2 gives RoCE",
                                  chosen.own_device,
                                  name_of(chosen.vf)))
        .advise(std::string("set rdma.mode to vf; ") + kIwarpToRoce);
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

void claim_vf(Plan& plan, const Survey& survey, const ChosenVf& chosen, const Segment& segment) {
    plan.add(PinNetns{.path = survey.store.pin_path(survey.attachment_key)});
    plan.add(Claim{.what = fmt::format("{} ({})", name_of(chosen.vf), chosen.vf.function.address),
                   .lease = lease_of(chosen.vf, survey)});
    claim_addresses(plan, survey, segment);
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
