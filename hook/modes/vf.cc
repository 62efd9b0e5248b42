// SPDX-License-Identifier: Apache-2.0
// vf: one SR-IOV virtual function for one container. It is chosen among the free ones, set up
// through its PF, moved, and given back as it was. RDMA is the VF's own device, or rxe or siw over
// its netdev.
#include <fmt/format.h>

#include "hook/modes/interface.h"
#include "hook/modes/virtual_function.h"

namespace hook {

namespace {
// Refuses settings of a function without PF: a PF keeps them, and this function has none on this
// machine.
Result<> check_without_pf(const Attachment& a, const FreeVf& vf) {
    const auto keys = keys_of_missing(vf_settings(a));
    if (keys.empty())
        return {};
    return make_error(Code::Refused,
                      fmt::format("rdma.{} is set through a PF, and {} has none on this machine",
                                  keys.front(),
                                  name_of(vf)))
        .advise(fmt::format("remove rdma.{}, from the pool and its policy, too", keys.front()));
}

Result<> check_asked(const Attachment& a, const FreeVf& vf) {
    if (vf.link.ethernet && (a.node_guid || a.port_guid))
        return make_error(Code::Refused,
                          fmt::format("rdma.{} is for InfiniBand, and {} is Ethernet",
                                      a.node_guid ? "node_guid" : "port_guid",
                                      name_of(vf)))
            .advise("remove it: set rdma.mac, from which the GUID is made");
    if (vf.mapped)
        return check_without_pf(a, vf);
    return check_mtu(a, vf.pf_link, "PF");
}

Result<Plan> plan_vf(const Attachment& a, const Survey& s) {
    FreeVf vf = TRY(choose_free_vf(a, s));
    TRY(check_asked(a, vf));
    const ChosenVf chosen = TRY(choose_vf_settings(a, s, std::move(vf), vf_settings(a)));
    // A function without PF stands for its network itself.
    const uint32_t pf = chosen.vf.mapped ? chosen.vf.link.index : chosen.vf.pf_link.index;
    Plan plan;
    plan.endpoint = TRY(endpoint_of(a, s, chosen, TRY(choose_addresses(a, s, pf))));
    claim_vf(plan, s, chosen, {.netdev = pf, .vlan = chosen.vlan});
    add_vf(plan, a, s, chosen);
    return plan;
}

}  // namespace

const Mode kVf{.name = "vf", .plan = plan_vf, .check_device = check_device_has_vfs};

}  // namespace hook
