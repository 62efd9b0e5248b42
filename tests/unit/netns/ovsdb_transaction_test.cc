// SPDX-License-Identifier: Apache-2.0
// Requests to Open vSwitch's database, and the values read from its answers.
#include <gtest/gtest.h>

#include "netns/kernel/ovsdb/results.h"
#include "netns/kernel/ovsdb/transaction.h"

namespace netns::ovsdb {
namespace {

Json json(std::string_view text) {
    return base::parse_json(text, "test").value();
}

// The operations, one a line.
std::string lines(const Transaction& transaction) {
    std::string all;
    for (const Json& operation : transaction.operations)
        all += base::dump_json(operation) + "\n";
    return all;
}

template <class T>
Code code_of(const Result<T>& result) {
    return result ? Code::Usage : result.error().code;
}

constexpr char kFinish[] =
    R"({"op":"mutate","table":"Open_vSwitch","where":[],"mutations":[["next_cfg","+=",1]]}
{"op":"select","table":"Open_vSwitch","where":[],"columns":["next_cfg","cur_cfg"]}
)";

TEST(OvsdbTransaction, AddAPort) {
    OvsPortSpec spec;
    spec.bridge = "br0";
    spec.name = "rep0";
    spec.tag = 100;
    spec.policing_kbps = 1000000;
    spec.marks = {{"owner", "x"}};
    const Transaction made = to_add_port(spec);
    EXPECT_EQ(
        lines(made),
        std::string(
            R"({"op":"wait","table":"Bridge","timeout":0,"where":[["name","==","br0"]],"columns":["name"],"until":"!=","rows":[]}
{"op":"wait","table":"Port","timeout":0,"where":[["name","==","rep0"]],"columns":["name"],"until":"==","rows":[]}
{"op":"wait","table":"Interface","timeout":0,"where":[["name","==","rep0"]],"columns":["name"],"until":"==","rows":[]}
{"op":"insert","table":"Interface","row":{"name":"rep0","ingress_policing_rate":1000000,"ingress_policing_burst":100000},"uuid-name":"interface"}
{"op":"insert","table":"Port","row":{"name":"rep0","interfaces":["named-uuid","interface"],"tag":100,"external_ids":["map",[["owner","x"]]]},"uuid-name":"port"}
{"op":"mutate","table":"Bridge","where":[["name","==","br0"]],"mutations":[["ports","insert",["set",[["named-uuid","port"]]]]]}
)") + kFinish);
    EXPECT_EQ(made.guards,
              (std::vector{Guard::BridgeIsThere, Guard::NameIsFree, Guard::NameIsFree}));
}

TEST(OvsdbTransaction, AnUnlimitedTrunk) {
    OvsPortSpec spec;
    spec.bridge = "br0";
    spec.name = "rep0";
    spec.trunks = {7};
    const Transaction made = to_add_port(spec);
    EXPECT_EQ(made.operations[3]["row"], json(R"({"name":"rep0"})"));
    EXPECT_EQ(made.operations[4]["row"]["trunks"], json(R"(["set",[7]])"));
    EXPECT_FALSE(made.operations[4]["row"].contains("tag"));
}

TEST(OvsdbTransaction, TheBurstIsATenthOrTheDefault) {
    EXPECT_EQ(policing_burst(1), 8000U);
    EXPECT_EQ(policing_burst(80000), 8000U);
    EXPECT_EQ(policing_burst(10000000), 1000000U);
}

TEST(OvsdbTransaction, ABridgeComesAndGoes) {
    const Transaction made = to_add_bridge("br0", {{"a", "b"}});
    EXPECT_EQ(made.guards, std::vector(3, Guard::NameIsFree));
    EXPECT_EQ(made.operations[3]["row"], json(R"({"name":"br0","type":"internal"})"));
    EXPECT_EQ(
        made.operations[5]["row"],
        json(R"({"name":"br0","ports":["named-uuid","port"],"external_ids":["map",[["a","b"]]]})"));
    EXPECT_EQ(
        made.operations[6]["mutations"],
        json(R"([["bridges","insert",["set",[["named-uuid","bridge"]]]],["next_cfg","+=",1]])"));
    EXPECT_EQ(
        lines(to_remove_bridge("u", {{"a", "b"}})),
        R"({"op":"wait","table":"Bridge","timeout":0,"where":[["_uuid","==",["uuid","u"]],["external_ids","includes",["map",[["a","b"]]]]],"columns":["name"],"until":"!=","rows":[]}
{"op":"mutate","table":"Open_vSwitch","where":[],"mutations":[["bridges","delete",["set",[["uuid","u"]]]],["next_cfg","+=",1]]}
{"op":"select","table":"Open_vSwitch","where":[],"columns":["next_cfg","cur_cfg"]}
)");
}

TEST(OvsdbTransaction, PortsGoOnlyWithTheirMarks) {
    const Transaction made = to_remove_ports({"u", "v"}, {{"a", "b"}});
    EXPECT_EQ(made.guards, std::vector(2, Guard::IsStillOurs));
    EXPECT_EQ(made.operations.size(), 6U);
    EXPECT_EQ(
        made.operations[1]["where"],
        json(R"([["_uuid","==",["uuid","v"]],["external_ids","includes",["map",[["a","b"]]]]])"));
    EXPECT_EQ(made.operations[2]["where"], json(R"([["ports","includes",["uuid","u"]]])"));
    EXPECT_EQ(made.operations[2]["mutations"],
              json(R"([["ports","delete",["set",[["uuid","u"]]]]])"));
}

TEST(OvsdbTransaction, SettingsAreReplacedAndRemoved) {
    const Transaction made = to_configure({{"a", "1"}, {"b", {}}}, {{"c", {}}});
    EXPECT_EQ(made.operations[0]["mutations"], json(R"([["other_config","delete",["set",["a","b"]]],
                       ["other_config","insert",["map",[["a","1"]]]],
                       ["external_ids","delete",["set",["c"]]],["next_cfg","+=",1]])"));
    EXPECT_EQ(lines(to_configure({}, {})), kFinish);
}

TEST(OvsdbResults, APortsRow) {
    const auto ports = read_ports(json(
        R"({"rows":[{"_uuid":["uuid","p"],"name":"rep0","tag":100,"trunks":["set",[20,10]],
        "external_ids":["map",[["a","b"]]],"interfaces":["uuid","i"]},
        {"_uuid":["uuid","q"],"name":"bond","tag":["set",[]],"trunks":5,
        "external_ids":["map",[]],"interfaces":["set",[["uuid","j"],["uuid","k"]]]}]})"));
    ASSERT_TRUE(ports) << ports.error().message();
    ASSERT_EQ(ports->size(), 2U);
    OvsPort first;
    first.name = "rep0";
    first.tag = 100;
    first.trunks = {10, 20};
    first.marks = {{"a", "b"}};
    EXPECT_EQ(ports->at(0).port, first);
    EXPECT_EQ(ports->at(0).uuid, "p");
    EXPECT_EQ(ports->at(0).interfaces, std::vector<std::string>{"i"});
    EXPECT_FALSE(ports->at(1).port.tag);
    EXPECT_EQ(ports->at(1).port.trunks, std::vector<uint16_t>{5});
    EXPECT_EQ(ports->at(1).interfaces, (std::vector<std::string>{"j", "k"}));
}

TEST(OvsdbResults, AnInterfacesRow) {
    const auto rows = read_interfaces(
        json(R"({"rows":[{"name":"a","error":["set",[]],"ofport":3,"ingress_policing_rate":0},
        {"name":"b","error":"no such device","ofport":-1,"ingress_policing_rate":99999999999},
        {"name":"c","error":["set",["x"]],"ofport":["set",[]],"ingress_policing_rate":7}]})"));
    ASSERT_TRUE(rows) << rows.error().message();
    EXPECT_EQ(rows->at(0).error, "");
    EXPECT_EQ(rows->at(1).error, "no such device");
    EXPECT_EQ(rows->at(1).ofport, -1);
    EXPECT_EQ(rows->at(1).policing_kbps, UINT32_MAX);
    EXPECT_EQ(rows->at(2).error, "x");
    EXPECT_FALSE(rows->at(2).ofport);
    EXPECT_EQ(rows->at(2).policing_kbps, 7U);
}

TEST(OvsdbResults, SettingsAndBridges) {
    const auto settings = read_settings(
        json(R"({"rows":[{"ovs_version":"3.1.0","other_config":["map",[["hw-offload","true"]]],
        "external_ids":["map",[]]}]})"));
    ASSERT_TRUE(settings) << settings.error().message();
    EXPECT_EQ(settings->version, "3.1.0");
    EXPECT_EQ(settings->other_config, (OvsMap{{"hw-offload", "true"}}));
    EXPECT_EQ(read_settings(json(R"({"rows":[]})")).value(), OvsSettings{});
    const auto bridges =
        read_bridges(json(R"({"rows":[{"_uuid":["uuid","b"],"name":"br0","ports":["set",[]],
        "external_ids":["map",[["a","b"]]]}]})"));
    ASSERT_TRUE(bridges) << bridges.error().message();
    EXPECT_EQ(bridges->at(0).bridge.marks, (OvsMap{{"a", "b"}}));
    EXPECT_TRUE(bridges->at(0).ports.empty());
}

TEST(OvsdbResults, WhatWasNotAskedForIsRefused) {
    for (const char* text : {R"({})",
                             R"([])",
                             R"({"rows":{}})",
                             R"({"rows":[1]})",
                             R"({"rows":[{}]})",
                             R"({"rows":[{"name":["set",[]]}]})",
                             R"({"rows":[{"name":["set",["a","b"]]}]})",
                             R"({"rows":[{"name":["set",7]}]})",
                             R"({"rows":[{"name":7}]})"})
        EXPECT_EQ(code_of(read_names(json(text))), Code::Internal) << text;
    const std::string begin = R"({"rows":[{"_uuid":["uuid","b"],"name":"b","ports":["set",[]],)";
    for (const char* map :
         {"7", "[\"map\",7]", "[\"map\",[7]]", "[\"map\",[[1,2]]]", "[\"set\",[]]"})
        EXPECT_EQ(code_of(read_bridges(json(begin + "\"external_ids\":" + map + "}]}"))),
                  Code::Internal)
            << map;
    EXPECT_EQ(code_of(read_uuids(json(R"({"rows":[{"_uuid":"b"}]})"))), Code::Internal);
    for (const char* row : {R"({"next_cfg":"1","cur_cfg":1})", R"({"next_cfg":1})"})
        EXPECT_EQ(code_of(read_progress(json(R"({"rows":[)" + std::string(row) + "]}"))),
                  Code::Internal);
    EXPECT_EQ(code_of(read_progress(json(R"({"rows":[]})"))), Code::Unavailable);
}

TEST(OvsdbResults, WhatWasAskedForAndWhatIsApplied) {
    const auto progress = read_progress(json(R"({"rows":[{"next_cfg":8,"cur_cfg":7}]})")).value();
    EXPECT_EQ(progress.next_cfg, 8);
    EXPECT_EQ(progress.cur_cfg, 7);
}

TEST(OvsdbTransaction, ProgressIsWaitedFor) {
    EXPECT_EQ(base::dump_json(wait_for_progress(7, 9000)),
              R"({"op":"wait","table":"Open_vSwitch","timeout":9000,"where":[],)"
              R"("columns":["cur_cfg"],"until":"!=","rows":[{"cur_cfg":7}]})");
}

TEST(OvsdbResults, OutcomesOfTransactions) {
    const auto outcome = [](const char* text, size_t operations) {
        return read_outcome(json(text), operations);
    };
    EXPECT_EQ(outcome(R"([{},{"count":1}])", 2).value().results.size(), 2U);
    EXPECT_EQ(outcome(R"([{"error":"timed out","details":"where"},null])", 2).value().refusal,
              (Refusal{0, "timed out", "where"}));
    EXPECT_EQ(outcome(R"([{},{"error":"constraint violation"}])", 1).value().refusal,
              (Refusal{1, "constraint violation", ""}))
        << "at commit";
    for (const char* text : {"{}", "7", "[]", "[{}]", "[{},{},{}]", "[{},null]"})
        EXPECT_EQ(code_of(outcome(text, 2)), Code::Internal) << text;
    EXPECT_EQ(code_of(outcome(R"([{},{},{},{"error":"x"}])", 2)), Code::Internal);
    EXPECT_EQ(read_refusal(json(R"({"error":7,"details":{"a":1}})"), 0),
              (Refusal{0, "7", R"({"a":1})"}));
    EXPECT_EQ(read_refusal(json("\"canceled\""), 0).error, "canceled");
}

TEST(OvsdbResults, RefusalsSayWhatTheDatabaseSaid) {
    const auto error = explain({3, "constraint violation", "4097 is not in range"}, "add port a");
    EXPECT_EQ(error.code, Code::Refused);
    EXPECT_EQ(error.message(),
              "add port a: the database of Open vSwitch refuses it: constraint violation: "
              "4097 is not in range");
    EXPECT_EQ(explain({0, "unknown database", ""}, "x").code, Code::Unavailable);
    EXPECT_EQ(explain({0, "timed out", ""}, "x").code, Code::Timeout);
    EXPECT_NE(explain({0, "not leader", ""}, "x").fix, "");
}

}  // namespace
}  // namespace netns::ovsdb
