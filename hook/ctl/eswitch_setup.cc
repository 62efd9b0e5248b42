// SPDX-License-Identifier: Apache-2.0
#include "hook/ctl/eswitch_setup.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "hook/ctl/pf.h"
#include "hook/journal.h"
#include "netns/tc_offload.h"

namespace hook::ctl {

using base::Code;
using base::Deadline;
using base::make_error;
using netns::DevlinkPort;
using netns::EswitchMode;
using netns::InlineMode;
using netns::PortFlavour;

namespace {
constexpr std::chrono::seconds kNetdevTimeout{20};  // for all VFs of a device together

std::string setup_path(const Store& store, std::string handle) {
    std::ranges::replace(handle, '/', '_');  // one part of a path
    return store.folder("eswitches") + "/" + handle + ".json";
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
    const Json drivers = json.value("drivers", Json::object());
    for (const auto& [vf, driver] : drivers.items())
        setup.drivers.emplace(vf, TRY(base::as<std::string>(driver, "drivers")));
    return setup;
}

bool is_pci(const EswitchDevice& device) {
    return netns::is_pci_address(device.function.address);
}

// The VFs of a PF. A device of another bus has none that the host could see.
Result<std::vector<netns::PciFunction>> vfs_of(Site& site, const EswitchDevice& device) {
    std::vector<netns::PciFunction> vfs;
    if (!is_pci(device))
        return vfs;
    const auto pf = TRY(site.host.sriov.find(device.function.address));
    for (uint32_t number = 0; pf && number < pf->num_vfs; ++number) {
        const auto address = TRY(site.host.sriov.find_vf(device.function.address, number));
        auto vf = address ? TRY(site.host.sriov.find(*address)) : std::nullopt;
        if (vf)
            vfs.push_back(*std::move(vf));
    }
    return vfs;
}

Result<> make(World& world, Site& site, const EswitchDevice& device, uint32_t count) {
    if (!is_pci(device))
        return device.function.num_vfs == count
                   ? Result<>{}
                   : site.host.sriov.set_num_vfs(device.function.address, count);
    const Pf pf = TRY(find_pf(device.function.address, site.host));
    TRY(check_up(pf, site));
    return make_vfs(world, site, pf, count);
}

Result<> unbind(World& world, Site& site, const EswitchDevice& device, Setup& setup) {
    const auto vfs = TRY(vfs_of(site, device));
    for (const auto& vf : vfs) {
        if (!vf.driver.empty())
            setup.drivers[vf.address] = vf.driver;
    }
    TRY(save_setup(world.store, setup));
    for (const auto& vf : vfs)
        TRY(site.host.sriov.unbind(vf.address));
    return {};
}

// Those that we, in whatever run, took the driver off.
Result<> rebind(World& world, Site& site, const EswitchDevice& device, Setup& setup) {
    if (setup.drivers.empty())
        return {};
    const Deadline deadline = Deadline::in(kNetdevTimeout);
    for (const auto& vf : TRY(vfs_of(site, device))) {
        const auto driver = setup.drivers.find(vf.address);
        if (!vf.driver.empty() || driver == setup.drivers.end())
            continue;
        TRY(site.host.sriov.bind(vf.address, driver->second));
        if (driver->second != "vfio-pci")
            TRY(site.host.sriov.wait_for_netdev(vf.address, deadline));
    }
    setup.drivers.clear();
    return save_setup(world.store, setup);
}

// Some adapters (ConnectX-4 Lx) match on headers in an e-switch only if the driver puts them beside
// the descriptor.
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

// What check_converge says, of what was read.
Result<> check_change(World& world,
                      Site& site,
                      const EswitchDevice& device,
                      const EswitchState& now,
                      const EswitchState& wanted) {
    const bool changes = now.eswitch.mode != wanted.eswitch.mode || now.num_vfs != wanted.num_vfs;
    return is_pci(device) && changes ? check_unused(world, site, device.function) : Result<>{};
}

Result<> change_mode(World& world,
                     Site& site,
                     const EswitchDevice& device,
                     Setup& setup,
                     const EswitchState& wanted) {
    netns::Devlink& devlink = site.host.devlink;
    if (is_pci(device)) {
        const auto pf = TRY(site.host.sriov.find(device.function.address));  // as it is by now
        TRY(check_unused(world, site, pf.value_or(device.function)));
    }
    TRY(unbind(world, site, device, setup));
    TRY(set_inline(site, device, wanted.eswitch));
    return devlink.set_mode(site.host_ns, device.handle, wanted.eswitch.mode)
        .advise("see dmesg: what holds the e-switch");
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

// What cannot be set is status' to tell: the e-switch forwards, in software.
Result<> converge_offload(Site& site, const std::string& handle, const EswitchState& wanted) {
    const netns::Link uplink = TRY(find_uplink(site, handle));
    TRY(set_feature(site, uplink.index, wanted.uplink_offload));
    TRY(set_up(site, uplink, wanted.uplink_up));
    if (wanted.eswitch.mode == EswitchMode::Legacy)
        return {};
    for (const DevlinkPort& port : TRY(site.host.devlink.ports(site.host_ns, handle))) {
        if (port.netdev != 0 && port.flavour != PortFlavour::Physical)
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
            return make_error(Code::Unavailable,
                              "the host has no device '" + base::printable(name) + "'")
                .advise("see what there is: devlink dev show");
        device.function = *function;
    } else {
        device.function = TRY(find_pf(name, site.host)).function;
    }
    device.handle = netns::devlink_handle(device.function.address);
    if (!TRY(site.host.devlink.eswitch(site.host_ns, device.handle)))
        return make_error(Code::Refused, device.handle + " has no e-switch")
            .advise(
                "name a PF that `devlink dev eswitch show` knows; other NICs have rdma.mode=vf");
    return device;
}

Result<netns::Link> find_uplink(Site& site, const std::string& handle) {
    for (const DevlinkPort& port : TRY(site.host.devlink.ports(site.host_ns, handle))) {
        if (port.flavour != PortFlavour::Physical || port.netdev == 0)
            continue;
        if (const auto link = TRY(site.host.links.find(site.host_ns, port.netdev)))
            return *link;
    }
    return make_error(Code::Unavailable, handle + " has no netdev for its physical port")
        .advise("see: devlink port show");
}

Result<netns::Link> find_trunk(Site& site, const std::string& handle) {
    const netns::Link uplink = TRY(find_uplink(site, handle));
    const auto master = TRY(site.host.links.find(site.host_ns, uplink.master));
    return master && master->kind == "bond" ? *master : uplink;
}

Result<EswitchState> read_state(Site& site, const EswitchDevice& device) {
    EswitchState state;
    const auto function = TRY(site.host.sriov.find(device.function.address));
    const auto eswitch = TRY(site.host.devlink.eswitch(site.host_ns, device.handle));
    if (!function || !eswitch)
        return make_error(Code::Unavailable, device.handle + " is gone");
    state.num_vfs = function->num_vfs;
    state.eswitch = *eswitch;
    const netns::Link uplink = TRY(find_uplink(site, device.handle));
    state.uplink_up = uplink.up;
    state.uplink_offload = TRY(site.host.tc.feature(site.host_ns, uplink.index)).on;
    return state;
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
    const Json json{{"format", kFormat},
                    {"handle", setup.handle},
                    {"before", to_json(setup.before)},
                    {"bridge", setup.bridge},
                    {"drivers", setup.drivers}};
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

Result<> check_converge(World& world,
                        Site& site,
                        const std::string& handle,
                        const EswitchState& wanted) {
    const EswitchDevice device = TRY(find_eswitch_device(handle, site));
    return check_change(world, site, device, TRY(read_state(site, device)), wanted);
}

Result<> converge(World& world, Site& site, Setup& setup, const EswitchState& wanted) {
    const EswitchDevice device = TRY(find_eswitch_device(setup.handle, site));
    const EswitchState now = TRY(read_state(site, device));
    TRY(check_change(world, site, device, now, wanted));
    const bool changes_mode = now.eswitch.mode != wanted.eswitch.mode;
    if (wanted.uplink_up)  // a PF that is down does not answer its VFs
        TRY(set_up(site, TRY(find_uplink(site, device.handle)), true));
    // Before the mode changes once more, even if they are there: they may lack their MACs.
    const bool to_switchdev = changes_mode && wanted.eswitch.mode == EswitchMode::Switchdev;
    if (wanted.num_vfs != 0 && (now.num_vfs != wanted.num_vfs || to_switchdev))
        TRY(make(world, site, device, wanted.num_vfs));
    if (changes_mode)
        TRY(change_mode(world, site, device, setup, wanted));
    else if (wanted.eswitch.mode == EswitchMode::Legacy)
        TRY(set_inline(site, device, wanted.eswitch));
    if (wanted.num_vfs != 0)
        TRY(rebind(world, site, device, setup));
    if (now.num_vfs != 0 && wanted.num_vfs == 0)
        TRY(site.host.sriov.set_num_vfs(device.function.address, 0));
    return converge_offload(site, device.handle, wanted);
}

Result<std::vector<std::string>> users_of(World& world, const std::string& handle) {
    std::vector<std::string> users;
    for (const std::string& akey : TRY(world.store.journal_keys())) {
        const auto journal = TRY(load_journal(world.store, akey));
        const auto works_on = [&](const auto& step) {
            return step->kind() == "raise_representor" && step->save()["eswitch"] == handle;
        };
        if (!journal || std::ranges::none_of(journal->steps, works_on))
            continue;
        const Json holders = TRY(holders_of(world, akey));
        for (const Json& id : holders)
            users.push_back(id.get<std::string>());
        if (holders.empty())
            users.push_back(akey);
    }
    return users;
}

}  // namespace hook::ctl
