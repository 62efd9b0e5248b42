// SPDX-License-Identifier: Apache-2.0
// rdmactl asap2 enable and disable: the host's side of mode asap2. The administrator runs it once
// and on purpose; no hook ever does.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/rdmactl/asap2/bridge_setup.h"
#include "hook/rdmactl/asap2/status.h"
#include "hook/rdmactl/vf/pf.h"
#include "hook/request/values.h"
#include "netns/devlink.h"
#include "netns/ovs.h"

namespace hook::ctl {

using netns::EswitchMode;

namespace {
// Returns the state to enable. `known`: the setup of an interrupted run, which may have removed VFs
// to change the mode.
Result<EswitchState> wanted_state(const Options& options,
                                  const EswitchDevice& device,
                                  const std::optional<Setup>& known,
                                  Site& site) {
    EswitchState wanted = TRY(read_state(site, device));
    if (options.count != 0 && wanted.num_vfs != 0 && wanted.num_vfs != options.count)
        return make_error(
                   Code::Busy,
                   fmt::format("{} has {} VFs, not {}", options.pf, wanted.num_vfs, options.count))
            .advise(fmt::format("run: rdmactl asap2 disable {}; rdmactl vf disable {}",
                                device.handle,
                                device.function.address));
    if (wanted.num_vfs == 0)
        wanted.num_vfs = options.count != 0 || !known ? options.count : known->before.num_vfs;
    if (wanted.num_vfs == 0)
        return make_error(Code::Usage, options.pf + " has no VFs")
            .advise("say how many to make: --vfs N");
    wanted.eswitch.mode = EswitchMode::Switchdev;
    wanted.uplink_offload = true;
    wanted.uplink_up = true;
    return wanted;
}

// Refuses all that can be refused before anything is changed.
Result<> check_ovs(const Options& options, const EswitchDevice& device, Site& site) {
    if (options.bridge.empty() && options.tc_policy.empty())
        return {};
    if (!options.bridge.empty() && !is_interface_name(options.bridge))
        return make_error(Code::Usage, "'" + printable(options.bridge) + "' cannot name a bridge");
    if (!TRY(site.host.ovs.present()))
        return make_error(Code::Unavailable, "Open vSwitch is not running")
            .advise(std::string("install and start it: ") + kInstallOvs);
    return options.bridge.empty() ? Result<>{} : check_uplink(site, device.handle, options.bridge);
}

Result<> enable(HostView& view, const Options& options, const EswitchState& wanted, Setup& setup) {
    TRY(converge(view, setup, wanted));
    if (TRY(view.host.ovs.present()))
        TRY(enable_offload(view.site, options.tc_policy));
    return setup.bridge.empty() ? Result<>{} : add_uplink(view.site, setup.handle, setup.bridge);
}

// Brings the e-switch back to its earlier state. The next call does whatever cannot be done now.
Result<> bring_back(HostView& view, Setup& setup) {
    // Check before the uplink leaves its bridge: a refusal must not cut anybody off.
    TRY(check_converge(view, setup.handle, setup.before));
    TRY(remove_uplink(view.site, setup));
    TRY(converge(view, setup, setup.before));
    const auto enabled = TRY(enabled_devices(view.store));
    if (enabled.size() <= 1)
        TRY(disable_offload(view.site));
    return remove_setup(view.store, setup.handle);
}

// Returns the setup that is on disk already, or one of the present state.
Result<Setup> setup_for(std::optional<Setup> known,
                        Site& site,
                        const EswitchDevice& device,
                        const Options& options) {
    if (!known)
        known = Setup{.handle = device.handle, .before = TRY(read_state(site, device))};
    if (!known->bridge.empty() && !options.bridge.empty() && known->bridge != options.bridge)
        return make_error(Code::Busy,
                          fmt::format("{} is on bridge {} already", options.pf, known->bridge))
            .advise("run first: rdmactl asap2 disable " + options.pf);
    if (!options.bridge.empty())
        known->bridge = options.bridge;
    return *std::move(known);
}

Result<> check_no_users(const Context& context, const EswitchDevice& device) {
    const auto users = TRY(users_of(context, device.handle));
    if (users.empty())
        return {};
    return make_error(Code::Busy,
                      fmt::format("{} is in use by {}", device.handle, fmt::join(users, ", ")))
        .advise("end these containers first; of what is dead: rdmactl gc");
}

// Returns the setup that disable brings back; nothing if there is nothing to do.
Result<std::optional<Setup>> setup_to_undo(HostView& view, const EswitchDevice& device) {
    TRY(check_no_users(view, device));
    auto setup = TRY(load_setup(view.store, device.handle));
    const EswitchState now = TRY(read_state(view.site, device));
    if (!setup && now.eswitch.mode == EswitchMode::Switchdev)
        return make_error(Code::Refused,
                          device.handle + " is in switchdev, and not by `rdmactl asap2 enable`")
            .advise("end that: devlink dev eswitch set " + device.handle + " mode legacy");
    return setup;
}

using Intents = std::vector<std::string>;

Result<Intents> enable_intents(HostView& view,
                               const Options& options,
                               const EswitchDevice& device) {
    const auto known = TRY(load_setup(view.store, device.handle));
    const EswitchState wanted = TRY(wanted_state(options, device, known, view.site));
    const Setup setup = TRY(setup_for(known, view.site, device, options));
    TRY(check_converge(view, device.handle, wanted));
    Intents intents = TRY(converge_intents(view.site, device.handle, wanted));
    if (TRY(view.host.ovs.present()))
        std::ranges::move(TRY(offload_intents(view.site, options.tc_policy)),
                          std::back_inserter(intents));
    if (!setup.bridge.empty())
        std::ranges::move(TRY(uplink_intents(view.site, device.handle, setup.bridge)),
                          std::back_inserter(intents));
    return intents;
}

Result<Intents> disable_intents(HostView& view, const EswitchDevice& device) {
    const auto setup = TRY(setup_to_undo(view, device));
    if (!setup)
        return Intents{};
    TRY(check_converge(view, device.handle, setup->before));
    Intents intents;
    if (!setup->bridge.empty())
        intents.push_back("take off bridge " + setup->bridge + " what enable put on it");
    std::ranges::move(TRY(converge_intents(view.site, device.handle, setup->before)),
                      std::back_inserter(intents));
    if (TRY(enabled_devices(view.store)).size() <= 1)
        std::ranges::move(TRY(restore_intents(view.site)), std::back_inserter(intents));
    return intents;
}
}  // namespace

Result<Answer> asap2_enable(const Options& options, netns::Host& host) {
    const auto state = TRY(open_state(options, host));
    HostView view = TRY(host_view(state->context));
    const EswitchDevice device = TRY(find_eswitch_device(options.pf, view.site));
    TRY(check_ovs(options, device, view.site));
    if (options.dry_run)
        return intended(TRY(enable_intents(view, options, device)),
                        TRY(status_of(view, {device.handle}, options.page)));
    TRY(work_on(view, device.handle, [&]() -> Result<> {
        const auto known = TRY(load_setup(view.store, device.handle));
        const EswitchState wanted = TRY(wanted_state(options, device, known, view.site));
        Setup setup = TRY(setup_for(known, view.site, device, options));
        TRY(save_setup(view.store, setup));  // before anything is changed
        auto done = enable(view, options, wanted, setup).context("enable " + options.pf);
        // An e-switch that was enabled before may have users: it then stays enabled, as far as it
        // is.
        if (!done && !known)
            return join(std::move(done), bring_back(view, setup).context("bring it back"));
        return done;
    }));
    return status_of(view, {device.handle}, options.page);
}

Result<Answer> asap2_disable(const Options& options, netns::Host& host) {
    const auto state = TRY(open_state(options, host));
    HostView view = TRY(host_view(state->context));
    const EswitchDevice device = TRY(find_eswitch_device(options.pf, view.site));
    if (options.dry_run)
        return intended(TRY(disable_intents(view, device)),
                        TRY(status_of(view, {device.handle}, options.page)));
    TRY(work_on(view, device.handle, [&]() -> Result<> {
        auto setup = TRY(setup_to_undo(view, device));
        return setup ? bring_back(view, *setup).context("disable " + options.pf) : Result<>{};
    }));
    return status_of(view, {device.handle}, options.page);
}

}  // namespace hook::ctl
