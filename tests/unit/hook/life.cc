// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/life.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "netns/base/ids.h"

namespace test {

using oci::Json;

void StateDir::reset_config() {
    config_ = {};
    config_.state_dir = dir_ / "state";
}

void StateDir::prepare() const {
    base::RealFiles files;
    EXPECT_TRUE(hook::Store(files, path()).open());
}

void StateDir::reuse() {
    reset_config();
    for (const char* folder : {"/locks", "/errors"}) {
        for (const auto& entry : std::filesystem::directory_iterator(path() + folder))
            std::filesystem::remove(entry.path());
    }
}

std::string StateDir::make_bundle(const std::string& id) const {
    std::string path = dir_ / ("bundle-" + id);
    std::filesystem::create_directories(path);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
}

std::vector<std::string> StateDir::leftovers() const {
    std::vector<std::string> left;
    if (!std::filesystem::exists(path()))
        return left;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
        const std::string name = entry.path().lexically_relative(path());
        const bool kept =
            entry.is_regular_file() || entry.is_symlink() || name.starts_with("view/");
        if (kept && !name.starts_with("locks/") && !name.starts_with("errors/"))
            left.push_back(name);
    }
    std::sort(left.begin(), left.end());
    return left;
}

Life::Life(FakeHost& fake, StateDir& state, const std::string& id)
    : fake_(fake), state_(state), id_(base::sha256_hex(id)) {
    bundle_ = "/var/lib/containers/storage/overlay-containers/" + id_ + "/userdata";
    fake_.world.files.insert(bundle_);
}

hook::Call Life::call() {
    host_.emplace(fake_.host());
    return {.host = *host_,
            .config = hook::ReadOnce{[this] {
                ++config_reads;
                return Result<hook::Config>{state_.config()};
            }},
            .self = "/usr/bin/rdma-hook",
            .bundle = bundle_,
            .owner = fake_.world.parent,
            .annotations = asked};
}

Result<> Life::precreate() {
    Json spec = json_of(R"({"ociVersion":"1.2.0","process":{"args":["true"],"env":["A=1"]},
        "root":{"path":"rootfs"},"mounts":[],"linux":{"namespaces":[{"type":"pid"},{"type":"mount"}],
        "resources":{"devices":[{"allow":false,"access":"rwm"}]}}})");
    Json entry{{"type", "network"}};
    if (!network.empty())
        entry["path"] = network;
    if (network != kHostsNetwork)
        spec["linux"]["namespaces"].push_back(entry);
    if (user_namespace)
        spec["linux"]["namespaces"].push_back(Json{{"type", "user"}});
    spec["root"]["path"] = root;
    if (!running)
        spec["annotations"] = annotations;
    spec["mounts"] = mounts;
    if (!capabilities.empty())
        spec["process"]["capabilities"]["bounding"] = capabilities;
    if (!devices.empty())
        spec["linux"]["devices"] = devices;
    if (!denies_devices)
        spec["linux"]["resources"].erase("devices");
    for (const Json& rule : rules)
        spec["linux"]["resources"]["devices"].push_back(rule);
    if (!cpus.empty())
        spec["linux"]["resources"]["cpu"]["cpus"] = cpus;
    if (!mount_label.empty())
        spec["linux"]["mountLabel"] = mount_label;
    return precreate_with(spec);
}

Result<> Life::precreate_with(const Json& spec) {
    if (plain || running) {
        bundle_ = state_.make_bundle(id_);
        std::ofstream(bundle_ + "/config.json") << spec.dump();
        spec_ = spec;
        return {};
    }
    const auto output = hook::precreate(spec.dump(), call());
    if (!output)
        return output.error();
    spec_ = json_of(output->spec);
    notes_ = output->notes;
    return {};
}

hook::Call Life::later_call(const std::string& stage) {
    hook::Call later = call();
    const Json& hooks = spec_["hooks"][stage];
    EXPECT_EQ(hooks.size(), 1U);
    const auto args = hooks[0]["args"].get<std::vector<std::string>>();
    later.bundle.clear();
    later.state_dir = args.at(3);
    later.container = args.at(5);
    later.attach = args.at(7);
    return later;
}

std::string Life::state_json(pid_t pid) const {
    Json state{{"ociVersion", "1.2.0"}, {"id", id_}, {"pid", pid}};
    state["bundle"] = told.empty() ? bundle_ : told;
    if (const auto list = spec_.find("annotations"); list != spec_.end())
        state["annotations"] = *list;
    return state.dump();
}

Result<> Life::create_plain() {
    if (!fake_.world.processes.contains(init))
        fake_.world.add_process(
            init,
            network == kHostsNetwork ? fake_.world.host : fake_.world.engine_paths.at(network));
    const auto notes = hook::plain_create(state_json(init), call());
    if (!notes)
        return notes.error();
    notes_ = *notes;
    return {};
}

Result<> Life::attach_running() {
    if (!fake_.world.processes.contains(init))
        fake_.world.add_process(init, fake_.world.engine_paths.at(network));
    write_runc_state(
        state_.root(), id_, bundle_, {.pid = init, .start = fake_.world.processes.at(init).start});
    hook::ctl::Options options = options_for(state_, id_);
    for (const auto& [key, value] : annotations)
        options.annotations.push_back(key + "=" + value);
    netns::Host host = fake_.host();
    const auto answer = hook::ctl::attach(options, host);
    return answer ? Result<>{} : answer.error();
}

Result<> Life::create_runtime() {
    if (running)
        return attach_running();
    if (plain)
        return create_plain();
    // The runtime's work between the stages: an init in the namespace that config.json names.
    if (network == kHostsNetwork)
        fake_.world.add_process(init, fake_.world.host);
    for (const Json& entry : spec_["linux"]["namespaces"]) {
        if (entry["type"] != "network")
            continue;
        const std::string path = entry.value("path", "");
        if (path.empty())
            fake_.world.add_process(init, fake_.world.add_netns());
        const auto pinned = fake_.world.pins.find(path);
        const auto made = fake_.world.engine_paths.find(path);
        if (pinned != fake_.world.pins.end())
            fake_.world.add_process(init, pinned->second);
        else if (made != fake_.world.engine_paths.end())
            fake_.world.add_process(init, made->second);
    }
    return hook::create_runtime(state_json(init), later_call("createRuntime"));
}

Result<> Life::poststop() {
    if (running) {
        netns::Host host = fake_.host();
        const auto answer = hook::ctl::detach(options_for(state_, id_), host);
        return answer ? Result<>{} : answer.error();
    }
    fake_.world.processes.erase(init);
    if (plain)
        return hook::plain_poststop(state_json(0), call());
    return hook::poststop(state_json(0), later_call("poststop"));
}

Result<> Life::attach() {
    return plain || running ? start() : precreate();
}

Result<> Life::start() {
    TRY(precreate());
    return create_runtime();
}

std::string Life::environment(const std::string& name) const {
    for (const auto& entry : spec_["process"]["env"]) {
        const auto text = entry.get<std::string>();
        if (text.starts_with(name + "="))
            return text.substr(name.size() + 1);
    }
    return {};
}

std::vector<std::string> Life::nodes() const {
    std::vector<std::string> paths;
    for (const auto& device : spec_["linux"].value("devices", Json::array()))
        paths.push_back(device["path"]);
    return paths;
}

hook::ctl::Options options_for(StateDir& state, const std::string& container) {
    hook::ctl::Options options;
    options.load_config = [&state]() -> Result<hook::Config> { return state.config(); };
    options.runtimes = state.path() + "/runtimes";
    options.container = container;
    options.host_root = state.root();
    return options;
}

void write_runc_state(const std::string& root,
                      const std::string& id,
                      const std::string& bundle,
                      const netns::ProcessToken& init) {
    const std::string folder = root + "/run/docker/runtime-runc/moby/" + id;
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/state.json")
        << Json{{"id", id},
                {"init_process_pid", init.pid},
                {"init_process_start", init.start},
                {"config", {{"labels", {"bundle=/of/an/annotation", "bundle=" + bundle}}}}};
}

hook::Collected collect(FakeHost& fake, StateDir& state, bool forget) {
    netns::Host host = fake.host();
    const hook::Store store{host.files, state.path()};
    EXPECT_TRUE(store.open());
    const hook::Context context{host, state.config(), store, forget};
    return hook::collect_garbage(context, base::Deadline::in(std::chrono::minutes(1)));
}

}  // namespace test
