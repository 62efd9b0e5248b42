// SPDX-License-Identifier: Apache-2.0
// Policy: the things that the administrator lets containers ask for, and the decision on each thing
// that a container asks for. Pure: everything is decided before the host is looked at.
//
// Three policies may cover an attachment: the `policy` of its pool, the `policy` of the
// configuration, and the default policy. The first of them that has a member decides on it. If the
// configuration has a policy, everything that it does not list is denied.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hook/request/values.h"
#include "netns/base/result.h"
#include "netns/char_nodes.h"
#include "netns/values/address.h"

namespace hook {

struct Config;
struct PolicyCheck;
struct Pool;
struct Request;

template <class T>
struct Range {
    T first{};
    T last{};  // included
    bool operator==(const Range&) const = default;
};

using VlanRange = Range<uint16_t>;
using MacRange = Range<netns::Mac>;

// The members of a policy and of a pool's own; a missing member says nothing. The limits are the
// most that a container may ask for, and its limits if it asks for none.
struct Rules : Limits {
    std::optional<std::vector<std::string>> parents;       // host netdevs; "container"
    std::optional<std::vector<DeviceSpec>> devices;        // PFs and VFs, devices of the host
    std::optional<std::vector<std::string>> bridges;       // bridges of Open vSwitch
    std::optional<std::vector<netns::Address>> addresses;  // networks for rdma.ip
    std::optional<std::vector<VlanRange>> vlans;
    std::optional<std::vector<MacRange>> mac;
    std::optional<uint32_t> min_tx_rate;  // Mbit/s; the most that may be reserved
    std::optional<uint32_t> max_tx_rate;  // Mbit/s; the most that may be sent
    std::optional<bool> guid;
    std::optional<bool> placement_host;
    std::optional<bool> privileged;
    std::optional<bool> trust;         // rdma.trust=on
    std::optional<bool> spoofchk_off;  // rdma.spoofchk=off
    std::optional<bool> umad;          // rdma.umad=on
    // Capabilities that a mode's containers must not have ("CAP_NET_RAW"), by mode.
    std::optional<std::map<std::string, std::vector<std::string>>> forbid_capabilities;
};

// The policy of the configuration. Present: it denies everything that it does not list. Absent: the
// default policy of docs/reference/configuration.md holds.
struct Policy : Rules {
    std::vector<std::string> modes;
    std::optional<std::vector<std::string>> pools;  // nothing: all, and attachments without one
    // RDMA nodes beside those that rdma-hook gives: paths on the host, which stand for the devices
    // there.
    std::vector<std::string> char_devices;
    std::optional<uint32_t> attachments;  // most attachments of one container
    uint64_t memlock_max = 0;             // bytes; UINT64_MAX: unlimited; 0: the engine's
};

// A device that the engine lets the container open.
struct GivenNode {
    // Path of its node in the container, as the user chose it. Empty: the container has only a rule
    // of the device cgroup, and has to make a node itself (mknod).
    std::string path;
    netns::DeviceNumber number;
};

// The things that the engine gives the container beside those that rdma-hook gives.
struct Powers {
    bool privileged = false;                  // all devices and capabilities
    std::vector<std::string> capabilities{};  // "CAP_NET_RAW"; from any of its sets
    std::vector<GivenNode> char_devices{};    // RDMA nodes in its config.json
    std::vector<std::string> open_rules{};  // rules that open more than one RDMA device: "c 231:*"
    // The devices of the host at the paths that the policy's char_devices lists.
    std::vector<netns::DeviceNumber> listed{};
};

// One thing that a container asks for, and the decision on it.
struct Decision {
    std::string key;    // the annotation: "rdma.2.vlan"; empty: not asked for by annotation
    std::string asked;  // "rdma.2.vlan='7'"
    std::string rule;   // decides: "policy.vlans", "pools.fast.policy.vlans", "default policy"
    bool allowed = false;
    std::string fix = {};  // if denied: advice for the user
};

// Returns the decisions on all things asked for that a policy may cover, in the order of the
// attachments.
std::vector<Decision> decide(const Request& request, const Config& config, const Powers& powers);

// Checks all decisions. Refused: the first thing that is denied; the error names key, value and
// rule.
Result<> check_policy(const Request& request, const Config& config, const Powers& powers);

// Returns a rule for an attachment of this pool (nullptr: of none), wherever it stands.
template <class T>
std::optional<T> find_said(const Config& config, const Pool* pool, std::optional<T> Rules::*member);

// The column `policy` of the table of keys: each function decides on the value of its key.
void check_mode(PolicyCheck& check);
void check_pool(PolicyCheck& check);
void check_parent(PolicyCheck& check);
void check_device(PolicyCheck& check);
void check_bridge(PolicyCheck& check);
void check_addresses(PolicyCheck& check);
void check_vlans(PolicyCheck& check);
void check_min_tx_rate(PolicyCheck& check);
void check_bound(PolicyCheck& check);
void check_leave(PolicyCheck& check);
void check_mac(PolicyCheck& check);

}  // namespace hook
