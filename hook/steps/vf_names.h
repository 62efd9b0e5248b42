// SPDX-License-Identifier: Apache-2.0
// What a VF's netdev and RDMA device are called on the host. The kernel gives whatever is bound the
// first name that is free. So of two VFs that are bound at the same time each may come back under
// the name of the other. One that finds its name taken lets go of the one that it was given, and
// is called by its PCI address until its own is free.
#pragma once

#include <optional>
#include <string>

#include "hook/steps/step.h"
#include "netns/link.h"
#include "netns/rdma.h"

namespace hook {

// The name that says the PCI address; as long as an interface's may be.
std::string interim_name(const std::string& vf);

// The RDMA device of the VF, if it is on the host.
Result<std::optional<netns::RdmaDevice>> rdma_device_of(Site& site, const std::string& vf);

// Names the RDMA device of the VF. If another device keeps that name, it stays under
// interim_name(): whoever has the VF next finds it by its function, and nothing else depends on it.
Result<> name_rdma_device(Site& site, const std::string& vf, const std::string& name);

// Makes sure that the VF's netdev `link` can be called `name`. Busy: another netdev keeps that. The
// host's network is configured by such names, so its administrator has to see to it.
Result<> free_netdev_name(Site& site,
                          const std::string& vf,
                          const netns::Link& link,
                          const std::string& name);

}  // namespace hook
