// SPDX-License-Identifier: Apache-2.0
// Containers that join what is there already: the host's device (rdma.placement=host), which
// containers share without knowing of each other, and a network's own interface.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/hook/containers.h"
#include "tests/unit/hook/way.h"

namespace test {
namespace {

using testing::HasSubstr;
using Annotations = std::map<std::string, std::string>;

class Joining : public Containers {
  protected:
    // On the interface that the engine made.
    Life on_own_interface(const std::string& id, const std::string& mode) {
        Life life{fake_, state_, id};
        life.annotations = {{"rdma.mode", mode}, {"rdma.parent", "container"}};
        return life;
    }
};

class JoiningTheHosts : public Containers {
  protected:
    JoiningTheHosts() : Containers(World::standard(KernelTraits::v6_12())) {}

    static Annotations hosts(Annotations more) {
        more.insert({{"rdma.mode", "softroce"}, {"rdma.placement", "host"}});
        return more;
    }
};

TEST_F(JoiningTheHosts, ItIsOneDeviceHoweverItIsAskedFor) {
    state_.add_pool("other", "softroce");
    const std::vector<Annotations> spellings = {
        hosts({}),
        hosts({{"rdma.parent", "eth0"}}),
        hosts({{"rdma.pool", "other"}}),
        {{"rdma.1.mode", "softroce"}, {"rdma.1.placement", "host"}}};
    std::vector<Life> all;
    for (const Annotations& annotations : spellings) {
        Life each = container("user" + std::to_string(all.size()), annotations);
        const auto started = each.start();
        ASSERT_TRUE(started) << started.error().message();
        EXPECT_EQ(fake_.world.rdma.size(), 1U);
        all.push_back(std::move(each));
    }
    EXPECT_EQ(all.back().environment("RDMA_DEVICE_1"), all.front().environment("RDMA_DEVICE"));
    for (Life& each : all) {
        EXPECT_EQ(fake_.world.rdma.size(), 1U);
        ASSERT_TRUE(each.poststop());
    }
    expect_nothing_left();
}

TEST_F(JoiningTheHosts, OneContainerHasItOnce) {
    Life one = container("one",
                         hosts({{"rdma.1.mode", "softroce"},
                                {"rdma.1.placement", "host"},
                                {"rdma.1.parent", "eth0"}}));
    const auto error = refusal(one);
    EXPECT_EQ(error.code, Code::Refused);
    EXPECT_THAT(error.message(), HasSubstr("attachments 0 and 1 both ask for the device"));
    EXPECT_THAT(error.message(), HasSubstr("remove the rdma.1.* annotations"));
    expect_nothing_left();
}

TEST_F(JoiningTheHosts, TheAdministratorsIsUsedAndStays) {
    fake_.world.add_rdma(fake_.world.host, World::kHostLink, "rxe_admin", "rxe");
    Life one = container("one", hosts({}));
    ASSERT_TRUE(one.start());
    EXPECT_EQ(one.environment("RDMA_DEVICE"), "rxe_admin");
    ASSERT_TRUE(one.poststop());
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
}

TEST_F(JoiningTheHosts, ItIsAnRxeWhateverElseIsOnTheNetdev) {
    fake_.world.add_rdma(fake_.world.host, World::kHostLink, "mlx5_0", "mlx5");
    fake_.world.add_rdma(fake_.world.host, World::kHostLink, "siw_admin", "siw");
    Life one = container("one", hosts({}));
    ASSERT_TRUE(one.start());
    EXPECT_TRUE(one.environment("RDMA_DEVICE").starts_with("rxe"))
        << one.environment("RDMA_DEVICE");
    ASSERT_TRUE(one.poststop());
    EXPECT_EQ(fake_.world.rdma.size(), 2U);
    fake_.world.add_rdma(fake_.world.host, World::kHostLink, "rxe_admin", "rxe");
    ASSERT_TRUE(one.start());
    EXPECT_EQ(one.environment("RDMA_DEVICE"), "rxe_admin");
    ASSERT_TRUE(one.poststop());
    EXPECT_EQ(fake_.world.rdma.size(), 3U);
}

// A restored checkpoint has the same hooks and another id.
TEST_F(Joining, TheEndOfACopyIsNotTheContainers) {
    Life one = softroce("one", "10.9.0.1/24");
    ASSERT_TRUE(one.start());
    const auto before = state_.leftovers();
    const auto args = one.spec()["hooks"]["poststop"][0]["args"].get<std::vector<std::string>>();
    netns::Host host = fake_.host();
    const hook::Call call{
        .host = host,
        .config = hook::ReadOnce{[this] { return base::Result<hook::Config>{state_.config()}; }},
        .state_dir = args.at(3),
        .container = args.at(5),
        .attach = args.at(7)};
    const oci::Json copy{{"ociVersion", "1.2.0"}, {"id", "copy"}, {"bundle", one.bundle()}};
    EXPECT_TRUE(hook::poststop(copy.dump(), call));
    EXPECT_EQ(state_.leftovers(), before);
    EXPECT_EQ(fake_.world.rdma.size(), 1U);
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

// Somebody deleted it: what is left on the netdev is not what softroce may give.
TEST_F(JoiningTheHosts, HardwareDoesNotTakeItsPlace) {
    Life one = container("one", hosts({}));
    ASSERT_TRUE(one.start());
    fake_.world.rdma.clear();
    fake_.world.add_rdma(fake_.world.host, World::kHostLink, "mlx5_0", "mlx5");
    Life two = container("two", hosts({}));
    const Error started = error_of(two.start());
    EXPECT_EQ(started.code, Code::Unavailable) << started.message();
}

TEST_F(Joining, ADifferentRequestForTheNetworksOwnInterfaceIsRefused) {
    fake_.world = with_container_link(fake_.world);
    Life one = on_own_interface("one", "softroce");
    Life two = on_own_interface("two", "softiwarp");
    ASSERT_TRUE(one.start());
    const auto error = refusal(two);
    EXPECT_EQ(error.code, Code::Refused);
    EXPECT_THAT(error.message(), HasSubstr("has RDMA on the engine's interface"));
    EXPECT_THAT(error.message(), testing::Not(HasSubstr("rdma.ifname"))) << "it takes none";
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

}  // namespace
}  // namespace test
