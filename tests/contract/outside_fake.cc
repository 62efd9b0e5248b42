// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/outside.h"
#include "tests/fakes/eight_gpus.h"

namespace test {

using netns::RdmaNetnsMode;

namespace {
KernelTraits traits_of(Kernel kernel) {
    switch (kernel) {
        case Kernel::V6_12:
            return KernelTraits::v6_12();
        case Kernel::V7_2:
            return KernelTraits::v7_2();
        case Kernel::V7_3:
            break;
    }
    return KernelTraits::v7_3();
}
}  // namespace

FakeOutside::FakeOutside(Kernel kernel, RdmaNetnsMode mode)
    : fake_(World::standard(traits_of(kernel))) {
    world().mode = mode;
    world().cards = eight_gpus();
}

bool FakeOutside::can_open(netns::DeviceNumber device) {
    return world().processes[World::kContainer].devices.contains(
        std::to_string(device.major) + ":" + std::to_string(device.minor));
}

std::string FakeOutside::rdma_max(const std::string& device) {
    const auto text = [](std::optional<uint32_t> limit) {
        return limit ? std::to_string(*limit) : "max";
    };
    const auto& limit = world().processes[World::kContainer].rdma_max[device];
    return "hca_handle=" + text(limit.handles) + " hca_object=" + text(limit.objects);
}

uint32_t FakeOutside::enslave_parent() {
    netns::Link bridge;
    bridge.name = "bridge0";
    bridge.kind = "bridge";
    const uint32_t index = world().add_link(world().host, bridge);
    FakeLink& port = *world().find_link(world().host, parent());
    port.bridge_port = true;
    port.link.master = index;
    return index;
}

void FakeOutside::add_altname(const Netns& ns, uint32_t index, const std::string& name) {
    world().find_link(ns.id(), index)->link.altnames.push_back(name);
}

void FakeOutside::take_roce_port() {
    world().find(container_ns())->foreign_4791 = true;
}

void FakeOutside::open_device(const Netns& /*ns*/, uint32_t device) {
    ++world().rdma[device].contexts;
}

void FakeOutside::close_devices() {
    for (auto& [index, device] : world().rdma)
        device.contexts = 0;
}

OutsideFactory<Outside> fake(Kernel kernel, RdmaNetnsMode mode) {
    static constexpr const char* kNames[] = {"Fake6_12", "Fake7_2", "Fake7_3"};
    const char* suffix = mode == RdmaNetnsMode::Exclusive ? "Exclusive" : "";
    return {std::string(kNames[static_cast<int>(kernel)]) + suffix,
            [=] { return std::make_unique<FakeOutside>(kernel, mode); }};
}

}  // namespace test
