// SPDX-License-Identifier: Apache-2.0
// Life: a container's life as an engine leads it, over a fake host: precreate with a config.json,
// createRuntime with an init, poststop. Tests look at the disk as well as at the World.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "hook/container/end.h"
#include "hook/rdmactl/command.h"
#include "hook/stages.h"
#include "tests/fakes/fake_host.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace test {

// Json::parse() would be instantiated by each batch of tests: seconds of its compilation.
inline oci::Json json_of(std::string_view text) {
    return base::parse_json(text, "the test's JSON").value();
}

// The folder of state that all containers of a test share.
class StateDir {
  public:
    StateDir() { reset_config(); }

    // Makes the folders that the first container since the boot makes.
    void prepare() const;

    // Goes back to what prepare() leaves, for another life. Nothing may be left: see leftovers().
    void reuse();

    [[nodiscard]] hook::Config& config() { return config_; }

    void add_pool(const std::string& name, const std::string& mode) {
        hook::Pool pool;
        pool.name = name;
        pool.mode = mode;
        config_.pools.push_back(std::move(pool));
    }

    [[nodiscard]] const std::string& path() const { return config_.state_dir; }

    // Stands for the root of the file system, where runtimes keep the states of containers.
    [[nodiscard]] std::string root() const { return dir_ / "root"; }

    // A folder for the config.json of a container of plain hooks.
    [[nodiscard]] std::string make_bundle(const std::string& id) const;

    // Returns what is left, except for locks, which killed processes leave, and the memory of
    // failures.
    [[nodiscard]] std::vector<std::string> leftovers() const;

  private:
    void reset_config();

    TempDir dir_;
    hook::Config config_;
};

class Life {
  public:
    Life(FakeHost& fake, StateDir& state, const std::string& id);

    // The network entry of config.json: a path, or empty for a namespace that the runtime would
    // make. With kHostsNetwork there is none.
    static constexpr char kHostsNetwork[] = "host";
    std::string network = World::kContainerPath;
    std::map<std::string, std::string> annotations;
    std::string cpus;  // the container's cpuset
    bool user_namespace = false;
    std::string told;  // the bundle that the runtime tells hooks; empty: the right one
    pid_t init = World::kContainer;
    // Plain hooks: precreate() leaves config.json in a bundle, create_runtime() attaches.
    bool plain = false;
    // rdmactl attach: precreate() leaves a config.json without annotations, create_runtime() starts
    // the container and attaches, and poststop() detaches. The container lives on.
    bool running = false;
    std::map<std::string, std::string> asked;  // by the hook's own arguments
    std::vector<std::string> capabilities;
    std::string mount_label;      // of SELinux
    std::string root = "rootfs";  // root.path: no folder, unless a test makes one
    oci::Json mounts = oci::Json::array({json_of(
        R"({"destination":"/sys","type":"sysfs","source":"sysfs","options":["nosuid","ro"]})")});

    // linux.devices, and linux.resources.devices behind what denies all (if anything does).
    bool denies_devices = true;
    oci::Json devices = oci::Json::array();
    oci::Json rules = oci::Json::array();

    int config_reads = 0;  // how often the configuration was read

    // Each returns what the stage returned; the spec is kept for the next.
    base::Result<> precreate();
    base::Result<> create_runtime();
    base::Result<> poststop();
    // The three in a row; stops at the first failure, as an engine does.
    base::Result<> start();
    // As far as the stage that attaches.
    base::Result<> attach();

    [[nodiscard]] const oci::Json& spec() const { return spec_; }

    // Returns the notes of precreate for the person at the terminal.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

    [[nodiscard]] const std::string& id() const { return id_; }

    [[nodiscard]] const std::string& bundle() const { return bundle_; }

    [[nodiscard]] std::string environment(const std::string& name) const;
    [[nodiscard]] std::vector<std::string> nodes() const;

  private:
    base::Result<> precreate_with(const oci::Json& spec);
    base::Result<> create_plain();
    base::Result<> attach_running();
    hook::Call later_call(const std::string& stage);
    [[nodiscard]] std::string state_json(pid_t pid) const;
    hook::Call call();

    FakeHost& fake_;
    StateDir& state_;
    std::string id_;
    std::string bundle_;
    oci::Json spec_;
    std::vector<std::string> notes_;
    std::optional<netns::Host> host_;
};

// Returns what rdmactl is told about a container.
hook::ctl::Options options_for(StateDir& state, const std::string& container);

// Writes the state that runc keeps of one of Docker's containers. An annotation of it names another
// bundle.
void write_runc_state(const std::string& root,
                      const std::string& id,
                      const std::string& bundle,
                      const netns::ProcessToken& init);

// Does the work of `rdmactl gc`, or of `rdmactl gc --forget`.
hook::Collected collect(FakeHost& fake, StateDir& state, bool forget = false);

}  // namespace test
