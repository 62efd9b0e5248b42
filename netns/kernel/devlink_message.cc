// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/devlink_message.h"

#include <cerrno>

#include <linux/devlink.h>

namespace netns::devlink {

using netlink::Attributes;
using netlink::GenlFamily;
using netlink::Reply;
using netlink::Request;

namespace {
Request device_request(const GenlFamily& family, uint8_t command, const std::string& device) {
    Request request = netlink::genl_request(family, command);
    const size_t slash = device.find('/');
    const std::string name = slash == std::string::npos ? "" : device.substr(slash + 1);
    request.put(DEVLINK_ATTR_BUS_NAME, device.substr(0, slash));
    request.put(DEVLINK_ATTR_DEV_NAME, name);
    return request;
}

std::optional<InlineMode> inline_mode_of(const Attributes& eswitch) {
    switch (eswitch.u8(DEVLINK_ATTR_ESWITCH_INLINE_MODE).value_or(UINT8_MAX)) {
        case DEVLINK_ESWITCH_INLINE_MODE_NONE:
            return InlineMode::None;
        case DEVLINK_ESWITCH_INLINE_MODE_LINK:
            return InlineMode::Link;
        case DEVLINK_ESWITCH_INLINE_MODE_NETWORK:
            return InlineMode::Network;
        case DEVLINK_ESWITCH_INLINE_MODE_TRANSPORT:
            return InlineMode::Transport;
        default:
            return std::nullopt;
    }
}

uint8_t kernel_inline_mode(InlineMode mode) {
    switch (mode) {
        case InlineMode::None:
            return DEVLINK_ESWITCH_INLINE_MODE_NONE;
        case InlineMode::Link:
            return DEVLINK_ESWITCH_INLINE_MODE_LINK;
        case InlineMode::Network:
            return DEVLINK_ESWITCH_INLINE_MODE_NETWORK;
        case InlineMode::Transport:
            return DEVLINK_ESWITCH_INLINE_MODE_TRANSPORT;
    }
    return DEVLINK_ESWITCH_INLINE_MODE_NONE;
}

PortFlavour flavour_of(const Attributes& port) {
    switch (port.u16(DEVLINK_ATTR_PORT_FLAVOUR).value_or(UINT16_MAX)) {
        case DEVLINK_PORT_FLAVOUR_PHYSICAL:
            return PortFlavour::Physical;
        case DEVLINK_PORT_FLAVOUR_PCI_PF:
            return PortFlavour::PciPf;
        case DEVLINK_PORT_FLAVOUR_PCI_VF:
            return PortFlavour::PciVf;
        case DEVLINK_PORT_FLAVOUR_PCI_SF:
            return PortFlavour::PciSf;
        default:
            return PortFlavour::Other;
    }
}

// Returns `prefix` and the number; nothing without a number, because the port then has no name.
template <class Number>
std::string numbered(const char* prefix, const std::optional<Number>& number) {
    return number ? prefix + std::to_string(*number) : std::string{};
}

// Returns "p0"; "p0s1" for a split port; "l1p0" for a port of a line card.
std::string physical_name(const Attributes& port) {
    const std::string name = numbered("p", port.u32(DEVLINK_ATTR_PORT_NUMBER));
    if (name.empty())
        return name;
    return numbered("l", port.u32(DEVLINK_ATTR_LINECARD_INDEX)) + name +
           numbered("s", port.u32(DEVLINK_ATTR_PORT_SPLIT_SUBPORT_NUMBER));
}

// Returns "pf0"; "c1pf0" if the function belongs to another host.
std::string pf_name(const Attributes& port) {
    const std::string name = numbered("pf", port.u16(DEVLINK_ATTR_PORT_PCI_PF_NUMBER));
    if (name.empty() || port.u8(DEVLINK_ATTR_PORT_EXTERNAL).value_or(0) == 0)
        return name;
    const std::string controller = numbered("c", port.u32(DEVLINK_ATTR_PORT_CONTROLLER_NUMBER));
    return controller.empty() ? controller : controller + name;
}

// The kernel does not send the name. Its __devlink_port_phys_port_name_get() makes it from these
// attributes.
std::string name_of(PortFlavour flavour, const Attributes& port) {
    if (flavour == PortFlavour::Physical)
        return physical_name(port);
    if (flavour == PortFlavour::Other)
        return {};
    const std::string pf = pf_name(port);
    if (flavour == PortFlavour::PciPf)
        return pf;
    const std::string function = flavour == PortFlavour::PciVf
                                     ? numbered("vf", port.u16(DEVLINK_ATTR_PORT_PCI_VF_NUMBER))
                                     : numbered("sf", port.u32(DEVLINK_ATTR_PORT_PCI_SF_NUMBER));
    return pf.empty() || function.empty() ? std::string{} : pf + function;
}
}  // namespace

Request eswitch_request(const GenlFamily& family, const std::string& device) {
    return device_request(family, DEVLINK_CMD_ESWITCH_GET, device);
}

Request mode_request(const GenlFamily& family, const std::string& device, EswitchMode mode) {
    Request request = device_request(family, DEVLINK_CMD_ESWITCH_SET, device);
    request.put16(DEVLINK_ATTR_ESWITCH_MODE,
                  mode == EswitchMode::Switchdev ? DEVLINK_ESWITCH_MODE_SWITCHDEV
                                                 : DEVLINK_ESWITCH_MODE_LEGACY);
    return request;
}

Request inline_mode_request(const GenlFamily& family, const std::string& device, InlineMode mode) {
    Request request = device_request(family, DEVLINK_CMD_ESWITCH_SET, device);
    request.put8(DEVLINK_ATTR_ESWITCH_INLINE_MODE, kernel_inline_mode(mode));
    return request;
}

Request ports_request(const GenlFamily& family, const std::string& device) {
    return device_request(family, DEVLINK_CMD_PORT_GET, device);
}

Result<std::optional<Eswitch>> parse_eswitch(const Reply& reply) {
    const auto attributes = netlink::parse_genl(reply);
    if (!attributes)
        return make_error(Code::Internal, "the kernel's description of an e-switch is malformed");
    const auto mode = attributes->u16(DEVLINK_ATTR_ESWITCH_MODE);
    if (!mode)
        return std::optional<Eswitch>{};
    // 7.3 has a third mode ("switchdev_inactive"): representors are there, and no packet passes.
    if (*mode != DEVLINK_ESWITCH_MODE_LEGACY && *mode != DEVLINK_ESWITCH_MODE_SWITCHDEV)
        return make_error(Code::Unsupported,
                          "the e-switch is in mode " + std::to_string(*mode) +
                              ", which is neither legacy nor switchdev")
            .advise("set it by: devlink dev eswitch set DEVICE mode switchdev");
    Eswitch found;
    found.mode =
        *mode == DEVLINK_ESWITCH_MODE_SWITCHDEV ? EswitchMode::Switchdev : EswitchMode::Legacy;
    found.inline_mode = inline_mode_of(*attributes);
    return std::optional<Eswitch>{found};
}

bool lacks_eswitch(const Error& refusal) {
    return refusal.sys == ENODEV || refusal.sys == EOPNOTSUPP || refusal.sys == EPERM;
}

Error explain_change(Error refusal) {
    switch (refusal.sys) {
        case ENODEV:
            return std::move(refusal).as(Code::Unavailable);
        case EOPNOTSUPP:
            return std::move(refusal).as(Code::Unsupported);
        case EBUSY:
            return std::move(refusal).as(
                Code::Busy, "unbind the VFs, and take the representors out of their bridges");
        case EPERM:  // with a sentence of the driver's (Socket Direct), it is not about privileges
            return refusal.extack.empty() ? std::move(refusal).advise("run as root") : refusal;
        default:
            return refusal;
    }
}

std::optional<DevlinkPort> parse_port(const Reply& reply, const std::string& device) {
    const auto attributes = netlink::parse_genl(reply);
    if (!attributes)
        return std::nullopt;
    const auto bus = attributes->text(DEVLINK_ATTR_BUS_NAME);
    const auto name = attributes->text(DEVLINK_ATTR_DEV_NAME);
    const auto index = attributes->u32(DEVLINK_ATTR_PORT_INDEX);
    if (!bus || !name || !index || *bus + "/" + *name != device)
        return std::nullopt;
    DevlinkPort port;
    port.index = *index;
    port.flavour = flavour_of(*attributes);
    port.name = name_of(port.flavour, *attributes);
    port.netdev = attributes->u32(DEVLINK_ATTR_PORT_NETDEV_IFINDEX).value_or(0);
    return port;
}

}  // namespace netns::devlink
