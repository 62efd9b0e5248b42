// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/outside_ovs.h"

#include <array>
#include <filesystem>

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace test {

using base::Json;
using netns::ovsdb::Client;

namespace {
constexpr char kServer[] = "/usr/sbin/ovsdb-server";
constexpr char kTool[] = "/usr/bin/ovsdb-tool";
constexpr char kSchema[] = "/usr/share/openvswitch/vswitch.ovsschema";
constexpr std::chrono::seconds kOvsPatience{60};

// The values that ovs-vswitchd writes when it has applied a configuration as far as it could.
constexpr char kApply[] = R"json([
    {"op":"update","table":"Interface","where":[["ofport","==",["set",[]]]],"row":{"ofport":1}},
    {"op":"update","table":"Interface","where":[["name","==","nodevice"]],"row":{
     "ofport":-1,"error":"could not open network device nodevice (No such device)"}},
    {"op":"update","table":"Open_vSwitch","where":[],"row":{}}])json";

constexpr char kAwait[] = R"json([
    {"op":"wait","table":"Open_vSwitch","timeout":60000,"where":[],"columns":["next_cfg"],
     "until":"!=","rows":[{}]},
    {"op":"select","table":"Open_vSwitch","where":[],"columns":["next_cfg"]}])json";

base::ChildSpec program(const char* path, std::vector<std::string> arguments) {
    base::ChildSpec spec;
    spec.path = path;
    spec.arguments = std::move(arguments);
    spec.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
    return spec;
}

// Until it says something: ovsdb-server runs our command once it serves.
bool wait_until_ready(const base::Child& child) {
    pollfd ready{.fd = child.out().get(), .events = POLLIN, .revents = 0};
    std::array<char, 16> word{};
    return ::poll(&ready, 1, Deadline::in(kOvsPatience).left_ms()) > 0 &&
           ::read(child.out().get(), word.data(), word.size()) > 0;
}

// Until it is asked for another configuration than this; which one.
base::Result<int64_t> wait_for_request(Client& daemon, int64_t seen) {
    TRY(daemon.begin(Deadline::in(kOvsPatience)));
    Json operations = base::parse_json(kAwait, "operations").value();
    operations[0]["rows"][0]["next_cfg"] = seen;
    const auto outcome = TRY(daemon.transact(std::move(operations)));
    if (outcome.refusal)
        return netns::ovsdb::explain(*outcome.refusal, "wait for a request");
    return outcome.results[1]["rows"][0]["next_cfg"].get<int64_t>();
}
}  // namespace

FakeOvsOutside::FakeOvsOutside() {
    FakeOvs& ovs = fake_.world.ovs;
    ovs.installed = true;
    ovs.settings.version = "3.1.0";
    for (int number = 0; number < 256; ++number) {
        netns::Link link;
        link.name = "rep" + std::to_string(number);
        fake_.world.add_link(fake_.world.host, link);
    }
}

std::string RealOvsOutside::missing() {
    for (const char* file : {kServer, kTool, kSchema}) {
        if (!std::filesystem::exists(file))
            return "there is no " + std::string(file) + ": the lab's guests have it (contract.sh)";
    }
    return {};
}

RealOvsOutside::RealOvsOutside(bool set_up) {
    auto created =
        base::Child::start(program(kTool, {"create", dir_ / "conf.db", kSchema})).value();
    EXPECT_EQ(created.reap(), 0);
    server_ = base::Child::start(program(kServer,
                                         {"--remote=punix:" + socket(),
                                          "--unixctl=" + (dir_ / "control"),
                                          "--no-chdir",
                                          "-vconsole:err",
                                          "-vsyslog:off",
                                          "--run=echo ready; exec sleep 1000000",
                                          dir_ / "conf.db"}))
                  .value();
    EXPECT_TRUE(wait_until_ready(*server_));
    room_ = netns::make_ovs(socket());
    if (!set_up)
        return;
    (void)transact(R"([{"op":"insert","table":"Open_vSwitch","row":{"ovs_version":"3.1.0"}}])");
    daemon_ = std::thread([this] {
        Client client(socket());
        act(client);
    });
}

RealOvsOutside::~RealOvsOutside() {
    RealOvsOutside::stop_server();
}

void RealOvsOutside::stop_server() {
    if (server_) {
        server_->kill();
        server_->reap();
        server_.reset();
    }
    if (daemon_.joinable())
        daemon_.join();  // it has lost its connection
}

std::vector<Json> RealOvsOutside::transact(const std::string& operations) {
    Client client(socket());
    EXPECT_TRUE(client.begin(Deadline::in(kOvsPatience)));
    auto outcome = client.transact(base::parse_json(operations, "operations").value()).value();
    EXPECT_FALSE(outcome.refusal) << outcome.refusal->error << outcome.refusal->details;
    return std::move(outcome.results);
}

void RealOvsOutside::act(Client& daemon) {
    int64_t done = 0;  // the database is new
    while (const auto request = wait_for_request(daemon, done)) {
        Json operations = base::parse_json(kApply, "operations").value();
        operations.back()["row"]["cur_cfg"] = done = *request;
        if (acts_)
            (void)daemon.transact(std::move(operations));  // the test may have ended the server
    }
}

}  // namespace test
