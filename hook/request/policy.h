// SPDX-License-Identifier: Apache-2.0
// Policy: what the administrator lets containers ask for, and the decision on each thing that one
// asks for. Pure: everything is decided before the host is looked at.
//
// Three may speak of an attachment, and each member is decided by the first that does: the `policy`
// of its pool, the `policy` of the configuration, the default policy. With a policy, what it does
// not list is denied.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

// What may stand in a policy and in a pool's own; a member that is not there says nothing. The
// limits are the most that a container may ask for, and what it gets without asking.
struct Rules : Limits {
    std::optional<std::vector<std::string>> parents;       // host netdevs; "container"
    std::optional<std::vector<DeviceSpec>> devices;        // PFs and VFs
    std::optional<std::vector<std::string>> bridges;       // of Open vSwitch
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
    // By mode: capabilities that its containers must not have ("CAP_NET_RAW").
    std::optional<std::map<std::string, std::vector<std::string>>> forbid_capabilities;
};

// Present: what is not listed is denied. Absent: the default policy of hook/README.md.
struct Policy : Rules {
    std::vector<std::string> modes;
    std::optional<std::vector<std::string>> pools;  // nothing: all, and attachments without one
    std::vector<std::string> char_devices;          // RDMA nodes beside those that we give: paths
                                                    // of the host, which stand for the device there
    std::optional<uint32_t> attachments;            // of one container
    uint64_t memlock_max = 0;                       // bytes; UINT64_MAX: unlimited; 0: the engine's
};

// A device that the engine lets the container open.
struct GivenNode {
    std::string path;  // of its node in the container: the asker's choice; empty: it has to make
                       // one itself (mknod), all that it has is a rule of the device cgroup
    netns::DeviceNumber number;
};

// What the engine gives the container beside what we do.
struct Powers {
    bool privileged = false;                  // all devices and capabilities
    std::vector<std::string> capabilities{};  // "CAP_NET_RAW"; of any of its sets
    std::vector<GivenNode> char_devices{};    // RDMA nodes in its config.json
    std::vector<std::string> open_rules{};    // that open more than one RDMA device: "c 231:*"
    // What the host has at the paths that the policy's char_devices lists.
    std::vector<netns::DeviceNumber> listed{};
};

// One thing that a container asks for, and what was decided.
struct Decision {
    std::string key;    // the annotation: "rdma.2.vlan"; empty: not asked for by annotation
    std::string asked;  // "rdma.2.vlan='7'"
    std::string rule;   // that decides: "policy.vlans", "pools.fast.policy.vlans", "default policy"
    bool allowed = false;
    std::string fix = {};  // if denied: what the asker can do
};

// All that is asked for and that a policy may speak of, in the order of the attachments.
std::vector<Decision> decide(const Request& request, const Config& config, const Powers& powers);

// Refused for the first thing that is denied: it names key, value and rule.
Result<> check_policy(const Request& request, const Config& config, const Powers& powers);

// A rule for an attachment of this pool (nullptr: of none), wherever it stands.
std::optional<uint32_t> find_bound(const Config& config,
                                   const Pool* pool,
                                   std::optional<uint32_t> Rules::*member);

// The column `policy` of the table of keys: each decides on the value of its key.
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
