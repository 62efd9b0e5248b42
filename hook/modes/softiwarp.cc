// SPDX-License-Identifier: Apache-2.0
// softiwarp: the container's own siw device, on a macvlan of a host netdev, or on the interface
// that the engine made. Its connections are TCP and only rdma_cm makes them, so there is no GID to
// name. It works in a container's network namespace on every kernel that has siw.
#include "hook/modes/software_device.h"

namespace hook {

namespace {
Result<Plan> plan_siw(const Attachment& a, const Survey& s) {
    return plan_software_device(kSiw, a, s);
}
}  // namespace

const Mode kSoftiwarp{.name = "softiwarp", .plan = plan_siw};

}  // namespace hook
