// SPDX-License-Identifier: Apache-2.0
// The host's /sys/class, its RDMA parts only; ib_umad is not loaded.
#include <cerrno>

#include "netns/sys_class.h"
#include "tests/fakes/fake_host.h"

namespace test {

using base::Code;

Result<std::optional<netns::ClassFolder>> FakeSysClasses::look(
    const std::string& name, const std::vector<std::string>& devices) {
    const bool verbs = name == "infiniband_verbs";
    if (!world_.kernel.rdma || (!verbs && name != "infiniband"))
        return std::optional<netns::ClassFolder>{};
    netns::ClassFolder all;
    for (const auto& [index, device] : world_.rdma) {
        const std::string& entry = verbs ? device.uverbs.name : device.device.name;
        // The names of verbs nodes are visible from everywhere.
        if (verbs || world_.sees(world_.host, device))
            all.links[entry] = "../../devices/virtual/" + name + "/" + entry;
    }
    netns::ClassFolder found;
    for (const std::string& device : devices) {
        if (!all.links.contains(device))
            return coded(Code::Unavailable, ENOENT, "read link " + device + " of sysfs");
        found.links[device] = all.links[device];
    }
    if (verbs)
        found.files["abi_version"] = "6\n";
    return std::optional{found};
}

}  // namespace test
