// SPDX-License-Identifier: Apache-2.0
// The operations of transactions (RFC 7047, section 5.2) for the room, on the schema Open_vSwitch
// (ovs-vswitchd.conf.db(5)). Pure: no socket. Private to netns/kernel/.
//
// A changing transaction begins with guards: "wait" operations with no time to wait. If one does
// not hold, the whole transaction is refused, with the number of the guard and "timed out". So
// conditions need no lock, and no text of a "constraint violation" has to be parsed. The
// transaction raises next_cfg, and ovs-vswitchd answers with cur_cfg; a "wait" with a timeout waits
// for that. The database itself collects Port and Interface rows that no bridge has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netns/base/json.h"
#include "netns/ovs.h"

namespace netns::ovsdb {

using base::Json;

inline constexpr char kDatabase[] = "Open_vSwitch";

enum class Guard {
    BridgeIsThere,
    NameIsFree,  // no bridge, port or interface has the name
    IsStillOurs,
};

struct Transaction {
    Json operations = Json::array();
    std::vector<Guard> guards;  // the first operations, in their order
};

// ---- changes; the last result is for read_progress() --------------------------------------------
Transaction to_add_port(const OvsPortSpec& spec);
Transaction to_add_bridge(const std::string& name, const OvsMap& marks);
Transaction to_configure(const OvsChange& other_config, const OvsChange& marks);
// Takes all the ports from their bridges; or none, if one no longer has the marks.
Transaction to_remove_ports(const std::vector<std::string>& uuids, const OvsMap& marks);
Transaction to_remove_bridge(const std::string& uuid, const OvsMap& marks);

// ---- single operations --------------------------------------------------------------------------
// For read_settings().
Json select_settings();
// For read_ports(), by name or by marks.
Json select_port(const std::string& name);
Json select_ports(const OvsMap& marks);
Json select_bridge_name_of(const std::string& port_uuid);
// For read_bridges().
Json select_bridge(const std::string& name);
// For read_uuids(): the interfaces of all tunnels; the port of an interface.
Json select_tunnels();
Json select_port_of(const std::string& interface_uuid);
// For read_uuids().
Json select_marked_ports(const OvsMap& marks);
Json select_marked_bridge(const std::string& name, const OvsMap& marks);
// For read_interfaces(), by UUID or by name.
Json select_interface(const std::string& uuid);
Json select_interface_named(const std::string& name);

// For read_progress().
Json select_progress();
// Waits until cur_cfg differs from this; else "timed out".
Json wait_for_progress(int64_t cur_cfg, int timeout_ms);

// Returns the burst in kbit that ovs-vswitchd lets pass at once.
uint32_t policing_burst(uint32_t kbps);

}  // namespace netns::ovsdb
