// SPDX-License-Identifier: Apache-2.0
// rdma.device=near:GPU: the device that is nearest to a GPU, for the modes that can be asked so.
#pragma once

#include "hook/request/request.h"
#include "hook/state/context.h"

namespace hook {

// Returns the request with a device in the place of each "near:GPU": the nearest of those that the
// attachment's pool lists, else of those that its policy lists, else of the adapters of the host
// that the mode can give. Attachments of a mode that has its HCA in `parent` get it there. Devices
// are spelled as in the list, else by their RDMA names. Two GPUs may be near one device, which is
// there once then. Reads the tree of PCI if a device is near a GPU, and nothing else.
// Unavailable: there is no such GPU, or no such device.
Result<Request> choose_near(const Context& context, Request request);

}  // namespace hook
