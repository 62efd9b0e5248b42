// SPDX-License-Identifier: Apache-2.0
// Containers over a fake host, each in a namespace of its own.
#pragma once

#include <gtest/gtest.h>

#include "tests/unit/hook/life.h"

namespace test {

class Containers : public testing::Test {
  protected:
    explicit Containers(World world = World::standard()) : fake_(std::move(world)) {}

    Life container(const std::string& id, std::map<std::string, std::string> annotations) {
        Life life{fake_, state_, id};
        life.network = "/run/netns/" + id;
        life.init = static_cast<pid_t>(5000 + made_++);
        fake_.world.engine_paths[life.network] = fake_.world.add_netns();
        life.annotations = std::move(annotations);
        return life;
    }

    Life softroce(const std::string& id, const std::string& ip) {
        return container(id, {{"rdma.mode", "softroce"}, {"rdma.ip", ip}});
    }

    // A container in the one namespace that all of these share.
    Life life(const std::string& id, const std::string& ip) {
        Life life{fake_, state_, id};
        life.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", ip}};
        return life;
    }

    // Returns the error of an attach that must fail and leave nothing.
    base::Error refusal(Life& life) {
        const World before = fake_.world;
        const auto done = life.precreate();
        EXPECT_FALSE(done);
        fake_.settle();
        EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
        return done ? base::Error{} : done.error();
    }

    // For a host without RDMA devices of its own.
    void expect_nothing_left() {
        expect_nothing_kept();
        EXPECT_EQ(fake_.world.rdma.size(), 0U);
    }

    void expect_nothing_kept() {
        fake_.settle();
        EXPECT_EQ(fake_.world.pins.size(), 0U);
        EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
    }

    FakeHost fake_;
    StateDir state_;
    int made_ = 0;
};

}  // namespace test
