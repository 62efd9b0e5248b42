// SPDX-License-Identifier: Apache-2.0
// The contract of netns/ovs.h: the World's Open vSwitch, and a real ovsdb-server.
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"
#include "tests/contract/outside_ovs.h"

namespace test {
namespace {

using netns::OvsMap;
using netns::OvsPort;
using netns::OvsPortSpec;

const OvsMap kOurMarks = {{"rdma-hook", "c1"}};
const OvsMap kOtherMarks = {{"rdma-hook", "c2"}};

Deadline in_time() {
    return Deadline::in(std::chrono::seconds(60));
}

Deadline in_vain() {
    return Deadline::in(std::chrono::milliseconds(500));
}

OvsPortSpec port_spec(const std::string& name, const OvsMap& marks = kOurMarks) {
    OvsPortSpec spec;
    spec.bridge = "br0";
    spec.name = name;
    spec.marks = marks;
    return spec;
}

class OvsContract : public OutsideTest<OvsOutside> {
  protected:
    void prepare() override {
        const auto made = room().add_bridge("br0", {{"made", "by us"}}, in_time());
        ASSERT_TRUE(made) << made.error().message();
    }

    netns::Ovs& room() { return outside_->room(); }

    void add(const OvsPortSpec& spec) {
        const auto done = room().add_port(spec, in_time());
        ASSERT_TRUE(done) << done.error().message();
    }

    base::Error refusal(const OvsPortSpec& spec, Deadline deadline = in_time()) {
        return error_of(room().add_port(spec, deadline));
    }

    std::optional<OvsPort> port(const std::string& name) {
        return room().find_port(name, in_time()).value();
    }

    std::vector<std::string> marked(const OvsMap& marks) {
        std::vector<std::string> names;
        const auto ports = room().list_ports(marks, in_time());
        for (const OvsPort& port : ports.value())
            names.push_back(port.name);
        return names;
    }
};

INSTANTIATE_TEST_SUITE_P(
    ,
    OvsContract,
    Values(OutsideFactory<OvsOutside>{"Fake", [] { return std::make_unique<FakeOvsOutside>(); }},
           OutsideFactory<OvsOutside>{"Ovsdb",
                                      [] { return std::make_unique<RealOvsOutside>(); },
                                      RealOvsOutside::missing}),
    OutsideNames());

TEST_P(OvsContract, BridgesAreMadeAndFound) {
    const auto bridge = room().find_bridge("br0", in_time()).value();
    ASSERT_TRUE(bridge);
    EXPECT_EQ(*bridge, (netns::OvsBridge{"br0", 1, false, {{"made", "by us"}}}));
    EXPECT_FALSE(room().find_bridge("br1", in_time()).value());
    const auto own = port("br0");
    ASSERT_TRUE(own);
    EXPECT_EQ(own->bridge, "br0");
    for (const char* taken : {"br0", "rep0"}) {
        if (taken != std::string("br0"))
            add(port_spec(taken));
        const Error again = error_of(room().add_bridge(taken, {}, in_time()));
        EXPECT_EQ(again.code, Code::Busy) << again.message();
        EXPECT_EQ(again.sys, EEXIST);
    }
}

TEST_P(OvsContract, ABridgeGoesWithItsPortsIfItIsMarked) {
    add(port_spec("rep0"));
    ASSERT_TRUE(room().add_bridge("br1", kOtherMarks, in_time()));
    EXPECT_TRUE(room().remove_bridge("br0", {{"made", "by others"}}, in_time()));
    EXPECT_TRUE(room().remove_bridge("br0", kOurMarks, in_time()));
    EXPECT_TRUE(room().find_bridge("br0", in_time()).value());
    EXPECT_EQ(room().remove_bridge("br0", {}, in_time()).error().code, Code::Internal);
    for (int twice = 0; twice < 2; ++twice)
        EXPECT_TRUE(room().remove_bridge("br0", {{"made", "by us"}}, in_time()));
    EXPECT_FALSE(room().find_bridge("br0", in_time()).value());
    EXPECT_FALSE(port("rep0"));
    EXPECT_TRUE(room().find_bridge("br1", in_time()).value());
}

TEST_P(OvsContract, PortsAreMadeFoundAndRemoved) {
    OvsPortSpec spec = port_spec("rep1");
    spec.tag = 100;
    spec.policing_kbps = 1000000;
    spec.marks["which"] = "1";
    add(spec);
    OvsPortSpec trunk = port_spec("rep0", kOtherMarks);
    trunk.trunks = {30, 10};
    add(trunk);
    add(port_spec("rep2"));
    OvsPort expected{"rep1", "br0", "", 100, {}, 1000000, spec.marks};
    EXPECT_EQ(port("rep1"), expected);
    expected = {"rep0", "br0", "", {}, {10, 30}, 0, kOtherMarks};
    EXPECT_EQ(port("rep0"), expected);
    EXPECT_FALSE(port("rep9"));
    EXPECT_EQ(room().find_bridge("br0", in_time()).value()->ports, 4U);
    EXPECT_EQ(marked(kOurMarks), (std::vector<std::string>{"rep1", "rep2"}));
    EXPECT_EQ(marked(spec.marks), std::vector<std::string>{"rep1"});
    EXPECT_EQ(marked({}), (std::vector<std::string>{"br0", "rep0", "rep1", "rep2"}));
    for (int twice = 0; twice < 2; ++twice)
        EXPECT_TRUE(room().remove_ports(spec.marks, in_time()));
    EXPECT_TRUE(marked(spec.marks).empty());
    EXPECT_TRUE(room().remove_ports(kOurMarks, in_time()));
    EXPECT_EQ(room().remove_ports({}, in_time()).error().code, Code::Internal);
    EXPECT_EQ(marked({}), (std::vector<std::string>{"br0", "rep0"}));
    add(spec);
}

TEST_P(OvsContract, NamesThatAreTakenAreBusy) {
    add(port_spec("rep0", kOtherMarks));
    for (const char* taken : {"rep0", "br0"}) {
        const auto error = refusal(port_spec(taken));
        EXPECT_EQ(error.code, Code::Busy) << error.message();
        EXPECT_EQ(error.sys, EEXIST);
    }
    EXPECT_EQ(port("rep0")->marks, kOtherMarks);
    EXPECT_TRUE(marked(kOurMarks).empty());
}

TEST_P(OvsContract, WithoutBridgeNothingIsMade) {
    OvsPortSpec spec = port_spec("rep0");
    spec.bridge = "br7";
    const auto error = refusal(spec);
    EXPECT_EQ(error.code, Code::Unavailable) << error.message();
    EXPECT_EQ(error.text, "Open vSwitch has no bridge br7");
    EXPECT_FALSE(port("rep0"));
}

TEST_P(OvsContract, ANetdevThatIsMissingLeavesThePort) {
    const std::string words = "could not open network device nodevice (No such device)";
    const auto error = refusal(port_spec("nodevice"));
    EXPECT_EQ(error.code, Code::Unavailable) << error.message();
    EXPECT_NE(error.text.find(words), std::string::npos) << error.message();
    const auto left = port("nodevice");
    ASSERT_TRUE(left);
    EXPECT_EQ(left->error, words);
    EXPECT_EQ(left->bridge, "br0");
    EXPECT_TRUE(room().remove_ports(kOurMarks, in_time()));
    EXPECT_FALSE(port("nodevice"));
}

TEST_P(OvsContract, WhatTheSchemaForbidsIsRefused) {
    OvsPortSpec tag = port_spec("rep0");
    tag.tag = 4096;
    OvsPortSpec trunk = port_spec("rep0");
    trunk.trunks = {1, 4096};
    for (const OvsPortSpec& spec : {tag, trunk}) {
        const auto error = refusal(spec);
        EXPECT_EQ(error.code, Code::Refused) << error.message();
        EXPECT_NE(error.text.find("constraint violation"), std::string::npos) << error.message();
        EXPECT_FALSE(port("rep0"));
    }
}

TEST_P(OvsContract, MarksAreAnyText) {
    const OvsMap marks = {{"a\"b\\c\n", "{}[]\" \xc3\xa9 \t"}, {"", ""}, {"set", "map"}};
    add(port_spec("rep0", marks));
    add(port_spec("rep1", kOtherMarks));
    EXPECT_EQ(port("rep0")->marks, marks);
    EXPECT_EQ(marked(marks), std::vector<std::string>{"rep0"});
    EXPECT_TRUE(room().remove_ports(marks, in_time()));
    EXPECT_EQ(marked({}), (std::vector<std::string>{"br0", "rep1"}));
}

TEST_P(OvsContract, SettingsAreWrittenReplacedAndRemoved) {
    const auto settings = [&] { return room().settings(in_time()).value(); };
    EXPECT_EQ(settings(), (netns::OvsSettings{"3.1.0", {}, {}}));
    const auto configure = [&](const netns::OvsChange& config, const netns::OvsChange& marks) {
        const auto done = room().configure(config, marks, in_time());
        EXPECT_TRUE(done) << done.error().message();
    };
    configure({{"hw-offload", "true"}, {"tc-policy", "none"}}, {{"us", "1"}});
    EXPECT_EQ(settings(),
              (netns::OvsSettings{
                  "3.1.0", {{"hw-offload", "true"}, {"tc-policy", "none"}}, {{"us", "1"}}}));
    configure({{"hw-offload", "false"}, {"tc-policy", {}}, {"missing", {}}}, {});
    EXPECT_EQ(settings(), (netns::OvsSettings{"3.1.0", {{"hw-offload", "false"}}, {{"us", "1"}}}));
    configure({{"hw-offload", {}}}, {{"us", {}}});
    configure({}, {});
    EXPECT_EQ(settings(), (netns::OvsSettings{"3.1.0", {}, {}}));
}

TEST_P(OvsContract, WithoutVswitchdWhatWaitsHasItsEffectAndTimesOut) {
    add(port_spec("rep0"));
    outside_->stop_daemon();
    const auto error = refusal(port_spec("rep1"), in_vain());
    EXPECT_EQ(error.code, Code::Timeout) << error.message();
    EXPECT_EQ(error.text, "ovs-vswitchd has not applied the change");
    EXPECT_EQ(marked(kOurMarks), (std::vector<std::string>{"rep0", "rep1"}));
    const Error bridge = error_of(room().add_bridge("br1", kOurMarks, in_vain()));
    EXPECT_EQ(bridge.code, Code::Timeout) << bridge.message();
    const auto configured = room().configure({{"hw-offload", "true"}}, {}, in_vain());
    ASSERT_FALSE(configured);
    EXPECT_EQ(configured.error().code, Code::Timeout) << configured.error().message();
    EXPECT_EQ(room().settings(in_time()).value().other_config.at("hw-offload"), "true");
    EXPECT_TRUE(room().remove_ports(kOurMarks, in_time()));
    EXPECT_TRUE(room().remove_bridge("br1", kOurMarks, in_time()));
    EXPECT_TRUE(marked(kOurMarks).empty());
    EXPECT_FALSE(room().find_bridge("br1", in_time()).value());
}

TEST_P(OvsContract, WithoutServerEveryCallIsUnavailable) {
    outside_->stop_server();
    EXPECT_TRUE(room().present().value()) << "its socket is there";
    const auto check = [](const auto& done) {
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, Code::Unavailable) << done.error().message();
        EXPECT_EQ(done.error().sys, ECONNREFUSED) << done.error().message();
    };
    check(room().settings(in_time()));
    check(room().configure({}, {}, in_time()));
    check(room().find_bridge("br0", in_time()));
    check(room().add_bridge("br1", {}, in_time()));
    check(room().remove_bridge("br0", kOurMarks, in_time()));
    check(room().find_port("rep0", in_time()));
    check(room().list_ports(kOurMarks, in_time()));
    check(room().add_port(port_spec("rep0"), in_time()));
    check(room().remove_ports(kOurMarks, in_time()));
}

TEST_P(OvsContract, ManyPortsAreListedAndRemovedAtOnce) {
    constexpr int kMany = 100;
    for (int number = 0; number < kMany; ++number)
        add(port_spec("rep" + std::to_string(number)));
    EXPECT_EQ(marked(kOurMarks).size(), size_t{kMany});
    EXPECT_EQ(room().find_bridge("br0", in_time()).value()->ports, size_t{kMany} + 1);
    EXPECT_TRUE(room().remove_ports(kOurMarks, in_time()));
    EXPECT_EQ(marked({}), std::vector<std::string>{"br0"});
}

// ---- what the World does not have ---------------------------------------------------------------

TEST(OvsDatabase, AnInterfaceOfAnotherPortHasTheName) {
    if (const std::string reason = RealOvsOutside::missing(); !reason.empty())
        GTEST_SKIP() << reason;
    RealOvsOutside outside;
    ASSERT_TRUE(outside.room().add_bridge("br0", {}, in_time()));
    (void)outside.transact(R"([
        {"op":"insert","table":"Interface","uuid-name":"i","row":{"name":"rep0"}},
        {"op":"insert","table":"Interface","uuid-name":"j","row":{"name":"rep1","error":"broken"}},
        {"op":"insert","table":"Port","uuid-name":"p","row":{"name":"bond0",
         "interfaces":["set",[["named-uuid","i"],["named-uuid","j"]]]}},
        {"op":"mutate","table":"Bridge","where":[],
         "mutations":[["ports","insert",["set",[["named-uuid","p"]]]]]}])");
    const Error taken = error_of(outside.room().add_port(port_spec("rep0"), in_time()));
    EXPECT_EQ(taken.code, Code::Busy) << taken.message();
    EXPECT_EQ(taken.sys, EEXIST);
    EXPECT_EQ(outside.room().find_port("bond0", in_time()).value(),
              (OvsPort{"bond0", "br0", "broken", {}, {}, 0, {}}));
}

TEST(OvsDatabase, TunnelsAreThoseOfTheBridge) {
    if (const std::string reason = RealOvsOutside::missing(); !reason.empty())
        GTEST_SKIP() << reason;
    RealOvsOutside outside;
    for (const char* name : {"br0", "br1"})
        ASSERT_TRUE(outside.room().add_bridge(name, {}, in_time()));
    const auto tunnels = [&](const char* name) {
        return outside.room().find_bridge(name, in_time()).value()->tunnels;
    };
    EXPECT_FALSE(tunnels("br0"));
    (void)outside.transact(R"([
        {"op":"insert","table":"Interface","uuid-name":"i","row":{"name":"vx0","type":"vxlan"}},
        {"op":"insert","table":"Interface","uuid-name":"j","row":{"name":"pa0","type":"patch"}},
        {"op":"insert","table":"Port","uuid-name":"p","row":{"name":"vx0",
         "interfaces":["named-uuid","i"]}},
        {"op":"insert","table":"Port","uuid-name":"q","row":{"name":"pa0",
         "interfaces":["named-uuid","j"]}},
        {"op":"mutate","table":"Bridge","where":[["name","==","br1"]],
         "mutations":[["ports","insert",["set",[["named-uuid","p"]]]]]},
        {"op":"mutate","table":"Bridge","where":[["name","==","br0"]],
         "mutations":[["ports","insert",["set",[["named-uuid","q"]]]]]}])");
    EXPECT_TRUE(tunnels("br1"));
    EXPECT_FALSE(tunnels("br0"));
}

TEST(OvsDatabase, NothingIsMadeInOneThatIsNotSetUp) {
    if (const std::string reason = RealOvsOutside::missing(); !reason.empty())
        GTEST_SKIP() << reason;
    RealOvsOutside outside(false);
    EXPECT_EQ(outside.room().settings(in_time()).value(), netns::OvsSettings{});
    EXPECT_EQ(outside.room().configure({{"a", "b"}}, {}, in_time()).error().code,
              Code::Unavailable);
    EXPECT_EQ(outside.room().add_bridge("br0", kOurMarks, in_time()).error().code,
              Code::Unavailable);
    EXPECT_FALSE(outside.room().find_bridge("br0", in_time()).value());
    EXPECT_EQ(outside.room().add_port(port_spec("rep0"), in_time()).error().code,
              Code::Unavailable);
}

TEST(OvsDatabase, OfTwoWhoWantANameOneGetsIt) {
    if (const std::string reason = RealOvsOutside::missing(); !reason.empty())
        GTEST_SKIP() << reason;
    RealOvsOutside outside;
    ASSERT_TRUE(outside.room().add_bridge("br0", {}, in_time()));
    for (int round = 0; round < 20; ++round) {
        std::array<base::Result<>, 2> done;
        const auto add = [&](size_t who) {
            done.at(who) = outside.another()->add_port(port_spec("rep0"), in_time());
        };
        std::thread first(add, 0);
        std::thread second(add, 1);
        first.join();
        second.join();
        ASSERT_NE(done[0].has_value(), done[1].has_value());
        EXPECT_EQ((done[0] ? done[1] : done[0]).error().code, Code::Busy);
        ASSERT_TRUE(outside.room().remove_ports(kOurMarks, in_time()));
    }
}

}  // namespace
}  // namespace test
