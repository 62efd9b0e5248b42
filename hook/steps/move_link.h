// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/altnames.h"
#include "hook/steps/claim.h"
#include "netns/values/address.h"

namespace hook {

// Moves the netdev of a VF from the host's namespace into the container's, up, under a name and
// index of our choice. On both ways it is found by its PCI address, whatever it is called by then.
class MoveLink : public Step {
  public:
    struct Args {
        std::string vf;           // PCI address
        std::string host_name;    // on the host
        uint32_t host_index = 0;  // there; taken again if it is free
        uint32_t host_mtu = 0;
        std::string host_alias;
        std::vector<std::string> altnames;  // there
        std::string name;                   // in the container
        uint32_t index = 0;
        uint32_t mtu = 0;
        std::optional<netns::Mac> mac;  // nothing: as it is
        Lease lease;                    // of the VF
    };

    explicit MoveLink(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "move_link"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Args args_;
};

}  // namespace hook
