// SPDX-License-Identifier: Apache-2.0
// The record of a container, with the steps by which it was granted things. One that is accepted is
// written again as it was read; one that is not is left as it is.

#include "hook/state/store.h"
#include "hook/steps/plan.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/one_file.h"

namespace {
constexpr char kContainerKey[] = "k";
}

FUZZ_TARGET(container_record) {
    fuzz::OneFile file({reinterpret_cast<const char*>(data), size});
    const hook::Store store{file, "/run/rdma-hook"};
    const auto container = store.load_container(kContainerKey);
    fuzz::expect(!file.written(), "reading writes nothing");
    if (!container) {
        fuzz::expect(!container.error().message().empty(), "a refusal says why");
        return;
    }
    fuzz::expect((*container)->key == kContainerKey, "a record is about what its name says");
    for (const auto& grant : (*container)->grants) {
        if (const auto step = hook::load_step(grant))
            fuzz::expect(!hook::describe(*step).empty(), "a step has words");
    }
    fuzz::expect(store.save_container(**container).has_value(), "what was read can be written");
    const auto again = store.load_container(kContainerKey);
    fuzz::expect(again && **again == **container, "it is read as it was written");
}
