// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hook/steps/altnames.h"
#include "hook/steps/claim.h"
#include "netns/link.h"
#include "netns/sriov.h"

namespace hook {

// Changes nothing when it is applied. Its undo, after that of the steps behind it, gives a VF on
// the host the form that it had: driver, names, MAC, MTU, alias, down. From somebody who could set
// more than that (Site::net_admin) it comes with a new netdev: its driver is bound anew.
//
// A VF that is no more, or that somebody bound to another driver, is not ours to mend: done.
class RestoreVf : public Step {
  public:
    struct Args {
        std::string vf;      // PCI address
        std::string driver;  // that was bound
        std::string name;    // of its netdev
        std::string alias;
        std::vector<std::string> altnames;
        netns::Mac mac;
        uint32_t mtu = 0;
        std::string rdma;        // name of its RDMA device; empty: it has none
        uint64_t node_guid = 0;  // of that
        bool rebound = false;    // the plan binds it anew, so its old MAC or GUID may need that too
        Lease lease;             // of the VF
    };

    explicit RestoreVf(Args args) : args_(std::move(args)) {}

    static Result<std::unique_ptr<Step>> load(const Json& json);

    [[nodiscard]] std::string_view kind() const override { return "restore_vf"; }

    [[nodiscard]] std::string describe() const override;
    Result<> apply(Site& site) const override;
    Result<Undo> undo(Site& site) const override;
    [[nodiscard]] Json save() const override;

  private:
    // The MAC that the netdev then has.
    Result<netns::Mac> mend_link(Site& site, const netns::PciFunction& function) const;
    Result<> mend_mac(Site& site, const netns::PciFunction& function, netns::Mac present) const;
    Result<> mend_rdma(Site& site) const;
    Result<bool> needs_rebind(Site& site, const netns::PciFunction& function) const;
    Args args_;
};

}  // namespace hook
