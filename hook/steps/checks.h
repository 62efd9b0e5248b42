// SPDX-License-Identifier: Apache-2.0
// Steps that change nothing. They check that what the earlier steps made really works. If it does
// not, they fail the attach, so that it is rolled back.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hook/steps/step.h"
#include "netns/values/address.h"

namespace hook {

// Checks that UDP 4791 is served in the container's namespace, which is the evidence that its rxe
// works. Kernels before 7.1 bind rxe's UDP port in the host's namespace only: a link made in a
// container's namespace looks healthy and carries nothing.
struct CheckDataPath {
    std::string problem;  // the error if the port is not served
    std::string fix;

    static constexpr std::string_view kKind = "check_data_path";
    static constexpr bool kJournaled = false;
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    bool operator==(const CheckDataPath&) const = default;
};

// Asks the segment, from the new interface, whether another station has the addresses already: two
// stations with one address break each other. Notes an address in use in Site::in_use.
struct ProbeAddresses {
    uint32_t link = 0;  // index in the container
    std::vector<netns::Address> addresses;
    std::chrono::milliseconds wait{};  // for each address
    std::string fix;                   // advice if an address is in use

    static constexpr std::string_view kKind = "probe_addresses";
    static constexpr bool kJournaled = false;
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    bool operator==(const ProbeAddresses&) const = default;
};

}  // namespace hook
