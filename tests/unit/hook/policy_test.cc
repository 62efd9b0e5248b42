// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "hook/request/request.h"

namespace hook {
namespace {

Config config(const std::string& policy) {
    auto parsed = parse_config(R"({"pools": {"p": {"mode": "softroce", "parents": ["eth1"],
        "range": "10.7.0.1-10.7.0.9/24"}}, "policy": )" +
                               policy + "}");
    EXPECT_TRUE(parsed) << parsed.error().message();
    return std::move(parsed).value();
}

constexpr char kOpen[] = R"({"modes": ["softroce", "shared"], "parents": ["eth1", "container"],
    "addresses": ["10.9.0.0/16", "fd00::/16"], "memlock": 65536, "placement_host": true,
    "privileged": true, "mac": true})";
constexpr char kClosed[] = R"({"modes": ["softroce"], "parents": ["eth1"]})";

Result<> check(Annotations annotations, const Config& config, bool privileged = false) {
    annotations.emplace("rdma.mode", "softroce");
    annotations.emplace("rdma.parent", "eth1");
    const Request request = TRY(parse_request(annotations, config));
    return check_policy(request, config, {.privileged = privileged});
}

TEST(Policy, WithoutOneEverythingSoFarIsAllowed) {
    EXPECT_TRUE(check({{"rdma.memlock", "unlimited"},
                       {"rdma.ip", "10.9.0.1/24"},
                       {"rdma.mac", "02:00:00:00:00:01"}},
                      Config{},
                      true));
    EXPECT_TRUE(check({{"rdma.placement", "host"}}, Config{}));
}

TEST(Policy, NothingAskedForIsNothingToRefuse) {
    EXPECT_TRUE(check_policy(Request{}, config("{}"), {.privileged = true}));
}

// parse_request() makes neither; a caller that reads journals could.
TEST(Policy, DecidesOnWhatTheModeDoesNotTake) {
    Request request;
    request.attachments.emplace_back();
    request.attachments[0].mode = "of_tomorrow";
    EXPECT_FALSE(check_policy(request, config(kClosed), {}));
    request.attachments[0].mode = "softroce";
    request.attachments[0].parent = "eth1";
    EXPECT_TRUE(check_policy(request, config(kClosed), {}));
    request.attachments[0].node_guid = 1;
    EXPECT_FALSE(check_policy(request, config(kClosed), {}));
}

TEST(Policy, AllowsWhatItLists) {
    const Config open = config(kOpen);
    EXPECT_TRUE(check({{"rdma.memlock", "65536"},
                       {"rdma.ip", "10.9.3.1/24,fd00::1/64"},
                       {"rdma.mac", "02:00:00:00:00:01"}},
                      open,
                      true));
    EXPECT_TRUE(check({{"rdma.placement", "host"}}, open));
    EXPECT_TRUE(check({{"rdma.parent", "container"}}, open));
    EXPECT_TRUE(check({}, config(kClosed)));
    // The administrator wrote the range: what is leased from it needs no further leave.
    EXPECT_TRUE(check({{"rdma.pool", "p"}}, config(kClosed)));
}

TEST(Policy, RefusesTheRest) {
    const struct {
        Annotations annotations;
        const char* policy;
        bool privileged;
        const char* says;
    } table[] = {
        {{}, "{}", false, "policy.modes does not allow rdma.mode='softroce'"},
        {{{"rdma.1.mode", "softiwarp"}},
         kOpen,
         false,
         "policy.modes does not allow rdma.1.mode='softiwarp'"},
        {{{"rdma.parent", "eth2"}},
         kOpen,
         false,
         "policy.parents does not allow rdma.parent='eth2'; choose one of eth1, container"},
        {{{"rdma.1.mode", "softroce"}},
         kOpen,
         false,
         "policy.parents does not allow the default route's interface as rdma.1.parent; "
         "set rdma.1.parent"},
        {{{"rdma.parent", "container"}},
         kClosed,
         false,
         "policy.parents does not allow rdma.parent='container'"},
        {{{"rdma.ip", "10.8.0.1/24"}},
         kOpen,
         false,
         "policy.addresses does not allow rdma.ip='10.8.0.1/24'"},
        {{{"rdma.ip", "10.9.0.1/24,10.8.0.1/24"}}, kOpen, false, "rdma.ip='10.8.0.1/24'"},
        {{{"rdma.ip", "10.9.0.1/8"}}, kOpen, false, "rdma.ip='10.9.0.1/8'"},
        {{{"rdma.ip", "fe80::1/64"}}, kOpen, false, "rdma.ip='fe80::1/64'"},
        {{{"rdma.ip", "10.9.0.1/24"}}, kClosed, false, "policy.addresses does not allow"},
        {{{"rdma.memlock", "65537"}},
         kOpen,
         false,
         "policy.memlock does not allow rdma.memlock='65537'; set at most 65536"},
        {{{"rdma.memlock", "unlimited"}}, kOpen, false, "rdma.memlock='unlimited'"},
        {{{"rdma.memlock", "1"}}, kClosed, false, "policy.memlock does not allow"},
        {{{"rdma.mac", "02:00:00:00:00:01"}},
         kClosed,
         false,
         "policy.mac does not allow rdma.mac='02:00:00:00:00:01'; remove the annotation"},
        {{{"rdma.placement", "host"}},
         kClosed,
         false,
         "policy.placement_host does not allow rdma.placement='host'"},
        {{}, kClosed, true, "policy.privileged does not allow RDMA in a --privileged container"},
    };

    for (const auto& row : table) {
        const auto done = check(row.annotations, config(row.policy), row.privileged);
        ASSERT_FALSE(done) << row.says;
        EXPECT_EQ(done.error().code, Code::Refused) << done.error().message();
        EXPECT_NE(done.error().message().find(row.says), std::string::npos)
            << done.error().message();
        EXPECT_FALSE(done.error().fix.empty()) << row.says;
    }
}

Config vf_config(const std::string& policy, const std::string& of_pool = "{}") {
    auto parsed = parse_config(R"({"pools": {
        "fast": {"mode": "vf", "default": true, "devices": ["enp1s0"], "policy": )" +
                               of_pool + R"(},
        "other": {"mode": "vf", "devices": ["enp1s0"]},
        "hca": {"mode": "shared", "parents": ["eth1"]}})" +
                               (policy.empty() ? "" : ", \"policy\": " + policy) + "}");
    EXPECT_TRUE(parsed) << parsed.error().message();
    return std::move(parsed).value();
}

Result<> check_vf(Annotations annotations, const Config& config, const Powers& powers = {}) {
    annotations.emplace("rdma.mode", "vf");
    const Request request = TRY(parse_request(annotations, config));
    return check_policy(request, config, powers);
}

std::string of_vfs(const std::string& more) {
    return R"({"modes": ["vf", "shared"], "devices": ["enp1s0"], "parents": ["eth1"],
               "addresses": ["10.9.0.0/16"])" +
           (more.empty() ? "" : ", " + more) + "}";
}

// Each rule with what it allows and what it denies; nothing for what the bare policy denies.
TEST(Policy, EachRuleAllowsAndDenies) {
    const Annotations hca{{"rdma.mode", "shared"}, {"rdma.ip", "10.9.0.1/24"}};

    const struct {
        std::string rule;
        Annotations allowed;
        Annotations denied;
        const char* says;
    } table[] = {
        {R"("vlans": ["7", "100-199"])",
         {{"rdma.vlan", "7"}},
         {{"rdma.vlan", "8"}},
         "policy.vlans does not allow rdma.vlan='8'; choose one of 7, 100-199"},
        {R"("vlans": ["7", "100-199"])",
         {{"rdma.vlan", "199"}},
         {{"rdma.vlan", "200"}},
         "policy.vlans does not allow rdma.vlan='200'"},
        {"", {}, {{"rdma.vlan", "7"}}, "policy.vlans does not allow rdma.vlan='7'; remove"},
        {R"("pools": ["fast"])",
         {},
         {{"rdma.pool", "other"}},
         "policy.pools does not allow rdma.pool='other'; choose one of fast"},
        {"", {{"rdma.pool", "other"}}, {{"rdma.trust", "on"}}, "policy.trust does not allow"},
        {R"("max_tx_rate": 100)",
         {{"rdma.max_tx_rate", "100"}},
         {{"rdma.max_tx_rate", "101"}},
         "policy.max_tx_rate does not allow rdma.max_tx_rate='101'; set at most 100"},
        {R"("max_tx_rate": 100)",
         {},
         {{"rdma.max_tx_rate", "0"}},
         "policy.max_tx_rate does not allow rdma.max_tx_rate='0'"},
        {R"("min_tx_rate": 10)",
         {{"rdma.min_tx_rate", "10"}},
         {{"rdma.min_tx_rate", "11"}},
         "policy.min_tx_rate does not allow rdma.min_tx_rate='11'; set at most 10"},
        {"",
         {{"rdma.max_tx_rate", "1000000"}, {"rdma.min_tx_rate", "0"}},
         {{"rdma.min_tx_rate", "1"}},
         "policy.min_tx_rate does not allow rdma.min_tx_rate='1'; remove"},
        {R"("mac": ["02:00:5e:00:00:00-02:00:5e:00:00:ff"])",
         {{"rdma.mac", "02:00:5e:00:00:ff"}},
         {{"rdma.mac", "02:00:5e:00:01:00"}},
         "policy.mac does not allow rdma.mac='02:00:5e:00:01:00'; choose one of "
         "02:00:5e:00:00:00-02:00:5e:00:00:ff"},
        {R"("guid": true)",
         {{"rdma.node_guid", "00:11:22:33:44:55:66:77"},
          {"rdma.port_guid", "00:11:22:33:44:55:66:77"}},
         {{"rdma.trust", "on"}},
         "policy.trust does not allow"},
        {"",
         {},
         {{"rdma.port_guid", "00:11:22:33:44:55:66:77"}},
         "policy.guid does not allow rdma.port_guid='00:11:22:33:44:55:66:77'"},
        {R"("attachments": 1)",
         {},
         {{"rdma.1.mode", "vf"}},
         "policy.attachments does not allow 2 attachments; ask for at most 1"},
        {"", {{"rdma.1.mode", "vf"}}, {{"rdma.memlock", "1"}}, "policy.memlock does not allow"},
        {R"("pools": ["hca"])",
         hca,
         {{"rdma.pool", "fast"}},
         "policy.pools does not allow rdma.pool='fast'"},
    };

    for (const auto& row : table) {
        // hca has no default pool, and so names it.
        Annotations allowed = row.allowed;
        if (allowed.contains("rdma.mode"))
            allowed.emplace("rdma.pool", "hca");
        const Config config = vf_config(of_vfs(row.rule));
        const auto passed = check_vf(allowed, config);
        EXPECT_TRUE(passed) << row.says << ": " << passed.error().message();
        const auto refused = check_vf(row.denied, config);
        ASSERT_FALSE(refused) << row.says;
        EXPECT_EQ(refused.error().code, Code::Refused);
        EXPECT_NE(refused.error().message().find(row.says), std::string::npos)
            << refused.error().message();
    }
}

// A refusal says what the user can do, and which rule the administrator can widen.
TEST(Policy, AdviceNamesTheRuleToWiden) {
    const auto advice = [](const Annotations& asked, const Config& config) {
        const auto refused = check_vf(asked, config);
        EXPECT_FALSE(refused);
        return refused ? "" : refused.error().fix;
    };
    EXPECT_EQ(advice({{"rdma.vlan", "8"}}, vf_config(of_vfs(R"("vlans": ["7"])"))),
              "choose one of 7, or have policy.vlans allow it in /etc/rdma-hook/config.json");
    EXPECT_EQ(advice({{"rdma.vlan", "8"}}, vf_config("", R"({"vlans": ["7"]})")),
              "choose one of 7, or have pools.fast.policy.vlans allow it in "
              "/etc/rdma-hook/config.json");
    EXPECT_EQ(advice({{"rdma.memlock", "1"}}, vf_config(of_vfs(""))),
              "remove the annotation, or have policy.memlock allow it in "
              "/etc/rdma-hook/config.json");
    // Not a policy of its own, which would deny all that it does not list.
    EXPECT_EQ(advice({{"rdma.trust", "on"}}, vf_config("")),
              "remove it, or let a pool have it: \"policy\": {\"trust\": true} in the pool, in "
              "/etc/rdma-hook/config.json, and the pool in rdma.pool");
}

TEST(Policy, AVlanOfAnInterfaceIsOne) {
    const Annotations vlan{{"rdma.mode", "shared"},
                           {"rdma.pool", "hca"},
                           {"rdma.ip", "10.9.0.1/24"},
                           {"rdma.vlan", "7"}};
    EXPECT_TRUE(check_vf(vlan, vf_config(of_vfs(R"("vlans": ["7"])"))));
    EXPECT_FALSE(check_vf(vlan, vf_config(of_vfs(R"("vlans": ["8"])"))));
    EXPECT_TRUE(check_vf(vlan, vf_config("")));
}

TEST(Policy, WithListedPoolsThereMustBeOne) {
    const Config config =
        vf_config(R"({"modes": ["softroce"], "parents": ["eth1"], "pools": ["fast"]})");
    const auto refused = check_vf({{"rdma.mode", "softroce"}, {"rdma.parent", "eth1"}}, config);
    ASSERT_FALSE(refused);
    EXPECT_NE(
        refused.error().message().find("policy.pools does not allow rdma.mode without a pool; "
                                       "set rdma.pool: choose one of fast"),
        std::string::npos)
        << refused.error().message();
}

TEST(Policy, ItsRateIsGivenToWhoDoesNotAsk) {
    const auto rate = [](const Annotations& more, const Config& config) {
        Annotations annotations{{"rdma.mode", "vf"}};
        annotations.insert(more.begin(), more.end());
        const auto request = parse_request(annotations, config);
        EXPECT_TRUE(request) << request.error().message();
        return vf_settings(request->attachments[0]).rate;
    };
    const Config bounded = vf_config(of_vfs(R"("max_tx_rate": 100)"));
    EXPECT_EQ(rate({}, bounded), (netns::VfRate{.min = 0, .max = 100}));
    EXPECT_EQ(rate({{"rdma.max_tx_rate", "5"}}, bounded), (netns::VfRate{.min = 0, .max = 5}));
    EXPECT_EQ(rate({}, vf_config(of_vfs(""))), std::nullopt);
    EXPECT_EQ(rate({}, vf_config(of_vfs(R"("max_tx_rate": 100)"), R"({"max_tx_rate": 50})")),
              (netns::VfRate{.min = 0, .max = 50}));
}

TEST(Policy, APoolsOwnGoesBeforeIt) {
    // Wider than the policy, in this pool alone.
    const Config wide =
        vf_config(of_vfs(R"("vlans": ["7"])"), R"({"vlans": ["8"], "trust": true})");
    EXPECT_TRUE(check_vf({{"rdma.vlan", "8"}, {"rdma.trust", "on"}}, wide));
    EXPECT_TRUE(check_vf({{"rdma.pool", "other"}, {"rdma.vlan", "7"}}, wide));
    EXPECT_FALSE(check_vf({{"rdma.pool", "other"}, {"rdma.vlan", "8"}}, wide));
    EXPECT_FALSE(check_vf({{"rdma.pool", "other"}, {"rdma.trust", "on"}}, wide));
    // Instead of it, not beside it.
    const auto refused = check_vf({{"rdma.vlan", "7"}}, wide);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find(
                  "pools.fast.policy.vlans does not allow rdma.vlan='7'; choose one of 8"),
              std::string::npos)
        << refused.error().message();
    // A rule that the pool lacks is the policy's.
    EXPECT_FALSE(check_vf({{"rdma.spoofchk", "off"}}, wide));
    // Narrower; and other attachments of the container have rules of their own.
    const Config narrow = vf_config(of_vfs(R"("trust": true)"), R"({"trust": false})");
    EXPECT_FALSE(check_vf({{"rdma.trust", "on"}}, narrow));
    EXPECT_TRUE(check_vf({{"rdma.1.mode", "vf"}, {"rdma.1.pool", "other"}, {"rdma.1.trust", "on"}},
                         narrow));
    // Before the default policy, too, which else stays.
    const Config alone = vf_config("", R"({"trust": true, "vlans": ["8"], "max_hca_handles": 4})");
    EXPECT_TRUE(check_vf({{"rdma.trust", "on"}, {"rdma.vlan", "8"}}, alone));
    EXPECT_FALSE(check_vf({{"rdma.vlan", "7"}}, alone));
    EXPECT_TRUE(check_vf({{"rdma.pool", "other"}, {"rdma.vlan", "7"}}, alone));
    EXPECT_FALSE(check_vf({{"rdma.spoofchk", "off"}}, alone));
    EXPECT_FALSE(check_vf({{"rdma.max_hca_handles", "5"}}, alone));
    EXPECT_EQ(parse_request({{"rdma.mode", "vf"}}, alone)->limits.at(0).handles, 4U);
}

TEST(Policy, CapabilitiesThatAModeForbids) {
    const Config config =
        vf_config(of_vfs(R"("forbid_capabilities": {"shared": ["CAP_NET_RAW", "CAP_NET_ADMIN"]})"));
    const Annotations hca{
        {"rdma.mode", "shared"}, {"rdma.pool", "hca"}, {"rdma.ip", "10.9.0.1/24"}};
    EXPECT_TRUE(check_vf(hca, config, {.capabilities = {"CAP_CHOWN", "CAP_NET_BIND_SERVICE"}}));
    EXPECT_TRUE(check_vf({}, config, {.capabilities = {"CAP_NET_RAW"}}));
    const auto refused = check_vf(hca, config, {.capabilities = {"CAP_CHOWN", "CAP_NET_RAW"}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::Refused);
    EXPECT_NE(
        refused.error().message().find("policy.forbid_capabilities does not allow CAP_NET_RAW "
                                       "beside rdma.mode='shared'; start it with "
                                       "--cap-drop NET_RAW"),
        std::string::npos)
        << refused.error().message();
    EXPECT_TRUE(check_vf(hca, vf_config(""), {.capabilities = {"CAP_NET_RAW"}}));
    const Config pool = vf_config("", R"({"forbid_capabilities": ["CAP_NET_RAW"]})");
    EXPECT_FALSE(check_vf({}, pool, {.capabilities = {"CAP_NET_RAW"}}));
    EXPECT_TRUE(check_vf({{"rdma.pool", "other"}}, pool, {.capabilities = {"CAP_NET_RAW"}}));
}

TEST(Policy, OtherRdmaDevicesNeedLeave) {
    const GivenNode umad{.path = "/dev/infiniband/umad0", .number = {.major = 231, .minor = 0}};
    const auto refused = check_vf({}, vf_config(""), {.char_devices = {umad}});
    ASSERT_FALSE(refused) << "the default policy refuses them";
    EXPECT_NE(refused.error().message().find("the default policy does not allow --device "
                                             "/dev/infiniband/umad0 (231:0) beside rdma.*; "
                                             "leave it out"),
              std::string::npos)
        << refused.error().message();
    EXPECT_FALSE(check_vf({}, vf_config(of_vfs("")), {.char_devices = {umad}}));
}

// The path in the container is the asker's choice; the device is what counts.
TEST(Policy, AListedPathStandsForTheHostsDeviceThere) {
    const Config open = vf_config(of_vfs(R"("char_devices": ["/dev/infiniband/umad0"])"));
    const std::vector<netns::DeviceNumber> listed{{.major = 231, .minor = 0}};
    const auto allows = [&](const char* path, netns::DeviceNumber number) {
        return check_vf({}, open, {.char_devices = {{path, number}}, .listed = listed}).has_value();
    };
    EXPECT_TRUE(allows("/dev/infiniband/umad0", {.major = 231, .minor = 0}));
    EXPECT_TRUE(allows("/dev/foo", {.major = 231, .minor = 0}));
    EXPECT_FALSE(allows("/dev/infiniband/umad0", {.major = 231, .minor = 197})) << "uverbs5";
    EXPECT_FALSE(allows("/dev/infiniband/umad0", {.major = 510, .minor = 0}));
    EXPECT_FALSE(check_vf({}, open, {.char_devices = {{"/dev/infiniband/umad0", {231, 0}}}}))
        << "the host has no such node";
}
}  // namespace
}  // namespace hook
