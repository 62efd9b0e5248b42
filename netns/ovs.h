// SPDX-License-Identifier: Apache-2.0
// Ovs reads and changes bridges, ports and settings of Open vSwitch. They are rows of its database:
// schema Open_vSwitch, ovs-vswitchd.conf.db(5), 2.17 to 4.0. The room speaks RFC 7047 over the
// database's socket. The database keeps its rows over a reboot. ovs-vswitchd applies them, and
// reports that by raising cur_cfg to the next_cfg that it was asked for. You name a port by its
// netdev.
//
// Rows that rdma-hook made carry marks in external_ids. It never changes or removes rows without
// them.
//
// Errors of every call. Unavailable: there is no database at the socket, or it closed the
// connection. Timeout: no answer by the deadline, or ovs-vswitchd does not act. Internal: an answer
// that RFC 7047 does not know, or that is too long. Refused: the database refuses the transaction;
// its own words are in the text.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netns/names.h"

namespace netns {

using OvsMap = std::map<std::string, std::string>;

inline constexpr uint16_t kUntagged = 0;  // as a tag: an access port of the untagged network

struct OvsPortSpec {
    std::string bridge;
    std::string name;              // the netdev's
    std::optional<uint16_t> tag;   // access port of this VLAN, 1-4094; or kUntagged
    std::vector<uint16_t> trunks;  // the VLANs that pass, tagged; without tag and trunks: all
    // Limit of what enters the bridge from the port, that is, of what its container sends. In
    // kbit/s (1000 bit/s); 0: unlimited.
    uint32_t policing_kbps = 0;
    OvsMap marks;  // the port's external_ids
};

struct OvsPort {
    std::string name;
    std::string bridge;  // the bridge that has it
    std::string error;   // why ovs-vswitchd cannot use the interface; empty: it can
    std::optional<uint16_t> tag;
    std::vector<uint16_t> trunks;
    uint32_t policing_kbps = 0;  // kbit/s; 0: unlimited
    OvsMap marks;
    bool operator==(const OvsPort&) const = default;
};

struct OvsBridge {
    std::string name;
    size_t ports = 0;      // with the bridge's own
    bool tunnels = false;  // a port is neither a netdev nor a patch to another bridge
    OvsMap marks;          // its external_ids
    bool operator==(const OvsBridge&) const = default;
};

// The one row of table Open_vSwitch.
struct OvsSettings {
    std::string version;  // as the start script recorded it; empty: it did not
    OvsMap other_config;  // "hw-offload", "tc-policy", ...
    OvsMap marks;         // external_ids
    bool operator==(const OvsSettings&) const = default;
};

// Settings and a bridge, read at one moment.
struct OvsView {
    OvsSettings settings;
    std::optional<OvsBridge> bridge;
};

// Values to write, by key. Without a value (nullopt) the key is removed.
using OvsChange = std::map<std::string, std::optional<std::string>>;

class Ovs {
  public:
    virtual ~Ovs() = default;

    // Returns whether the host has a database socket. Makes no connection.
    virtual Result<bool> present() = 0;

    virtual Result<OvsSettings> settings(base::Deadline deadline) = 0;
    // Changes settings in one transaction, and waits until ovs-vswitchd has seen it.
    virtual Result<> configure(const OvsChange& other_config,
                               const OvsChange& marks,
                               base::Deadline deadline) = 0;

    // Nothing if there is no such bridge.
    virtual Result<std::optional<OvsBridge>> find_bridge(const std::string& name,
                                                         base::Deadline deadline) = 0;
    // Returns settings and bridge together: one request instead of two in a container's start.
    virtual Result<OvsView> view(const std::string& bridge, base::Deadline deadline) = 0;
    // Adds a bridge of the system's datapath, with its own port, and waits until ovs-vswitchd has
    // made it. Busy: the name is taken.
    virtual Result<> add_bridge(const std::string& name,
                                const OvsMap& marks,
                                base::Deadline deadline) = 0;
    // Removes the bridge with its ports, if its marks include all of these. No such bridge is no
    // error. Does not wait.
    virtual Result<> remove_bridge(const std::string& name,
                                   const OvsMap& marks,
                                   base::Deadline deadline) = 0;

    // Nothing if there is no such port.
    virtual Result<std::optional<OvsPort>> find_port(const std::string& name,
                                                     base::Deadline deadline) = 0;
    // Returns the ports whose marks include all of these.
    virtual Result<std::vector<OvsPort>> list_ports(const OvsMap& marks,
                                                    base::Deadline deadline) = 0;
    // Adds a port in one transaction, and waits until ovs-vswitchd has applied it. Busy: there is a
    // port or interface of that name, rdma-hook's or another's. Unavailable: no such bridge, or
    // ovs-vswitchd cannot use the netdev; its words are in the text. After an error the port may be
    // there: see remove_ports().
    virtual Result<> add_port(const OvsPortSpec& spec, base::Deadline deadline) = 0;
    // Removes the ports whose marks include all of these, in one transaction. No such port is no
    // error. Does not wait: ovs-vswitchd may be stopped.
    virtual Result<> remove_ports(const OvsMap& marks, base::Deadline deadline) = 0;
};

inline constexpr char kOvsSocket[] = "/run/openvswitch/db.sock";
// Debian's unit is openvswitch-switch, Red Hat's and SUSE's openvswitch.
inline constexpr char kStartOvs[] =
    "systemctl start openvswitch-switch || systemctl start openvswitch";
inline constexpr char kRestartOvs[] =
    "systemctl restart openvswitch-switch || systemctl restart openvswitch";

std::unique_ptr<Ovs> make_ovs(std::string socket = kOvsSocket);

}  // namespace netns
