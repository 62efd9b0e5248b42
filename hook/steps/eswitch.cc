// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/eswitch.h"

#include <algorithm>

#include <fmt/format.h>

#include "hook/steps/ovs_marks.h"

namespace hook {

using netns::DevlinkPort;

namespace {
Result<> check_switchdev(const std::string& handle, const FreeVf& vf, Site& site) {
    const std::string pf = vf.pf.address.empty() ? handle : vf.pf_link.name;
    if (TRY(eswitch_of(site, handle)).mode == netns::EswitchMode::Switchdev)
        return {};
    return make_error(Code::Unavailable, "the e-switch of " + handle + " is in mode legacy")
        .advise("run: rdmactl asap2 enable " + pf +
                " --vfs N --bridge BRIDGE (at each boot: rdma-hook-asap2@.service); or set "
                "rdma.mode=vf");
}

bool is_physical(const DevlinkPort& port) {
    return port.flavour == netns::PortFlavour::Physical;
}

bool is_vf(const DevlinkPort& port) {
    return port.flavour == netns::PortFlavour::PciVf;
}

const DevlinkPort* find_port(const std::vector<DevlinkPort>& ports, const std::string& name) {
    const auto port = std::ranges::find(ports, name, &DevlinkPort::name);
    return port == ports.end() ? nullptr : &*port;
}
}  // namespace

Result<netns::Eswitch> eswitch_of(Site& site, const std::string& handle) {
    if (const auto eswitch = TRY(site.host.devlink.eswitch(site.host_ns, handle)))
        return *eswitch;
    return make_error(Code::Refused, handle + " has no e-switch that is this host's")
        .advise(
            "name a NIC that `devlink dev eswitch show` knows, or use rdma.mode=vf; that of a "
            "BlueField in DPU mode is set up on the DPU");
}

Result<std::optional<DevlinkPort>> uplink_port(Site& site, const std::string& handle) {
    const auto function = TRY(site.host.sriov.find(netns::function_of(handle)));
    if (function && !function->netdevs.empty()) {
        const netns::PciNetdev& own = function->netdevs.front();
        return std::optional{DevlinkPort{.index = 0,
                                         .flavour = netns::PortFlavour::Physical,
                                         .name = own.port_name,
                                         .netdev = own.index}};
    }
    for (DevlinkPort& port : TRY(site.host.devlink.ports(site.host_ns, handle))) {
        if (is_physical(port) && port.netdev != 0)
            return std::optional{std::move(port)};
    }
    return std::optional<DevlinkPort>{};
}

Result<netns::Link> find_uplink(Site& site, const std::string& handle) {
    const auto port = TRY(uplink_port(site, handle));
    if (const auto link =
            port ? TRY(site.host.links.find(site.host_ns, port->netdev)) : std::nullopt)
        return *link;
    return make_error(Code::Unavailable, handle + " has no netdev for its uplink on the host")
        .advise("see: devlink port show");
}

Result<std::vector<DevlinkPort>> function_ports(Site& site, const std::string& handle) {
    auto ports = TRY(site.host.devlink.ports(site.host_ns, handle));
    std::erase_if(ports, is_physical);
    if (std::ranges::any_of(ports, is_vf))
        return ports;
    for (auto& netdev : TRY(site.host.sriov.representors(netns::function_of(handle))))
        ports.push_back({.index = 0,
                         .flavour = netns::PortFlavour::PciVf,
                         .name = std::move(netdev.port_name),
                         .netdev = netdev.index});
    return ports;
}

Result<std::optional<netns::Link>> find_representor(Site& site,
                                                    const std::string& handle,
                                                    const std::string& name) {
    const auto ports = TRY(function_ports(site, handle));
    const DevlinkPort* port = find_port(ports, name);
    return port == nullptr || port->netdev == 0 ? Result<std::optional<netns::Link>>{std::nullopt}
                                                : site.host.links.find(site.host_ns, port->netdev);
}

const DevlinkPort* find_vf_port(const std::vector<DevlinkPort>& ports,
                                const std::string& pf,
                                uint32_t number) {
    const std::string end = fmt::format("vf{}", number);
    const std::string own = fmt::format("pf{}{}", pf.empty() ? '0' : pf.back(), end);
    const DevlinkPort* found = nullptr;
    for (const DevlinkPort& port : ports) {
        const bool fits = is_vf(port) && port.name.starts_with("pf") && port.name.ends_with(end);
        if (fits && (found == nullptr || port.name == own))
            found = &port;
    }
    return found;
}

Result<Representor> representor_of(const FreeVf& vf, Site& site) {
    Representor found;
    found.eswitch = vf.mapped ? vf.mapped->eswitch : netns::devlink_handle(vf.pf.address);
    TRY(check_switchdev(found.eswitch, vf, site));
    const auto ports = TRY(function_ports(site, found.eswitch));
    const DevlinkPort* port = vf.mapped ? find_port(ports, vf.mapped->port)
                                        : find_vf_port(ports, vf.pf.address, vf.function.number);
    if (port == nullptr)
        return make_error(Code::Unavailable,
                          fmt::format("{} has no port {}",
                                      found.eswitch,
                                      vf.mapped ? vf.mapped->port
                                                : fmt::format("of VF {}", vf.function.number)))
            .advise("see: devlink port show");
    found.port = port->name;
    const auto link =
        port->netdev == 0 ? std::nullopt : TRY(site.host.links.find(site.host_ns, port->netdev));
    if (!link)
        return make_error(Code::Unavailable,
                          "port " + found.port + " of " + found.eswitch +
                              " has no netdev in the host's namespace")
            .advise("see: devlink port show");
    found.link = *link;
    found.uplink = vf.mapped ? TRY(find_uplink(site, found.eswitch)) : vf.pf_link;
    return found;
}

bool hw_offload(const netns::OvsSettings& settings) {
    return value_of(settings.other_config, "hw-offload") == "true";
}

}  // namespace hook
