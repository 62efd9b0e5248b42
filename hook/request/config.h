// SPDX-License-Identifier: Apache-2.0
// Configuration: /etc/rdma-hook/config.json, which only root writes. A missing file is the default
// configuration. A broken file is an error only for containers with rdma.* annotations.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "hook/request/policy.h"
#include "netns/base/log.h"
#include "netns/base/result.h"
#include "netns/values/address.h"

namespace hook {

// Addresses that rdma.ip=auto may hand out: first to last, both included, in one subnet.
struct AddressRange {
    netns::Address first;  // its prefix is the subnet's
    netns::Address last;
    bool operator==(const AddressRange&) const = default;
};

// The way in which a pool chooses among its free VFs.
enum class Choose {
    First,   // in the order of the list
    Spread,  // on the PF with the fewest of rdma-hook's
    Numa,    // on a PF near the container's CPUs, if it is bound to some
    Sticky,  // in the container's own order: the same at each start
};

// A function that no PF on this machine has as a VF. Examples are a scalable function, netdevsim, a
// VF that was passed into a virtual machine, and a whole adapter. Only the administrator knows its
// representor. In mode vf it has none, and `eswitch` and `port` are empty.
struct MappedFunction {
    std::string function;  // "auxiliary/mlx5_core.sf.4" (netns/sriov.h)
    std::string eswitch;   // "pci/0000:03:00.0" (netns/devlink.h)
    std::string port;      // port of the e-switch: "pf0sf88"
};

struct Pool {
    std::string name;
    std::string mode;
    bool is_default = false;  // the mode's default pool; at most one a mode
    std::vector<std::string> parents{};
    std::vector<DeviceSpec> devices{};        // vf: PFs and VFs that it may give
    std::vector<DeviceSpec> exclude{};        // vf: those of them that it may not give
    std::vector<MappedFunction> functions{};  // functions that no PF's VFs show, in this order
    std::string bridge{};                     // asap2: the bridge of Open vSwitch
    Choose choose = Choose::First;
    std::optional<bool> probe{};  // ask the network before taking an address; nothing: as the mode
    std::vector<AddressRange> ranges{};             // at most one a family
    std::map<std::string, std::string> defaults{};  // annotation key without "rdma.", value
    Rules rules{};  // the pool's own policy, before that of the configuration
};

struct Config {
    std::vector<Pool> pools;
    std::optional<Policy> policy;
    std::string state_dir = "/run/rdma-hook";  // below /run: its contents end with the boot
    std::string log_file;                      // empty: journald
    base::log::Level log_level = base::log::Level::Info;
    std::string runtime{};  // rdma-runtime calls it; empty: runc where it is installed
    bool rootless = false;  // for containers of a user's engine: load_users_config()
};

inline constexpr char kConfigPath[] = "/etc/rdma-hook/config.json";

// Reads the text. Errors are BadConfig and name the member ("pools.fast.parents[1]").
Result<Config> parse_config(std::string_view text);

// Reads the file; a missing one is the default configuration. BadConfig unless the file and every
// folder above it belong to root and only root can write them.
Result<Config> load_config(const std::string& path = kConfigPath);

// Reads the same file for the engine of a user who is not root of the machine. Pools and policy
// hold. State is in the user's own folder /run/user/UID, which ends with the boot at the latest, and
// the log is journald's. Root in a user namespace of its own keeps root's. `root`: the owner of
// root's files as this process sees it (netns/process.h).
Result<Config> load_users_config(const std::string& path, uid_t user, uid_t root);
// Makes a configuration that of such a user.
Config as_users(Config config, uid_t user);

// Reads only where the log goes, whatever else is wrong with the configuration; its other members
// are the default's.
Result<Config> parse_log_settings(std::string_view text);
Result<Config> load_log_settings(const std::string& path = kConfigPath);

// Returns only the member `runtime`, whatever else is wrong with the configuration; empty if it is
// missing. An error: the member cannot be read, and the caller uses the runtime that it knew before
// (runtimes.h).
Result<std::string> runtime_setting(const std::string& path = kConfigPath);

// Returns the members that an object of the file may have: "" (the document), "pool", "policy",
// "pool_policy" or "log".
std::vector<std::string_view> config_members(std::string_view object);

// Returns everything that the pool may give: its devices, and its mapped functions.
std::vector<DeviceSpec> devices_of(const Pool& pool);

// Returns the pool by name (of any mode), or the mode's default pool for an empty name; nullptr if
// there is none.
const Pool* find_pool(const Config& config, std::string_view mode, std::string_view name);

}  // namespace hook
