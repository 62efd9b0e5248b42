// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "hook/request.h"

namespace hook {
namespace {
using base::Code;

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
    return check_policy(request, config, privileged);
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
    EXPECT_TRUE(check_policy(Request{}, config("{}"), true));
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
        {{{"rdma.1.mode", "vf"}}, kOpen, false, "policy.modes does not allow rdma.1.mode='vf'"},
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
}  // namespace
}  // namespace hook
