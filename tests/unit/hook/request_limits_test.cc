// SPDX-License-Identifier: Apache-2.0
// rdma.max_hca_*: the annotation, a pool's default and the policy's bound together.
#include <gtest/gtest.h>

#include "hook/request/request.h"

namespace hook {
namespace {

Config config_with(const std::string& policy, const std::string& defaults = "{}") {
    auto parsed = parse_config(
        R"({"pools": {"p": {"mode": "softroce", "parents": ["eth1"], "default": true, "defaults": )" +
        defaults + "}}" + (policy.empty() ? "" : ", \"policy\": " + policy) + "}");
    EXPECT_TRUE(parsed) << parsed.error().message();
    return parsed ? std::move(parsed).value() : Config{};
}

constexpr char kBounds[] = R"({"modes": ["softroce"], "parents": ["eth1"],
    "max_hca_handles": 8, "max_hca_objects": 500})";
constexpr char kNoBounds[] = R"({"modes": ["softroce"], "parents": ["eth1"]})";

std::map<unsigned, Limits> limits(Annotations annotations, const Config& config) {
    annotations.emplace("rdma.mode", "softroce");
    const auto request = parse_request(annotations, config);
    EXPECT_TRUE(request) << request.error().message();
    EXPECT_TRUE(check_policy(*request, config, {}));
    return request->limits;
}

using ByIndex = std::map<unsigned, Limits>;

TEST(RequestLimits, NobodySaysNothing) {
    EXPECT_EQ(limits({}, Config{}), ByIndex{});
    EXPECT_EQ(limits({}, config_with(kNoBounds)), ByIndex{});
}

TEST(RequestLimits, EachAttachmentHasItsOwn) {
    EXPECT_EQ(
        limits({{"rdma.max_hca_handles", "2"},
                {"rdma.1.mode", "softroce"},
                {"rdma.2.mode", "vf"},
                {"rdma.2.device", "enp1s0"},
                {"rdma.2.max_hca_handles", "999999999"},
                {"rdma.2.max_hca_objects", "1"}},
               Config{}),
        (ByIndex{{0, {.handles = 2, .objects = {}}}, {2, {.handles = 999999999, .objects = 1}}}));
}

TEST(RequestLimits, AnyIsAllowedWhereThePolicyNamesNone) {
    EXPECT_EQ(limits({{"rdma.max_hca_objects", "7"}}, config_with(kNoBounds)),
              (ByIndex{{0, {.handles = {}, .objects = 7}}}));
}

TEST(RequestLimits, ThePolicysBoundHoldsForWhoDoesNotAsk) {
    EXPECT_EQ(limits({}, config_with(kBounds)), (ByIndex{{0, {.handles = 8, .objects = 500}}}));
    EXPECT_EQ(limits({{"rdma.max_hca_handles", "3"}}, config_with(kBounds)),
              (ByIndex{{0, {.handles = 3, .objects = 500}}}));
}

TEST(RequestLimits, APoolsDefaultYieldsToAnnotationAndPolicy) {
    const char* defaults = R"({"max_hca_handles": "4", "max_hca_objects": "900"})";
    EXPECT_EQ(limits({}, config_with("", defaults)),
              (ByIndex{{0, {.handles = 4, .objects = 900}}}));
    EXPECT_EQ(limits({{"rdma.max_hca_objects", "1000"}}, config_with("", defaults)),
              (ByIndex{{0, {.handles = 4, .objects = 1000}}}));
    EXPECT_EQ(limits({}, config_with(kBounds, defaults)),
              (ByIndex{{0, {.handles = 4, .objects = 500}}}))
        << "a default beyond the policy is no mistake of the container's";
}

TEST(RequestLimits, MoreThanThePolicysBoundIsRefused) {
    const struct {
        Annotations annotations;
        const char* says;
    } table[] = {
        {{{"rdma.max_hca_handles", "9"}},
         "policy.max_hca_handles does not allow rdma.max_hca_handles='9'; set at most 8"},
        {{{"rdma.1.mode", "softroce"}, {"rdma.1.max_hca_objects", "501"}},
         "policy.max_hca_objects does not allow rdma.1.max_hca_objects='501'; set at most 500"},
    };

    for (auto row : table) {
        row.annotations.emplace("rdma.mode", "softroce");
        const Config bounds = config_with(kBounds);
        const auto request = parse_request(row.annotations, bounds);
        ASSERT_TRUE(request) << request.error().message();
        const auto done = check_policy(*request, bounds, {});
        ASSERT_FALSE(done) << row.says;
        EXPECT_EQ(done.error().code, Code::Refused);
        EXPECT_NE(done.error().message().find(row.says), std::string::npos)
            << done.error().message();
    }
}

TEST(RequestLimits, BadValues) {
    for (const char* value : {"0", "-1", "max", "unlimited", "01", "1000000000", "1 ", "1.5", ""}) {
        for (const char* key : {"rdma.max_hca_handles", "rdma.max_hca_objects"}) {
            const auto request = parse_request({{"rdma.mode", "softroce"}, {key, value}}, Config{});
            ASSERT_FALSE(request) << key << "=" << value;
            EXPECT_EQ(request.error().code, Code::BadInput);
            EXPECT_NE(request.error().fix.find("a whole number from 1 to 999999999"),
                      std::string::npos)
                << request.error().message();
        }
    }
}

TEST(RequestLimits, BadBounds) {
    for (const char* value : {"0", "-1", "\"8\"", "\"max\"", "1000000000", "1.5", "null", "true"}) {
        const auto parsed =
            parse_config(R"({"policy": {"max_hca_objects": )" + std::string(value) + "}}");
        ASSERT_FALSE(parsed) << value;
        EXPECT_EQ(parsed.error().code, Code::BadConfig);
        EXPECT_NE(parsed.error().message().find("'policy.max_hca_objects' must be a whole number"),
                  std::string::npos)
            << parsed.error().message();
    }
    EXPECT_FALSE(
        parse_config(R"({"pools": {"p": {"mode": "vf", "defaults": {"max_hca_handles": "0"}}}})"));
}

TEST(RequestLimits, TheTightestOfTwo) {
    const Limits none;
    const Limits some{.handles = 3, .objects = {}};
    const Limits both{.handles = 5, .objects = 9};
    EXPECT_EQ(tightest(none, none), none);
    EXPECT_EQ(tightest(some, none), some);
    EXPECT_EQ(tightest(both, some), (Limits{.handles = 3, .objects = 9}));
    EXPECT_EQ(tightest(some, both), tightest(both, some));
}
}  // namespace
}  // namespace hook
