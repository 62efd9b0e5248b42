// SPDX-License-Identifier: Apache-2.0
// config.json as an engine gives it to the hook, whatever its container's maker wrote into it:
// read, then edited as an attach edits it. What comes out is a config.json that grants what was
// promised.
#include <string_view>

#include "runtime-config/oci/spec.h"
#include "tests/fuzz/expect.h"

namespace {
void read_all(const oci::Spec& spec) {
    (void)spec.has_user_namespace();
    (void)spec.privileged();
    (void)spec.capabilities();
    (void)spec.has_dynamic_majors();
    (void)spec.rdma_nodes({510});
    (void)spec.rdma_rules({510});
    (void)spec.mount_label();
    (void)spec.redirects_hook_output();
    const oci::Network network = spec.network();
    fuzz::expect((network.kind == oci::Network::Kind::Path) == network.path.starts_with('/'),
                 "a network namespace's path is absolute");
}

// False where the spec has another device of that path already.
bool edit(oci::Spec& spec) {
    spec.set_network_path("/run/x");
    const bool added =
        spec.add_device({.path = "/dev/infiniband/uverbs0", .major = 231, .minor = 192})
            .has_value();
    spec.set_memlock(1, false);
    spec.add_env("RDMA_DEVICE", "rxe0");
    spec.add_file_mount("/run/a", "/run/rdma/attach.json");
    spec.add_hook("poststop", {.path = "/usr/bin/rdma-hook", .args = {"rdma-hook", "poststop"}});
    spec.set_annotation("org.rdma-hook.attach", "x");
    return added;
}

void edit_twice(oci::Spec spec) {
    const bool added = edit(spec);
    const std::string text = spec.text();
    auto again = oci::Spec::parse(text);
    fuzz::expect(again.has_value(), "what was edited is a config.json");
    fuzz::expect(again->network().path == "/run/x" && again->has_memlock() &&
                     again->annotations()["org.rdma-hook.attach"] == "x",
                 "an edit can be read");
    fuzz::expect(edit(*again) == added && again->text() == text, "a second edit changes nothing");
}
}  // namespace

FUZZ_TARGET(container_spec) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto annotated = oci::Spec::parse_annotations(text);
    if (annotated)
        (void)annotated->annotations();
    const auto spec = oci::Spec::parse(text);
    if (!spec)
        return;
    fuzz::expect(annotated.has_value(), "a whole config.json has its annotations in order");
    read_all(*spec);
    edit_twice(*spec);
}
