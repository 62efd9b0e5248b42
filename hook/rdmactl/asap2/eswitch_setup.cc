// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/asap2/eswitch_setup.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/rdmactl/vf/pf.h"
#include "hook/steps/codec.h"
#include "hook/steps/eswitch.h"
#include "hook/steps/journal.h"
#include "netns/base/json_kept.h"
#include "netns/tc_offload.h"

namespace hook::ctl {

using netns::EswitchMode;
using netns::InlineMode;
using netns::VfSettings;

namespace {
std::string setup_path(const Store& store, const std::string& handle) {
    return store.folder("eswitches") + "/" + file_name(handle) + ".json";
}

Json to_json(const EswitchState& state) {
    Json json{{"num_vfs", state.num_vfs},
              {"switchdev", state.eswitch.mode == EswitchMode::Switchdev},
              {"uplink_offload", state.uplink_offload},
              {"uplink_up", state.uplink_up}};
    if (state.eswitch.inline_mode)
        json["inline_mode"] = static_cast<int>(*state.eswitch.inline_mode);
    return json;
}

Result<EswitchState> state_from_json(const Json& json) {
    EswitchState state;
    state.num_vfs = TRY(base::required<uint32_t>(json, "num_vfs"));
    if (TRY(base::required<bool>(json, "switchdev")))
        state.eswitch.mode = EswitchMode::Switchdev;
    state.uplink_offload = TRY(base::required<bool>(json, "uplink_offload"));
    state.uplink_up = TRY(base::required<bool>(json, "uplink_up"));
    if (json.contains("inline_mode"))
        state.eswitch.inline_mode =
            static_cast<InlineMode>(TRY(base::required<uint8_t>(json, "inline_mode")) % 4);
    return state;
}

Result<Setup> setup_from_json(const Json& json) {
    TRY(check_format(json));
    Setup setup;
    setup.handle = TRY(base::required<std::string>(json, "handle"));
    setup.bridge = TRY(base::required<std::string>(json, "bridge"));
    setup.before = TRY(state_from_json(json.value("before", Json::object())));
    TRY(check_arrays(json, {"vfs"}));
    for (const Json& vf : json.value("vfs", Json::array()))
        setup.vfs.push_back(TRY(decode<VfSettings>(base::dump_json(vf), "vfs")));
    return setup;
}

bool is_pci(const EswitchDevice& device) {
    return netns::is_pci_address(device.function.address);
}

Error gone(const EswitchDevice& device) {
    return make_error(Code::Unavailable, device.handle + " is gone")
        .advise("see what there is: devlink dev show");
}

Result<netns::PciFunction> present_function(Site& site, const EswitchDevice& device) {
    auto now = TRY(site.host.sriov.find(device.function.address));
    if (!now)
        return gone(device);
    return *std::move(now);
}

// Prepares VFs without drivers. On another bus the host sees no drivers of a device.
Result<> prepare(HostView& view,
                 const EswitchDevice& device,
                 uint32_t count,
                 const std::vector<VfSettings>& kept) {
    if (!is_pci(device))
        return TRY(present_function(view.site, device)).num_vfs == count
                   ? Result<>{}
                   : view.host.sriov.set_num_vfs(device.function.address, count);
    const Pf pf = TRY(find_pf(device.function.address, view.host));
    TRY(check_up(pf, view.site));
    return prepare_vfs(view, pf, count, kept);
}

Result<> unbind(Site& site, const EswitchDevice& device) {
    if (!is_pci(device))
        return {};
    for (const auto& vf : TRY(vfs_of(site, device.function.address)))
        TRY(site.host.sriov.unbind(vf.address));
    return {};
}

// Some adapters (ConnectX-4 Lx) match on headers in an e-switch only if the driver puts the headers
// beside the descriptor.
std::optional<InlineMode> wanted_inline(const netns::Eswitch& now, const netns::Eswitch& wanted) {
    if (!now.inline_mode || *now.inline_mode == InlineMode::None)
        return std::nullopt;
    return wanted.mode == EswitchMode::Switchdev ? InlineMode::Transport : wanted.inline_mode;
}

Result<> set_inline(Site& site, const EswitchDevice& device, const netns::Eswitch& wanted) {
    const auto now = TRY(site.host.devlink.eswitch(site.host_ns, device.handle));
    const auto mode = now ? wanted_inline(*now, wanted) : std::nullopt;
    return !mode || now->inline_mode == mode
               ? Result<>{}
               : site.host.devlink.set_inline_mode(site.host_ns, device.handle, *mode);
}

// Returns the ids of the containers with such an attachment. An attachment without holders is
// listed by its key.
Result<std::vector<std::string>> users_where(const Context& context,
                                             const std::function<bool(const Journal&)>& uses) {
    std::vector<std::string> users;
    for (const std::string& akey : TRY(context.store.journal_keys())) {
        const auto journal = TRY(load_journal(context.store, akey));
        if (!journal || !uses(*journal))
            continue;
        const Json holders = TRY(holders_of(context, akey));
        for (const Json& id : holders)
            users.push_back(id.get<std::string>());
        if (holders.empty())
            users.push_back(akey);
    }
    return users;
}

// Returns the netdevs that share the PF's RDMA device: its own, and those of its bond.
Result<std::vector<uint32_t>> netdevs_with(Site& site, const netns::PciFunction& pf) {
    std::vector<uint32_t> all;
    for (const auto& netdev : pf.netdevs) {
        all.push_back(netdev.index);
        const auto link = TRY(site.host.links.find(site.host_ns, netdev.index));
        if (link && link->master != 0)
            std::ranges::copy(TRY(site.host.links.ports_of(site.host_ns, link->master)),
                              std::back_inserter(all));
    }
    return all;
}

// Refused while a container uses the PF's RDMA device: the driver removes it with the mode, and
// makes another.
Result<> check_not_shared(HostView& view, const EswitchDevice& device) {
    const auto netdevs = TRY(netdevs_with(view.site, TRY(present_function(view.site, device))));
    const auto is_on = [&](const Endpoint& endpoint) {
        const uint32_t netdev =
            endpoint.where == Where::Host ? endpoint.netdev : endpoint.hca_netdev;
        return netdev != 0 && std::ranges::find(netdevs, netdev) != netdevs.end();
    };
    const auto users =
        TRY(users_where(view, [&](const Journal& journal) { return is_on(journal.endpoint); }));
    if (users.empty())
        return {};
    return make_error(Code::Busy,
                      fmt::format("the RDMA device of {} is in use by {}, and the mode of its "
                                  "e-switch makes it again",
                                  name_of(device.function),
                                  fmt::join(users, ", ")))
        .advise("end these containers first; of what is dead: rdmactl gc");
}

// Checks for check_converge(), from the state that has been read.
Result<> check_change(HostView& view,
                      const EswitchDevice& device,
                      const EswitchState& now,
                      const EswitchState& wanted) {
    const bool changes_mode = now.eswitch.mode != wanted.eswitch.mode;
    if (changes_mode)
        TRY(check_not_shared(view, device));
    return is_pci(device) && (changes_mode || now.num_vfs != wanted.num_vfs)
               ? check_unused(view, device.function)
               : Result<>{};
}

// Adds the PF's settings of its VFs to the setup, once: as they first were.
Result<> remember_vfs(HostView& view, const EswitchDevice& device, Setup& setup) {
    if (!is_pci(device) || !setup.vfs.empty())
        return {};
    const Pf pf = TRY(find_pf(device.function.address, view.host));
    for (uint32_t number = 0; number < pf.function.num_vfs; ++number)
        setup.vfs.push_back(
            TRY(view.host.sriov.settings(view.site.host_ns, pf.netdev.index, number))
                .value_or(VfSettings{}));
    return save_setup(view.store, setup);
}

// Returns the remembered settings that an e-switch in this mode accepts.
std::vector<VfSettings> settable(const Setup& setup, EswitchMode mode) {
    std::vector<VfSettings> all = setup.vfs;
    for (VfSettings& vf : all) {
        if (mode == EswitchMode::Switchdev)
            vf = VfSettings{.mac = vf.mac};
    }
    return all;
}

// Changes the mode. Some drivers (ice) do so only while there are no VFs: VFs are then made again.
Result<> change_mode(HostView& view,
                     const EswitchDevice& device,
                     Setup& setup,
                     const EswitchState& wanted) {
    TRY(set_inline(view.site, device, wanted.eswitch));
    const EswitchMode mode = wanted.eswitch.mode;
    const auto set = [&] {
        return view.host.devlink.set_mode(view.site.host_ns, device.handle, mode);
    };
    auto done = set();
    if (done || done.error().code != Code::Unsupported ||
        TRY(present_function(view.site, device)).num_vfs == 0)
        return std::move(done).advise("see dmesg: what holds the e-switch");
    TRY(remember_vfs(view, device, setup));
    TRY(view.host.sriov.set_num_vfs(device.function.address, 0));
    TRY(set());
    return wanted.num_vfs == 0 ? Result<>{}
                               : prepare(view, device, wanted.num_vfs, settable(setup, mode));
}

Result<> set_up(Site& site, const netns::Link& link, bool up) {
    if (link.up == up)
        return {};
    netns::LinkChange change;
    change.up = up;
    return site.host.links.change(site.host_ns, link.index, change);
}

Result<> set_feature(Site& site, uint32_t link, bool on) {
    const auto feature = TRY(site.host.tc.feature(site.host_ns, link));
    return feature.on == on || feature.fixed ? Result<>{}
                                             : site.host.tc.set_feature(site.host_ns, link, on);
}

// Changes VFs and mode, and leaves VFs without drivers.
Result<> switch_over(HostView& view,
                     const EswitchDevice& device,
                     Setup& setup,
                     const EswitchState& now,
                     const EswitchState& wanted) {
    const EswitchMode mode = wanted.eswitch.mode;
    const bool changes = now.eswitch.mode != mode;
    if (changes)  // drivers of VFs hold the e-switch, and get VFs with MACs afterwards
        TRY(unbind(view.site, device));
    // Prepare VFs before the mode changes again, even if they exist: they may lack their MACs.
    const bool to_switchdev = changes && mode == EswitchMode::Switchdev;
    if (wanted.num_vfs != 0 && (now.num_vfs != wanted.num_vfs || to_switchdev))
        TRY(prepare(view, device, wanted.num_vfs, settable(setup, now.eswitch.mode)));
    if (changes)
        return change_mode(view, device, setup, wanted);
    return mode == EswitchMode::Legacy ? set_inline(view.site, device, wanted.eswitch) : Result<>{};
}

// Binds VFs, with their remembered settings as far as the mode accepts them.
Result<> bind(HostView& view, const EswitchDevice& device, const Setup& setup) {
    const auto eswitch = TRY(eswitch_of(view.site, device.handle));
    return bind_vfs(
        view, TRY(find_pf(device.function.address, view.host)), settable(setup, eswitch.mode));
}

// Sets the offload. A failure is left for status to report: the e-switch forwards in software.
Result<> converge_offload(Site& site, const std::string& handle, const EswitchState& wanted) {
    const netns::Link uplink = TRY(find_uplink(site, handle));
    TRY(set_feature(site, uplink.index, wanted.uplink_offload));
    TRY(set_up(site, uplink, wanted.uplink_up));
    if (wanted.eswitch.mode == EswitchMode::Legacy)
        return {};
    for (const netns::DevlinkPort& port : TRY(function_ports(site, handle))) {
        if (port.netdev != 0)
            TRY(set_feature(site, port.netdev, true));
    }
    return {};
}
}  // namespace

Result<EswitchDevice> find_eswitch_device(const std::string& given, Site& site) {
    constexpr std::string_view kPci = "pci/";
    const std::string name = given.starts_with(kPci) ? given.substr(kPci.size()) : given;
    EswitchDevice device;
    if (netns::is_function_name(name)) {
        const auto function = TRY(site.host.sriov.find(name));
        if (!function)
            return make_error(Code::Unavailable, "the host has no device '" + printable(name) + "'")
                .advise("see what there is: devlink dev show");
        device.function = *function;
    } else {
        device.function = TRY(find_pf(name, site.host)).function;
    }
    device.handle = netns::devlink_handle(device.function.address);
    (void)TRY(eswitch_of(site, device.handle));
    return device;
}

Result<netns::Link> find_uplink_or_bond(Site& site, const std::string& handle) {
    const netns::Link uplink = TRY(find_uplink(site, handle));
    const auto master = TRY(site.host.links.find(site.host_ns, uplink.master));
    return master && master->kind == "bond" ? *master : uplink;
}

Result<EswitchState> read_state(Site& site, const EswitchDevice& device) {
    const auto function = TRY(present_function(site, device));
    const auto eswitch = TRY(site.host.devlink.eswitch(site.host_ns, device.handle));
    if (!eswitch)
        return gone(device);
    const netns::Link uplink = TRY(find_uplink(site, device.handle));
    return EswitchState{.num_vfs = function.num_vfs,
                        .eswitch = *eswitch,
                        .uplink_offload = TRY(site.host.tc.feature(site.host_ns, uplink.index)).on,
                        .uplink_up = uplink.up};
}

Result<std::optional<Setup>> load_setup(const Store& store, const std::string& handle) {
    const std::string path = setup_path(store, handle);
    const auto text = store.files().read(path, kMaxStateFile);
    if (!text && base::is_missing(text.error()))
        return std::optional<Setup>{};
    return std::optional{
        TRY(setup_from_json(TRY(base::parse_json(TRY(text), path))).context(path))};
}

Result<> save_setup(const Store& store, const Setup& setup) {
    Json vfs = Json::array();
    for (const VfSettings& vf : setup.vfs)
        vfs.push_back(base::kept_json(encode(vf)));
    const Json json{{"format", kFormat},
                    {"handle", setup.handle},
                    {"before", to_json(setup.before)},
                    {"bridge", setup.bridge},
                    {"vfs", vfs}};
    return store.files().write(setup_path(store, setup.handle), base::dump_json(json));
}

Result<> remove_setup(const Store& store, const std::string& handle) {
    return store.files().remove(setup_path(store, handle));
}

Result<std::vector<std::string>> enabled_devices(const Store& store) {
    std::vector<std::string> handles;
    const auto names = store.files().list(store.folder("eswitches"));
    if (!names && !base::is_missing(names.error()))  // missing: nothing was ever enabled
        return names.error();
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
        const auto text = store.files().read(store.folder("eswitches") + "/" + name, kMaxStateFile);
        const auto json = text ? base::parse_json(*text, name) : text.error();
        if (json)
            handles.push_back(TRY(setup_from_json(*json)).handle);
    }
    return handles;
}

Result<> check_converge(HostView& view, const std::string& handle, const EswitchState& wanted) {
    const EswitchDevice device = TRY(find_eswitch_device(handle, view.site));
    return check_change(view, device, TRY(read_state(view.site, device)), wanted);
}

Result<> converge(HostView& view, Setup& setup, const EswitchState& wanted) {
    const EswitchDevice device = TRY(find_eswitch_device(setup.handle, view.site));
    const EswitchState now = TRY(read_state(view.site, device));
    TRY(check_change(view, device, now, wanted));
    if (wanted.uplink_up)  // a PF that is down does not answer its VFs
        TRY(set_up(view.site, TRY(find_uplink(view.site, device.handle)), true));
    auto done = switch_over(view, device, setup, now, wanted);
    // VFs that existed before get drivers again, whatever the result.
    const bool give_back = done ? wanted.num_vfs != 0 : now.num_vfs != 0;
    if (give_back && is_pci(device))
        done = join(std::move(done), bind(view, device, setup));
    TRY(std::move(done));
    if (wanted.num_vfs == 0 && TRY(present_function(view.site, device)).num_vfs != 0)
        TRY(view.host.sriov.set_num_vfs(device.function.address, 0));
    return converge_offload(view.site, device.handle, wanted);
}

Result<std::vector<std::string>> converge_intents(Site& site,
                                                  const std::string& handle,
                                                  const EswitchState& wanted) {
    const EswitchDevice device = TRY(find_eswitch_device(handle, site));
    const EswitchState now = TRY(read_state(site, device));
    const netns::Link uplink = TRY(find_uplink(site, handle));
    std::vector<std::string> intents;
    if (now.uplink_up != wanted.uplink_up)
        intents.push_back(
            fmt::format("bring {} {}", uplink.name, wanted.uplink_up ? "up" : "down"));
    if (now.num_vfs != 0 && wanted.num_vfs != now.num_vfs)
        intents.push_back(fmt::format("destroy the {} VFs of {}", now.num_vfs, uplink.name));
    if (wanted.num_vfs != 0 && wanted.num_vfs != now.num_vfs)
        intents.push_back(fmt::format("make {} VFs of {}", wanted.num_vfs, uplink.name));
    if (now.eswitch.mode != wanted.eswitch.mode) {
        if (now.num_vfs != 0 && wanted.num_vfs != 0)
            intents.push_back("take its VFs from their drivers, and give them back afterwards");
        intents.push_back(
            fmt::format("put the e-switch of {} into mode {}",
                        handle,
                        wanted.eswitch.mode == EswitchMode::Switchdev ? "switchdev" : "legacy"));
    }
    const bool fixed = TRY(site.host.tc.feature(site.host_ns, uplink.index)).fixed;
    if (now.uplink_offload != wanted.uplink_offload && !fixed)
        intents.push_back(fmt::format(
            "switch hw-tc-offload of {} {}", uplink.name, wanted.uplink_offload ? "on" : "off"));
    return intents;
}

Result<std::vector<std::string>> users_of(const Context& context, const std::string& handle) {
    return users_where(context, [&](const Journal& journal) {
        return std::ranges::any_of(journal.steps, [&](const AnyStep& step) {
            const auto* raise = std::get_if<RaiseRepresentor>(&step);
            return raise != nullptr && raise->eswitch == handle;
        });
    });
}

}  // namespace hook::ctl
