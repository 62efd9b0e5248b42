// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/checks.h"

namespace hook {

using base::Code;
using base::make_error;

std::string CheckDataPath::describe() const {
    return "check that the kernel serves RoCE (UDP 4791) in the container's namespace";
}

Result<> CheckDataPath::apply(Site& site) const {
    if (TRY(site.host.rdma.roce_port_served(*site.container)))
        return {};
    return make_error(Code::Unsupported,
                      "this kernel's rxe carries no traffic in a container's network namespace")
        .advise("boot a kernel >= 7.1, or share the host's device: rdma.placement=host");
}

}  // namespace hook
