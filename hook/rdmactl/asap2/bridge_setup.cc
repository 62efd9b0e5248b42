// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/asap2/bridge_setup.h"

#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "hook/steps/eswitch.h"
#include "hook/steps/ovs_marks.h"

namespace hook::ctl {

using netns::OvsChange;
using netns::OvsMap;
using netns::OvsSettings;

namespace {
constexpr std::chrono::seconds kOvsPatience{20};
constexpr char kPidFile[] = "/run/openvswitch/ovs-vswitchd.pid";
constexpr char kHwOffload[] = "hw-offload";
constexpr char kTcPolicy[] = "tc-policy";
// Marks in the table Open_vSwitch. One holds a setting's earlier value ("-": not set). The other
// names the process of ovs-vswitchd that missed the last change of a setting which it reads at its
// start.
constexpr char kBeforeMark[] = "rdma-hook-before-";
constexpr char kNotSet[] = "-";
constexpr char kStaleMark[] = "rdma-hook-stale-daemon";
// The mark of an uplink's port.
constexpr char kEswitchMark[] = "rdma-hook-eswitch";
// The mark of a bridge: the uplink for which it was made.
constexpr char kBridgeMark[] = "rdma-hook-bridge";

Deadline soon() {
    return Deadline::in(kOvsPatience);
}

OvsMap uplink_marks(const std::string& handle) {
    return {{kOwnerMark, kOwner}, {kEswitchMark, handle}};
}

OvsMap bridge_marks() {
    return {{kOwnerMark, kOwner}, {kBridgeMark, "yes"}};
}

// Returns the process of ovs-vswitchd; empty: it does not run.
Result<std::string> daemon_of(Site& site) {
    const auto text = site.host.files.read(kPidFile, 32);
    pid_t pid = 0;
    if (text)
        (void)std::from_chars(text->data(), text->data() + text->size(), pid);
    const auto token = pid > 0 ? TRY(site.host.processes.token(pid)) : std::nullopt;
    return token ? fmt::format("{}:{}", token->pid, token->start) : std::string();
}

struct Changes {
    OvsChange config;
    OvsChange marks;
};

// Sets a value, and remembers the setting's earlier value once.
void set(Changes& changes,
         const OvsSettings& now,
         const std::string& key,
         const std::string& value) {
    const std::string mark = kBeforeMark + key;
    if (!now.marks.contains(mark))
        changes.marks[mark] = value_of(now.other_config, key, kNotSet);
    changes.config[key] = value;
}

void restore(Changes& changes, const OvsSettings& now, const std::string& key) {
    const std::string mark = kBeforeMark + key;
    const auto before = now.marks.find(mark);
    if (before == now.marks.end())
        return;
    changes.marks[mark] = std::nullopt;
    changes.config[key] = before->second == kNotSet ? std::nullopt : std::optional{before->second};
}

Result<> mark_stale(Site& site, Changes& changes) {
    const std::string daemon = TRY(daemon_of(site));
    if (!daemon.empty())
        changes.marks[kStaleMark] = daemon;
    return {};
}

// Returns the changes that switch the offload on. `tc_policy` as in enable_offload().
Result<Changes> offload_changes(Site& site, const std::string& tc_policy) {
    const OvsSettings now = TRY(site.host.ovs.settings(soon()));
    Changes changes;
    if (!hw_offload(now)) {
        set(changes, now, kHwOffload, "true");
        if (now.marks.contains(kStaleMark))  // a daemon that missed the switch-off has it on
            changes.marks[kStaleMark] = std::nullopt;
    }
    if (!tc_policy.empty() && value_of(now.other_config, kTcPolicy, "none") != tc_policy) {
        set(changes, now, kTcPolicy, tc_policy);
        if (hw_offload(now))  // otherwise the daemon reads it when the offload begins
            TRY(mark_stale(site, changes));
    }
    return changes;
}

// Returns the changes that restore the settings of before; none without Open vSwitch.
Result<Changes> restoring_changes(Site& site) {
    Changes changes;
    if (!TRY(site.host.ovs.present()))
        return changes;
    const OvsSettings now = TRY(site.host.ovs.settings(soon()));
    restore(changes, now, kHwOffload);
    restore(changes, now, kTcPolicy);
    return changes;
}

std::vector<std::string> in_words(const Changes& changes) {
    std::vector<std::string> words;
    for (const auto& [key, value] : changes.config)
        words.push_back(value ? fmt::format("set other_config:{}={} of Open vSwitch", key, *value)
                              : fmt::format("remove other_config:{} of Open vSwitch", key));
    return words;
}

Result<> check_addresses(Site& site, const netns::Link& uplink, const std::string& bridge) {
    const auto address = TRY(own_address(site, uplink));
    if (!address)
        return {};
    return make_error(
               Code::Refused,
               fmt::format("{} has the address {}, which would not work any more on a bridge",
                           uplink.name,
                           netns::to_string(*address)))
        .advise(fmt::format(
            "give it to the bridge ({}) or to another interface first; or, if tunnels begin at it, "
            "leave out --bridge",
            bridge));
}
}  // namespace

Result<std::optional<netns::Address>> own_address(Site& site, const netns::Link& uplink) {
    auto addresses = TRY(site.host.links.addresses(site.host_ns, uplink.index));
    std::erase_if(addresses, netns::is_link_local);
    return addresses.empty() ? std::optional<netns::Address>{} : addresses.front();
}

Result<> enable_offload(Site& site, const std::string& tc_policy) {
    const Changes changes = TRY(offload_changes(site, tc_policy));
    return changes.config.empty() ? Result<>{}
                                  : site.host.ovs.configure(changes.config, changes.marks, soon());
}

Result<std::vector<std::string>> offload_intents(Site& site, const std::string& tc_policy) {
    return in_words(TRY(offload_changes(site, tc_policy)));
}

Result<> disable_offload(Site& site) {
    Changes changes = TRY(restoring_changes(site));
    if (changes.config.empty())
        return {};
    TRY(mark_stale(site, changes));
    return site.host.ovs.configure(changes.config, changes.marks, soon());
}

Result<std::vector<std::string>> restore_intents(Site& site) {
    return in_words(TRY(restoring_changes(site)));
}

Result<> check_uplink(Site& site, const std::string& handle, const std::string& bridge) {
    const netns::Link uplink = TRY(find_uplink_or_bond(site, handle));
    const auto port = TRY(site.host.ovs.find_port(uplink.name, soon()));
    if (!port)
        return check_addresses(site, uplink, bridge);
    if (port->bridge == bridge)
        return {};
    return make_error(Code::Refused,
                      fmt::format("{} is a port of bridge {} already", uplink.name, port->bridge))
        .advise("name that one with --bridge, or remove it: ovs-vsctl del-port " + uplink.name);
}

Result<> add_uplink(Site& site, const std::string& handle, const std::string& bridge) {
    netns::Ovs& ovs = site.host.ovs;
    TRY(check_uplink(site, handle, bridge));
    if (!TRY(ovs.find_bridge(bridge, soon())))
        TRY(ovs.add_bridge(bridge, bridge_marks(), soon()));
    const netns::Link uplink = TRY(find_uplink_or_bond(site, handle));
    if (TRY(ovs.find_port(uplink.name, soon())))
        return {};
    netns::OvsPortSpec spec;
    spec.bridge = bridge;
    spec.name = uplink.name;
    spec.marks = uplink_marks(handle);
    return ovs.add_port(spec, soon());
}

Result<std::vector<std::string>> uplink_intents(Site& site,
                                                const std::string& handle,
                                                const std::string& bridge) {
    TRY(check_uplink(site, handle, bridge));
    std::vector<std::string> intents;
    if (!TRY(site.host.ovs.find_bridge(bridge, soon())))
        intents.push_back("make bridge " + bridge + " of Open vSwitch");
    const netns::Link uplink = TRY(find_uplink_or_bond(site, handle));
    if (!TRY(site.host.ovs.find_port(uplink.name, soon())))
        intents.push_back("put " + uplink.name + " on bridge " + bridge);
    return intents;
}

Result<> remove_uplink(Site& site, const Setup& setup) {
    netns::Ovs& ovs = site.host.ovs;
    if (setup.bridge.empty() || !TRY(ovs.present()))
        return {};
    TRY(ovs.remove_ports(uplink_marks(setup.handle), soon()));
    const auto bridge = TRY(ovs.find_bridge(setup.bridge, soon()));
    const bool empty = bridge && bridge->ports <= 1;  // the bridge's own port
    return empty ? ovs.remove_bridge(setup.bridge, bridge_marks(), soon()) : Result<>{};
}

Result<bool> needs_restart(Site& site, const OvsSettings& settings) {
    const std::string stale = value_of(settings.marks, kStaleMark);
    return !stale.empty() && stale == TRY(daemon_of(site));
}

}  // namespace hook::ctl
