// SPDX-License-Identifier: Apache-2.0
// What an e-switch was like before `rdmactl asap2 enable`, which another version or a broken disk
// may have written. What is accepted is written again as it was read; what is not is left as it is.
#include <string>

#include "hook/rdmactl/asap2/eswitch_setup.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/one_file.h"

namespace {
using hook::ctl::Setup;

constexpr char kHandle[] = "pci/0000:01:00.0";

bool equal(const Setup& one, const Setup& other) {
    return one.handle == other.handle && one.before == other.before && one.bridge == other.bridge &&
           one.vfs == other.vfs;
}
}  // namespace

FUZZ_TARGET(eswitch_baseline) {
    fuzz::OneFile file({reinterpret_cast<const char*>(data), size});
    const hook::Store store{file, "/run/rdma-hook"};
    const auto setup = hook::ctl::load_setup(store, kHandle);
    fuzz::expect(!file.written(), "reading writes nothing");
    if (!setup) {
        fuzz::expect(!setup.error().message().empty(), "a refusal says why");
        return;
    }
    fuzz::expect(setup->has_value(), "a file that is there is not taken for none");
    fuzz::expect(hook::ctl::save_setup(store, **setup).has_value(), "what was read can be written");
    const std::string first = file.text();
    const auto again = hook::ctl::load_setup(store, kHandle);
    fuzz::expect(again && *again && equal(**again, **setup), "it is read as it was written");
    fuzz::expect(hook::ctl::save_setup(store, **again).has_value(), "and written once more");
    fuzz::expect(file.text() == first, "it is written as it was read");
}
