// SPDX-License-Identifier: Apache-2.0
// A container may open a device number. Its device may go while it runs, and the number then is the
// next device's.
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "hook/container/into_running.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using testing::HasSubstr;

class GrantedNodes : public Containers {
  protected:
    Life life(const std::string& id, const std::string& ip, bool plain = false) {
        Life life = container(id, {{"rdma.mode", "softroce"}, {"rdma.ip", ip}});
        fake_.world.add_process(life.init, fake_.world.engine_paths.at(life.network));
        life.plain = plain;
        return life;
    }

    // As a driver does that is loaded again, or `rdma link delete`.
    std::string lose_the_device() {
        const auto device = fake_.world.rdma.begin();
        const std::string number = std::to_string(device->second.uverbs.major) + ":" +
                                   std::to_string(device->second.uverbs.minor);
        fake_.world.rdma.erase(device);
        return number;
    }

    std::vector<std::string> regranted() {
        netns::Host host = fake_.host();
        const hook::Store store{host.files, state_.path()};
        const hook::Context context{host, state_.config(), store};
        return hook::regrant(context).containers;
    }
};

TEST_F(GrantedNodes, ANumberThatARuntimesRuleNamesIsGivenToNobodyElse) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    lose_the_device();
    Life two = life("two", "10.9.0.2/24");
    const auto refused = two.precreate();
    ASSERT_FALSE(refused) << "it would be open to the first";
    EXPECT_EQ(refused.error().code, base::Code::Busy);
    EXPECT_THAT(refused.error().message(), HasSubstr("may open device 231:"));
    EXPECT_THAT(refused.error().message(), HasSubstr("restart that container"));
    EXPECT_THAT(collect(fake_, state_).trouble, testing::Contains(HasSubstr("is not any more")));
    ASSERT_TRUE(one.poststop());
    ASSERT_TRUE(two.start());
    ASSERT_TRUE(two.poststop());
    expect_nothing_left();
}

TEST_F(GrantedNodes, ANumberThatWasGrantedLiveIsTakenAway) {
    Life one = life("one", "10.9.0.1/24", true);
    ASSERT_TRUE(one.start());
    const std::string number = lose_the_device();
    ASSERT_TRUE(fake_.world.processes.at(one.init).devices.contains(number));
    Life two = life("two", "10.9.0.2/24");
    ASSERT_TRUE(two.start());
    EXPECT_EQ(fake_.world.rdma.begin()->second.uverbs.minor,
              static_cast<uint32_t>(std::stoul(number.substr(number.find(':') + 1))));
    EXPECT_FALSE(fake_.world.processes.at(one.init).devices.contains(number));
    EXPECT_EQ(regranted(), std::vector<std::string>{}) << "it is another's";
    EXPECT_FALSE(fake_.world.processes.at(one.init).devices.contains(number));
    ASSERT_TRUE(one.poststop());
    ASSERT_TRUE(two.poststop());
    expect_nothing_left();
}

TEST_F(GrantedNodes, GcTakesAwayWhatIsStaleAndSaysSo) {
    Life one = life("one", "10.9.0.1/24", true);
    ASSERT_TRUE(one.start());
    EXPECT_EQ(collect(fake_, state_).trouble, std::vector<std::string>{});
    const std::string number = lose_the_device();
    EXPECT_THAT(collect(fake_, state_).trouble,
                testing::ElementsAre(HasSubstr("is gone; restart the container")));
    EXPECT_FALSE(fake_.world.processes.at(one.init).devices.contains(number));
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

// Those that share a device may be many.
TEST_F(GrantedNodes, ANewContainerReadsNothingOfThoseThatShareItsDevice) {
    const std::map<std::string, std::string> shared = {{"rdma.mode", "softroce"},
                                                       {"rdma.placement", "host"}};
    Life one = container("one", shared);
    Life two = container("two", shared);
    ASSERT_TRUE(one.start());
    const auto only_file = [&](const std::string& folder) {
        return std::filesystem::directory_iterator(state_.path() + folder)->path();
    };
    const std::filesystem::path kept = state_.path() + "/kept";
    for (const auto& file : {only_file("/containers"), only_file("/nodes")}) {
        std::filesystem::rename(file, kept);
        std::ofstream(file) << "unreadable";
        const auto started = two.start();
        EXPECT_TRUE(started) << file << ": " << started.error().message();
        ASSERT_TRUE(two.poststop());
        std::filesystem::rename(kept, file);
    }
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

// An earlier version has written the device's GUID and index into the file.
TEST_F(GrantedNodes, AnEarlierVersionsFileIsReadAndForgotten) {
    Life one = life("one", "10.9.0.1/24", true);
    ASSERT_TRUE(one.start());
    const std::filesystem::path file =
        std::filesystem::directory_iterator(state_.path() + "/nodes")->path();
    const auto& device = fake_.world.rdma.begin()->second;
    std::filesystem::remove(file);
    std::ofstream(file.parent_path() /
                  fmt::format("231:{}-{}", device.uverbs.minor, hook::container_key(one.bundle())))
        << fmt::format(R"({{"device":"{}","node_guid":{},"index":{}}})",
                       device.device.name,
                       device.device.node_guid,
                       device.device.index);
    fake_.world.processes.at(one.init).devices.clear();
    EXPECT_EQ(regranted(), std::vector<std::string>{hook::container_key(one.bundle())});
    const std::string number = lose_the_device();
    Life two = life("two", "10.9.0.2/24");
    ASSERT_TRUE(two.start());
    EXPECT_FALSE(fake_.world.processes.at(one.init).devices.contains(number)) << "it is another's";
    ASSERT_TRUE(one.poststop());
    ASSERT_TRUE(two.poststop());
    expect_nothing_left();
}

TEST_F(GrantedNodes, ADeviceThatIsRenamedIsTheSame) {
    Life one = life("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    fake_.world.rdma.begin()->second.device.name = "rocex0200000909fffe01";
    EXPECT_EQ(collect(fake_, state_).trouble, std::vector<std::string>{});
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

}  // namespace
}  // namespace test
