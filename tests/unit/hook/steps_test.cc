// SPDX-License-Identifier: Apache-2.0
// Steps as data: plans are values, and the codec reads nothing that it would not write. That it
// writes what earlier builds wrote is recorded_test's.
#include <gtest/gtest.h>

#include "hook/steps/plan.h"

namespace test {
namespace {

using base::Json;

std::string refusal(const char* text) {
    const auto step = hook::load_step(base::parse_json(text, "the step").value());
    return step ? "none" : step.error().message();
}

TEST(Steps, PlansAreCopiedAndCompared) {
    hook::Plan plan;
    plan.endpoint.device = "rxe0";
    plan.add(hook::PinNetns{.path = "/run/rdma-hook/netns/4-f0000001-abc"});
    plan.add(hook::CheckDataPath{.problem = "none is served", .fix = "boot another"});
    hook::Plan copy = plan;
    EXPECT_EQ(copy, plan);
    std::get<hook::PinNetns>(copy.steps[0]).path += "d";
    EXPECT_NE(copy, plan);
    EXPECT_TRUE(is_journaled(plan.steps[0]));
    EXPECT_FALSE(is_journaled(plan.steps[1]));
    EXPECT_EQ(kind_of(plan.steps[1]), "check_data_path");
}

TEST(Steps, AStepIsReadAsItWasWritten) {
    const hook::AnyStep steps[] = {
        hook::AddRule{.source = {*netns::parse_ip("fd00:9::1")}, .table = 7, .priority = 1000},
        hook::MoveRdmaDevice{.name = "mlx5_2", .with_link = true},
        hook::MoveRdmaDevice{.name = "mlx5_2",
                             .of = hook::VfDevice{.vf = "0000:01:00.1",
                                                  .netdev = 40'000,
                                                  .lease = {.path = "/x", .owner = "a"}}},
        hook::ConfigureVf{.pf = "0000:01:00.0",
                          .number = 3,
                          .vf = "0000:01:00.4",
                          .before = {.mac = netns::Mac{}, .link_state = netns::VfLinkState::Off},
                          .after = {.vlan = netns::VfVlan{.id = 5}, .trust = false},
                          .lease = {.path = "/x", .owner = "a"}}};
    for (const hook::AnyStep& step : steps) {
        const auto again = hook::load_step(save_step(step));
        ASSERT_TRUE(again) << again.error().message();
        EXPECT_EQ(*again, step) << base::dump_json(save_step(step));
    }
}

TEST(Steps, WhatIsNotSetIsLeftOut) {
    EXPECT_EQ(base::dump_json(save_step(hook::MoveRdmaDevice{.name = "rxe0", .with_link = true})),
              R"({"kind":"move_rdma_device","name":"rxe0","with_link":true})");
    EXPECT_EQ(base::dump_json(save_step(hook::AddRoute{{.link = 4, .table = 9}})),
              R"({"kind":"add_route","v6":false,"link":4,"table":9})");
}

TEST(Steps, BrokenStepsAreRefusedByMember) {
    const struct {
        const char* text;
        const char* said;
    } rows[] = {
        {R"({})", "'kind' is missing (a string)"},
        {R"({"kind":"fly"})",
         "unknown step 'fly'; undo it with the version of rdma-hook that wrote the journal"},
        {R"({"kind":"probe_addresses"})",
         "unknown step 'probe_addresses'; undo it with the version of rdma-hook that wrote the "
         "journal"},
        {R"({"kind":"pin_netns"})", "step pin_netns: 'path' is missing (a string)"},
        {R"({"kind":"pin_netns","path":4})", "step pin_netns: 'path' must be a string, not 4"},
        {R"({"kind":"strict_arp","link":4294967296})",
         "step strict_arp: 'link' must be a whole number in range, not 4294967296"},
        {R"({"kind":"strict_arp","link":-1})",
         "step strict_arp: 'link' must be a whole number in range, not -1"},
        {R"({"kind":"add_address","link":1,"address":"10.9.0.1","with_link":true})",
         "step add_address: add_address: broken address"},
        {R"({"kind":"add_address","link":1,"address":"10.9.0.1/24","with_link":1})",
         "step add_address: 'with_link' must be true or false, not 1"},
        {R"({"kind":"add_route","v6":false,"link":4,"table":9,"gateway":"x"})",
         "step add_route: add_route: broken gateway"},
        {R"({"kind":"add_rule","source":"10.9.0.1/24","table":9,"priority":1})",
         "step add_rule: add_rule: broken source"},
        {R"({"kind":"create_child","parent":2,"index":9,"name":"r","mac":"x","mtu":1500})",
         "step create_child: create_child: broken MAC"},
        {R"({"kind":"create_child","parent":2,"index":9,"name":"r","mac":"02:00:00:00:00:01",)"
         R"("mtu":1500,"type":"veth","macvlan_mode":"bridge","vlan":0})",
         "step create_child: create_child: unknown type"},
        {R"({"kind":"create_rdma_link","where":"moon","type":"rxe","name":"r","netdev":4})",
         "step create_rdma_link: 'where' must be host or container"},
        {R"({"kind":"claim","what":"x","lease":{"path":"/x"}})",
         "step claim: 'owner' is missing (a string)"},
        {R"({"kind":"add_ovs_port","bridge":"br0","netdev":"n","attachment":"a","container":"c",)"
         R"("policing_kbps":0,"trunks":[65536]})",
         "step add_ovs_port: 'trunks' must be a whole number in range, not 65536"},
        {R"({"kind":"add_ovs_port","bridge":"br0","netdev":"n","attachment":"a","container":"c",)"
         R"("policing_kbps":0,"trunks":5})",
         "step add_ovs_port: 'trunks' must be an array"},
        {R"({"kind":"allow_device","name":"uverbs0","major":231,"minor":192})",
         "step allow_device: 'pid' is missing (a whole number in range)"},
    };

    for (const auto& row : rows)
        EXPECT_EQ(refusal(row.text), row.said) << row.text;
}

}  // namespace
}  // namespace test
