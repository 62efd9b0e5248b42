// SPDX-License-Identifier: Apache-2.0
// Devlink reads and sets the e-switch of an adapter and lists its ports. It uses generic netlink,
// family "devlink" (devlink(8), include/uapi/linux/devlink.h, kernels 6.1 to 7.3). You name a
// device by its handle, bus and name: "pci/0000:03:00.0", "netdevsim/netdevsim1",
// "auxiliary/mlx5_core.sf.4".
//
// Facts about kernels and drivers:
// - A change to switchdev destroys netdevs and RDMA devices of the device, and makes new ones.
//   Representors appear with it; udev gives them their names a moment later.
// - In mode legacy there are no ports of VFs.
// - A dump of one device's ports exists since 6.6. Before, the kernel lists all ports, and this
//   room leaves out those of other devices.
// - An e-switch that belongs to another host counts as none. That is a BlueField in DPU mode, seen
//   from its host: mlx5_eswitch_check answers EPERM, since 6.2 EOPNOTSUPP.
// - Since 6.3 the physical port of an mlx5 is a device of its own, and bnxt has no ports for its
//   VFs: see hook/steps/eswitch.h.
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
    std::optional<InlineMode> inline_mode;  // nothing: the driver has no such mode
    bool operator==(const Eswitch&) const = default;
};

enum class PortFlavour { Physical, PciPf, PciVf, PciSf, Other };

struct DevlinkPort {
    uint32_t index = 0;  // within the device
    PortFlavour flavour = PortFlavour::Other;
    // The port's name, as the kernel spells it in phys_port_name (net/devlink/port.c): "p0" for a
    // physical port; "pf0", "pf0vf3", "pf0sf88"; "c1pf0vf3" for another host's controller. Empty
    // for other ports.
    std::string name;
    uint32_t netdev = 0;  // an index in the host's namespace; 0: none
    bool operator==(const DevlinkPort&) const = default;
};

class Devlink {
  public:
    virtual ~Devlink() = default;

    // Returns the device's e-switch; nothing if there is no such device, or if this host has no
    // e-switch of it.
    virtual Result<std::optional<Eswitch>> eswitch(const Netns& host,
                                                   const std::string& device) = 0;
    // Sets the mode; setting the present mode is no error. Unsupported: the device has no such
    // mode. Busy: the e-switch is in use (VFs bound, rules). Unavailable: there is no such device.
    virtual Result<> set_mode(const Netns& host, const std::string& device, EswitchMode mode) = 0;
    // Sets the inline mode, with the same errors.
    virtual Result<> set_inline_mode(const Netns& host,
                                     const std::string& device,
                                     InlineMode mode) = 0;
    // Returns the device's ports by index; none if there is no such device.
    virtual Result<std::vector<DevlinkPort>> ports(const Netns& host,
                                                   const std::string& device) = 0;
};

std::unique_ptr<Devlink> make_kernel_devlink();

}  // namespace netns
