// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/asap2/status.h"

#include <algorithm>

#include <fmt/format.h>

#include "hook/rdmactl/asap2/bridge_setup.h"
#include "hook/rdmactl/text.h"
#include "hook/rdmactl/vf/pf.h"
#include "hook/steps/eswitch.h"
#include "hook/steps/ovs_marks.h"
#include "netns/base/text.h"
#include "netns/devlink.h"
#include "netns/link.h"
#include "netns/tc_offload.h"

namespace hook::ctl {

using netns::DevlinkPort;
using netns::EswitchMode;

namespace {
constexpr std::chrono::seconds kLookTimeout{5};

std::string feature_text(const netns::TcFeature& feature) {
    return std::string(feature.on ? "on" : "off") + (feature.fixed ? " [fixed]" : "");
}

struct OvsState {
    bool present = false;
    netns::OvsSettings settings;
    bool restart = false;
};

Result<OvsState> look_at_ovs(Site& site) {
    OvsState state;
    state.present = TRY(site.host.ovs.present());
    if (!state.present)
        return state;
    state.settings = TRY(site.host.ovs.settings(Deadline::in(kLookTimeout)));
    state.restart = TRY(needs_restart(site, state.settings));
    return state;
}

Json to_json(const OvsState& ovs) {
    const auto& config = ovs.settings.other_config;
    return {{"running", ovs.present},
            {"version", ovs.settings.version},
            {"hw_offload", hw_offload(ovs.settings)},
            {"tc_policy", value_of(config, "tc-policy", "none")},
            {"needs_restart", ovs.restart}};
}

Json lack(const std::string& why, const std::string& fix) {
    return {{"why", why}, {"fix", fix}, {"software_path", false}};
}

// Reports a lack of offload: everything works without it, and the host's processors forward.
Json lack_of_offload(const std::string& why, const std::string& fix) {
    Json json = lack(why, fix);
    json["software_path"] = true;
    return json;
}

// Adds the defects of Open vSwitch, which are the same for all e-switches.
void note_ovs(const OvsState& ovs, const std::string& handle, Json& missing) {
    if (!ovs.present)
        missing.push_back(lack("Open vSwitch is not running", kInstallOvs));
    else if (!hw_offload(ovs.settings))
        missing.push_back(lack_of_offload("other_config:hw-offload of Open vSwitch is not true",
                                          "rdmactl asap2 enable " + handle));
    if (ovs.restart)
        missing.push_back(lack_of_offload("ovs-vswitchd must be restarted", netns::kRestartOvs));
}

Json describe_port(const DevlinkPort& port, const netns::Link& link, const netns::TcFeature& tc) {
    return {{"port", port.name},
            {"netdev", link.name},
            {"up", link.up},
            {"hw_tc_offload", feature_text(tc)}};
}

void note_feature(const netns::TcFeature& tc, const std::string& netdev, bool rep, Json& missing) {
    if (tc.on)
        return;
    const std::string what = fmt::format("hw-tc-offload: {} on {}", feature_text(tc), netdev);
    if (!tc.fixed)
        missing.push_back(lack_of_offload(what, "ethtool -K " + netdev + " hw-tc-offload on"));
    else
        missing.push_back(lack_of_offload(what,
                                          rep ? "the kernel's driver was built without it (mlx5: "
                                                "CONFIG_MLX5_CLS_ACT)"
                                              : "the adapter has none"));
}

// Adds a netdev's offload features to the list. Returns nothing if the netdev has just left.
Result<std::optional<netns::TcFeature>> describe_netdev(Site& site,
                                                        const DevlinkPort& port,
                                                        Json& list) {
    const auto link =
        port.netdev == 0 ? std::nullopt : TRY(site.host.links.find(site.host_ns, port.netdev));
    if (!link)
        return std::optional<netns::TcFeature>{};
    const auto tc = TRY(site.host.tc.feature(site.host_ns, port.netdev));
    list.push_back(describe_port(port, *link, tc));
    return std::optional{tc};
}

Result<> describe_ports(Site& site, const std::string& handle, Json& json) {
    Json& missing = json["missing"];
    const auto uplink = TRY(uplink_port(site, handle));
    const auto tc = uplink ? TRY(describe_netdev(site, *uplink, json["uplinks"])) : std::nullopt;
    if (tc)
        note_feature(*tc, json["uplinks"][0]["netdev"].get<std::string>(), false, missing);
    else
        missing.push_back(lack("its uplink has no netdev on the host: no VF of it is given",
                               "devlink port show"));
    Json& representors = json["representors"];
    for (const DevlinkPort& port : TRY(function_ports(site, handle))) {
        const auto feature = TRY(describe_netdev(site, port, representors));
        // One reason serves for all representors: they have one driver.
        if (feature && representors.size() == 1)
            note_feature(*feature, representors[0]["netdev"].get<std::string>(), true, missing);
    }
    return {};
}

// Describes a bond. The adapter sends the traffic of all VFs through both ports of a bond (VF-LAG)
// only if both e-switches are in mode switchdev.
Result<> describe_bond(Site& site,
                       const netns::Link& bond,
                       const std::string& handle,
                       Json& missing) {
    for (const uint32_t index : TRY(site.host.links.ports_of(site.host_ns, bond.index))) {
        const auto link = TRY(site.host.links.find(site.host_ns, index));
        const auto function = link ? TRY(site.host.sriov.find_by_netdev(link->name)) : std::nullopt;
        if (!function || netns::devlink_handle(*function) == handle)
            continue;
        const auto eswitch =
            TRY(site.host.devlink.eswitch(site.host_ns, netns::devlink_handle(*function)));
        if (eswitch && eswitch->mode == EswitchMode::Legacy)
            missing.push_back(
                lack(fmt::format("{}, the other port of {}, is in mode legacy: VFs use only "
                                 "this port (no VF-LAG)",
                                 link->name,
                                 bond.name),
                     fmt::format("rdmactl asap2 enable {} --vfs N --bridge BRIDGE", link->name)));
    }
    return {};
}

Result<> describe_bridge(Site& site, const std::string& handle, const OvsState& ovs, Json& json) {
    if (json["uplinks"].empty())
        return {};
    const netns::Link uplink = TRY(find_uplink_or_bond(site, handle));
    if (uplink.kind == "bond" && json["mode"] == "switchdev")
        TRY(describe_bond(site, uplink, handle, json["missing"]));
    if (!ovs.present)
        return {};
    const auto port = TRY(site.host.ovs.find_port(uplink.name, Deadline::in(kLookTimeout)));
    json["bridge"] = port ? port->bridge : "";
    if (!port && !TRY(own_address(site, uplink)))
        json["missing"].push_back(
            lack(uplink.name + " is on no bridge, and has no address at which tunnels could begin",
                 fmt::format("rdmactl asap2 enable {} --bridge NAME", handle)));
    return {};
}

Result<Json> describe(HostView& view, const std::string& handle, const OvsState& ovs) {
    const EswitchDevice device = TRY(find_eswitch_device(handle, view.site));
    const auto eswitch = TRY(view.host.devlink.eswitch(view.site.host_ns, handle));
    const bool switchdev = eswitch && eswitch->mode == EswitchMode::Switchdev;
    Json json{{"device", handle},
              {"mode", switchdev ? "switchdev" : "legacy"},
              {"vfs", device.function.num_vfs},
              {"enabled", TRY(load_setup(view.store, handle)).has_value()},
              {"uplinks", Json::array()},
              {"representors", Json::array()},
              {"bridge", ""},
              {"missing", Json::array()}};
    if (!switchdev)
        json["missing"].push_back(
            lack("mode legacy", "rdmactl asap2 enable " + handle + " --vfs N --bridge BRIDGE"));
    else if (device.function.num_vfs == 0)
        json["missing"].push_back(
            lack("no VFs", fmt::format("rdmactl asap2 enable {} --vfs N", handle)));
    TRY(describe_ports(view.site, handle, json));
    note_ovs(ovs, handle, json["missing"]);
    TRY(describe_bridge(view.site, handle, ovs, json));
    return json;
}

std::string status_text(const Json& json, const Page& page) {
    std::string text;
    for (const Json& device : json["devices"]) {
        text += fmt::format(
            "{}: {}, {}{}\n",
            device["device"].get<std::string>(),
            device["mode"].get<std::string>(),
            base::number_of(device["vfs"].get<uint32_t>(), "VF"),
            device["bridge"] == "" ? "" : ", bridge " + device["bridge"].get<std::string>());
        Rows rows = {{"PORT", "NETDEV", "HW-TC-OFFLOAD"}};
        for (const char* kind : {"uplinks", "representors"}) {
            for (const Json& port : device[kind])
                rows.push_back({port["port"].get<std::string>(),
                                port["netdev"].get<std::string>(),
                                port["hw_tc_offload"].get<std::string>()});
        }
        text += table(rows, page);
        for (const Json& line : device["missing"])
            text +=
                fmt::format("{} {}: {}\n",
                            base::paint("missing:",
                                        line["software_path"].get<bool>() ? base::Colour::Doubtful
                                                                          : base::Colour::Bad,
                                        page.colours),
                            line["why"].get<std::string>(),
                            line["fix"].get<std::string>());
    }
    return text.empty() ? "no device of this host has an e-switch\n" : text;
}

}  // namespace

Result<std::vector<std::string>> all_eswitches(HostView& view) {
    std::vector<std::string> handles;
    for (const auto& pf : TRY(view.host.sriov.list_pfs())) {
        const std::string handle = netns::devlink_handle(pf.address);
        if (TRY(view.host.devlink.eswitch(view.site.host_ns, handle)))
            handles.push_back(handle);
    }
    for (const std::string& handle : TRY(enabled_devices(view.store))) {
        if (std::ranges::find(handles, handle) == handles.end())
            handles.push_back(handle);
    }
    return handles;
}

Result<Answer> status_of(HostView& view,
                         const std::vector<std::string>& handles,
                         const Page& page) {
    const OvsState ovs = TRY(look_at_ovs(view.site));
    Json json{{"ovs", to_json(ovs)}, {"devices", Json::array()}};
    for (const std::string& handle : handles)
        json["devices"].push_back(TRY(describe(view, handle, ovs).context(handle)));
    std::string text = status_text(json, page);
    return Answer{.json = std::move(json), .text = std::move(text)};
}

Result<Json> describe_path(Site& site, const std::string& eswitch, const std::string& port) {
    Json json{{"eswitch", eswitch}, {"port", port}, {"path", "software path"}};
    const auto link = TRY(find_representor(site, eswitch, port));
    if (!link)
        return json;
    const auto rules = TRY(site.host.tc.rules(site.host_ns, link->index));
    json["representor"] = link->name;
    json["rules"] = rules.rules;
    json["in_hw"] = rules.in_hw;
    json["skip_sw"] = rules.skip_sw;
    json["packets"] = rules.packets;
    json["hw_packets"] = rules.hw_packets;
    if (rules.rules == 0)
        json["path"] = "no flows";
    else if (rules.in_hw == rules.rules)
        json["path"] = "hardware";
    else if (rules.in_hw != 0)
        json["path"] = "partly a software path";
    return json;
}

Result<Answer> asap2_status(const Options& options, netns::Host& host) {
    const auto state = TRY(open_state(options, host));
    HostView view = TRY(host_view(state->context));
    if (options.pf.empty())
        return status_of(view, TRY(all_eswitches(view)), options.page);
    const std::string handle = TRY(find_eswitch_device(options.pf, view.site)).handle;
    return status_of(view, {handle}, options.page);
}

}  // namespace hook::ctl
