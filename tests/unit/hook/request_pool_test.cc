// SPDX-License-Identifier: Apache-2.0
// The order in which values win: the annotation, then the pool's default, then what the pool has
// (parents, range), then the built-in default.
#include <gtest/gtest.h>

#include "hook/request/request.h"

namespace hook {
namespace {

Config config() {
    auto parsed = parse_config(R"({"pools": {
        "fast": {"mode": "softroce", "default": true, "parents": ["eth1", "eth2", "container"],
                 "range": ["10.9.0.10-10.9.0.200/24", "fd00::10-fd00::ff/64"],
                 "defaults": {"mtu": "9000"}},
        "quiet": {"mode": "softroce", "range": "10.8.0.1-10.8.0.9/24", "defaults": {"ip": "none"}},
        "old": {"mode": "softroce", "parents": ["eth3"], "defaults": {"placement": "host",
                "mtu": "1500"}},
        "hca": {"mode": "shared", "parents": ["mlx5_0"]},
        "vfs": {"mode": "vf", "parents": ["eth4"], "devices": ["enp1s0"]},
        "bare": {"mode": "softroce"}}})");
    EXPECT_TRUE(parsed) << parsed.error().message();
    return std::move(parsed).value();
}

Attachment parse_one(Annotations annotations) {
    annotations.emplace("rdma.mode", "softroce");
    auto request = parse_request(annotations, config());
    EXPECT_TRUE(request) << request.error().message();
    return request ? request->attachments.at(0) : Attachment{};
}

TEST(RequestPool, TheModesDefaultPool) {
    const Attachment a = parse_one({});
    EXPECT_EQ(a.pool, "fast");
    EXPECT_EQ(a.parent, "eth1");
    EXPECT_EQ(a.ip_source, IpSource::Auto);
    EXPECT_EQ(a.mtu, 9000U);
    // A mode without a default pool has none.
    const auto shared = parse_request(
        {{"rdma.mode", "shared"}, {"rdma.parent", "x"}, {"rdma.ip", "10.9.0.1/24"}}, config());
    ASSERT_TRUE(shared);
    EXPECT_EQ(shared->attachments[0].pool, "");
}

TEST(RequestPool, AnnotationsWin) {
    const Attachment a =
        parse_one({{"rdma.parent", "eth2"}, {"rdma.ip", "10.9.0.1/24"}, {"rdma.mtu", "1500"}});
    EXPECT_EQ(a.parent, "eth2");
    EXPECT_EQ(a.ip_source, IpSource::Static);
    EXPECT_EQ(a.mtu, 1500U);
    EXPECT_EQ(parse_one({{"rdma.ip", "none"}}).ip_source, IpSource::None);
}

TEST(RequestPool, DefaultsWinOverTheRange) {
    const Attachment a = parse_one({{"rdma.pool", "quiet"}});
    EXPECT_EQ(a.ip_source, IpSource::None);
    EXPECT_EQ(a.parent, "");
    EXPECT_EQ(parse_one({{"rdma.pool", "quiet"}, {"rdma.ip", "auto"}}).ip_source, IpSource::Auto);
}

TEST(RequestPool, DefaultsApplyOnlyWhereTheyMakeSense) {
    const Attachment host = parse_one({{"rdma.pool", "old"}});
    EXPECT_EQ(host.placement, Placement::Host);
    EXPECT_EQ(host.parent, "eth3");
    EXPECT_FALSE(host.mtu);
    EXPECT_EQ(parse_one({{"rdma.pool", "old"}, {"rdma.placement", "container"}}).mtu, 1500U);
    const Attachment engine = parse_one({{"rdma.parent", "container"}});
    EXPECT_EQ(engine.ip_source, IpSource::None);
    EXPECT_FALSE(engine.mtu);
    EXPECT_EQ(engine.pool, "fast");
}

// The parent of a pool of VFs is in journals, and an equal request joins by it. Beside near:GPU the
// host decides which of the parents it is.
TEST(RequestPool, TheParentBesideADevice) {
    const struct {
        const char* mode;
        const char* pool;
        const char* device;
        const char* parent;
    } rows[] = {{"vf", "vfs", "", "eth4"},
                {"vf", "vfs", "enp1s0#3", "eth4"},
                {"vf", "vfs", "near:0", "eth4"},
                {"shared", "hca", "near:0", ""}};

    for (const auto& row : rows) {
        Annotations annotations{
            {"rdma.mode", row.mode}, {"rdma.pool", row.pool}, {"rdma.ip", "10.9.0.1/24"}};
        if (*row.device != '\0')
            annotations["rdma.device"] = row.device;
        EXPECT_EQ(parse_one(annotations).parent, row.parent) << row.mode << " " << row.device;
    }
}

TEST(RequestPool, Refusals) {
    const struct {
        Annotations annotations;
        const char* says;
        const char* fix;
        Code code = Code::BadInput;
    } table[] = {
        {{{"rdma.pool", "fats"}}, "rdma.pool='fats' is not a pool", "did you mean fast? pools: "},
        {{{"rdma.pool", "hca"}},
         "rdma.pool='hca' is a pool for mode shared",
         "rdma.mode to shared"},
        {{{"rdma.parent", "eth9"}},
         "rdma.parent='eth9' is not a parent of pool fast",
         "choose one of eth1, eth2, container",
         Code::Refused},
        {{{"rdma.pool", "bare"}, {"rdma.ip", "auto"}},
         "rdma.ip='auto' needs a pool with a range, and pool bare has none",
         "set \"range\" of pool bare in /etc/rdma-hook/config.json, or give addresses in rdma.ip"},
        {{{"rdma.pool", "old"}, {"rdma.ip", "10.8.0.1/24"}},
         "rdma.ip='10.8.0.1/24' does not go with rdma.placement=host",
         "remove rdma.ip"},
        {{{"rdma.mtu", "1000"}}, "rdma.mtu='1000' is too small for IPv6", "1280"},
    };

    for (auto row : table) {
        row.annotations.emplace("rdma.mode", "softroce");
        const auto request = parse_request(row.annotations, config());
        ASSERT_FALSE(request) << row.says;
        EXPECT_EQ(request.error().code, row.code) << row.says;
        EXPECT_NE(request.error().text.find(row.says), std::string::npos)
            << request.error().message();
        EXPECT_NE(request.error().fix.find(row.fix), std::string::npos)
            << request.error().message();
    }
    const auto none = parse_request({{"rdma.mode", "vf"}, {"rdma.pool", "x"}}, Config{});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().fix, "add it to \"pools\" in /etc/rdma-hook/config.json");
}

// A configuration that did not come from parse_config is not trusted either.
TEST(RequestPool, BrokenDefaultsAreAnError) {
    for (const auto& [key, value] :
         Annotations{{"mtu", "1"}, {"nonsense", "1"}, {"ip", "10.9.0.1/24"}, {"mac", "auto"}}) {
        Config broken;
        broken.pools.push_back(Pool{.name = "p",
                                    .mode = "softroce",
                                    .is_default = true,
                                    .choose = Choose::First,
                                    .defaults = {{key, value}}});
        const auto request = parse_request({{"rdma.mode", "softroce"}}, broken);
        ASSERT_FALSE(request) << key;
        EXPECT_EQ(request.error().code, Code::BadConfig) << key;
        EXPECT_NE(request.error().message().find("pools.p.defaults: "), std::string::npos);
    }
}
}  // namespace
}  // namespace hook
