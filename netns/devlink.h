// SPDX-License-Identifier: Apache-2.0
// devlink(8): the e-switch of an adapter and its ports, by generic netlink (family "devlink";
// include/uapi/linux/devlink.h, kernels 6.1 to 7.3). A device goes by its handle, bus and name:
// "pci/0000:03:00.0", "netdevsim/netdevsim1", "auxiliary/mlx5_core.sf.4".
//
// What this room knows: a change to switchdev destroys and makes netdevs and RDMA devices of the
// device; representors appear with it, and their names come from udev a moment later. In mode
// legacy there are no ports of VFs. A dump of ports for one device alone exists since 6.6; before,
// the others' are left out here. An e-switch that is another host's (a BlueField in DPU mode, seen
// from its host: mlx5_eswitch_check says EPERM, since 6.2 EOPNOTSUPP) is none. Since 6.3 the
// physical port of an mlx5 is a device of its own, and bnxt has no ports for its VFs: see
// hook/steps/eswitch.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netns/namespace.h"

namespace netns {

enum class EswitchMode { Legacy, Switchdev };
// How much of a packet's headers the driver puts beside its descriptor (ConnectX-4 Lx).
enum class InlineMode { None, Link, Network, Transport };

struct Eswitch {
    EswitchMode mode = EswitchMode::Legacy;
    std::optional<InlineMode> inline_mode;  // nothing: the driver has no such thing
    bool operator==(const Eswitch&) const = default;
};

enum class PortFlavour { Physical, PciPf, PciVf, PciSf, Other };

struct DevlinkPort {
    uint32_t index = 0;  // of the device
    PortFlavour flavour = PortFlavour::Other;
    // "p0" of a physical port, "pf0", "pf0vf3", "pf0sf88"; "c1pf0vf3" of another host's controller:
    // as the kernel names the port in phys_port_name (net/devlink/port.c); empty for others.
    std::string name;
    uint32_t netdev = 0;  // an index in the host's namespace; 0: none
    bool operator==(const DevlinkPort&) const = default;
};

class Devlink {
  public:
    virtual ~Devlink() = default;

    // Nothing if there is no such device, or it has no e-switch that is this host's.
    virtual Result<std::optional<Eswitch>> eswitch(const Netns& host,
                                                   const std::string& device) = 0;
    // Unsupported: the device has no such mode; Busy: the e-switch is in use (VFs bound, rules);
    // Unavailable: there is no such device. The mode that it has already is no error.
    virtual Result<> set_mode(const Netns& host, const std::string& device, EswitchMode mode) = 0;
    virtual Result<> set_inline_mode(const Netns& host,
                                     const std::string& device,
                                     InlineMode mode) = 0;
    // By index; none if there is no such device.
    virtual Result<std::vector<DevlinkPort>> ports(const Netns& host,
                                                   const std::string& device) = 0;
};

std::unique_ptr<Devlink> make_kernel_devlink();

}  // namespace netns
