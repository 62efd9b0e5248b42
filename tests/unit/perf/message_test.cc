// SPDX-License-Identifier: Apache-2.0
#include "perf/protocol/message.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/protocol/fields.h"

namespace perf {
namespace {

using base::Code;
using base::Json;

Json good_point() {
    return to_json(Point{.size = 4096, .depth = 16, .batch = 4, .slots = 8, .time_ms = 100});
}

Json good_device() {
    return to_json(DeviceInfo{.device = "rxe0",
                              .netdev = "rdma0",
                              .gid = parse_address("10.9.0.1").value(),
                              .active_mtu = 1024,
                              .initiator_depth = 16,
                              .responder_depth = 16});
}

// Every member in turn missing, of another type, negative, huge. `younger`: those that a peer of an
// older version does not send.
template <class Parse>
void expect_strict(const Json& good, Parse parse, const std::set<std::string>& younger = {}) {
    ASSERT_TRUE(parse(good)) << parse(good).error().message();
    for (const auto& [key, value] : good.items()) {
        Json missing = good;
        missing.erase(key);
        EXPECT_EQ(bool(parse(missing)), younger.contains(key)) << key << " missing";
        for (const Json& bad : {Json(nullptr), Json(Json::array()), Json(-1), Json(1.5)}) {
            // Null is as good as missing.
            if ((bad.is_array() && value.is_array()) || (bad.is_null() && younger.contains(key)))
                continue;
            Json changed = good;
            changed[key] = bad;
            EXPECT_FALSE(parse(changed)) << key << " = " << bad.dump();
        }
    }
}

TEST(Message, PointIsStrict) {
    expect_strict(good_point(),
                  parse<Point>,
                  {"ordering",
                   "traffic_class",
                   "service_level",
                   "flow_label",
                   "pkey_index",
                   "reads",
                   "inline_bytes",
                   "signal",
                   "credit"});
    Json point = good_point();
    point["size_bytes"] = 1ULL << 40U;
    EXPECT_FALSE(parse<Point>(point));
    point = good_point();
    point["depth"] = 1000000;
    EXPECT_FALSE(parse<Point>(point));
    point = good_point();
    point["verb"] = "erase";
    EXPECT_FALSE(parse<Point>(point));
}

TEST(Message, PointRoundTrip) {
    const Point point{.verb = Verb::Send,
                      .mode = Mode::Latency,
                      .size = 17,
                      .slots = 3,
                      .iterations = 99,
                      .mtu = 4096,
                      .poll = {.mode = PollMode::Event},
                      .verify = Verify::Off,
                      .seed = UINT64_MAX};
    const auto back = parse<Point>(to_json(point));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(to_json(*back), to_json(point));
}

// Older programs registered their memory with strict ordering, and knew nothing else.
TEST(Message, OlderPeersMeanWhatTheyDid) {
    Json point = good_point();
    ASSERT_EQ(parse<Point>(point)->ordering, Ordering::Relaxed);
    point.erase("ordering");
    EXPECT_EQ(parse<Point>(point)->ordering, Ordering::Strict);
    Json opened = to_json(
        Opened{.endpoints = {Endpoint{}}, .mtu = 1024, .poll = {}, .ordering = Ordering::Relaxed});
    ASSERT_EQ(parse<Opened>(opened)->ordering, Ordering::Relaxed);
    opened.erase("ordering");
    EXPECT_EQ(parse<Opened>(opened)->ordering, Ordering::Strict);
}

TEST(Message, DeviceIsStrict) {
    expect_strict(good_device(), parse<DeviceInfo>, {"memory"});
    Json device = good_device();
    device["gid"] = "::";
    EXPECT_FALSE(parse<DeviceInfo>(device));
    device["gid"] = "10.9.0.1/24";
    EXPECT_FALSE(parse<DeviceInfo>(device));
    device = good_device();
    device["active_mtu_bytes"] = 1500;
    EXPECT_FALSE(parse<DeviceInfo>(device));
}

TEST(Message, LinkSpeedMayBeMissing) {
    EXPECT_FALSE(good_device().contains("link_bits_per_s"));
    EXPECT_EQ(parse<DeviceInfo>(good_device())->link_bps, 0U);
    Json device = good_device();
    device["link_bits_per_s"] = 25'000'000'000;
    EXPECT_EQ(parse<DeviceInfo>(device)->link_bps, 25'000'000'000U);
    EXPECT_EQ(to_json(*parse<DeviceInfo>(device)), device);
    for (const Json& bad : {Json(-1), Json("fast"), Json(1.5)}) {
        device["link_bits_per_s"] = bad;
        EXPECT_FALSE(parse<DeviceInfo>(device)) << bad.dump();
    }
}

TEST(Message, AnAdapterIsNamedWhereItsSideTells) {
    Json device = good_device();
    EXPECT_EQ(parse<DeviceInfo>(device)->identity.part, "");
    device["part"] = "02c9:101d";
    device["firmware"] = "22.41.1000";
    device["pcie"] = "16.0 GT/s PCIe x16";
    device["numa_node"] = "1";
    EXPECT_EQ(to_json(*parse<DeviceInfo>(device)), device);
    device["board"] = 7;
    EXPECT_FALSE(parse<DeviceInfo>(device));
}

TEST(Message, TextOfThePeerIsMadeSafe) {
    Json device = good_device();
    device["device"] = "rxe\x1b[2J" + std::string(1000, 'x');
    const auto info = parse<DeviceInfo>(device);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->device.find('\x1b'), std::string::npos);
    EXPECT_LT(info->device.size(), 300U);
}

TEST(Message, EndpointIsStrict) {
    const Json good =
        to_json(Endpoint{.qpn = 17, .psn = 1, .address = 4096, .length = 10, .rkey = 7});
    expect_strict(good, parse<Endpoint>);
    for (const char* key : {"qpn", "psn"}) {
        Json big = good;
        big[key] = 1U << 24U;
        EXPECT_FALSE(parse<Endpoint>(big)) << key;
    }
    Json wraps = good;
    wraps["address"] = UINT64_MAX - 5;
    EXPECT_FALSE(parse<Endpoint>(wraps));
}

TEST(Message, OpenedIsStrict) {
    expect_strict(to_json(Opened{.endpoints = {Endpoint{}}, .mtu = 1024, .poll = {}}),
                  parse<Opened>,
                  {"ordering", "reads"});
    Opened by_cm{.endpoints = {Endpoint{}}, .mtu = 1024, .ticket = CmTicket{4711, 5, true}};
    EXPECT_TRUE(parse<Opened>(to_json(by_cm))->ticket->confirm);
    Json wrong = to_json(by_cm);
    wrong["cm"]["confirm"] = 1;
    EXPECT_FALSE(parse<Opened>(wrong));
}

TEST(Message, ExposureIsStrict) {
    const Json good = to_json(Exposure{.address = 4096, .length = 4096, .rkey = 7});
    expect_strict(good, parse<Exposure>);
    for (const uint64_t length : {uint64_t{0}, uint64_t{64}, uint64_t{1} << 40U}) {
        Json other = good;
        other["length"] = length;
        EXPECT_FALSE(parse<Exposure>(other)) << length;
    }
    Json wraps = good;
    wraps["address"] = UINT64_MAX - 5;
    EXPECT_FALSE(parse<Exposure>(wraps));
}

TEST(Message, ListeningIsStrict) {
    const Json good = to_json(Listening{.endpoint = {.qpn = 17}, .queue_key = 5});
    expect_strict(good, parse<Listening>);
    Json privileged = good;
    privileged["queue_key"] = 0x80000000U;
    EXPECT_FALSE(parse<Listening>(privileged));
}

TEST(Message, ListsAreStrict) {
    const auto read = [](const Json& json) {
        return read_member<std::vector<uint32_t>>(json, "immediates", 0, kMaxHeard);
    };
    Json list = {{"immediates", Json::array({1, 2})}};
    EXPECT_EQ(read(list)->size(), 2U);
    list["immediates"].push_back(-1);
    EXPECT_FALSE(read(list));
    list["immediates"] = Json(std::vector<int>(kMaxHeard + 1, 1));
    EXPECT_FALSE(read(list));
    EXPECT_FALSE(read(Json::object()));
}

TEST(Message, StreamOfferIsStrict) {
    expect_strict(to_json(StreamOffer{.port = 4711, .secret = 1, .poll = {}}), parse<StreamOffer>);
    EXPECT_FALSE(parse<StreamOffer>({{"port", 0}, {"secret", 1}, {"poll", "event"}}));
}

TEST(Message, CheckedRoundTrip) {
    Checked checked{.messages = 5, .bytes = 320, .wrong = std::nullopt};
    EXPECT_FALSE(parse<Checked>(to_json(checked))->wrong);
    checked.wrong = {"server", 3, true, {17, 0xa5, 0x25, "bit flip"}};
    const auto back = parse<Checked>(to_json(checked));
    ASSERT_TRUE(back);
    EXPECT_EQ(to_json(*back), to_json(checked));
    Json broken = to_json(checked);
    broken["wrong"] = 7;
    EXPECT_FALSE(parse<Checked>(broken));
    broken = to_json(checked);
    broken["wrong"]["expected"] = 256;
    EXPECT_FALSE(parse<Checked>(broken));
}

TEST(Message, HelloAndVersions) {
    Hello own = own_hello();
    own.machine.clear();  // may be missing, as these may
    own.platform = {};
    expect_strict(to_json(own), parse<Hello>);
    Hello peer = own;
    // One version back is spoken here; what is newer decides itself.
    for (const int protocol : {kProtocol - 1, kProtocol, kProtocol + 1, 1'000'000}) {
        peer.protocol = protocol;
        EXPECT_TRUE(check_compatible(peer, Side::Client)) << protocol;
        EXPECT_TRUE(check_compatible(peer, Side::Server)) << protocol;
    }
    peer.protocol = kProtocol - 2;
    peer.version = "0.0.9";
    for (const auto& [side, fix] : {std::pair{Side::Client, "upgrade rdma-perf on the client"},
                                    std::pair{Side::Server, "upgrade rdma-perf on the server"}}) {
        const auto refused = check_compatible(peer, side);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Code::BadInput);
        EXPECT_THAT(refused.error().message(), testing::HasSubstr("0 at the peer (version 0.0.9)"));
        EXPECT_EQ(refused.error().fix, fix);
    }
}

TEST(Message, OfVersionOneOnlyBandwidthOfWriteOverUcIsRefused) {
    Hello older = own_hello();
    older.protocol = 1;
    for (const Verb verb : {Verb::Write, Verb::WriteImm, Verb::Send, Verb::SendImm}) {
        for (const Mode mode : {Mode::Bandwidth, Mode::Latency}) {
            for (const Transport transport : {Transport::Rc, Transport::Uc}) {
                const Point p{.verb = verb, .transport = transport, .mode = mode, .size = 64};
                const bool has_changed =
                    verb == Verb::Write && mode == Mode::Bandwidth && transport == Transport::Uc;
                const auto done = check_meaning(p, older, Side::Server);
                EXPECT_EQ(done.has_value(), !has_changed) << describe(p);
                EXPECT_TRUE(check_meaning(p, own_hello(), Side::Server)) << describe(p);
            }
        }
    }
    const Point changed{.verb = Verb::Write, .transport = Transport::Uc, .mode = Mode::Bandwidth};
    const auto refused = check_meaning(changed, older, Side::Client);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::Unsupported);
    EXPECT_THAT(refused.error().message(), testing::HasSubstr("needs protocol 2, and the client"));
    EXPECT_EQ(refused.error().fix, "upgrade rdma-perf on the client");
}

TEST(Message, MachineMayBeMissing) {
    Hello own = own_hello();
    own.machine.clear();
    Json hello = to_json(own);
    EXPECT_FALSE(hello.contains("machine"));
    EXPECT_EQ(parse<Hello>(hello)->machine, "");
    hello["machine"] = "5e5c9c1e";
    EXPECT_EQ(parse<Hello>(hello)->machine, "5e5c9c1e");
    own.machine = "5e5c9c1e";
    EXPECT_EQ(to_json(*parse<Hello>(to_json(own))), to_json(own));
    hello["machine"] = "\x1b[2J" + std::string(1000, 'x');
    EXPECT_EQ(parse<Hello>(hello)->machine.find('\x1b'), std::string::npos);
    EXPECT_LT(parse<Hello>(hello)->machine.size(), 300U);
    for (const Json& bad : {Json(nullptr), Json(7), Json(Json::array())}) {
        hello["machine"] = bad;
        EXPECT_FALSE(parse<Hello>(hello)) << bad.dump();
    }
}

TEST(Message, UnknownMembersAreIgnored) {
    Json hello = to_json(own_hello());
    hello["auth"] = Json::object();
    EXPECT_TRUE(parse<Hello>(hello));
}

TEST(Message, ErrorFromAStrangeServer) {
    EXPECT_EQ(parse_error_message(Json::object()).code, Code::Internal);
    EXPECT_EQ(parse_error_message({{"code", 7}, {"text", Json::array()}}).code, Code::Internal);
    const auto error = parse_error_message({{"code", "timeout"}, {"text", "a\nb"}});
    EXPECT_EQ(error.code, Code::Timeout);
    EXPECT_EQ(error.text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace perf
