// SPDX-License-Identifier: Apache-2.0
// Steps that change nothing: they look whether what the steps before them made really works, and
// fail the attach if not, so that it is rolled back.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hook/steps/step.h"
#include "netns/values/address.h"

namespace hook {

// Kernels before 7.1 bind rxe's UDP port in the host's namespace only: a link made in a
// container's looks healthy and carries nothing. The evidence is whether UDP 4791 is served there.
struct CheckDataPath {
    std::string problem;  // the error if it is not served
    std::string fix;

    static constexpr std::string_view kKind = "check_data_path";
    static constexpr bool kJournaled = false;
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    bool operator==(const CheckDataPath&) const = default;
};

// Asks the segment, from the new interface, whether another station has the addresses already: two
// that have one break each other. An address in use is noted in Site::in_use.
struct ProbeAddresses {
    uint32_t link = 0;  // index in the container
    std::vector<netns::Address> addresses;
    std::chrono::milliseconds wait{};  // for each
    std::string fix;                   // the advice if one is in use

    static constexpr std::string_view kKind = "probe_addresses";
    static constexpr bool kJournaled = false;
    [[nodiscard]] std::string describe() const;
    Result<> apply(Site& site) const;
    bool operator==(const ProbeAddresses&) const = default;
};

}  // namespace hook
