// SPDX-License-Identifier: Apache-2.0
// A low-level runtime that edits config.json, too, and calls runc then: NVIDIA's, and AMD's, which
// is made after it. Its edits are those of NVIDIA/nvidia-container-toolkit 1.20 (internal/modifier):
//   legacy  a prestart hook, which puts the GPU into the container
//   cdi     nodes, device rules, mounts, createContainer hooks and environment of a CDI file; all
//           mounts are sorted by the number of their path's components
// It reads config.json as runc's own type, and writes the whole file in place, not atomically.
// Nodes of a CDI file are the same if the engine itself puts them there.
#include <algorithm>
#include <fstream>

#include "tests/unit/runtime/shim_fixture.h"

namespace shim {
namespace {
constexpr char kNvidia[] = "/usr/bin/env";  // stands for it: root's
constexpr char kGpu[] = "/dev/nvidia0";
constexpr char kHook[] = "/usr/bin/nvidia-container-runtime-hook";

void add_legacy(Json& spec) {
    Json& prestart = spec["hooks"]["prestart"];
    const auto is_there = [](const Json& hook) { return hook["path"] == kHook; };
    if (std::none_of(prestart.begin(), prestart.end(), is_there))
        prestart.push_back(
            {{"path", kHook}, {"args", {"nvidia-container-runtime-hook", "prestart"}}});
}

void add_cdi(Json& spec) {
    Json& devices = spec["linux"]["devices"];
    std::erase_if(devices.get_ref<Json::array_t&>(),
                  [](const Json& device) { return device["path"] == kGpu; });
    devices.push_back({{"path", kGpu}, {"type", "c"}, {"major", 195}, {"minor", 0}});
    spec["linux"]["resources"]["devices"].push_back(
        {{"allow", true}, {"type", "c"}, {"major", 195}, {"minor", 0}, {"access", "rwm"}});
    spec["process"]["env"].push_back("NVIDIA_VISIBLE_DEVICES=void");
    spec["hooks"]["createContainer"].push_back(
        {{"path", "/usr/bin/nvidia-cdi-hook"}, {"args", {"nvidia-cdi-hook", "update-ldcache"}}});
    auto& mounts = spec["mounts"].get_ref<Json::array_t&>();
    mounts.push_back({{"destination", "/run/nvidia-persistenced/socket"}, {"type", "bind"}});
    const auto depth = [](const Json& mount) {
        const std::string place = mount["destination"];
        return std::count(place.begin(), place.end(), '/');
    };
    std::ranges::stable_sort(mounts, {}, depth);
}

class Gpu : public Shim {
  protected:
    Gpu() { named_ = kNvidia; }

    void edit(void (*add)(Json&)) {
        Json config = spec();
        if (config["linux"]["devices"].is_null())
            config["linux"]["devices"] = Json::array();
        add(config);
        std::ofstream(spec_path()) << config.dump();
    }

    // A container that runs, with RDMA; NVIDIA's runtime is below rdma-runtime, or above it.
    void start_with(void (*add)(Json&), bool above) {
        write_spec({{"rdma.mode", "softroce"}});
        if (above)
            edit(add);
        low_level_.script = [=, this](const Words&) {
            if (!above)
                edit(add);
            return be_created("c1");
        };
        ASSERT_EQ(create(), 0) << told();
        ASSERT_EQ(fake_.world.rdma.size(), 1U);
    }

    void end() {
        fake_.world.processes.erase(kInit);
        low_level_.script = [](const Words&) { return 0; };
        EXPECT_EQ(serve_words({"delete", "--force", "c1"}), 0);
        EXPECT_EQ(low_level_.calls.back(), "run " + *find_named(kNvidia));
        expect_nothing_left();
    }

    [[nodiscard]] std::vector<std::string> all_of(const char* section, const char* member) const {
        std::vector<std::string> all;
        const Json config = spec();
        for (const Json& each : config.at(Json::json_pointer(section)))
            all.push_back(each[member]);
        return all;
    }

    const std::vector<std::pair<void (*)(Json&), bool>> ways_ = {
        {add_legacy, false}, {add_legacy, true}, {add_cdi, false}, {add_cdi, true}};
};

TEST_F(Gpu, ConfigJsonHasBothEdits) {
    for (const auto& [add, above] : ways_) {
        start_with(add, above);
        EXPECT_EQ(low_level_.calls.back(), "run " + *find_named(kNvidia));
        EXPECT_THAT(all_of("/linux/devices", "path"), testing::Contains("/dev/infiniband/uverbs0"));
        EXPECT_THAT(all_of("/hooks/createRuntime", "path"), ElementsAre("/usr/bin/rdma-hook"));
        EXPECT_THAT(all_of("/hooks/poststop", "path"), ElementsAre("/usr/bin/rdma-hook"));
        EXPECT_THAT(all_of("/mounts", "destination"), testing::Contains("/run/rdma/attach.json"));
        EXPECT_THAT(spec()["process"]["env"].dump(), HasSubstr("RDMA_DEVICE="));
        const auto prestart = all_of("/hooks/prestart", "path");
        if (add == add_legacy) {
            EXPECT_THAT(prestart, ElementsAre("/proc/4242/exe", kHook)) << "Docker's first";
        } else {
            EXPECT_THAT(all_of("/linux/devices", "path"), testing::Contains(kGpu));
            EXPECT_THAT(spec()["process"]["env"].dump(), HasSubstr("NVIDIA_VISIBLE_DEVICES="));
            EXPECT_THAT(all_of("/hooks/createContainer", "path"),
                        ElementsAre("/usr/bin/nvidia-cdi-hook"));
        }
        end();
    }
}

// What the sort of all mounts must not part: a mount below another one comes after it.
TEST_F(Gpu, NoMountOfRdmaLiesBelowAnother) {
    start_with(add_cdi, false);
    const auto places = all_of("/mounts", "destination");
    EXPECT_TRUE(std::ranges::any_of(
        places, [](const std::string& place) { return place.starts_with("/sys/class/"); }));
    for (size_t i = 0; i < places.size(); ++i) {
        for (size_t later = i + 1; later < places.size(); ++later)
            EXPECT_FALSE(places[i].starts_with(places[later] + "/")) << places[i];
    }
    end();
}

// `docker run --gpus` is dockerd's own prestart hook, whatever the runtime; NVIDIA's adds no second.
TEST_F(Gpu, TheEnginesHookIsNotDoubled) {
    write_spec({{"rdma.mode", "softroce"}});
    edit(add_legacy);
    low_level_.script = [&](const Words&) {
        edit(add_legacy);
        return be_created("c1");
    };
    ASSERT_EQ(create(), 0) << told();
    EXPECT_THAT(all_of("/hooks/prestart", "path"), ElementsAre("/proc/4242/exe", kHook));
    end();
}

TEST_F(Gpu, StopAndStartOverAndOver) {
    for (const auto& [add, above] : ways_) {
        start_with(add, above);
        fake_.world.processes.erase(kInit);
        ASSERT_TRUE(run_poststop("c1"));
        (void)serve_words({"delete", "c1"});
        EXPECT_EQ(low_level_.calls.back(), "become " + *find_named(kNvidia));
        expect_nothing_left();
    }
}

// It fails before its edit, after it, or after its create; or dies within its edit.
TEST_F(Gpu, AFailureOfTheirsUndoesOurs) {
    const std::function<Result<int>()> failures[] = {
        [] { return 1; },
        [&] {
            edit(add_cdi);
            return 1;
        },
        [&] {
            std::ofstream(spec_path()) << "{\"ociVersion\": \"1.2.0\", \"pro";
            return 128 + 9;
        },
        [&] {
            edit(add_legacy);
            EXPECT_TRUE(be_created("c1"));
            fake_.world.processes.erase(kInit);
            return 1;
        },
        [] { return Result<int>{base::sys_error(ENOENT, "run nvidia-container-runtime")}; },
    };
    for (const auto& failure : failures) {
        write_spec({{"rdma.mode", "softroce"}});
        low_level_.script = [&](const Words&) { return failure(); };
        EXPECT_NE(create(), 0);
        expect_nothing_left();
        ASSERT_FALSE(HasFailure());
    }
}

// rdma-runtime is killed after any of its calls, and the engine deletes what it could not create.
TEST_F(Gpu, DeathsInEachOrder) {
    for (const auto& [add, above] : ways_) {
        start_with(add, above);  // makes the folders of the state
        end();
        int deaths = 0;
        for (int call = 0;; ++call) {
            write_spec({{"rdma.mode", "softroce"}});
            if (above)
                edit(add);
            low_level_.script = [&, add = add](const Words&) {
                edit(add);
                return 1;
            };
            fake_.gate.crash_after(call);
            died_ = false;
            EXPECT_NE(create(), 0);
            if (!std::exchange(died_, false))
                break;
            ++deaths;
            fake_.world.processes.erase(fake_.world.self);
            fake_.world.self += 10000;
            fake_.world.add_process(fake_.world.self, fake_.world.host);
            low_level_.script = [](const Words&) { return 0; };
            (void)serve_words({"delete", "--force", "c1"});
            expect_nothing_left();
            ASSERT_FALSE(HasFailure()) << "killed at call " << call;
        }
        EXPECT_GT(deaths, 10);
    }
}

TEST_F(Gpu, WithoutAnnotationsItIsTheirsAlone) {
    write_spec({});
    EXPECT_NE(create(), 0);  // the fake comes back
    EXPECT_THAT(low_level_.calls, ElementsAre("become " + *find_named(kNvidia)));
    expect_untouched();
}

// Docker starts again, its configuration has changed, and the state of rdma-hook is what there is.
TEST_F(Gpu, TheEndAfterARestartIsTheirsToo) {
    start_with(add_cdi, false);
    named_.reset();
    config_.runtime = "/usr/bin/true";
    EXPECT_NE(serve_words({"kill", "c1", "TERM"}), 0);  // the fake comes back
    EXPECT_EQ(low_level_.calls.back(), "become " + *find_named(kNvidia));
    end();
}

}  // namespace
}  // namespace shim
