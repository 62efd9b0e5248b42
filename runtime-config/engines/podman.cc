// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/engines/edit.h"

namespace engines {

namespace {
// The drop-in as the package installs it.
constexpr char kPodmanDropIn[] =
#include "runtime-config/engines/podman_drop_in.inc"
    ;
}  // namespace

Result<Edited> edit_podman(const EngineEdit& edit) {
    if (edit.before && *edit.before != kPodmanDropIn)
        return make_error(Code::Busy, edit.path + " is not as rdma-hook has it")
            .advise("look at it, and take it out by hand");
    return Edited{edit.unset ? FileText{} : FileText{kPodmanDropIn}, {}};
}

}  // namespace engines
