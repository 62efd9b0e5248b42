// SPDX-License-Identifier: Apache-2.0
#include "hook/modes/software_device.h"

#include <fmt/format.h>

#include "hook/modes/interface.h"
#include "netns/link.h"
#include "netns/rdma.h"

namespace hook {

using netns::Address;
using netns::RdmaNetnsMode;

namespace {
Result<Plan> plan_on_macvlan(const SoftwareDriver& driver, const Attachment& a, const Survey& s) {
    const RdmaNetnsMode mode = TRY(s.site.host.rdma.mode());
    TRY(check_netns_mode(driver, mode));
    const netns::Link parent = TRY(find_parent(a, s.site));
    TRY(check_mtu(a, parent, "parent"));
    const uint32_t mtu = a.mtu.value_or(parent.mtu);
    if (driver.roce && parent.kind == "bridge")
        TRY(check_bridge_ports(parent, mtu, "set rdma.mtu", s.site));
    const netns::Mac mac = a.mac.value_or(stable_mac(a, s, parent.mac));
    Plan plan;
    plan.endpoint = {.where = Where::Container,
                     .netdev = TRY(link_index(a, s)),
                     .device = device_name(driver.type, a, s),
                     .addresses = TRY(choose_addresses(a, s, parent.index))};
    plan.endpoint.gid = choose_gid(driver, plan.endpoint.addresses, mac);
    plan.add(PinNetns{.path = s.store.pin_path(s.attachment_key)});
    claim_addresses(plan, s, {.netdev = parent.index});
    plan.add(CreateChild{{.parent = parent.index,
                          .index = plan.endpoint.netdev,
                          .name = a.ifname,
                          .mac = mac,
                          .mtu = mtu,
                          .type = {}}});
    probe_addresses(plan, a, s);
    add_addresses(plan);
    add_routes(plan, a);
    add_device(plan, driver, mac, mode);
    return plan;
}

Result<Plan> plan_on_container_link(const SoftwareDriver& driver,
                                    const Attachment& a,
                                    const Survey& s) {
    if (a.ip_source == IpSource::Auto)
        return make_error(Code::BadInput, "rdma.ip=auto does not go with rdma.parent=container")
            .advise("set rdma.ip=none: the interface has the engine's address");
    const RdmaNetnsMode mode = TRY(s.site.host.rdma.mode());
    TRY(check_netns_mode(driver, mode));
    const netns::Link link = TRY(find_container_link(s.site));
    const auto bridge = driver.roce ? TRY(find_bridge_of(link, s.site)) : std::nullopt;
    if (bridge)
        TRY(check_bridge_ports(
            *bridge, link.mtu, "make the network with podman network create --opt mtu", s.site));
    Plan plan;
    plan.endpoint = {.where = Where::Container,
                     .netdev = link.index,
                     .device = device_name(driver.type, a, s),
                     .addresses = TRY(s.site.host.links.addresses(*s.site.container, link.index))};
    plan.add(PinNetns{.path = s.store.pin_path(s.attachment_key)});
    for (const Address& address : a.addresses) {
        // An address that exists is the engine's, and stays after the undo.
        if (std::erase(plan.endpoint.addresses, address) == 0)
            plan.add(AddAddress{.link = link.index, .address = address, .with_link = false});
        plan.endpoint.addresses.insert(plan.endpoint.addresses.begin(), address);
    }
    plan.endpoint.gid = choose_gid(driver, plan.endpoint.addresses, link.mac);
    add_device(plan, driver, link.mac, mode);
    return plan;
}
}  // namespace

Result<Plan> plan_software_device(const SoftwareDriver& driver,
                                  const Attachment& attachment,
                                  const Survey& survey) {
    return attachment.parent == kContainerParent
               ? plan_on_container_link(driver, attachment, survey)
               : plan_on_macvlan(driver, attachment, survey);
}

Result<> check_netns_mode(const SoftwareDriver& driver, RdmaNetnsMode mode) {
    if (mode == RdmaNetnsMode::Shared || driver.moves)
        return {};
    return make_error(
               Code::Unsupported,
               fmt::format("in RDMA namespace mode exclusive a {} device cannot be given to a "
                           "container: no kernel moves it",
                           driver.type))
        .advise(driver.instead);
}

std::optional<netns::Gid> choose_gid(const SoftwareDriver& driver,
                                     const std::vector<Address>& addresses,
                                     const netns::Mac& mac) {
    return driver.roce ? std::optional{main_gid(addresses, mac)} : std::nullopt;
}

void add_device(Plan& plan,
                const SoftwareDriver& driver,
                const netns::Mac& mac,
                RdmaNetnsMode mode) {
    plan.endpoint.software = driver.type;
    plan.add(CreateRdmaLink{.where = Where::Container,
                            .type = driver.type,
                            .name = plan.endpoint.device,
                            .netdev = plan.endpoint.netdev,
                            .node_guid = netns::eui64(mac)});
    if (driver.roce)
        plan.add(CheckDataPath{
            .problem = fmt::format(
                "this kernel's {} carries no traffic in a container's network namespace",
                driver.type),
            .fix = driver.instead});
    if (mode == RdmaNetnsMode::Exclusive) {
        plan.add(MoveRdmaDevice{.name = plan.endpoint.device, .with_link = true});
        plan.endpoint.moved = true;
    }
}

}  // namespace hook
