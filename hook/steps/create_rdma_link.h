// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/step.h"
#include "netns/rdma.h"

namespace hook {

// Makes a software RDMA device (rxe, siw) on a netdev, from inside the netdev's namespace.
class CreateRdmaLink : public Step {
  public:
    struct Args {
        Where where = Where::Container;
        std::string type;        // "rxe"
        std::string name;        // unique; ours
        uint32_t netdev = 0;     // index in the namespace
        uint64_t node_guid = 0;  // what the driver makes of the netdev's MAC: proves it is ours
    };

    explicit CreateRdmaLink(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "create_rdma_link"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    [[nodiscard]] Result<> remove(Site& site, const netns::Netns& ns, uint32_t device) const;
    [[nodiscard]] Result<std::optional<netns::RdmaDevice>> find_renamed(
        Site& site, const netns::Netns& ns) const;
    Args args_;
};

}  // namespace hook
