// SPDX-License-Identifier: Apache-2.0
// Open vSwitch: bridges, ports and settings as rows of its database (schema Open_vSwitch,
// ovs-vswitchd.conf.db(5), 2.17 to 4.0), over the database's own socket (RFC 7047). The database
// keeps what is written, over a reboot too; ovs-vswitchd acts on it, and says so by raising cur_cfg
// to the next_cfg that it was asked for. Ports are known by the name of their netdev.
//
// What is ours carries marks in external_ids: nothing without them is ever changed or removed.
//
// Errors of every call: Unavailable, there is no database at the socket or it closed the
// connection; Timeout, no answer by the deadline, or ovs-vswitchd does not act; Internal, an answer
// that RFC 7047 does not know, or is too long; Refused, the database refuses the transaction (its
// own words are in the text).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netns/base/clock.h"
#include "netns/base/result.h"

namespace netns {

using base::Result;
using OvsMap = std::map<std::string, std::string>;

inline constexpr uint16_t kUntagged = 0;  // a tag: an access port of what has no VLAN

struct OvsPortSpec {
    std::string bridge;
    std::string name;              // of the netdev
    std::optional<uint16_t> tag;   // the VLAN that it is an access port of, 1-4094; or kUntagged
    std::vector<uint16_t> trunks;  // the VLANs that pass, tagged; with neither: all
    // What may enter the bridge from the port, and so what its container may send: kbit/s (1000);
    // 0: unlimited.
    uint32_t policing_kbps = 0;
    OvsMap marks;  // external_ids of the port
};

struct OvsPort {
    std::string name;
    std::string bridge;  // that has it
    std::string error;   // why ovs-vswitchd could not use the interface; empty: it could
    std::optional<uint16_t> tag;
    std::vector<uint16_t> trunks;
    uint32_t policing_kbps = 0;
    OvsMap marks;
    bool operator==(const OvsPort&) const = default;
};

struct OvsBridge {
    std::string name;
    size_t ports = 0;      // its own among them
    bool tunnels = false;  // one of them is neither a netdev nor a patch to another bridge
    OvsMap marks;          // its external_ids
    bool operator==(const OvsBridge&) const = default;
};

// Of the one row of table Open_vSwitch.
struct OvsSettings {
    std::string version;  // as the start script wrote it down; empty: it did not
    OvsMap other_config;  // "hw-offload", "tc-policy", ...
    OvsMap marks;         // external_ids
    bool operator==(const OvsSettings&) const = default;
};

// Settings and a bridge, as they are at one moment.
struct OvsView {
    OvsSettings settings;
    std::optional<OvsBridge> bridge;
};

// Values to write, by key; nothing: the key goes.
using OvsChange = std::map<std::string, std::optional<std::string>>;

class Ovs {
  public:
    virtual ~Ovs() = default;

    // Whether the host has a database socket. No connection is made.
    virtual Result<bool> present() = 0;

    virtual Result<OvsSettings> settings(base::Deadline deadline) = 0;
    // In one transaction, and waits until ovs-vswitchd has seen it.
    virtual Result<> configure(const OvsChange& other_config,
                               const OvsChange& marks,
                               base::Deadline deadline) = 0;

    virtual Result<std::optional<OvsBridge>> find_bridge(const std::string& name,
                                                         base::Deadline deadline) = 0;
    // Both at once: one question for who needs both in a container's start.
    virtual Result<OvsView> view(const std::string& bridge, base::Deadline deadline) = 0;
    // A bridge of the system's datapath, with its own port. Busy: the name is taken. Waits until
    // ovs-vswitchd has made it.
    virtual Result<> add_bridge(const std::string& name,
                                const OvsMap& marks,
                                base::Deadline deadline) = 0;
    // With its ports; only one whose marks include all of these. None is no error. Does not wait.
    virtual Result<> remove_bridge(const std::string& name,
                                   const OvsMap& marks,
                                   base::Deadline deadline) = 0;

    virtual Result<std::optional<OvsPort>> find_port(const std::string& name,
                                                     base::Deadline deadline) = 0;
    // Those whose marks include all of these.
    virtual Result<std::vector<OvsPort>> list_ports(const OvsMap& marks,
                                                    base::Deadline deadline) = 0;
    // In one transaction; waits until ovs-vswitchd has applied it. Busy: a port or interface of
    // that name is there (whoever's). Unavailable: no such bridge, or ovs-vswitchd cannot use the
    // netdev (its words are in the text). After an error the port may be there: see remove_ports().
    virtual Result<> add_port(const OvsPortSpec& spec, base::Deadline deadline) = 0;
    // Removes the ports whose marks include all of these, in one transaction. None is no error.
    // Does not wait: ovs-vswitchd may be stopped.
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
