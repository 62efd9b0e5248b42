// SPDX-License-Identifier: Apache-2.0
// bench_stages: the stages of one attach in one process over the fakes, for tests/bench/stages,
// which counts their instructions.
//
//     bench_stages softroce|asap2 CONFIG.json
#include "hook/stages.h"

#include <cstdio>
#include <cstdlib>

#include "netns/base/json.h"
#include "tests/fakes/fake_host.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/hook/asap2_world.h"

namespace {
using base::Json;

constexpr char kBundle[] = "/var/lib/containers/storage/overlay-containers/bench/userdata";

template <typename T>
T must(base::Result<T> result) {
    if (result)
        return std::move(result).value();
    std::fprintf(stderr, "bench_stages: %s\n", result.error().message().c_str());
    std::exit(1);
}

void must(const base::Result<>& done) {
    if (!done)
        must(base::Result<int>(done.error()));
}

// Returns config.json as the engine would write it for a container of the mode.
std::string config_of(const std::string& file, const std::string& mode) {
    Json spec = must(base::parse_json(must(base::RealFiles{}.read(file, 4U << 20U)), file));
    spec["annotations"]["rdma.mode"] = mode;
    spec["annotations"]["rdma.ip"] = "10.9.0.1/24";
    if (mode == "asap2") {
        spec["annotations"]["rdma.device"] = "enp1s0";
        spec["annotations"]["rdma.bridge"] = "br0";
    }
    for (Json& entry : spec["linux"]["namespaces"]) {
        if (entry["type"] == "network")
            entry["path"] = test::World::kContainerPath;
    }
    return base::dump_json(spec);
}

// Returns the state that a runtime gives to hooks.
std::string state_of(pid_t init) {
    return base::dump_json(
        {{"ociVersion", "1.2.0"}, {"id", "bench"}, {"bundle", kBundle}, {"pid", init}});
}

void run(const std::string& mode, const std::string& config) {
    const test::TempDir dir;
    test::FakeHost fake{mode == "asap2" ? test::switchdev_world(test::Nic::Mlx5)
                                        : test::World::standard()};
    fake.world.files.insert(kBundle);
    netns::Host host = fake.host();
    hook::Config wanted;
    wanted.state_dir = dir / "state";
    hook::Call call{.host = host,
                    .config = hook::ReadOnce{[&] { return base::Result<hook::Config>{wanted}; }},
                    .self = "/usr/bin/rdma-hook",
                    .bundle = kBundle,
                    .owner = fake.world.parent};
    const hook::Output output = must(hook::precreate(config, call));
    const Json spec = must(base::parse_json(output.spec, "the edited config.json"));
    const auto args = spec["hooks"]["createRuntime"].back()["args"].get<std::vector<std::string>>();
    call.state_dir = args.at(3);
    call.container = args.at(5);
    call.attach = args.at(7);
    fake.world.add_process(test::World::kContainer,
                           fake.world.engine_paths.at(test::World::kContainerPath));
    must(hook::create_runtime(state_of(test::World::kContainer), call));
    fake.world.processes.erase(test::World::kContainer);
    must(hook::poststop(state_of(0), call));
}
}  // namespace

int main(int argc, char** argv) {
    if (argc != 3)
        return std::fputs("usage: bench_stages softroce|asap2 CONFIG.json\n", stderr), 2;
    run(argv[1], config_of(argv[2], argv[1]));
    return 0;
}
