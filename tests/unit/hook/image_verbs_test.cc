// SPDX-License-Identifier: Apache-2.0
// Images with and without the provider of their container's device, in the layouts of
// distributions, and as hostile images have it.
#include "hook/container/image_verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "hook/rdmactl/command.h"
#include "tests/fakes/adapters.h"
#include "tests/support/tree.h"
#include "tests/unit/hook/containers.h"

namespace test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kDebian[] = "/usr/lib/x86_64-linux-gnu";
constexpr char kFedora[] = "/usr/lib64";
constexpr char kAlpine[] = "/usr/lib";

class ImageVerbs : public Containers {
  protected:
    Life life() {
        Life life = container("one", {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}});
        life.root = image_.path();
        return life;
    }

    void put_library(const std::string& folder, const std::string& version = "1.14.44.0") {
        image_.put(folder + "/libibverbs.so." + version);
        image_.put_link(folder + "/libibverbs.so.1", "libibverbs.so." + version);
    }

    void put_provider(const std::string& folder, const std::string& name, unsigned abi = 34) {
        image_.put("/etc/libibverbs.d/" + name + ".driver", "driver " + name + "\n");
        image_.put(folder + "/libibverbs/lib" + name + "-rdmav" + std::to_string(abi) + ".so");
    }

    // What the attach says of the image; empty: nothing.
    std::string said(Life life) {
        EXPECT_TRUE(life.start());
        std::string line;
        for (const std::string& note : life.notes()) {
            if (note.find("of the image") != std::string::npos)
                line += note;
        }
        EXPECT_TRUE(life.poststop());
        return line;
    }

    std::string said() { return said(life()); }

    Tree image_;
};

TEST(Providers, AreKnownOfEachAdapter) {
    EXPECT_EQ(hook::provider_of("mlx5_core.sf"), "mlx5");
    EXPECT_EQ(hook::provider_of(""), "");
    EXPECT_EQ(hook::provider_of("nvme"), "");
    for (const Adapter& each : adapters()) {
        if (each.rdma_type.empty())
            continue;
        EXPECT_NE(hook::provider_of(each.driver), "") << each.name;
        if (each.vf_rdma && !each.vf_driver.empty()) {
            EXPECT_NE(hook::provider_of(each.vf_driver), "") << each.name;
        }
    }
}

TEST_F(ImageVerbs, WithTheProviderThereIsNothingToSay) {
    for (const char* folder : {kDebian, kFedora, kAlpine}) {
        image_.drop("/usr");
        image_.drop("/etc");
        put_library(folder);
        for (const char* name : {"mlx5", "rxe", "siw"})
            put_provider(folder, name);
        EXPECT_EQ(said(), "") << folder;
    }
}

// As rdma-core installs those that are libraries of their own, too.
TEST_F(ImageVerbs, AProviderMayBeALink) {
    put_library(kDebian);
    image_.put("/etc/libibverbs.d/rxe.driver");
    image_.put(std::string(kDebian) + "/librxe.so.1.0.44.0");
    image_.put_link(std::string(kDebian) + "/libibverbs/librxe-rdmav34.so",
                    "../librxe.so.1.0.44.0");
    EXPECT_EQ(said(), "");
}

TEST_F(ImageVerbs, WithoutItThePackageIsNamed) {
    const std::pair<const char*, const char*> table[] = {
        {kDebian, "install ibverbs-providers in the image"},
        {kFedora, "install libibverbs in the image"},
        {kAlpine, "install rdma-core in the image"}};
    for (const auto& [folder, fix] : table) {
        image_.drop("/usr");
        put_library(folder);
        const std::string line = said();
        EXPECT_THAT(line, HasSubstr("its libibverbs.so.1.14.44.0 has no provider rxe")) << folder;
        EXPECT_THAT(line, HasSubstr(fix));
    }
    put_provider(kAlpine, "mlx5");
    EXPECT_THAT(said(), HasSubstr("has no provider rxe")) << "another's is none";
}

TEST_F(ImageVerbs, AProviderThatIsNotNamedIsNotLoaded) {
    put_library(kDebian);
    put_provider(kDebian, "rxe");
    image_.drop("/etc/libibverbs.d/rxe.driver");
    EXPECT_THAT(said(), HasSubstr("lacks /etc/libibverbs.d/rxe.driver, which names its provider"));
}

TEST_F(ImageVerbs, AProviderOfAnotherReleaseIsNotLoaded) {
    put_library(kDebian);
    put_provider(kDebian, "rxe", 59);
    EXPECT_EQ(said(), "") << "perhaps all of the image is newer";
    put_provider(kDebian, "mlx5", 34);
    EXPECT_THAT(said(),
                HasSubstr("has a provider rxe for the private ABI 59, and the others for 34"));
    put_provider(kDebian, "rxe", 34);
    EXPECT_EQ(said(), "");
}

TEST_F(ImageVerbs, ProgramsMayBringTheirOwnLibrary) {
    EXPECT_EQ(said(), "") << "an empty image";
    put_provider(kDebian, "mlx5");
    EXPECT_EQ(said(), "") << "providers without a library";
    put_library("/opt/conda/lib");
    EXPECT_EQ(said(), "");
}

TEST_F(ImageVerbs, WhatTheUserMountsIsNotJudged) {
    put_library(kDebian);
    ASSERT_NE(said(), "");
    for (const char* place : {"/", "//", "/usrs", "/var/usr"}) {
        Life one = life();
        one.mounts.push_back({{"destination", place}, {"type", "bind"}, {"source", "/x"}});
        EXPECT_NE(said(std::move(one)), "") << place;
    }
    for (const char* place : {"/usr",
                              "usr",
                              "/usr/",
                              "//usr",
                              "/x/../usr",
                              "/usr/lib/x86_64-linux-gnu/libibverbs",
                              "/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so",
                              "/usr/lib/x86_64-linux-gnu/libibverbs.so.1",
                              "/etc/libibverbs.d/rxe.driver"}) {
        Life one = life();
        one.mounts.push_back({{"destination", place}, {"type", "bind"}, {"source", "/x"}});
        EXPECT_EQ(said(std::move(one)), "") << place;
    }
}

TEST_F(ImageVerbs, AHostileImageIsNotFollowed) {
    const std::string providers = std::string(kDebian) + "/libibverbs";
    put_library(kDebian);
    image_.put("/etc/libibverbs.d/rxe.driver");
    image_.put_folder(providers);
    // What is not a file is no provider.
    ASSERT_EQ(::mkfifo(image_.at(providers + "/librxe-rdmav34.so").c_str(), 0600), 0);
    image_.put_folder(providers + "/librxe-rdmav35.so");
    image_.put_link(providers + "/librxe-rdmav36.so", "/proc/self/exe");
    for (const char* name : {"librxe-rdmav.so",
                             "librxe-rdmav99999999999999999999.so",
                             "librxe-rdmav34.so.1",
                             "-rdmav34.so",
                             "lib\n-rdmav1.so"})
        image_.put(providers + "/" + name);
    EXPECT_THAT(said(), HasSubstr("has no provider rxe"));
    // Of a link that turns in a circle nothing is known.
    image_.put_link(providers + "/librxe-rdmav37.so", "librxe-rdmav37.so");
    EXPECT_EQ(said(), "");
    image_.drop(providers);
    image_.put_link(providers, providers);
    EXPECT_EQ(said(), "");
    image_.drop(providers);
    for (int i = 0; i < 300; ++i)
        image_.put(providers + "/lib" + std::to_string(i) + "-rdmav34.so");
    EXPECT_EQ(said(), "") << "too many to be a library's";
    image_.drop(kDebian);
    image_.put_link(std::string(kDebian) + "/libibverbs.so.1", "/usr/lib/\x1b[31m\nred");
    image_.put("/usr/lib/\x1b[31m\nred");
    EXPECT_THAT(said(), HasSubstr("\\x1b[31m\\x0ared has no provider"));
}

TEST_F(ImageVerbs, PlainHooksSayItToo) {
    put_library(kAlpine);
    Life one = life();
    one.plain = true;
    ASSERT_TRUE(one.start());
    EXPECT_THAT(one.notes(), Contains(HasSubstr("install rdma-core in the image")));
    EXPECT_TRUE(one.poststop());
}

TEST_F(ImageVerbs, DoctorAndAttachFileSaySo) {
    hook::ctl::Options options;
    options.load_config = [this]() -> base::Result<hook::Config> { return state_.config(); };
    options.host_root = image_.at("/host");
    const auto found = [&]() -> std::string {
        netns::Host host = fake_.host();
        const auto answer = hook::ctl::doctor(options, host);
        for (const auto& check : answer->json["checks"]) {
            if (check["id"] == "images")
                return check["status"].get<std::string>() + ": " + check["why"].get<std::string>();
        }
        return "";
    };
    EXPECT_THAT(found(), HasSubstr("ok: "));
    put_library(kDebian);
    Life one = life();
    ASSERT_TRUE(one.start());
    EXPECT_THAT(found(), HasSubstr("warning: container " + one.id().substr(0, 12) + ": programs"));
    EXPECT_THAT(found(), HasSubstr("install ibverbs-providers"));
    const hook::Store store{fake_.files, state_.path()};
    const auto attach = base::parse_json(
        *fake_.files.read(store.attach_path(hook::container_key(one.bundle())), 1U << 20U), "it");
    EXPECT_THAT((*attach)["attachments"][0]["image_lacks"].get<std::string>(),
                HasSubstr("has no provider rxe"));
    EXPECT_TRUE(one.poststop());
    EXPECT_THAT(found(), HasSubstr("ok: "));
}

}  // namespace
}  // namespace test
