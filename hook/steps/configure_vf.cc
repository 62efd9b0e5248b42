// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/configure_vf.h"

#include <fmt/format.h>

#include "hook/steps/deadlines.h"
#include "hook/steps/vf_settings.h"

namespace hook {

using base::Code;
using base::make_error;

namespace {
// The PF's netdev of the moment, as index: it may have been renamed or bound anew. Nothing if the
// PF has no such VF any more.
Result<std::optional<uint32_t>> find_pf_link(Site& site, const ConfigureVf::Args& args) {
    const auto pf = TRY(site.host.sriov.find(args.pf));
    if (!pf || args.number >= pf->num_vfs ||
        TRY(site.host.sriov.find_vf(args.pf, args.number)) != args.vf)
        return std::optional<uint32_t>{};
    if (pf->netdevs.empty())
        return make_error(Code::Unavailable,
                          "PF " + args.pf + " has no netdev in the host's namespace")
            .advise("bind its driver, then run: rdmactl gc");
    return std::optional{pf->netdevs.front().index};
}
}  // namespace

Result<std::unique_ptr<Step>> ConfigureVf::load(const Json& json) {
    Args args;
    args.pf = TRY(base::required<std::string>(json, "pf"));
    args.number = TRY(base::required<uint32_t>(json, "number"));
    args.vf = TRY(base::required<std::string>(json, "vf"));
    args.before = TRY(vf_settings_from_json(json.value("before", Json::object())));
    args.after = TRY(vf_settings_from_json(json.value("after", Json::object())));
    args.lease = TRY(lease_from_json(json));
    return make_step<ConfigureVf>(std::move(args));
}

std::string ConfigureVf::describe() const {
    return fmt::format("set {} of VF {} ({}) of PF {}",
                       settings_text(args_.after),
                       args_.number,
                       args_.vf,
                       args_.pf);
}

Result<> ConfigureVf::apply(Site& site) const {
    const auto link = TRY(find_pf_link(site, args_));
    if (!link)
        return make_error(Code::Unavailable,
                          fmt::format("PF {} has lost its VF {}", args_.pf, args_.number));
    return site.host.sriov.configure(
        site.host_ns, *link, args_.number, args_.after, base::Deadline::in(kReadyTimeout));
}

Result<Undo> ConfigureVf::undo(Site& site) const {
    if (!TRY(is_held(site, args_.lease)))
        return Undo::gone();
    const auto link = TRY(find_pf_link(site, args_));
    if (!link)
        return Undo::gone();
    const auto present = TRY(site.host.sriov.settings(site.host_ns, *link, args_.number));
    if (!present)
        return Undo::unknown(
            fmt::format("PF {} does not report on its VF {} any more; run: rdmactl gc once it does",
                        args_.pf,
                        args_.number));
    // MAC, VLAN and rate first, trust later: that is the order in which configure() writes, and
    // drivers refuse much to a VF that is not trusted any more.
    const auto back = difference(args_.before, *present);
    if (is_empty(back))
        return Undo::gone();
    return undone_by(site.host.sriov.configure(
        site.host_ns, *link, args_.number, back, base::Deadline::in(kReadyTimeout)));
}

Json ConfigureVf::save() const {
    return base::object({{"pf", args_.pf},
                         {"number", args_.number},
                         {"vf", args_.vf},
                         {"before", to_json(args_.before)},
                         {"after", to_json(args_.after)},
                         {"lease", to_json(args_.lease)}});
}

}  // namespace hook
