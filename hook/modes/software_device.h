// SPDX-License-Identifier: Apache-2.0
// A software RDMA device on a netdev: the drivers, and the plan of a mode that gives a container
// such a device. The device is on a macvlan, or on the interface that the container's engine made.
// Read only.
#pragma once

#include "hook/modes/mode.h"
#include "netns/values/rdma_device.h"

namespace hook {

struct SoftwareDriver {
    const char* type;  // type of the RDMA link; names of rdma-hook's devices begin with it
    bool roce;         // has a GID for each address; its packets are UDP 4791
    bool moves;        // a device can change its RDMA namespace (mode exclusive)
    // The way out where its devices do not work: for `roce`, where the kernel serves no UDP 4791 in
    // a container's namespace; without `moves`, in mode exclusive.
    const char* instead;
};

inline constexpr SoftwareDriver kRxe{
    .type = "rxe",
    .roce = true,
    .moves = true,
    .instead =
        "boot a kernel >= 7.1; or in mode softroce share the host's device "
        "(rdma.placement=host), in vf and asap2 choose a VF with RDMA of its own"};
// Soft-iWARP: TCP connections in the kernel, made only by rdma_cm. No kernel up to 7.3 moves the
// device.
inline constexpr SoftwareDriver kSiw{
    .type = "siw",
    .roce = false,
    .moves = false,
    .instead =
        "boot with ib_core.netns_mode=1 (the mode shared), or set rdma.mode=softroce (over "
        "a VF: rdma.provider=rxe)"};

// Returns the plan. rdma.parent names a host netdev, which gets a macvlan, or is "container": the
// engine's interface.
Result<Plan> plan_software_device(const SoftwareDriver& driver,
                                  const Attachment& attachment,
                                  const Survey& survey);

// The functions below are for modes that have a netdev already.

// Checks the RDMA netns mode. Unsupported: the driver's devices cannot get into a container in it.
Result<> check_netns_mode(const SoftwareDriver& driver, netns::RdmaNetnsMode mode);
// Returns the GID that the container is to use; nothing for a driver without GIDs of addresses.
std::optional<netns::Gid> choose_gid(const SoftwareDriver& driver,
                                     const std::vector<netns::Address>& addresses,
                                     const netns::Mac& mac);
// Adds the steps for the device of the plan's endpoint, and for the proof that it carries traffic.
void add_device(Plan& plan,
                const SoftwareDriver& driver,
                const netns::Mac& mac,
                netns::RdmaNetnsMode mode);

}  // namespace hook
