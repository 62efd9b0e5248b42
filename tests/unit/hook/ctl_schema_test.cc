// SPDX-License-Identifier: Apache-2.0
// rdmactl.schema.json says what rdmactl prints with --json, of each of its commands.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/rdmactl/command.h"
#include "hook/stages.h"
#include "tests/support/schema_check.h"
#include "tests/unit/hook/asap2_world.h"
#include "tests/unit/hook/documents.h"
#include "tests/unit/hook/life.h"

namespace test {
namespace {
using base::Json;
using hook::ctl::Options;
using testing::IsEmpty;

constexpr char kSchema[] = "runtime-config/install/schema/rdmactl.schema.json";

// An answer's definition: "vf-list" of `vf list`.
std::string definition_of(std::string command) {
    std::ranges::replace(command, ' ', '-');
    return command;
}

class CtlSchema : public testing::Test {
  protected:
    CtlSchema() : schema_(source_json(kSchema)), one_(fake_, state_, "one") {
        one_.annotations = {{"rdma.mode", "asap2"},
                            {"rdma.device", "enp1s0"},
                            {"rdma.bridge", "br0"},
                            {"rdma.ip", "10.9.0.1/24"}};
        options_.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
        options_.host_root = dir_ / "host";
        options_.rdma_class = dir_ / "class";
        options_.cdi_output = dir_ / "cdi";
        options_.runtimes = dir_ / "runtimes";
        options_.engine_files = {.root = dir_.path(), .owner = ::geteuid()};
        options_.pf = "enp1s0";
        std::filesystem::create_directories(options_.rdma_class + "/mlx5_0");
    }

    using Verb = base::Result<hook::ctl::Answer> (*)(const Options&, netns::Host&);

    // Holds the answer to the definition of its command.
    void expect_fits(const std::string& command, Verb verb, const Options& options) {
        netns::Host host = fake_.host();
        hold(command, verb(options, host));
        fake_.settle();
    }

    void hold(const std::string& command, const base::Result<hook::ctl::Answer>& answer) {
        ASSERT_TRUE(answer) << command << ": " << answer.error().message();
        const size_t before = schema_.problems().size();
        schema_.check(definition_of(command), hook::ctl::with_schema(command, answer->json));
        for (size_t i = before; i < schema_.problems().size(); ++i)
            ADD_FAILURE() << command << ": " << schema_.problems()[i];
        seen_.insert(command);
    }

    void of_containers() {
        using namespace hook::ctl;
        expect_fits("list", list, options_);
        Options failed = options_;
        failed.failed = true;
        expect_fits("list", list, failed);
        Options one = options_;
        one.container = one_.id();
        expect_fits("show", show, one);
        expect_fits("stats", stats, one);
        fake_.programs.script = {
            {.program = 0, .ended = false, .to_stderr = false, .text = "{}", .status = 0},
            {.program = 0, .ended = true, .to_stderr = false, .text = {}, .status = 0}};
        expect_fits("verify", verify, one);
        Options dry = options_;
        dry.dry_run = true;
        expect_fits("gc", hook::ctl::collect, dry);
        Options regrant = options_;
        regrant.regrant = true;
        expect_fits("gc", hook::ctl::collect, regrant);
        expect_fits("recover", hook::ctl::collect, options_);
    }

    void of_the_host() {
        using namespace hook::ctl;
        Options asks = options_;
        asks.annotations = {"rdma.mode=vf", "rdma.device=enp1s0", "rdma.trust=on"};
        expect_fits("config check", check_config, asks);
        asks.annotations = {"rdma.mode=softroce", "rdma.ip=10.9.0.2/24"};
        expect_fits("plan", plan, asks);
        expect_fits("doctor", doctor, options_);
        Options gpu = options_;
        gpu.mode = "gpu";
        expect_fits("doctor", doctor, gpu);
        expect_fits("suggest", suggest, options_);
        expect_fits("cdi list", cdi_list, options_);
        expect_fits("cdi generate", cdi_generate, options_);
        Options print = options_;
        print.cdi_output = "-";
        expect_fits("cdi generate", cdi_generate, print);
        Options configure = options_;
        configure.engine = "docker";
        expect_fits("runtime configure", runtime_configure, configure);
        expect_fits("runtime list", runtime_list, options_);
    }

    void of_adapters() {
        using namespace hook::ctl;
        expect_fits("vf list", vf_list, options_);
        expect_fits("asap2 status", asap2_status, options_);
        Options dry = options_;
        dry.dry_run = true;
        dry.count = 2;
        expect_fits("vf enable", vf_enable, dry);
        expect_fits("asap2 enable", asap2_enable, dry);
        ASSERT_TRUE(one_.poststop());
        fake_.settle();
        expect_fits("vf disable", vf_disable, dry);
        dry.bridge = "br0";
        netns::Host host = fake_.host();
        dry.dry_run = false;
        ASSERT_TRUE(asap2_enable(dry, host));
        dry.dry_run = true;
        expect_fits("asap2 disable", asap2_disable, dry);
    }

    void of_a_running_container() {
        FakeHost fake{World::standard(KernelTraits::v7_3())};
        StateDir state;
        Life one(fake, state, "one");
        one.running = true;
        ASSERT_TRUE(one.precreate());
        const uint64_t start = fake.world.processes.at(World::kContainer).start;
        write_runc_state(state.root(), one.id(), one.bundle(), {.pid = one.init, .start = start});
        Options asks = options_for(state, one.id());
        asks.annotations = {"rdma.mode=softroce", "rdma.ip=10.9.0.3/24"};
        netns::Host host = fake.host();
        hold("attach", hook::ctl::attach(asks, host));
        hold("detach", hook::ctl::detach(asks, host));
    }

    SchemaCheck schema_;
    FakeHost fake_{switchdev_world(Nic::Mlx5)};
    StateDir state_;
    TempDir dir_;
    Life one_;
    Options options_;
    std::set<std::string> seen_;
};

TEST_F(CtlSchema, SaysWhatEachCommandPrints) {
    ::umask(022);
    state_.add_pool("fast", "vf");
    netns::Host host = fake_.host();
    const auto started = one_.start();
    ASSERT_TRUE(started) << started.error().message();
    const hook::Call call{.host = host,
                          .config = hook::ReadOnce{options_.load_config},
                          .bundle = one_.bundle(),
                          .container = ""};
    hook::remember_failure(call, "precreate", base::make_error(base::Code::Busy, "taken"));
    of_containers();
    of_the_host();
    of_adapters();
    of_a_running_container();
    schema_.check("error",
                  hook::ctl::with_schema("error", {{"error", "no container"}, {"code", "busy"}}));
    EXPECT_THAT(schema_.problems(), IsEmpty());
    // What no answer here has is rare (a record that cannot be read, limits), not forgotten.
    std::set<std::string> answers;
    for (const std::string& command : seen_)
        answers.insert(definition_of(command));
    std::vector<std::string> unseen;
    for (const std::string& member : schema_.unseen()) {
        if (answers.contains(member.substr(0, member.find('.'))))
            unseen.push_back(member);
    }
    EXPECT_THAT(unseen, testing::ElementsAre("verify.error", "verify.server"));
    // The manual has a section for each command, and tests/lint/manual.py holds it to the program.
    const auto sections = find_all(source_file("docs/man/rdmactl.8"), R"(\n\.Ss ([^\n]*))");
    EXPECT_EQ(seen_, std::set<std::string>(sections.begin(), sections.end()));
}

TEST_F(CtlSchema, EveryAnswerIsNamed) {
    EXPECT_EQ(hook::ctl::with_schema("vf list", {{"pfs", Json::array()}}).dump(),
              R"({"schema":"rdmactl-vf-list/1","pfs":[]})");
    const Json schema = source_json(kSchema);
    std::vector<std::string> listed;
    for (const Json& each : schema["oneOf"])
        listed.push_back(each["$ref"].get<std::string>().substr(sizeof("#/$defs/") - 1));
    for (const auto& [name, definition] : schema["$defs"].items()) {
        const Json properties = definition.value("properties", Json::object());
        const bool is_answer = properties.contains("schema");
        EXPECT_EQ(std::ranges::find(listed, name) != listed.end(), is_answer) << name;
        if (is_answer) {
            EXPECT_EQ(properties["schema"]["const"], "rdmactl-" + name + "/1");
            EXPECT_EQ(definition["required"][0], "schema") << name;
        }
    }
}

}  // namespace
}  // namespace test
