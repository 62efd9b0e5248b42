// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/ovsdb/transaction.h"

#include <algorithm>
#include <utility>

namespace netns::ovsdb {

namespace {
// Makes an array. In braces the library would take two strings for the member of an object.
template <class... Elements>
Json list(Elements&&... elements) {
    Json made = Json::array();
    made.get_ref<Json::array_t&>().reserve(sizeof...(elements));
    (made.push_back(std::forward<Elements>(elements)), ...);
    return made;
}

Json uuid_atom(const std::string& uuid) {
    return list("uuid", uuid);
}

Json named_row(const char* name) {
    return list("named-uuid", name);
}

Json set_of_one(Json element) {
    return list("set", list(std::move(element)));
}

Json map_of(const OvsMap& map) {
    Json pairs = Json::array();
    for (const auto& [key, value] : map)
        pairs.push_back(list(key, value));
    return list("map", std::move(pairs));
}

Json by_name(const std::string& name) {
    return list("name", "==", name);
}

Json by_uuid(const std::string& uuid) {
    return list("_uuid", "==", uuid_atom(uuid));
}

Json by_marks(const OvsMap& marks) {
    return list("external_ids", "includes", map_of(marks));
}

constexpr size_t kMostMembers = 7;  // in "wait"

Json operation(const char* name, const char* table) {
    Json made = base::object_for(kMostMembers);
    made["op"] = name;
    made["table"] = table;
    return made;
}

Json select(const char* table, Json where, Json columns) {
    Json made = operation("select", table);
    made["where"] = std::move(where);
    made["columns"] = std::move(columns);
    return made;
}

Json insert(const char* table, const char* row_name, Json row) {
    Json made = operation("insert", table);
    made["row"] = std::move(row);
    made["uuid-name"] = row_name;
    return made;
}

Json mutate(const char* table, Json where, Json mutations) {
    Json made = operation("mutate", table);
    made["where"] = std::move(where);
    made["mutations"] = std::move(mutations);
    return made;
}

// The guard holds if a matching row is there, or if none is.
void guard(Transaction& to, Guard meaning, const char* table, Json where) {
    Json made = operation("wait", table);
    made["timeout"] = 0;
    made["where"] = std::move(where);
    made["columns"] = list("name");
    made["until"] = meaning == Guard::NameIsFree ? "==" : "!=";
    made["rows"] = Json::array();
    to.operations.push_back(std::move(made));
    to.guards.push_back(meaning);
}

// Adds the mutations of the one row of Open_vSwitch, with next_cfg.
void finish(Transaction& to, Json mutations = Json::array()) {
    mutations.push_back(list("next_cfg", "+=", 1));
    to.operations.push_back(mutate("Open_vSwitch", Json::array(), std::move(mutations)));
    to.operations.push_back(select_progress());
}

Json interface_row(const OvsPortSpec& spec) {
    Json row = base::object_for(3);
    row["name"] = spec.name;
    if (spec.policing_kbps != 0) {
        row["ingress_policing_rate"] = spec.policing_kbps;
        row["ingress_policing_burst"] = policing_burst(spec.policing_kbps);
    }
    return row;
}

Json port_row(const OvsPortSpec& spec) {
    Json row = base::object_for(5);
    row["name"] = spec.name;
    row["interfaces"] = named_row("interface");
    if (spec.tag)
        row["tag"] = *spec.tag;
    if (!spec.trunks.empty()) {
        Json vlans = Json::array();
        for (const uint16_t vlan : spec.trunks)
            vlans.push_back(vlan);
        row["trunks"] = list("set", std::move(vlans));
    }
    row["external_ids"] = map_of(spec.marks);
    return row;
}

// Deletes the keys first, then inserts those that have a value: an insert does not change keys that
// are there.
void change_map(Json& mutations, const char* column, const OvsChange& change) {
    if (change.empty())
        return;
    Json keys = Json::array();
    OvsMap values;
    for (const auto& [key, value] : change) {
        keys.push_back(key);
        if (value)
            values[key] = *value;
    }
    mutations.push_back(list(column, "delete", list("set", std::move(keys))));
    if (!values.empty())
        mutations.push_back(list(column, "insert", map_of(values)));
}

Json select_ports_by(Json condition) {
    return select("Port",
                  list(std::move(condition)),
                  list("_uuid", "name", "tag", "trunks", "external_ids", "interfaces"));
}

Json select_interface_by(Json condition) {
    return select("Interface",
                  list(std::move(condition)),
                  list("name", "error", "ofport", "ingress_policing_rate"));
}
}  // namespace

uint32_t policing_burst(uint32_t kbps) {
    constexpr uint32_t kDefault = 8000;  // ovs-vswitchd's default, and more than a jumbo frame
    constexpr uint32_t kTenth = 10;
    return std::max(kbps / kTenth, kDefault);
}

Transaction to_add_port(const OvsPortSpec& spec) {
    Transaction made;
    guard(made, Guard::BridgeIsThere, "Bridge", list(by_name(spec.bridge)));
    guard(made, Guard::NameIsFree, "Port", list(by_name(spec.name)));
    guard(made, Guard::NameIsFree, "Interface", list(by_name(spec.name)));
    made.operations.push_back(insert("Interface", "interface", interface_row(spec)));
    made.operations.push_back(insert("Port", "port", port_row(spec)));
    made.operations.push_back(mutate("Bridge",
                                     list(by_name(spec.bridge)),
                                     list(list("ports", "insert", set_of_one(named_row("port"))))));
    finish(made);
    return made;
}

Transaction to_add_bridge(const std::string& name, const OvsMap& marks) {
    Transaction made;
    for (const char* table : {"Bridge", "Port", "Interface"})
        guard(made, Guard::NameIsFree, table, list(by_name(name)));
    Json interface = Json::object();
    interface["name"] = name;
    interface["type"] = "internal";
    Json port = Json::object();
    port["name"] = name;
    port["interfaces"] = named_row("interface");
    Json bridge = Json::object();
    bridge["name"] = name;
    bridge["ports"] = named_row("port");
    bridge["external_ids"] = map_of(marks);
    made.operations.push_back(insert("Interface", "interface", std::move(interface)));
    made.operations.push_back(insert("Port", "port", std::move(port)));
    made.operations.push_back(insert("Bridge", "bridge", std::move(bridge)));
    finish(made, list(list("bridges", "insert", set_of_one(named_row("bridge")))));
    return made;
}

Transaction to_configure(const OvsChange& other_config, const OvsChange& marks) {
    Transaction made;
    Json mutations = Json::array();
    change_map(mutations, "other_config", other_config);
    change_map(mutations, "external_ids", marks);
    finish(made, std::move(mutations));
    return made;
}

Transaction to_remove_ports(const std::vector<std::string>& uuids, const OvsMap& marks) {
    Transaction made;
    for (const std::string& uuid : uuids)
        guard(made, Guard::IsStillOurs, "Port", list(by_uuid(uuid), by_marks(marks)));
    for (const std::string& uuid : uuids)
        made.operations.push_back(
            mutate("Bridge",
                   list(list("ports", "includes", uuid_atom(uuid))),
                   list(list("ports", "delete", set_of_one(uuid_atom(uuid))))));
    finish(made);
    return made;
}

Transaction to_remove_bridge(const std::string& uuid, const OvsMap& marks) {
    Transaction made;
    guard(made, Guard::IsStillOurs, "Bridge", list(by_uuid(uuid), by_marks(marks)));
    finish(made, list(list("bridges", "delete", set_of_one(uuid_atom(uuid)))));
    return made;
}

Json select_settings() {
    return select(
        "Open_vSwitch", Json::array(), list("ovs_version", "other_config", "external_ids"));
}

Json select_port(const std::string& name) {
    return select_ports_by(by_name(name));
}

Json select_ports(const OvsMap& marks) {
    return select_ports_by(by_marks(marks));
}

Json select_bridge_name_of(const std::string& port_uuid) {
    return select("Bridge", list(list("ports", "includes", uuid_atom(port_uuid))), list("name"));
}

Json select_bridge(const std::string& name) {
    return select("Bridge", list(by_name(name)), list("_uuid", "name", "ports", "external_ids"));
}

Json select_tunnels() {
    return select("Interface",
                  list(list("type", "!=", ""),
                       list("type", "!=", "system"),
                       list("type", "!=", "internal"),
                       list("type", "!=", "patch")),
                  list("_uuid"));
}

Json select_port_of(const std::string& interface_uuid) {
    return select(
        "Port", list(list("interfaces", "includes", uuid_atom(interface_uuid))), list("_uuid"));
}

Json select_marked_ports(const OvsMap& marks) {
    return select("Port", list(by_marks(marks)), list("_uuid"));
}

Json select_marked_bridge(const std::string& name, const OvsMap& marks) {
    return select("Bridge", list(by_name(name), by_marks(marks)), list("_uuid"));
}

Json select_interface(const std::string& uuid) {
    return select_interface_by(by_uuid(uuid));
}

Json select_interface_named(const std::string& name) {
    return select_interface_by(by_name(name));
}

Json select_progress() {
    return select("Open_vSwitch", Json::array(), list("next_cfg", "cur_cfg"));
}

Json wait_for_progress(int64_t cur_cfg, int timeout_ms) {
    Json seen = Json::object();
    seen["cur_cfg"] = cur_cfg;
    Json made = operation("wait", "Open_vSwitch");
    made["timeout"] = timeout_ms;
    made["where"] = Json::array();
    made["columns"] = list("cur_cfg");
    made["until"] = "!=";
    made["rows"] = list(std::move(seen));
    return made;
}

}  // namespace netns::ovsdb
