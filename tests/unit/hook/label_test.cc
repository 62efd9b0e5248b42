// SPDX-License-Identifier: Apache-2.0
// SELinux: what a container is shown has its label, or is not shown.
#include <cerrno>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/hook/life.h"

namespace test {
namespace {

using oci::Json;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

constexpr char kLabel[] = "system_u:object_r:container_file_t:s0:c1,c2";

class Labels : public testing::Test {
  protected:
    Life life(bool plain = false) {
        Life life{fake_, state_, "one"};
        life.annotations = {{"rdma.mode", "softroce"}, {"rdma.ip", "10.9.0.1/24"}};
        life.mount_label = kLabel;
        life.plain = plain;
        return life;
    }

    // Destination and source of what is mounted from our state.
    std::map<std::string, std::string> mounts(const Life& life) const {
        std::map<std::string, std::string> found;
        for (const Json& mount : life.spec()["mounts"]) {
            const std::string source = mount.value("source", "");
            if (source.starts_with(state_.path()))
                found[mount["destination"]] = source;
        }
        return found;
    }

    void expect_nothing_left() {
        fake_.settle();
        EXPECT_EQ(state_.leftovers(), std::vector<std::string>{});
    }

    FakeHost fake_;
    StateDir state_;
};

TEST_F(Labels, AllThatIsShownHasTheContainers) {
    Life one = life();
    ASSERT_TRUE(one.start());
    const auto shown = mounts(one);
    ASSERT_THAT(shown, Contains(Key("/run/rdma/attach.json")));
    ASSERT_THAT(shown, Contains(Key("/sys/class/infiniband")));
    for (const auto& [destination, source] : shown) {
        EXPECT_EQ(fake_.files.labels[source], kLabel) << destination;
        if (!std::filesystem::is_directory(source))
            continue;
        // Links have labels, too: to follow one it is read.
        for (const auto& entry : std::filesystem::directory_iterator(source))
            EXPECT_EQ(fake_.files.labels[entry.path()], kLabel) << entry.path();
    }
    EXPECT_THAT(one.notes(), testing::IsEmpty());
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Labels, WithoutSelinuxNothingIsLabelled) {
    Life one = life();
    one.mount_label.clear();
    ASSERT_TRUE(one.start());
    EXPECT_THAT(fake_.files.labels, testing::IsEmpty());
    ASSERT_TRUE(one.poststop());
}

// The kernel may refuse any of them: then the container sees the host's /sys/class, and uses its
// device all the same.
TEST_F(Labels, WhatCannotHaveItIsNotShown) {
    fake_.gate.fail_from(0, EACCES, {"label "});
    Life one = life();
    ASSERT_TRUE(one.start());
    EXPECT_THAT(mounts(one), testing::IsEmpty());
    EXPECT_THAT(one.notes(), Contains(HasSubstr("without a /sys/class of its own: ")));
    EXPECT_THAT(one.notes(), Contains(HasSubstr("without /run/rdma/attach.json: ")));
    EXPECT_THAT(one.notes(), Contains(HasSubstr("ausearch -m avc")));
    EXPECT_NE(one.environment("RDMA_DEVICE"), "");
    ASSERT_TRUE(one.poststop());
    expect_nothing_left();
}

TEST_F(Labels, APlainHooksFileHasItToo) {
    for (const bool refused : {false, true}) {
        if (refused)
            fake_.gate.fail_from(0, EACCES, {"label "});
        fake_.files.labels.clear();
        Life one = life(true);
        ASSERT_TRUE(one.start());
        EXPECT_EQ(fake_.files.labels.size(), refused ? 0U : 1U);
        const auto note = Contains(HasSubstr("without /run/rdma/attach.json"));
        if (refused)
            EXPECT_THAT(one.notes(), note);
        else
            EXPECT_THAT(one.notes(), Not(note));
        ASSERT_TRUE(one.poststop());
        expect_nothing_left();
    }
}

}  // namespace
}  // namespace test
