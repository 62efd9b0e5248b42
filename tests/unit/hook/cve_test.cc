// SPDX-License-Identifier: Apache-2.0
// The rules that vulnerabilities of other programs teach, each under its name; the table is in
// SECURITY.md. Those that need a kernel or an engine are in tests/contract/placements_test.cc and
// tests/lab/scenarios/.
#include <array>
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "hook/container/in_config.h"
#include "hook/request/keys.h"
#include "hook/request/request.h"
#include "netns/base/ids.h"
#include "tests/unit/hook/way.h"

namespace test {
namespace {

using oci::Json;

// config.json after precreate, for each way of each mode that attaches by it.
void for_each_spec(const std::function<void(const Json& spec, const StateDir&)>& look) {
    size_t seen = 0;
    for (const Way& way : all_ways()) {
        if (way.refused)
            continue;
        SCOPED_TRACE(way.name);
        FakeHost fake{way.world};
        StateDir state;
        Life life{fake, state, "one"};
        take(way, life, state);
        ASSERT_TRUE(life.precreate());
        if (!life.environment("RDMA_ERROR").empty())  // it starts without RDMA
            continue;
        look(life.spec(), state);
        ++seen;
    }
    EXPECT_GT(seen, 10U);
}

// The mounts that we added: all but those that Life's config.json has.
std::vector<Json> added_mounts(const Json& spec) {
    std::vector<Json> ours;
    for (const Json& mount : spec["mounts"]) {
        if (mount["destination"] != "/sys")
            ours.push_back(mount);
    }
    EXPECT_FALSE(ours.empty()) << "attach.json at least";
    return ours;
}

// A sysctl with a `+` in it was two.
TEST(Cve2022_0811, AValueIsNeverTakenForMoreThanOne) {
    constexpr std::array kPayloads = {"1+kernel.core_pattern=|/bin/sh #",
                                      "1;kernel.core_pattern=|/bin/sh",
                                      "1\nkernel.core_pattern=x",
                                      "$(touch /tmp/x)",
                                      "`touch /tmp/x`",
                                      "../../etc/shadow",
                                      "-- set Interface x type=internal",
                                      "\"},\"hooks\":{"};
    for (const hook::Key& key : hook::all_keys()) {
        for (const char* payload : kPayloads) {
            for (const std::string_view mode : hook::mode_names()) {
                hook::Annotations asked{{"rdma.mode", std::string(mode)}};
                asked["rdma." + std::string(key.name)] = payload;
                EXPECT_FALSE(hook::parse_request(asked, hook::Config{}))
                    << mode << ": " << key.name << "=" << payload;
            }
        }
    }
}

// An annotation became a property of a systemd unit.
TEST(Cve2024_3154, WhatWeWriteInAnnotationsIsOurs) {
    FakeHost fake;
    StateDir state;
    Life life{fake, state, "one"};
    life.annotations = {{"rdma.mode", "softroce"},
                        {"rdma.ip", "10.9.0.1/24"},
                        {"org.systemd.property.ExecStopPost", "[\"/bin/sh\"]"}};
    ASSERT_TRUE(life.precreate());
    auto expected = life.annotations;
    const auto after = life.spec()["annotations"].get<std::map<std::string, std::string>>();
    ASSERT_TRUE(after.contains(hook::kMarker));
    EXPECT_TRUE(base::is_uuid(after.at(hook::kMarker)));
    expected[hook::kMarker] = after.at(hook::kMarker);
    EXPECT_EQ(after, expected);
}

// Nodes with too much allowed.
TEST(Cve2021_1056, ARuleNamesOneDeviceToReadAndWrite) {
    for_each_spec([](const Json& spec, const StateDir&) {
        std::set<std::pair<int, int>> nodes;
        for (const Json& device : spec["linux"]["devices"]) {
            const auto path = device["path"].get<std::string>();
            EXPECT_TRUE(path.starts_with("/dev/infiniband/uverbs") ||
                        path == "/dev/infiniband/rdma_cm")
                << path;
            EXPECT_EQ(device["type"], "c");
            nodes.emplace(device["major"].get<int>(), device["minor"].get<int>());
        }
        EXPECT_FALSE(nodes.empty());
        std::set<std::pair<int, int>> allowed;
        for (const Json& rule : spec["linux"]["resources"]["devices"]) {
            if (!rule["allow"].get<bool>())
                continue;
            EXPECT_EQ(rule["type"], "c");
            EXPECT_EQ(rule["access"], "rw");
            allowed.emplace(rule.at("major").get<int>(), rule.at("minor").get<int>());
        }
        EXPECT_EQ(allowed, nodes);
    });
}

// A runtime mounted what the container had put in the place of a volume.
TEST(Cve2021_30465, WeMountFromOurOwnFolderAlone) {
    for_each_spec([](const Json& spec, const StateDir& state) {
        for (const Json& mount : added_mounts(spec)) {
            EXPECT_TRUE(mount["source"].get<std::string>().starts_with(state.path() + "/"))
                << mount;
            EXPECT_EQ(mount["options"], Json::array({"bind", "ro", "nosuid", "nodev", "noexec"}));
        }
    });
}

// The /dev/null that was mounted over masked paths was a link of the container's.
TEST(Cve2025_31133, WeMaskNoPath) {
    for_each_spec([](const Json& spec, const StateDir&) {
        EXPECT_FALSE(spec["linux"].contains("maskedPaths"));
        EXPECT_FALSE(spec["linux"].contains("readonlyPaths"));
    });
}

// The console was mounted over a link.
TEST(Cve2025_52565, NothingOfOursIsMountedInDev) {
    for_each_spec([](const Json& spec, const StateDir&) {
        for (const Json& mount : added_mounts(spec))
            EXPECT_FALSE(mount["destination"].get<std::string>().starts_with("/dev")) << mount;
    });
}

// Mounts led a write to /proc elsewhere.
TEST(Cve2025_52881, WeMountInTwoPlacesThatNobodyChooses) {
    for_each_spec([](const Json& spec, const StateDir&) {
        for (const Json& mount : added_mounts(spec)) {
            const auto place = mount["destination"].get<std::string>();
            EXPECT_TRUE(place == "/run/rdma/attach.json" || place == "/sys/class/infiniband" ||
                        place == "/sys/class/infiniband_verbs" ||
                        place == "/sys/class/infiniband_mad")
                << place;
        }
    });
}

TEST(Cve2024_0137, ModeHostDoesNothingInTheHostsNetwork) {
    for (const char* network : {Life::kHostsNetwork, "/proc/1/ns/net"}) {
        FakeHost fake;
        StateDir state;
        fake.world.engine_paths["/proc/1/ns/net"] = fake.world.host;
        fake.world.add_rdma(fake.world.host, World::kHostLink, "mlx5_0", "mlx5");
        Life life{fake, state, "one"};
        life.annotations = {{"rdma.mode", "host"}, {"rdma.device", "mlx5_0"}};
        life.network = network;
        const World before = fake.world;
        ASSERT_TRUE(life.precreate()) << network;
        EXPECT_EQ(fake.world, before) << difference(before, fake.world);
        EXPECT_EQ(life.environment("RDMA_DEVICE"), "mlx5_0");
        life.annotations.insert({{"rdma.1.mode", "softroce"}, {"rdma.1.ip", "10.9.0.1/24"}});
        EXPECT_FALSE(life.precreate()) << network;
        EXPECT_EQ(fake.world, before) << difference(before, fake.world);
    }
}

// A program of the host's ran in the host's network namespace.
TEST(Cve2024_0137, ModesThatWorkInANetworkAreRefusedTheHosts) {
    FakeHost fake;
    StateDir state;
    fake.world.engine_paths["/proc/1/ns/net"] = fake.world.host;
    Life life{fake, state, "one"};
    life.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}};
    life.network = "/proc/1/ns/net";
    const World before = fake.world;
    EXPECT_FALSE(life.precreate());
    EXPECT_EQ(fake.world, before) << difference(before, fake.world);
    EXPECT_EQ(state.leftovers(), std::vector<std::string>{});
}

}  // namespace
}  // namespace test
