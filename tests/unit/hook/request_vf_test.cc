// SPDX-License-Identifier: Apache-2.0
// Annotations, pools and policy of virtual functions.
#include <gtest/gtest.h>

#include "hook/request/request.h"
#include "netns/base/json.h"

namespace hook {
namespace {

Config vf_pools(const std::string& policy = "") {
    auto parsed = parse_config(R"({"pools": {
        "vfs": {"mode": "vf", "default": true, "devices": ["enp1s0#0-3,5", "0000:3b:00.0"],
                "exclude": ["enp1s0#2"], "choose": "spread",
                "defaults": {"vlan": "5", "vlan_qos": "2", "spoofchk": "on", "max_tx_rate": "100",
                             "provider": "device"}},
        "qos": {"mode": "vf", "devices": ["enp1s0"], "defaults": {"vlan_qos": "2"}},
        "empty": {"mode": "vf"}})" +
                               (policy.empty() ? "" : ", \"policy\": " + policy) + "}");
    EXPECT_TRUE(parsed) << parsed.error().message();
    return std::move(parsed).value();
}

Result<Request> ask(Annotations annotations, const Config& config) {
    annotations.emplace("rdma.mode", "vf");
    return parse_request(annotations, config);
}

TEST(RequestVf, EverythingByAnnotation) {
    const auto request = ask({{"rdma.device", "enp1s0#0-3,5"},
                              {"rdma.provider", "rxe"},
                              {"rdma.vlan", "4094"},
                              {"rdma.vlan_qos", "7"},
                              {"rdma.vlan_proto", "802.1ad"},
                              {"rdma.spoofchk", "off"},
                              {"rdma.trust", "on"},
                              {"rdma.link_state", "auto"},
                              {"rdma.min_tx_rate", "10"},
                              {"rdma.max_tx_rate", "1000000"},
                              {"rdma.node_guid", "00:11:22:33:44:55:66:77"},
                              {"rdma.port_guid", "FE:11:22:33:44:55:66:77"}},
                             Config{});
    ASSERT_TRUE(request) << request.error().message();
    const Attachment& a = request->attachments[0];
    EXPECT_EQ(devices_text(a.devices), "enp1s0#0-3,5");
    EXPECT_EQ(a.provider, Provider::Rxe);
    const netns::VfSettings vf = vf_settings(a);
    EXPECT_EQ(vf.vlan,
              (netns::VfVlan{.id = 4094, .qos = 7, .protocol = netns::VlanProtocol::Dot1ad}));
    EXPECT_EQ(vf.rate, (netns::VfRate{.min = 10, .max = 1000000}));
    EXPECT_EQ(vf.spoofchk, false);
    EXPECT_EQ(vf.trust, true);
    EXPECT_EQ(vf.link_state, netns::VfLinkState::Auto);
    EXPECT_EQ(vf.node_guid, 0x0011223344556677U);
    EXPECT_EQ(vf.port_guid, 0xfe11223344556677U);
    EXPECT_FALSE(vf.mac);
    const auto again = attachment_from_json(to_json(a));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, a);
}

TEST(RequestVf, NothingIsAskedForThatNobodySaid) {
    const auto request = ask({{"rdma.device", "enp1s0"}}, Config{});
    ASSERT_TRUE(request);
    EXPECT_EQ(vf_settings(request->attachments[0]), netns::VfSettings{});
    EXPECT_EQ(request->attachments[0].provider, Provider::Auto);
    EXPECT_EQ(request->attachments[0].ifname, "rdma0");
}

TEST(RequestVf, PoolsSupplyAndRestrict) {
    const Config config = vf_pools();
    EXPECT_EQ(config.pools[0].choose, Choose::Spread);
    EXPECT_EQ(config.pools[0].exclude.size(), 1U);
    const auto plain = ask({}, config);
    ASSERT_TRUE(plain) << plain.error().message();
    EXPECT_TRUE(plain->attachments[0].devices.empty()) << "any of the pool's";
    EXPECT_EQ(vf_settings(plain->attachments[0]).vlan, (netns::VfVlan{.id = 5, .qos = 2}));
    EXPECT_EQ(vf_settings(plain->attachments[0]).rate->max, 100U);
    EXPECT_EQ(plain->attachments[0].provider, Provider::Device);
    EXPECT_TRUE(ask({{"rdma.device", "enp1s0#1-2"}}, config));
    EXPECT_EQ(ask({{"rdma.vlan", "6"}}, config)->attachments[0].vlan, 6);
    const auto without = ask({{"rdma.pool", "qos"}}, config);
    ASSERT_TRUE(without);
    EXPECT_FALSE(vf_settings(without->attachments[0]).vlan) << "a priority alone is left out";
    const auto outside = ask({{"rdma.device", "enp1s0#4"}}, config);
    ASSERT_FALSE(outside);
    EXPECT_EQ(outside.error().code, Code::Refused);
    EXPECT_NE(outside.error().message().find("rdma.device='enp1s0#4' is not a device of pool vfs; "
                                             "choose one of enp1s0#0-3,5, 0000:3b:00.0"),
              std::string::npos)
        << outside.error().message();
}

TEST(RequestVf, BadInput) {
    const struct {
        Annotations annotations;
        const char* says;
    } table[] = {
        {{}, "needs a device, and there is no pool; set rdma.device to a PF or VF"},
        {{{"rdma.device", "enp1s0#"}}, "rdma.device='enp1s0#'"},
        {{{"rdma.device", "enp1s0#3-1"}}, "rdma.device='enp1s0#3-1'"},
        {{{"rdma.device", "enp1s0,enp2s0"}},
         "rdma.device='enp1s0,enp2s0' is not acceptable: mode vf gives one device; set rdma.device "
         "to "
         "one PF or VF"},
        {{{"rdma.device", "all"}}, "mode vf gives one device"},
        {{{"rdma.device", "enp1s0,enp2s0#1"}}, "rdma.device='enp1s0,enp2s0#1'"},
        {{{"rdma.vlan", "0"}}, "rdma.vlan='0'"},
        {{{"rdma.vlan", "4095"}}, "rdma.vlan='4095'"},
        {{{"rdma.vlan_qos", "8"}, {"rdma.vlan", "1"}}, "rdma.vlan_qos='8'"},
        {{{"rdma.device", "a"}, {"rdma.vlan_qos", "1"}}, "rdma.vlan_qos='1' needs rdma.vlan"},
        {{{"rdma.device", "a"}, {"rdma.vlan_proto", "802.1q"}}, "needs rdma.vlan"},
        {{{"rdma.vlan_proto", "802.1Q"}}, "rdma.vlan_proto='802.1Q'"},
        {{{"rdma.spoofchk", "yes"}}, "rdma.spoofchk='yes'"},
        {{{"rdma.trust", "true"}}, "set rdma.trust to 'on' or 'off'"},
        {{{"rdma.link_state", "enable"}}, "rdma.link_state='enable'"},
        {{{"rdma.max_tx_rate", "1000001"}}, "rdma.max_tx_rate='1000001'"},
        {{{"rdma.min_tx_rate", "-1"}}, "rdma.min_tx_rate='-1'"},
        {{{"rdma.device", "a"}, {"rdma.min_tx_rate", "9"}, {"rdma.max_tx_rate", "8"}},
         "rdma.min_tx_rate='9' is above rdma.max_tx_rate='8'"},
        {{{"rdma.provider", "iwarp"}}, "rdma.provider='iwarp'"},
        {{{"rdma.node_guid", "0011:2233:4455:6677"}}, "rdma.node_guid="},
        {{{"rdma.node_guid", "00:00:00:00:00:00:00:00"}}, "it names no device"},
        {{{"rdma.port_guid", "ff:ff:ff:ff:ff:ff:ff:ff"}}, "it names no device"},
        {{{"rdma.port_guid", "00:11:22:33:44:55:66:7"}}, "rdma.port_guid="},
        {{{"rdma.parent", "eth1"}}, "does not take rdma.parent='eth1'"},
    };

    for (const auto& row : table) {
        const auto request = ask(row.annotations, Config{});
        ASSERT_FALSE(request) << row.says;
        EXPECT_EQ(request.error().code, Code::BadInput);
        EXPECT_NE(request.error().message().find(row.says), std::string::npos)
            << request.error().message();
    }
    const auto none = ask({{"rdma.pool", "empty"}}, vf_pools());
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message().find("pool empty lists none"), std::string::npos);
}

TEST(RequestVf, BadConfig) {
    const struct {
        const char* text;
        const char* says;
    } table[] = {
        {R"({"pools":{"a":{"mode":"vf","devices":["x#"]}}})", "'pools.a.devices[0]' must be"},
        {R"({"pools":{"a":{"mode":"vf","devices":["x","x"]}}})", "'x' a second time"},
        {R"({"pools":{"a":{"mode":"vf","exclude":[1]}}})", "'pools.a.exclude[0]' must be a string"},
        {R"({"pools":{"a":{"mode":"vf","choose":"best"}}})",
         "must be first, spread, numa or sticky"},
        {R"({"pools":{"a":{"mode":"softroce","devices":["x"]}}})",
         "'pools.a.devices' is not for a pool of mode softroce"},
        {R"({"pools":{"a":{"mode":"vf","devices":["x","all"]}}})", "'pools.a.devices' names 'all'"},
        {R"({"pools":{"a":{"mode":"vf","defaults":{"node_guid":"x"}}}})", "cannot be a default"},
        {R"({"pools":{"a":{"mode":"vf","defaults":{"vlan":"0"}}}})", "vlan='0'"},
        {R"({"policy":{"devices":["lo"]}})", "'policy.devices[0]' must be"},
        {R"({"policy":{"trust":"on"}})", "'policy.trust' must be true or false"},
    };

    for (const auto& row : table) {
        const auto config = parse_config(row.text);
        ASSERT_FALSE(config) << row.text;
        EXPECT_EQ(config.error().code, Code::BadConfig);
        EXPECT_NE(config.error().message().find(row.says), std::string::npos)
            << config.error().message();
    }
}

Result<> pass(Annotations annotations, const Config& config) {
    const Request request = TRY(ask(std::move(annotations), config));
    return check_policy(request, config, {});
}

TEST(RequestVf, WithoutAPolicyAVfMayNotPassForAnother) {
    EXPECT_TRUE(pass({{"rdma.device", "a"}, {"rdma.trust", "off"}, {"rdma.spoofchk", "on"}}, {}));
    const auto trust = pass({{"rdma.device", "a"}, {"rdma.trust", "on"}}, {});
    ASSERT_FALSE(trust);
    EXPECT_EQ(trust.error().code, Code::Refused);
    EXPECT_NE(trust.error().message().find("rdma.trust='on'"), std::string::npos);
    EXPECT_NE(trust.error().message().find("\"policy\": {\"trust\": true} in the pool"),
              std::string::npos)
        << trust.error().message();
    const auto spoof = pass({{"rdma.device", "a"}, {"rdma.spoofchk", "off"}}, {});
    ASSERT_FALSE(spoof);
    EXPECT_NE(spoof.error().message().find("\"spoofchk_off\": true"), std::string::npos);
}

TEST(RequestVf, APolicyAllowsWhatItLists) {
    const Config open =
        vf_pools(R"({"modes": ["vf"], "trust": true, "spoofchk_off": true, "vlans": ["5"],
                                      "devices": ["enp1s0", "0000:3b:00.0#0-1"]})");
    const Config closed =
        vf_pools(R"({"modes": ["vf"], "devices": ["enp1s0#0-3"], "vlans": ["5"]})");
    EXPECT_TRUE(
        pass({{"rdma.device", "enp1s0#3"}, {"rdma.trust", "on"}, {"rdma.spoofchk", "off"}}, open));
    EXPECT_TRUE(pass({{"rdma.device", "enp1s0#3"}}, closed));

    const struct {
        Annotations annotations;
        const Config& config;
        const char* says;
    } table[] = {
        {{}, open, "policy.devices does not allow rdma.device='0000:3b:00.0'"},
        {{}, closed, "rdma.device='enp1s0#0-3,5'; choose one of enp1s0#0-3"},
        {{{"rdma.device", "enp1s0#5"}}, closed, "rdma.device='enp1s0#5'"},
        {{{"rdma.device", "enp1s0#1"}, {"rdma.trust", "on"}},
         closed,
         "policy.trust does not allow"},
        {{{"rdma.device", "enp1s0#1"}, {"rdma.spoofchk", "off"}},
         closed,
         "policy.spoofchk_off does not allow"},
    };

    for (const auto& row : table) {
        const auto done = pass(row.annotations, row.config);
        ASSERT_FALSE(done) << row.says;
        EXPECT_EQ(done.error().code, Code::Refused);
        EXPECT_NE(done.error().message().find(row.says), std::string::npos)
            << done.error().message();
    }
}
}  // namespace
}  // namespace hook
