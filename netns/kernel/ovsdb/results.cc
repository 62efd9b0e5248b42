// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/ovsdb/results.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace netns::ovsdb {

namespace {
constexpr size_t kDatabaseWords = 400;  // bytes of the database's text in an error

Error not_understood(const std::string& why) {
    return make_error(Code::Internal, "the answer of Open vSwitch's database: " + why);
}

template <class T>
Result<T> understood(Result<T> read) {
    if (!read)
        return not_understood(read.error().text);
    return read;
}

Result<const Json*> column(const Json& row, const char* name) {
    const auto found = row.find(name);
    if (found == row.end())
        return not_understood("a row without column " + std::string(name));
    return &*found;
}

// Returns the second element of a pair ["set", ...]; nullptr if it is no such pair.
const Json* tagged(const Json& value, const char* tag) {
    const bool is = value.is_array() && value.size() == 2 && value[0] == tag;
    return is ? &value[1] : nullptr;
}

// Returns the elements of a set; an atom is a set of one.
Result<std::vector<const Json*>> elements(const Json& row, const char* name) {
    const Json* value = TRY(column(row, name));
    const Json* set = tagged(*value, "set");
    if (set == nullptr)
        return std::vector<const Json*>{value};
    if (!set->is_array())
        return not_understood("column " + std::string(name) + " is no set");
    std::vector<const Json*> all;
    for (const Json& element : *set)
        all.push_back(&element);
    return all;
}

template <class T>
Result<std::optional<T>> optional_atom(const Json& row, const char* name) {
    const auto all = TRY(elements(row, name));
    if (all.size() > 1)
        return not_understood("column " + std::string(name) + " has several values");
    if (all.empty())
        return std::optional<T>{};
    return std::optional<T>{TRY(understood(base::as<T>(*all.front(), name)))};
}

template <class T>
Result<T> atom(const Json& row, const char* name) {
    const auto found = TRY(optional_atom<T>(row, name));
    if (!found)
        return not_understood("column " + std::string(name) + " is empty");
    return *found;
}

Result<std::vector<std::string>> uuids(const Json& row, const char* name) {
    std::vector<std::string> all;
    for (const Json* element : TRY(elements(row, name))) {
        const Json* uuid = tagged(*element, "uuid");
        if (uuid == nullptr || !uuid->is_string())
            return not_understood("column " + std::string(name) +
                                  " has an element that is no UUID");
        all.push_back(uuid->get<std::string>());
    }
    return all;
}

Result<std::string> own_uuid(const Json& row) {
    auto found = TRY(uuids(row, "_uuid"));
    if (found.size() != 1)
        return not_understood("a row without UUID");
    return std::move(found.front());
}

Result<OvsMap> string_map(const Json& row, const char* name) {
    const Json* pairs = tagged(*TRY(column(row, name)), "map");
    if (pairs == nullptr || !pairs->is_array())
        return not_understood("column " + std::string(name) + " is no map");
    OvsMap map;
    for (const Json& pair : *pairs) {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
            return not_understood("column " + std::string(name) + " is no map of strings");
        map[pair[0].get<std::string>()] = pair[1].get<std::string>();
    }
    return map;
}

Result<const Json*> rows_of(const Json& result) {
    const auto rows = result.is_object() ? result.find("rows") : result.end();
    if (!result.is_object() || rows == result.end() || !rows->is_array())
        return not_understood("no rows");
    const auto is_row = [](const Json& row) { return row.is_object(); };
    if (!std::ranges::all_of(*rows, is_row))
        return not_understood("a row that is no object");
    return &*rows;
}

// Reads each row by a function from Json to Result<T>.
template <class T, class Read>
Result<std::vector<T>> each_row(const Json& result, Read read) {
    std::vector<T> all;
    for (const Json& row : *TRY(rows_of(result)))
        all.push_back(TRY(read(row)));
    return all;
}

Result<PortRow> read_port(const Json& row) {
    PortRow read;
    read.uuid = TRY(own_uuid(row));
    read.port.name = TRY(atom<std::string>(row, "name"));
    read.port.tag = TRY(optional_atom<uint16_t>(row, "tag"));
    for (const Json* vlan : TRY(elements(row, "trunks")))
        read.port.trunks.push_back(TRY(understood(base::as<uint16_t>(*vlan, "trunks"))));
    std::ranges::sort(read.port.trunks);
    read.port.marks = TRY(string_map(row, "external_ids"));
    read.interfaces = TRY(uuids(row, "interfaces"));
    return read;
}

Result<BridgeRow> read_bridge(const Json& row) {
    BridgeRow read;
    read.uuid = TRY(own_uuid(row));
    read.bridge.name = TRY(atom<std::string>(row, "name"));
    read.bridge.marks = TRY(string_map(row, "external_ids"));
    read.ports = TRY(uuids(row, "ports"));
    return read;
}

Result<InterfaceRow> read_interface(const Json& row) {
    InterfaceRow read;
    read.name = TRY(atom<std::string>(row, "name"));
    read.error = TRY(optional_atom<std::string>(row, "error")).value_or("");
    read.ofport = TRY(optional_atom<int64_t>(row, "ofport"));
    // The schema has no upper limit.
    const auto rate = TRY(atom<int64_t>(row, "ingress_policing_rate"));
    read.policing_kbps =
        static_cast<uint32_t>(std::clamp<int64_t>(rate, 0, std::numeric_limits<uint32_t>::max()));
    return read;
}

bool is_error(const Json& result) {
    return result.is_object() && result.contains("error");
}

struct Meaning {
    const char* error;
    Code code;
    const char* fix;
};

// The errors of RFC 7047 (3.1, 4.1.3, 5.2), ovsdb(7) and ovsdb-server; all others are Refused, too.
constexpr std::array<Meaning, 8> kMeanings = {{
    {"timed out", Code::Timeout, ""},
    {"canceled", Code::Unavailable, ""},
    {"unknown database",
     Code::Unavailable,
     "see whether this is the socket of Open vSwitch's database"},
    {"resources exhausted", Code::Refused, "see the log of ovsdb-server"},
    {"I/O error", Code::Refused, "see the log of ovsdb-server, and whether its disk is full"},
    {"not allowed", Code::Refused, "use the active server's database: this one is read-only"},
    {"not leader", Code::Refused, "use the socket of the cluster's leader"},
    {"cluster error", Code::Refused, "see the log of ovsdb-server: the database is a cluster's"},
}};
}  // namespace

Refusal read_refusal(const Json& error, size_t operation) {
    const auto text = [](const Json& value) {
        return printable(value.is_string() ? value.get<std::string>() : base::dump_json(value),
                         kDatabaseWords);
    };
    if (!error.is_object())
        return {operation, text(error), ""};
    const auto word = error.find("error");
    const auto details = error.find("details");
    return {operation,
            word == error.end() ? text(error) : text(*word),
            details == error.end() ? "" : text(*details)};
}

Error explain(const Refusal& refusal, const std::string& what) {
    const auto known = std::ranges::find_if(
        kMeanings, [&](const Meaning& meaning) { return refusal.error == meaning.error; });
    Error error = make_error(known == kMeanings.end() ? Code::Refused : known->code,
                             what + ": the database of Open vSwitch refuses it: " + refusal.error);
    if (!refusal.details.empty())
        error.text += ": " + refusal.details;
    if (known != kMeanings.end())
        error.fix = known->fix;
    return error;
}

Result<Outcome> read_outcome(Json result, size_t operations) {
    if (!result.is_array())
        return not_understood("a transaction without results");
    auto& results = result.get_ref<Json::array_t&>();
    // After a failed operation all results are null. One result more than there are operations: the
    // commit failed.
    const auto failed = std::ranges::find_if(results, is_error);
    if (failed != results.end()) {
        const auto operation = static_cast<size_t>(failed - results.begin());
        if (operation > operations)
            return not_understood("more results than operations");
        return Outcome{{}, read_refusal(*failed, operation)};
    }
    const auto is_null = [](const Json& one) { return one.is_null(); };
    if (results.size() != operations || std::ranges::any_of(results, is_null))
        return not_understood(std::to_string(results.size()) + " results of " +
                              std::to_string(operations) + " operations");
    return Outcome{std::move(results), {}};
}

Result<std::vector<PortRow>> read_ports(const Json& result) {
    return each_row<PortRow>(result, read_port);
}

Result<std::vector<BridgeRow>> read_bridges(const Json& result) {
    return each_row<BridgeRow>(result, read_bridge);
}

Result<std::vector<InterfaceRow>> read_interfaces(const Json& result) {
    return each_row<InterfaceRow>(result, read_interface);
}

Result<std::vector<std::string>> read_names(const Json& result) {
    return each_row<std::string>(result,
                                 [](const Json& row) { return atom<std::string>(row, "name"); });
}

Result<std::vector<std::string>> read_uuids(const Json& result) {
    return each_row<std::string>(result, own_uuid);
}

Result<OvsSettings> read_settings(const Json& result) {
    OvsSettings settings;
    for (const Json& row : *TRY(rows_of(result))) {
        settings.version = TRY(optional_atom<std::string>(row, "ovs_version")).value_or("");
        settings.other_config = TRY(string_map(row, "other_config"));
        settings.marks = TRY(string_map(row, "external_ids"));
    }
    return settings;
}

Result<Progress> read_progress(const Json& result) {
    const Json* rows = TRY(rows_of(result));
    if (rows->empty())
        return make_error(Code::Unavailable, "the database of Open vSwitch is not set up")
            .advise(std::string("start Open vSwitch: ") + kStartOvs);
    return Progress{.next_cfg = TRY(atom<int64_t>(rows->front(), "next_cfg")),
                    .cur_cfg = TRY(atom<int64_t>(rows->front(), "cur_cfg"))};
}

}  // namespace netns::ovsdb
