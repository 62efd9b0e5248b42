// SPDX-License-Identifier: Apache-2.0
// Plan: the steps of an attachment and their result. AnyStep is the one list of all steps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hook/steps/checks.h"
#include "hook/steps/claim.h"
#include "hook/steps/links.h"
#include "hook/steps/ovs.h"
#include "hook/steps/rdma.h"
#include "hook/steps/running.h"
#include "hook/steps/step.h"
#include "hook/steps/vf.h"
#include "netns/base/json_view.h"

namespace hook {

using base::Json;

using AnyStep = std::variant<PinNetns,
                             Claim,
                             CreateChild,
                             StrictArp,
                             AddAddress,
                             AddRoute,
                             AddRule,
                             CreateRdmaLink,
                             MoveRdmaDevice,
                             RestoreVf,
                             ConfigureVf,
                             RebindVf,
                             MoveLink,
                             RaiseRepresentor,
                             AddOvsPort,
                             AllowDevice,
                             PlaceFile,
                             SetMemlock,
                             CheckDataPath,
                             ProbeAddresses>;
using Steps = std::vector<AnyStep>;

std::string_view kind_of(const AnyStep& step);
std::string describe(const AnyStep& step);
bool is_journaled(const AnyStep& step);

Result<> apply(const AnyStep& step, Site& site);
Result<Undo> undo(const AnyStep& step, Site& site);

// Returns a step as journals have it, an object of its kind and its fields: as text, and as a value.
std::string step_text(const AnyStep& step);
Json save_step(const AnyStep& step);
// Returns the step again. An unknown kind or broken fields are an error.
Result<AnyStep> load_step(const base::JsonView& json);
Result<AnyStep> load_step(const Json& json);

// The device of an attachment, as far as the plan knows it beforehand. This is enough to find the
// device again in another process.
struct Endpoint {
    Where where = Where::Container;
    uint32_t netdev = 0;        // index in that namespace
    std::string device;         // RDMA device name that rdma-hook gave, or a hint
    std::string software = {};  // "rxe", "siw": made by the plan; empty: the device exists
    // The GID that the container is to use; nothing for a device without GIDs of addresses.
    std::optional<netns::Gid> gid{};
    std::vector<netns::Address> addresses{};
    bool moved = false;  // the RDMA device was moved into the namespace
    // Index, on the host, of the own netdev of a device that stays the host's. 0: the device is on
    // `netdev`.
    uint32_t hca_netdev = 0;
    // Index of an RDMA device of the host that is given as it is. It names the device for its life,
    // whatever its name; `netdev` is then 0 if it has none.
    std::optional<uint32_t> rdma_index = {};
    // Reason why the host forwards the packets in software (asap2); empty: hardware may.
    std::string software_path = {};

    static constexpr std::tuple kFields{Named{"where", &Endpoint::where},
                                        Named{"netdev", &Endpoint::netdev},
                                        Named{"device", &Endpoint::device},
                                        Named{"software", &Endpoint::software},
                                        Named{"moved", &Endpoint::moved},
                                        Named{"hca_netdev", &Endpoint::hca_netdev},
                                        Named{"rdma_index", &Endpoint::rdma_index},
                                        Named{"software_path", &Endpoint::software_path},
                                        Named{"addresses", &Endpoint::addresses},
                                        Named{"gid", &Endpoint::gid}};
    bool operator==(const Endpoint&) const = default;
};

struct Plan {
    Steps steps;
    Endpoint endpoint;
    // Number of steps at the beginning that reserve what planning found, the pin included. Until
    // these are applied, no other process may search for the like.
    size_t claims = 0;
    bool operator==(const Plan&) const = default;

    void add(AnyStep step) { steps.push_back(std::move(step)); }
};

}  // namespace hook
