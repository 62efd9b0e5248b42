// SPDX-License-Identifier: Apache-2.0
// The container's state, which runtimes write to a hook's standard input, and keep in files.
#include <algorithm>
#include <string_view>

#include "netns/base/json.h"
#include "runtime-config/oci/state.h"
#include "tests/fuzz/expect.h"

namespace {
void check_state(const base::Result<oci::State>& state) {
    if (!state)
        return;
    fuzz::expect(!state->id.empty() && state->id == base::printable(state->id, 1024) &&
                     state->id.find('/') == std::string::npos && state->id[0] != '.',
                 "an id can be the name of a file");
    fuzz::expect(state->bundle.starts_with('/') && state->bundle.find("//") == std::string::npos,
                 "a bundle has one spelling");
    fuzz::expect(state->pid >= 0, "a pid is none or one");
}
}  // namespace

FUZZ_TARGET(container_state) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    check_state(oci::parse_state(text));
    check_state(oci::parse_crun_status(text, "a"));
    for (const char* id : {"a", "b7e2b7e2b7e2b7e2b7e2b7e2b7e2b7e2b7e2b7e2b7e2b7e2b7e2b7e2b7e2b7e2"})
        check_state(oci::parse_runc_state(text, id));
}
