// SPDX-License-Identifier: Apache-2.0
#include "hook/eswitch.h"

#include <algorithm>

#include <fmt/format.h>

#include "hook/ovs_marks.h"

namespace hook {

using base::Code;
using base::make_error;
using netns::DevlinkPort;

namespace {
Result<> check_switchdev(const std::string& handle, const FreeVf& vf, Site& site) {
    const std::string pf = vf.pf.address.empty() ? handle : vf.pf_link.name;
    const auto eswitch = TRY(site.host.devlink.eswitch(site.host_ns, handle));
    if (!eswitch)
        return make_error(Code::Refused, handle + " has no e-switch")
            .advise("use a NIC that `devlink dev eswitch show` knows, or rdma.mode=vf");
    if (eswitch->mode == netns::EswitchMode::Switchdev)
        return {};
    return make_error(Code::Unavailable, "the e-switch of " + handle + " is in mode legacy")
        .advise("run: rdmactl asap2 enable " + pf +
                " --vfs N --bridge BRIDGE (at each boot: rdma-hook-asap2@.service); or set "
                "rdma.mode=vf");
}

const DevlinkPort* find_port(const std::vector<DevlinkPort>& ports, const std::string& name) {
    const auto port = std::ranges::find(ports, name, &DevlinkPort::name);
    return port == ports.end() ? nullptr : &*port;
}

Result<netns::Link> link_of(const DevlinkPort* port, const std::string& what, Site& site) {
    const auto link = port == nullptr || port->netdev == 0
                          ? std::nullopt
                          : TRY(site.host.links.find(site.host_ns, port->netdev));
    if (!link)
        return make_error(Code::Unavailable, what + " has no netdev in the host's namespace")
            .advise("see: devlink port show");
    return *link;
}
}  // namespace

const DevlinkPort* find_vf_port(const std::vector<DevlinkPort>& ports,
                                const std::string& pf,
                                uint32_t number) {
    const std::string end = fmt::format("vf{}", number);
    const std::string own = fmt::format("pf{}{}", pf.empty() ? '0' : pf.back(), end);
    const DevlinkPort* found = nullptr;
    for (const DevlinkPort& port : ports) {
        const bool fits = port.flavour == netns::PortFlavour::PciVf &&
                          port.name.starts_with("pf") && port.name.ends_with(end);
        if (fits && (found == nullptr || port.name == own))
            found = &port;
    }
    return found;
}

Result<Representor> representor_of(const FreeVf& vf, Site& site) {
    Representor found;
    found.eswitch = vf.mapped ? vf.mapped->eswitch : netns::devlink_handle(vf.pf.address);
    TRY(check_switchdev(found.eswitch, vf, site));
    const auto ports = TRY(site.host.devlink.ports(site.host_ns, found.eswitch));
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
    found.link = TRY(link_of(port, "port " + found.port + " of " + found.eswitch, site));
    const auto uplink = std::ranges::find_if(ports, [](const DevlinkPort& one) {
        return one.flavour == netns::PortFlavour::Physical && one.netdev != 0;
    });
    found.uplink = TRY(
        link_of(uplink == ports.end() ? nullptr : &*uplink, "uplink of " + found.eswitch, site));
    return found;
}

bool hw_offload(const netns::OvsSettings& settings) {
    return value_of(settings.other_config, "hw-offload") == "true";
}

}  // namespace hook
