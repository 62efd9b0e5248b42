// SPDX-License-Identifier: Apache-2.0
// The fakes of netns/devlink.h and netns/tc_offload.h. Codes and errno values are the kernel
// rooms': see tests/contract/eswitch_test.cc.
#include <cerrno>

#include "tests/fakes/fake_host.h"

namespace test {

using netns::DevlinkPort;
using netns::Eswitch;
using netns::EswitchMode;
using netns::PortFlavour;

namespace {
// Finds an e-switch. A devlink device lives in the host's namespace; from any other it is
// invisible.
FakeEswitch* eswitch_of(World& world, const Netns& ns, const std::string& device) {
    const auto found = world.eswitches.find(device);
    return found == world.eswitches.end() || !(ns.id() == world.host) ? nullptr : &found->second;
}

// True if the driver of the device has the quirk.
bool has_quirk(const World& world, const std::string& device, const std::string& quirk) {
    return world.has_quirk(netns::function_of(device), quirk);
}

bool has_vfs(const FakeEswitch& eswitch) {
    return eswitch.ports.size() > 1;  // beside the physical one
}
}  // namespace

Result<std::optional<Eswitch>> FakeDevlink::eswitch(const Netns& host, const std::string& device) {
    const FakeEswitch* found = eswitch_of(world_, host, device);
    const bool hidden = has_quirk(world_, device, "no_eswitch_right");
    return found == nullptr || hidden ? std::nullopt : std::optional{found->eswitch};
}

Result<> FakeDevlink::set_mode(const Netns& host, const std::string& device, EswitchMode mode) {
    const std::string what = "set the mode of the e-switch of " + device;
    return gate_.pass<void>(what, [&]() -> Result<> {
        const FakeEswitch* found = eswitch_of(world_, host, device);
        if (found == nullptr)
            return coded(Code::Unavailable, ENODEV, what);
        if (found->eswitch.mode == mode)
            return {};
        if (has_quirk(world_, device, "no_eswitch_right"))
            return coded(Code::Kernel, EPERM, what);
        if (found->busy)
            return coded(Code::Busy, EBUSY, what);
        const bool never =
            mode == EswitchMode::Switchdev && has_quirk(world_, device, "no_switchdev");
        if (never || (has_quirk(world_, device, "mode_before_vfs") && has_vfs(*found)))
            return coded(Code::Unsupported, EOPNOTSUPP, what);
        world_.set_eswitch_mode(device, mode);
        return {};
    });
}

Result<> FakeDevlink::set_inline_mode(const Netns& host,
                                      const std::string& device,
                                      netns::InlineMode mode) {
    const std::string what = "set the inline mode of the e-switch of " + device;
    return gate_.pass<void>(what, [&]() -> Result<> {
        FakeEswitch* found = eswitch_of(world_, host, device);
        if (found == nullptr)
            return coded(Code::Unavailable, ENODEV, what);
        if (!found->eswitch.inline_mode)
            return coded(Code::Unsupported, EOPNOTSUPP, what);
        found->eswitch.inline_mode = mode;
        return {};
    });
}

Result<std::vector<DevlinkPort>> FakeDevlink::ports(const Netns& host, const std::string& device) {
    std::vector<DevlinkPort> shown;
    const FakeEswitch* found = eswitch_of(world_, host, device);
    if (found == nullptr)
        return shown;
    for (DevlinkPort port : found->ports) {
        const bool physical = port.flavour == PortFlavour::Physical;
        if (!physical && found->eswitch.mode == EswitchMode::Legacy)
            continue;
        if (has_quirk(world_, device, physical ? "uplink_elsewhere" : "no_vf_ports"))
            continue;
        if (!physical)
            port.netdev = world_.representor(device, port.name);
        shown.push_back(std::move(port));
    }
    return shown;
}

Result<netns::TcFeature> FakeTcOffload::feature(const Netns& ns, uint32_t link) {
    const FakeLink* found = world_.find_link(ns.id(), link);
    if (found == nullptr)
        return coded(
            Code::Unavailable, ENODEV, "ask for hw-tc-offload of link " + std::to_string(link));
    return found->tc_feature;
}

Result<> FakeTcOffload::set_feature(const Netns& ns, uint32_t link, bool on) {
    const std::string what = "set hw-tc-offload of link " + std::to_string(link);
    return gate_.pass<void>(what, [&]() -> Result<> {
        FakeLink* found = world_.find_link(ns.id(), link);
        if (found == nullptr)
            return coded(Code::Unavailable, ENODEV, what);
        if (found->tc_feature.on != on && found->tc_feature.fixed)
            return coded(Code::Unsupported, EOPNOTSUPP, what);
        found->tc_feature.on = on;
        return {};
    });
}

Result<netns::TcRules> FakeTcOffload::rules(const Netns& ns, uint32_t link) {
    const FakeLink* found = world_.find_link(ns.id(), link);
    return found == nullptr ? netns::TcRules{} : found->tc_rules;
}

}  // namespace test
