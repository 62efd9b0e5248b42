// SPDX-License-Identifier: Apache-2.0
// rdmactl's verbs over a fake host with a container that lives, dies, or leaves something behind.
// budget: the verbs share the host and its container.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/rdmactl/command.h"
#include "hook/rdmactl/text.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/hook/life.h"

namespace test {
namespace {
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class Ctl : public testing::Test {
  protected:
    Ctl() : one_(fake_, state_, "one") {
        one_.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}};
        options_.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
        options_.runtimes = state_.path() + "/runtimes";
        options_.host_root = host_.path();
    }

    // Makes Podman call the container so.
    void name_it(const std::string& name) {
        const std::filesystem::path folder =
            host_ / "var/lib/containers/storage/overlay-containers";
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "containers.json")
            << R"([{"id":")" << one_.id() << R"(","names":[")" << name << R"("]}])";
    }

    using Verb = base::Result<hook::ctl::Answer> (*)(const hook::ctl::Options&, netns::Host&);

    hook::ctl::Answer ask(Verb verb) {
        netns::Host host = fake_.host();
        auto answer = verb(options_, host);
        EXPECT_TRUE(answer) << answer.error().message();
        return answer ? *answer : hook::ctl::Answer{};
    }

    // For the container with that key; empty: for one_.
    void remember_failure_of(const std::string& key) {
        netns::Host host = fake_.host();
        const hook::Call call{.host = host,
                              .config = hook::ReadOnce{options_.load_config},
                              .bundle = one_.bundle(),
                              .container = key};
        hook::remember_failure(call, "precreate", base::make_error(base::Code::Busy, "taken"));
    }

    // Keys of the failures that are remembered.
    std::set<std::string> failed_keys() {
        options_.failed = true;
        std::set<std::string> keys;
        const auto answer = ask(hook::ctl::list);
        for (const auto& failure : answer.json["failures"])
            keys.insert(failure.value("key", ""));
        return keys;
    }

    FakeHost fake_;
    StateDir state_;
    TempDir host_;
    Life one_;
    hook::ctl::Options options_;
};

TEST_F(Ctl, WhoHadAContainerThatIsGoneIsForgotten) {
    netns::Host host = fake_.host();
    const hook::Runtimes runtimes{host, options_.runtimes};
    ASSERT_TRUE(runtimes.remember(
        {.root = "/r", .id = "c1", .runtime = "/usr/bin/crun", .creator = {.pid = 1, .start = 9}},
        true));
    EXPECT_EQ(ask(hook::ctl::collect).json["leftovers"].size(), 1U);
    EXPECT_FALSE(runtimes.find("/r", "c1"));
}

TEST_F(Ctl, PlanPrintsEveryStepAndChangesNothing) {
    options_.annotations = {"rdma.mode=softroce", "rdma.ip=10.9.0.1/24"};
    const World before = fake_.world;
    const auto answer = ask(hook::ctl::plan);
    EXPECT_EQ(fake_.world, before);
    EXPECT_TRUE(state_.leftovers().empty());
    std::vector<std::string> kinds;
    for (const auto& step : answer.json["attachments"][0]["steps"])
        kinds.push_back(step["kind"]);
    EXPECT_EQ(kinds,
              (std::vector<std::string>{"pin_netns",
                                        "claim",
                                        "create_child",
                                        "strict_arp",
                                        "add_address",
                                        "create_rdma_link",
                                        "check_data_path"}));
    EXPECT_NE(answer.text.find("10.9.0.1"), std::string::npos);
}

TEST_F(Ctl, PlanRefusesWhatTheHookWould) {
    netns::Host host = fake_.host();
    options_.annotations = {"rdma.mode=softroce", "rdma.ip=10.9.0.0/24"};
    EXPECT_EQ(hook::ctl::plan(options_, host).error().code, base::Code::BadInput);
    options_.annotations = {"rdma.mode"};
    EXPECT_EQ(hook::ctl::plan(options_, host).error().code, base::Code::Usage);
    options_.annotations = {"other=x"};
    EXPECT_TRUE(ask(hook::ctl::plan).json["attachments"].empty());
}

TEST_F(Ctl, ConfigCheckSaysWhichRuleDecides) {
    EXPECT_FALSE(ask(hook::ctl::check_config).json.contains("verdicts"));
    const auto config = hook::parse_config(R"({
        "pools": {"fast": {"mode": "vf", "devices": ["enp1s0"], "policy": {"vlans": ["7"]}}},
        "policy": {"modes": ["vf"], "devices": ["enp1s0"], "mac": true}})");
    ASSERT_TRUE(config) << config.error().message();
    state_.config().pools = config->pools;
    state_.config().policy = config->policy;
    options_.annotations = {"rdma.0.mode=vf", "rdma.pool=fast", "rdma.vlan=7", "rdma.mtu=1500"};
    const auto allowed = ask(hook::ctl::check_config);
    EXPECT_EQ(allowed.status, 0);
    EXPECT_EQ(allowed.json["allowed"], true);
    std::map<std::string, std::string> rules;
    for (const auto& verdict : allowed.json["verdicts"])
        EXPECT_TRUE(rules.emplace(verdict["asked"], verdict["rule"]).second) << verdict;
    EXPECT_EQ(rules,
              (std::map<std::string, std::string>{{"rdma.mode='vf'", "policy.modes"},
                                                  {"rdma.pool='fast'", "policy.pools"},
                                                  {"rdma.device='enp1s0'", "policy.devices"},
                                                  {"rdma.vlan='7'", "pools.fast.policy.vlans"},
                                                  {"rdma.mtu='1500'", "no rule"}}));

    options_.annotations = {"rdma.mode=vf", "rdma.pool=fast", "rdma.vlan=8", "rdma.trust=on"};
    const auto denied = ask(hook::ctl::check_config);
    EXPECT_EQ(denied.status, base::exit_status(base::Code::Refused));
    EXPECT_EQ(denied.json["allowed"], false);
    EXPECT_NE(denied.text.find("rdma.vlan='8'         pools.fast.policy.vlans: choose one of 7\n"),
              std::string::npos)
        << denied.text;
    EXPECT_NE(denied.text.find("policy.trust: remove the annotation"), std::string::npos);

    netns::Host host = fake_.host();
    options_.annotations = {"rdma.mode=vf", "rdma.vlan=x"};
    EXPECT_EQ(hook::ctl::check_config(options_, host).error().code, base::Code::BadInput);
    options_.annotations = {"rdma.mode"};
    EXPECT_EQ(hook::ctl::check_config(options_, host).error().code, base::Code::Usage);
}

TEST_F(Ctl, ConfigCheckKnowsWhatTheEngineGives) {
    const TempDir dir;
    options_.spec_path = dir / "config.json";
    std::ofstream(options_.spec_path) << R"({"annotations":{"rdma.mode":"softroce"},
        "process":{"capabilities":{"bounding":["CAP_NET_RAW"]}},
        "linux":{"devices":[{"path":"/dev/infiniband/umad0","type":"c","major":231,"minor":0}]}})";
    const auto device = ask(hook::ctl::check_config);
    EXPECT_EQ(device.json["allowed"], false);
    EXPECT_NE(
        device.text.find("--device /dev/infiniband/umad0 (231:0) beside rdma.*  default policy"),
        std::string::npos)
        << device.text;
    hook::Policy policy;
    policy.modes = {"softroce"};
    policy.forbid_capabilities.emplace()["softroce"] = {"CAP_NET_RAW"};
    state_.config().policy = policy;
    EXPECT_NE(ask(hook::ctl::check_config).text.find("policy.forbid_capabilities"),
              std::string::npos);
}

TEST_F(Ctl, ListTellsTheLivingFromTheDead) {
    ASSERT_TRUE(one_.precreate());
    EXPECT_EQ(ask(hook::ctl::list).json["containers"][0]["state"], "creating");
    ASSERT_TRUE(one_.create_runtime());
    name_it("server");
    const auto live = ask(hook::ctl::list);
    EXPECT_EQ(live.json["containers"][0]["state"], "live");
    EXPECT_EQ(live.json["containers"][0]["name"], "server");
    EXPECT_EQ(live.json["containers"][0]["engine"], "podman");
    EXPECT_NE(live.text.find("10.9.0.1/24"), std::string::npos);
    fake_.world.processes.erase(one_.init);
    EXPECT_EQ(ask(hook::ctl::list).json["containers"][0]["state"], "dead");
    const auto collected = ask(hook::ctl::collect);
    EXPECT_EQ(collected.json["containers"].size(), 1U);
    EXPECT_FALSE(collected.trouble);
    EXPECT_TRUE(ask(hook::ctl::list).json["containers"].empty());
}

TEST_F(Ctl, ListHasALineForEachAddress) {
    one_.annotations["rdma.ip"] = "10.9.0.1/24,fd00::1/64";
    ASSERT_TRUE(one_.start());
    std::string text = ask(hook::ctl::list).text;
    const std::string id = one_.id().substr(0, 12);
    EXPECT_THAT(text, HasSubstr("\n" + id + "  podman")) << "it has no name";
    name_it("server");
    text = ask(hook::ctl::list).text;
    const auto head = text.substr(0, text.find('\n'));
    EXPECT_THAT(head, MatchesRegex("NAME +ENGINE +AGE +STATE +MODE +DEVICE +NETDEV +ADDRESSES"));
    EXPECT_THAT(text,
                ContainsRegex("\nserver +podman +[0-9]+ s +live +softroce +rxe[0-9a-f]+ +rdma0 +"
                              "10.9.0.1/24\n +fd00::1/64\n$"));
    options_.page.colours = true;
    EXPECT_THAT(ask(hook::ctl::list).text, HasSubstr("\033[32mlive\033[0m"));
    options_.page.colours = false;
    for (const size_t columns : {66U, 80U, 120U}) {
        options_.page.columns = columns;
        std::istringstream lines(ask(hook::ctl::list).text);
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(line.size(), columns) << line;
    }
}

TEST_F(Ctl, ContainersAreFoundByName) {
    ASSERT_TRUE(one_.start());
    fake_.world.rdma.begin()->second.counters = {{"sent_pkts", 7}};
    name_it("server");
    for (const std::string& name : {std::string("server"),
                                    std::string("podman:server"),
                                    one_.id().substr(0, 5),
                                    "podman:" + one_.id().substr(0, 5)}) {
        options_.container = name;
        EXPECT_EQ(ask(hook::ctl::show).json["container"]["id"], one_.id()) << name;
        EXPECT_EQ(ask(hook::ctl::stats).json["containers"].size(), 1U) << name;
    }
    EXPECT_THAT(ask(hook::ctl::stats).text, HasSubstr("\nserver "));
    netns::Host host = fake_.host();
    for (const char* name : {"docker:server", "serve", ""}) {
        options_.container = name;
        EXPECT_EQ(hook::ctl::show(options_, host).has_value(), std::string(name).empty()) << name;
    }
}

TEST_F(Ctl, ShowIsAPage) {
    ASSERT_TRUE(one_.start());
    name_it("server");
    options_.container = "server";
    const auto answer = ask(hook::ctl::show);
    const std::string device = one_.environment("RDMA_DEVICE");
    for (const std::string& line : {std::string("server\n"),
                                    "  id         " + one_.id() + "\n",
                                    std::string("  state      live, attached "),
                                    std::string("\nattachment 0: softroce\n"),
                                    "  device     " + device + " (rxe), node GUID ",
                                    std::string("  netdev     rdma0, MAC "),
                                    std::string("  addresses  10.9.0.1/24\n"),
                                    std::string("  nodes      /dev/infiniband/uverbs"),
                                    std::string("\n             /dev/infiniband/rdma_cm\n"),
                                    std::string("ip=10.9.0.1/24\n")})
        EXPECT_THAT(answer.text, HasSubstr(line));
    EXPECT_THAT(answer.text, Not(HasSubstr("{"))) << "no JSON";
    EXPECT_EQ(answer.json["journals"].size(), 1U);
    remember_failure_of("");
    const auto failed = ask(hook::ctl::show);
    EXPECT_THAT(failed.text, HasSubstr("\nlast failure of server\n"));
    EXPECT_THAT(failed.text, HasSubstr("taken"));
}

TEST_F(Ctl, WatchDrawsAgainWhenSomethingChanges) {
    netns::Host host = fake_.host();
    std::vector<std::string> drawn;
    const auto done = hook::ctl::watch(options_,
                                       host,
                                       {.page = [] { return hook::ctl::Page{.columns = 80}; },
                                        .draw =
                                            [&](const std::string& text) {
                                                drawn.push_back(text);
                                                if (drawn.size() == 1) {
                                                    EXPECT_TRUE(one_.start());
                                                }
                                                return drawn.size() < 2;
                                            }});
    EXPECT_TRUE(done) << done.error().message();
    ASSERT_EQ(drawn.size(), 2U);
    EXPECT_THAT(drawn[0], Not(HasSubstr("live")));
    EXPECT_THAT(drawn[1], HasSubstr("live"));
    EXPECT_EQ(hook::ctl::drawing("one\ntwo\nthree\n", {.columns = 80, .rows = 3}),
              "\033[Hone\033[K\ntwo\033[K\n\033[J")
        << "what does not fit is left out";
}

TEST_F(Ctl, GcSaysBeforehandWhatItWouldUndo) {
    options_.dry_run = true;
    EXPECT_EQ(ask(hook::ctl::collect).text, "nothing to do\n");
    ASSERT_TRUE(one_.start());
    name_it("server");
    EXPECT_EQ(ask(hook::ctl::collect).text, "nothing to do\n") << "it lives";
    fake_.world.processes.erase(one_.init);
    const std::string attach = state_.path() + "/attach/" + std::string(64, 'e') + ".json";
    ASSERT_TRUE(fake_.files.write(attach, "{}"));
    const World before = fake_.world;
    const auto left = state_.leftovers();
    const auto would = ask(hook::ctl::collect);
    EXPECT_EQ(would.text,
              "would undo container server, which is dead\nwould remove " + attach + "\n");
    EXPECT_EQ(would.json["dry_run"], true);
    EXPECT_EQ(would.json["would"].size(), 2U);
    EXPECT_TRUE(would.json["journals"].empty()) << "its attachment goes with it";
    EXPECT_EQ(fake_.world, before) << difference(before, fake_.world);
    EXPECT_EQ(state_.leftovers(), left);
    options_.dry_run = false;
    const auto done = ask(hook::ctl::collect);
    for (const char* what : {"containers", "journals", "leftovers"})
        EXPECT_EQ(done.json[what], would.json[what]) << what;
    EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
}

TEST_F(Ctl, StatsAreOfTheLivingAndFollowWhatTheyRenamed) {
    ASSERT_TRUE(one_.start());
    FakeRdma& rdma = fake_.world.rdma.begin()->second;
    rdma.counters = {{"sent_pkts", 7}, {"out_of_seq_request", 1}};
    FakeLink& link = *fake_.world.find_link(rdma.netdev_ns, rdma.netdev);
    link.link.name = "renamed";
    link.counters = {{"rx_bytes", 123456789012ULL}};
    const auto answer = ask(hook::ctl::stats);
    EXPECT_FALSE(answer.trouble);
    ASSERT_EQ(answer.json["containers"].size(), 1U);
    const auto& attachment = answer.json["containers"][0]["attachments"][0];
    EXPECT_EQ(attachment["device"], rdma.device.name);
    EXPECT_EQ(attachment["shared"], false);
    EXPECT_EQ(attachment["device_counters"]["sent_pkts"], 7);
    EXPECT_EQ(attachment["device_counters"]["rcvd_pkts"], 0);
    EXPECT_EQ(attachment["netdev"], "renamed");
    EXPECT_EQ(attachment["netdev_counters"]["rx_bytes"], 123456789012ULL);
    EXPECT_NE(answer.text.find("renamed"), std::string::npos) << answer.text;
    EXPECT_NE(answer.text.find("123456789012"), std::string::npos) << answer.text;
    EXPECT_EQ(answer.text.find("rcvd_pkts"), std::string::npos) << "it is 0: " << answer.text;

    options_.container = one_.id().substr(0, 12);
    EXPECT_EQ(ask(hook::ctl::stats).json, answer.json);
    netns::Host host = fake_.host();
    options_.container = "nobody";
    EXPECT_EQ(hook::ctl::stats(options_, host).error().code, base::Code::Unavailable);
    fake_.world.processes.erase(one_.init);
    options_.container = one_.id();
    EXPECT_EQ(hook::ctl::stats(options_, host).error().code, base::Code::Unavailable);
    options_.container.clear();
    EXPECT_TRUE(ask(hook::ctl::stats).json["containers"].empty());
}

TEST_F(Ctl, StatsSayWhichDeviceCouldNotBeAskedAndGoOn) {
    ASSERT_TRUE(one_.start());
    Life two{fake_, state_, "two"};
    two.network = "/run/netns/two";
    two.init = 4712;
    fake_.world.engine_paths[two.network] = fake_.world.add_netns();
    two.annotations = {{"rdma.mode", "softroce"}, {"rdma.placement", "host"}};
    ASSERT_TRUE(two.start()) << "a device of the host's";
    const std::string lost = one_.environment("RDMA_DEVICE");
    std::erase_if(fake_.world.rdma, [&](const auto& e) { return e.second.device.name == lost; });
    const auto answer = ask(hook::ctl::stats);
    EXPECT_TRUE(answer.trouble);
    EXPECT_NE(answer.text.find(lost + " is gone"), std::string::npos) << answer.text;
    int shared = 0;
    for (const auto& container : answer.json["containers"])
        shared += container["attachments"][0].value("shared", false) ? 1 : 0;
    EXPECT_EQ(shared, 1);
}

TEST_F(Ctl, ListNamesWhatCouldNotBeUndone) {
    ASSERT_TRUE(one_.start());
    fake_.world.rdma.begin()->second.contexts = 2;
    EXPECT_FALSE(one_.poststop());
    const auto dirty = ask(hook::ctl::list);
    ASSERT_EQ(dirty.json["dirty"].size(), 1U);
    EXPECT_NE(dirty.text.find("still open 2 times"), std::string::npos) << dirty.text;
    EXPECT_TRUE(ask(hook::ctl::collect).trouble);
}

TEST_F(Ctl, FailuresAreRemembered) {
    netns::Host host = fake_.host();
    remember_failure_of("");
    options_.failed = true;
    const auto failed = ask(hook::ctl::list);
    EXPECT_EQ(failed.json["failures"][0]["code"], "busy");
    EXPECT_EQ(failed.json["failures"][0]["error"], "taken");
    options_.container = failed.json["failures"][0]["id"].get<std::string>().substr(0, 12);
    EXPECT_EQ(ask(hook::ctl::show).json["last_error"]["phase"], "precreate");
    options_.container = "nobody";
    EXPECT_EQ(hook::ctl::show(options_, host).error().code, base::Code::Unavailable);
}

TEST_F(Ctl, TheOldestFailuresAreForgotten) {
    constexpr int kFailures = 70;
    constexpr size_t kKept = 64;
    // Each name sorts before all earlier ones.
    const auto key = [](int number) { return fmt::format("{:04}", kFailures - number); };
    for (int number = 0; number < kFailures; ++number) {
        remember_failure_of(key(number));
        EXPECT_TRUE(failed_keys().contains(key(number))) << number;
    }
    EXPECT_EQ(failed_keys().size(), kKept);

    const std::string errors = state_.path() + "/errors/";
    ASSERT_TRUE(fake_.files.write(errors + "old.json", R"({"key":"old","time":1})"));
    ASSERT_TRUE(fake_.files.write(errors + "broken.json", "{"));
    const auto before = failed_keys();
    EXPECT_TRUE(before.contains("old"));
    remember_failure_of("latest");
    const auto after = failed_keys();
    EXPECT_TRUE(after.contains("latest"));
    EXPECT_FALSE(after.contains("old"));
    EXPECT_EQ(after.size(), kKept) << "what cannot be read goes first";
    EXPECT_EQ(fake_.files.list(errors)->size(), kKept);
}

TEST_F(Ctl, ABrokenConfigurationKeepsNobodyFromCollecting) {
    options_.load_config = []() -> base::Result<hook::Config> {
        return base::make_error(base::Code::BadConfig, "broken");
    };
    testing::internal::CaptureStderr();
    const hook::Config config = hook::ctl::config_for_upkeep(options_);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("broken"), std::string::npos);
    EXPECT_EQ(config.state_dir, hook::Config{}.state_dir);
    options_.default_config = [] { return hook::as_users({}, 1000); };
    testing::internal::CaptureStderr();
    const hook::Config users = hook::ctl::config_for_upkeep(options_);
    (void)testing::internal::GetCapturedStderr();
    EXPECT_EQ(users.state_dir, "/run/user/1000/rdma-hook");
    EXPECT_TRUE(users.rootless) << "its gc leaves root's alone";
    netns::Host host = fake_.host();
    EXPECT_EQ(hook::ctl::check_config(options_, host).error().code, base::Code::BadConfig);
}

TEST(CtlText, LaysOutColumnsAndAges) {
    EXPECT_EQ(hook::ctl::table({{"A", "BB"}, {"long", "x"}}), "A     BB\nlong  x\n");
    EXPECT_EQ(hook::ctl::age(100, 130), "30 s ago");
    EXPECT_EQ(hook::ctl::age(100, 100 + 600), "10 min ago");
    EXPECT_EQ(hook::ctl::age(100, 100 + 36000), "10 h ago");
    EXPECT_EQ(hook::ctl::age(0, 5), "");
    EXPECT_EQ(hook::ctl::span(100, 100 + 86400 * 3), "3 days");
}

TEST(CtlText, CutsTheWidestColumnsAndNoOthers) {
    const hook::ctl::Rows rows = {
        {"A", "LONG", "C"}, {"1", "0123456789abcdefghij", "z"}, {"2", "", "y"}};
    EXPECT_EQ(hook::ctl::table_within(rows, {.columns = 16}),
              "A  LONG        C\n"
              "1  0123456...  z\n"
              "2              y\n");
    EXPECT_EQ(hook::ctl::table_within(rows, {.columns = 1}),
              "A  LONG      C\n"
              "1  01234...  z\n"
              "2            y\n")
        << "eight characters stay";
}

// Only what is too long for its line: the other lines stay as they are.
TEST(CtlText, ALongCellOfTheLastColumnGoesToALineOfItsOwn) {
    const hook::ctl::Rows rows = {{"NAME", "MODE", "ADDRESSES"},
                                  {"a", "vf", "10.9.0.1/24"},
                                  {"b", "vf", "fd00:1:2:3::1/64"},
                                  {"", "", "fd00::1/64"},
                                  {"", "", "fd00:1:2:3:4:5:6:7/64"}};
    EXPECT_EQ(hook::ctl::table_within(rows, {.columns = 24}),
              "NAME  MODE  ADDRESSES\n"
              "a     vf    10.9.0.1/24\n"
              "b     vf\n"
              "        fd00:1:2:3::1/64\n"
              "            fd00::1/64\n"
              "   fd00:1:2:3:4:5:6:7/64\n");
    EXPECT_EQ(hook::ctl::table_within(rows, {.columns = 40}), hook::ctl::table(rows));
    EXPECT_EQ(hook::ctl::table_within({{"A", "B"}, {"x", "0123456789abcdef"}}, {.columns = 12}),
              "A  B\n"
              "x\n"
              "012345678...\n");
    EXPECT_EQ(hook::ctl::table_within({}, {}), "");
}

TEST(CtlText, ColoursAddNothingToTheWidth) {
    const hook::ctl::Rows rows = {{"STATE", "X"}, {{"ok", hook::ctl::colour_of("ok")}, "y"}};
    EXPECT_EQ(hook::ctl::table(rows, {.colours = true}),
              "\033[1mSTATE\033[0m  \033[1mX\033[0m\n\033[32mok\033[0m     y\n");
    EXPECT_EQ(hook::ctl::table(rows), "STATE  X\nok     y\n");
}

TEST(CtlText, TheEnvironmentDecidesOnColours) {
    const auto wants = [](const char* term, const char* no_color) {
        term == nullptr ? ::unsetenv("TERM") : ::setenv("TERM", term, 1);
        no_color == nullptr ? ::unsetenv("NO_COLOR") : ::setenv("NO_COLOR", no_color, 1);
        return hook::ctl::wants_colours();
    };
    EXPECT_TRUE(wants("xterm", nullptr));
    EXPECT_TRUE(wants("xterm", "")) << "empty: as if it were not there (no-color.org)";
    EXPECT_FALSE(wants("xterm", "1"));
    EXPECT_FALSE(wants("dumb", nullptr));
    EXPECT_FALSE(wants(nullptr, nullptr));
}

}  // namespace
}  // namespace test
