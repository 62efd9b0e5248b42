// SPDX-License-Identifier: Apache-2.0
// The database's answers to transactions (RFC 7047, sections 4.1.3 and 5.1), read into values of
// the room. An atom may stand for a set with one element; a column that may be empty is a set with
// none. Pure: no socket. Private to netns/kernel/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netns/base/json.h"
#include "netns/ovs.h"

namespace netns::ovsdb {

using base::Json;

// The reason why a transaction was refused.
struct Refusal {
    size_t operation = 0;  // its number, from 0; the number of operations: the commit failed
    std::string error;     // RFC 7047's word: "constraint violation"
    std::string details;   // may be empty
    bool operator==(const Refusal&) const = default;
};

struct Outcome {
    std::vector<Json> results;  // one for each operation; none if it was refused
    std::optional<Refusal> refusal;
};

// Reads the result of "transact" for so many operations. Internal: it is malformed.
Result<Outcome> read_outcome(Json result, size_t operations);

// Reads an error that stands in place of a result: {"error": ..., "details": ...}, or a string.
// `operation` is its number.
Refusal read_refusal(const Json& error, size_t operation);

// Returns the refusal as an error of the room. `what` names the attempted change.
base::Error explain(const Refusal& refusal, const std::string& what);

// ---- results of "select" ------------------------------------------------------------------------
// The error of each is Internal if the result is not of the form that was asked for.

// A row of table Port: its own columns, and references to the others.
struct PortRow {
    std::string uuid;
    OvsPort port;  // without bridge, error and policing_kbps
    std::vector<std::string> interfaces;
};

struct BridgeRow {
    std::string uuid;
    OvsBridge bridge;  // without ports
    std::vector<std::string> ports;
};

struct InterfaceRow {
    std::string name;
    std::string error;
    std::optional<int64_t> ofport;  // -1, or none: ovs-vswitchd cannot use it
    uint32_t policing_kbps = 0;     // kbit/s
};

// The configuration that ovs-vswitchd was asked for, and the one that it has applied.
struct Progress {
    int64_t next_cfg = 0;
    int64_t cur_cfg = 0;
};

Result<std::vector<PortRow>> read_ports(const Json& result);
Result<std::vector<BridgeRow>> read_bridges(const Json& result);
Result<std::vector<InterfaceRow>> read_interfaces(const Json& result);
// Returns the names of the rows that have one.
Result<std::vector<std::string>> read_names(const Json& result);
Result<std::vector<std::string>> read_uuids(const Json& result);
// Returns empty settings if there is no row.
Result<OvsSettings> read_settings(const Json& result);
// Unavailable: there is no row, so the database is not set up yet.
Result<Progress> read_progress(const Json& result);

}  // namespace netns::ovsdb
