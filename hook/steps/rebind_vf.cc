// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/rebind_vf.h"

#include "hook/steps/deadlines.h"
#include "hook/steps/vf_names.h"
#include "netns/sriov.h"

namespace hook {

Result<std::unique_ptr<Step>> RebindVf::load(const Json& json) {
    Args args;
    args.vf = TRY(base::required<std::string>(json, "vf"));
    args.driver = TRY(base::required<std::string>(json, "driver"));
    args.rdma = TRY(base::required<bool>(json, "rdma"));
    args.rdma_name = TRY(base::required<std::string>(json, "rdma_name"));
    return make_step<RebindVf>(std::move(args));
}

std::string RebindVf::describe() const {
    return "bind driver " + args_.driver + " of VF " + args_.vf + " anew";
}

Result<> RebindVf::apply(Site& site) const {
    netns::Sriov& sriov = site.host.sriov;
    TRY(sriov.unbind(args_.vf));
    TRY(sriov.bind(args_.vf, args_.driver));
    const auto deadline = base::Deadline::in(kBindTimeout);
    TRY(sriov.wait_for_netdev(args_.vf, deadline));
    if (!args_.rdma)
        return {};
    TRY(sriov.wait_for_rdma(args_.vf, deadline));
    // The name that udev gives it, too, but later: what the container is told must not change then.
    return name_rdma_device(site, args_.vf, args_.rdma_name);
}

Result<Undo> RebindVf::undo(Site&) const {
    return Undo::gone();
}

Json RebindVf::save() const {
    return base::object({{"vf", args_.vf},
                         {"driver", args_.driver},
                         {"rdma", args_.rdma},
                         {"rdma_name", args_.rdma_name}});
}

}  // namespace hook
