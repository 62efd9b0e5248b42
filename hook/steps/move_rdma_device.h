// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/claim.h"
#include "netns/rdma.h"

namespace hook {

// Moves an RDMA device from the host's namespace into the container's (netns mode exclusive).
class MoveRdmaDevice : public Step {
  public:
    struct Args {
        std::string name;
        bool with_link = false;  // ours: the step that made it deletes it wherever it is
        // A VF's own device: found by its function on the host, by its netdev in the container.
        std::string vf;  // PCI address; empty: by name
        uint32_t netdev = 0;
        Lease lease;  // of the VF
    };

    explicit MoveRdmaDevice(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "move_rdma_device"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    Result<std::optional<netns::RdmaDevice>> find_on_host(Site& site) const;
    Args args_;
};

}  // namespace hook
