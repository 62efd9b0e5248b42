// SPDX-License-Identifier: Apache-2.0
// Steps that grant things to a container while it exists: its init waits for a plain hook, or runs.
// All grants go with the container.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hook/steps/step.h"
#include "netns/char_nodes.h"
#include "netns/placement.h"
#include "netns/process.h"

namespace hook {

template <>
inline constexpr auto kFieldsOf<netns::ProcessToken> = std::tuple{
    Named{"pid", &netns::ProcessToken::pid}, Named{"start", &netns::ProcessToken::start}};
template <>
inline constexpr auto kFieldsOf<netns::DeviceNumber> = std::tuple{
    Named{"major", &netns::DeviceNumber::major}, Named{"minor", &netns::DeviceNumber::minor}};
template <>
inline constexpr auto kFieldsOf<netns::ContainerRoot> = std::tuple{
    Named{"init", &netns::ContainerRoot::init}, Named{"root", &netns::ContainerRoot::path}};
template <>
inline constexpr auto kFieldsOf<netns::Placement> =
    std::tuple{Named{"source", &netns::Placement::source},
               Named{"mount", &netns::Placement::mount},
               Named{"folder", &netns::Placement::folder},
               Named{"name", &netns::Placement::name}};
template <>
inline constexpr auto kFieldsOf<netns::Memlock> = std::tuple{
    Named{"before_soft", &netns::Memlock::soft}, Named{"before_hard", &netns::Memlock::hard}};

// Lets the container open one device, by its cgroup. The cgroup's owner may revoke that at any time
// (systemd at daemon-reload); another apply() repairs it.
struct AllowDevice {
    netns::ProcessToken init;
    std::string name;  // for people
    netns::DeviceNumber device;

    static constexpr std::string_view kKind = "allow_device";
    static constexpr std::tuple kFields{Named{"init", &AllowDevice::init},
                                        Named{"name", &AllowDevice::name},
                                        Named{kHere, &AllowDevice::device}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const AllowDevice&) const = default;
};

// Mounts a device node or file of the host in the container.
struct PlaceFile {
    netns::ContainerRoot root;
    netns::Placement what;
    bool optional = false;  // a container without a place for the file does without it

    static constexpr std::string_view kKind = "place_file";
    static constexpr std::tuple kFields{Named{kHere, &PlaceFile::root},
                                        Named{kHere, &PlaceFile::what},
                                        Named{"optional", &PlaceFile::optional}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const PlaceFile&) const = default;
};

// Sets how much memory the container's init may lock, and so every process that it starts.
struct SetMemlock {
    netns::ProcessToken init;
    netns::Memlock before;
    uint64_t bytes = 0;  // soft and hard

    static constexpr std::string_view kKind = "set_memlock";
    static constexpr std::tuple kFields{Named{"init", &SetMemlock::init},
                                        Named{kHere, &SetMemlock::before},
                                        Named{"bytes", &SetMemlock::bytes}};
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    Result<Undo> undo(Site& site) const;
    bool operator==(const SetMemlock&) const = default;
};

}  // namespace hook
