// SPDX-License-Identifier: Apache-2.0
#include "hook/request/config.h"

#include <gtest/gtest.h>

#include "hook/request/request.h"

namespace hook {
namespace {
Config parse(const std::string& text) {
    auto config = parse_config(text);
    EXPECT_TRUE(config) << config.error().message();
    return config ? std::move(config).value() : Config{};
}

TEST(Config, EmptyIsTheDefault) {
    const Config config = parse("{}");
    EXPECT_TRUE(config.pools.empty());
    EXPECT_FALSE(config.policy);
    EXPECT_EQ(config.state_dir, "/run/rdma-hook");
    EXPECT_EQ(config.log_file, "");
    EXPECT_EQ(config.log_level, base::log::Level::Info);
}

TEST(Config, Everything) {
    const Config config = parse(R"({
        "$schema": "/usr/share/rdma-hook/schema/config.schema.json",
        "pools": {
            "fast": {"mode": "softroce", "default": true, "parents": ["eth1", "container"],
                     "range": ["10.9.0.10-10.9.0.200/24", "fd00::10-fd00::ff/64"],
                     "defaults": {"mtu": "9000", "placement": "container", "ip": "auto"}},
            "hca": {"mode": "shared", "default": true, "range": "10.8.0.5-10.8.0.5/24"},
            "hca.2": {"mode": "shared"}},
        "policy": {"modes": ["softroce", "vf"], "parents": ["eth1", "container"],
                   "addresses": ["10.9.0.0/16", "fd00::/8", "0.0.0.0/0"], "memlock": 65536,
                   "placement_host": true, "privileged": true, "mac": true},
        "state_dir": "/run/rdma-test", "runtime": "/usr/bin/crun",
        "log": {"file": "/var/log/rdma-hook.log", "level": "debug"}})");
    ASSERT_EQ(config.pools.size(), 3U);
    const Pool& fast = config.pools[0];
    EXPECT_EQ(fast.name, "fast");
    EXPECT_TRUE(fast.is_default);
    EXPECT_EQ(fast.parents, (std::vector<std::string>{"eth1", "container"}));
    ASSERT_EQ(fast.ranges.size(), 2U);
    EXPECT_EQ(to_string(fast.ranges[0].first), "10.9.0.10/24");
    EXPECT_EQ(to_string(fast.ranges[0].last), "10.9.0.200/24");
    EXPECT_EQ(to_string(fast.ranges[1].last), "fd00::ff/64");
    EXPECT_EQ(fast.defaults.at("mtu"), "9000");
    ASSERT_TRUE(config.policy);
    EXPECT_EQ(config.policy->modes.size(), 2U);
    EXPECT_EQ(config.policy->addresses->size(), 3U);
    EXPECT_EQ(config.policy->memlock_max, 65536U);
    EXPECT_EQ(config.policy->placement_host, true);
    EXPECT_EQ(config.policy->privileged, true);
    EXPECT_EQ(config.policy->mac->size(), 1U);
    EXPECT_EQ(config.state_dir, "/run/rdma-test");
    EXPECT_EQ(config.runtime, "/usr/bin/crun");
    EXPECT_EQ(config.log_file, "/var/log/rdma-hook.log");
    EXPECT_EQ(config.log_level, base::log::Level::Debug);
}

TEST(Config, AnEmptyPolicyDeniesEverything) {
    const Config config = parse(R"({"policy": {}})");
    ASSERT_TRUE(config.policy);
    EXPECT_TRUE(config.policy->modes.empty());
    EXPECT_EQ(config.policy->memlock_max, 0U);
    EXPECT_FALSE(config.policy->placement_host || config.policy->privileged || config.policy->mac);
    EXPECT_FALSE(config.policy->pools || config.policy->attachments) << "these only narrow";
    EXPECT_EQ(parse(R"({"policy": {"memlock": "unlimited"}})").policy->memlock_max,
              kMemlockUnlimited);
}

TEST(Config, RulesOfPolicyAndPool) {
    const Config config = parse(R"({
        "pools": {"hca": {"mode": "shared", "policy": {
            "vlans": ["7"], "mac": false, "max_tx_rate": 100, "trust": true,
            "forbid_capabilities": ["CAP_NET_RAW"], "max_hca_handles": 4}}},
        "policy": {"modes": ["shared"], "pools": ["hca"], "vlans": ["1", "100-4094"],
            "mac": ["02:00:5e:00:00:01", "02:00:5e:10:00:00-02:00:5e:1f:ff:ff"], "guid": true,
            "min_tx_rate": 10, "max_tx_rate": 1000000, "attachments": 16,
            "char_devices": ["/dev/infiniband/umad0"],
            "forbid_capabilities": {"shared": ["CAP_NET_RAW", "CAP_NET_ADMIN"], "vf": []}}})");
    ASSERT_TRUE(config.policy);
    const Policy& policy = *config.policy;
    EXPECT_EQ(policy.pools, (std::vector<std::string>{"hca"}));
    EXPECT_EQ(policy.vlans, (std::vector<VlanRange>{{1, 1}, {100, 4094}}));
    ASSERT_EQ(policy.mac->size(), 2U);
    EXPECT_EQ(to_string((*policy.mac)[1].last), "02:00:5e:1f:ff:ff");
    EXPECT_EQ(policy.guid, true);
    EXPECT_EQ(policy.min_tx_rate, 10U);
    EXPECT_EQ(policy.max_tx_rate, 1000000U);
    EXPECT_EQ(policy.attachments, 16U);
    EXPECT_EQ(policy.char_devices, (std::vector<std::string>{"/dev/infiniband/umad0"}));
    EXPECT_EQ(policy.forbid_capabilities->at("shared").size(), 2U);
    const Rules& rules = config.pools[0].rules;
    EXPECT_EQ(rules.vlans, (std::vector<VlanRange>{{7, 7}}));
    EXPECT_TRUE(rules.mac && rules.mac->empty());
    EXPECT_EQ(rules.trust, true);
    EXPECT_FALSE(rules.guid) << "what a pool does not say is the policy's";
    EXPECT_EQ(rules.forbid_capabilities->at("shared"), (std::vector<std::string>{"CAP_NET_RAW"}));
    EXPECT_EQ(rules.handles, 4U);
}

TEST(Config, FindPool) {
    const Config config = parse(R"({"pools": {"a": {"mode": "vf"},
        "b": {"mode": "softroce", "default": true}, "c": {"mode": "softroce"}}})");
    EXPECT_EQ(find_pool(config, "softroce", "")->name, "b");
    EXPECT_EQ(find_pool(config, "softroce", "c")->name, "c");
    EXPECT_EQ(find_pool(config, "softroce", "a")->mode, "vf");
    EXPECT_EQ(find_pool(config, "vf", ""), nullptr);
    EXPECT_EQ(find_pool(config, "vf", "x"), nullptr);
}
}  // namespace
}  // namespace hook
