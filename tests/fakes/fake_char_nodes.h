// SPDX-License-Identifier: Apache-2.0
// The fake of the room for character devices: nodes of World's RDMA devices, and World::nodes.
#pragma once

#include "netns/char_nodes.h"
#include "tests/fakes/world.h"

namespace test {

class FakeCharNodes : public netns::CharNodes {
  public:
    explicit FakeCharNodes(const World& world) : world_(world) {}

    int looks = 0;  // the number of calls

    base::Result<std::vector<uint32_t>> rdma_majors() override;
    base::Result<std::optional<netns::DeviceNumber>> at(const std::string& path) override;

  private:
    const World& world_;
};

}  // namespace test
