// SPDX-License-Identifier: Apache-2.0
// Whatever annotations and configuration look like: an error of one printable line, or a request in
// which every value is valid. Never a crash.
#include <gtest/gtest.h>

#include "hook/request/request.h"
#include "tests/unit/oci/mutate.h"

namespace hook {
namespace {
constexpr unsigned kRounds = 1500;

constexpr char kConfig[] = R"({"pools":{"fast":{"mode":"softroce","default":true,
    "parents":["eth1","container"],"range":["10.9.0.10-10.9.0.200/24","fd00::1-fd00::9/64"],
    "defaults":{"mtu":"9000","ip":"auto"}},"hca":{"mode":"shared"}},
    "policy":{"modes":["softroce"],"parents":["eth1"],"addresses":["10.9.0.0/16","::/0"],
    "memlock":65536,"placement_host":true,"mac":false},
    "state_dir":"/run/rdma-hook","log":{"file":"/var/log/rdma-hook.log","level":"debug"}})";

void expect_one_line(const base::Error& error) {
    const std::string line = error.message();
    EXPECT_EQ(line, base::printable(line, line.size()));
    EXPECT_LT(line.size(), 2000U);
}

void expect_valid(const Request& request) {
    ASSERT_LE(request.attachments.size(), 16U);
    for (const auto& attachment : request.attachments) {
        EXPECT_LE(attachment.index, 15U);
        EXPECT_LE(attachment.ifname.size(), 15U);
        EXPECT_EQ(attachment.ip_source == IpSource::Static, !attachment.addresses.empty());
        for (const auto& address : attachment.addresses)
            EXPECT_TRUE(netns::is_host_address(address));
        const auto again = attachment_from_json(to_json(attachment));
        ASSERT_TRUE(again) << again.error().message();
        EXPECT_EQ(*again, attachment);
    }
}

TEST(RequestHostile, DamagedAnnotations) {
    const Annotations valid{{"rdma.mode", "softroce"},
                            {"rdma.ip", "10.9.0.1/24,fd00::1/64"},
                            {"rdma.mac", "02:00:5e:10:00:01"},
                            {"rdma.mtu", "9000"},
                            {"rdma.ifname", "ib0"},
                            {"rdma.parent", "eth1"},
                            {"rdma.memlock", "unlimited"},
                            {"rdma.1.mode", "shared"},
                            {"rdma.1.parent", "mlx5_0"},
                            {"rdma.1.ip", "10.8.0.1/24"},
                            {"rdma.2.mode", "softroce"}};
    const Config config = parse_config(kConfig).value();
    unsigned taken = 0;
    for (unsigned seed = 0; seed < kRounds; ++seed) {
        SCOPED_TRACE(seed);
        test::Mutator mutator(seed);
        Annotations damaged;
        for (const auto& [key, value] : valid) {
            // Few at a time, so that some requests stay acceptable.
            const size_t what = mutator.pick(30);
            damaged.emplace(what == 0 ? mutator.damage_text(key) : key,
                            what == 1 ? mutator.damage_text(value) : value);
        }
        const auto request = parse_request(damaged, config);
        if (!request) {
            expect_one_line(request.error());
            continue;
        }
        ++taken;
        expect_valid(*request);
        const auto policy = check_policy(*request, config, {.privileged = seed % 2 == 0});
        if (!policy)
            expect_one_line(policy.error());
    }
    EXPECT_GT(taken, kRounds / 10);
}

TEST(ConfigHostile, DamagedTextAndTrees) {
    const auto tree = base::parse_json(kConfig, "x");
    ASSERT_TRUE(tree);
    for (unsigned seed = 0; seed < kRounds; ++seed) {
        SCOPED_TRACE(seed);
        test::Mutator mutator(seed);
        base::Json damaged = *tree;
        mutator.damage_tree(damaged);
        for (const std::string& text : {mutator.damage_text(kConfig), base::dump_json(damaged)}) {
            const auto config = parse_config(text);
            if (!config) {
                EXPECT_EQ(config.error().code, base::Code::BadConfig);
                expect_one_line(config.error());
                continue;
            }
            EXPECT_TRUE(config->state_dir.starts_with("/run/"));
            const auto request = parse_request({{"rdma.mode", "softroce"}}, *config);
            if (request)
                expect_valid(*request);
        }
    }
}
}  // namespace
}  // namespace hook
