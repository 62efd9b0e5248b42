// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/fake_char_nodes.h"

namespace test {

using netns::DeviceNumber;

base::Result<std::vector<uint32_t>> FakeCharNodes::rdma_majors() {
    ++looks;
    if (!world_.kernel.rdma)
        return std::vector<uint32_t>{};
    return std::vector<uint32_t>{231, World::kDynamicVerbsMajor};
}

base::Result<std::optional<DeviceNumber>> FakeCharNodes::at(const std::string& path) {
    ++looks;
    if (const auto node = world_.nodes.find(path); node != world_.nodes.end())
        return std::optional{node->second};
    for (const auto& [index, device] : world_.rdma) {
        if (device.uverbs.path() == path)
            return std::optional{DeviceNumber{device.uverbs.major, device.uverbs.minor}};
    }
    return std::optional<DeviceNumber>{};
}

}  // namespace test
