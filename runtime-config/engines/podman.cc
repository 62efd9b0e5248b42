// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/engines/edit.h"

namespace engines {

namespace {
// The drop-in as the package installs it.
constexpr char kPodmanDropIn[] =
#include "runtime-config/engines/podman_drop_in.inc"
    ;

constexpr char kPodmanMemlock[] =
    "# By `rdmactl runtime configure --runtime=podman --memlock`, which removes it with --unset:\n"
    "# programs in every container may lock memory, also those that are started in it later.\n"
    "[containers]\n"
    "default_ulimits = [\"memlock=-1:-1\", {append=true}]\n";

Result<Edited> edit_own_file(const EngineEdit& edit, const char* text) {
    if (edit.before && *edit.before != text)
        return make_error(Code::Busy, edit.path + " is not as rdma-hook has it")
            .advise("look at it, and take it out by hand");
    return Edited{edit.unset ? FileText{} : FileText{text}, {}};
}
}  // namespace

Result<Edited> edit_podman(const EngineEdit& edit) {
    return edit_own_file(edit, kPodmanDropIn);
}

Result<Edited> edit_podman_memlock(const EngineEdit& edit) {
    Edited edited = TRY(edit_own_file(edit, kPodmanMemlock));
    if (!edit.unset)
        edited.notes.emplace_back(
            "rootless Podman reads the file, too: users whose own limit is lower (ulimit -Hl) "
            "need a higher one, or their containers do not start");
    return edited;
}

}  // namespace engines
