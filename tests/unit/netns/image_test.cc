// SPDX-License-Identifier: Apache-2.0
// An image's root, made by hand, with what a hostile one has.
#include "netns/image.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/tree.h"

namespace netns {
namespace {

using base::Code;

class Image : public testing::Test {
  protected:
    [[nodiscard]] ImageRoot root() const { return ImageRoot::open(tree_.path()).value(); }

    [[nodiscard]] ImageEntry look(const std::string& path) const {
        const auto found = root().look(path);
        EXPECT_TRUE(found) << path << ": " << found.error().message();
        return found ? *found : ImageEntry::Other;
    }

    test::Tree tree_;
};

TEST_F(Image, KindsOfWhatIsThere) {
    tree_.put("/etc/full", "x");
    tree_.put("/etc/empty", "");
    ASSERT_EQ(::mkfifo(tree_.at("/etc/fifo").c_str(), 0600), 0);
    EXPECT_EQ(look("/etc/full"), ImageEntry::File);
    EXPECT_EQ(look("/etc/empty"), ImageEntry::EmptyFile);
    EXPECT_EQ(look("/etc"), ImageEntry::Folder);
    EXPECT_EQ(look("/etc/fifo"), ImageEntry::Other);
    EXPECT_EQ(look("/etc/none"), ImageEntry::Missing);
    EXPECT_EQ(look("/none/none"), ImageEntry::Missing);
    EXPECT_EQ(root().look("/etc/full/below").error().code, Code::Refused);
}

TEST_F(Image, LinksLeadNowhereOutOfIt) {
    tree_.put("/etc/hostname", "of the image");
    tree_.put_link("/by-root", "/etc/hostname");
    tree_.put_link("/by-parents", "../../../../../../etc/hostname");
    tree_.put_link("/to-the-host", "/proc/self/root/etc/passwd");
    tree_.put_link("/loop", "loop");
    tree_.put_link("/folder", "/etc");
    EXPECT_EQ(look("/by-root"), ImageEntry::File);
    EXPECT_EQ(look("/by-parents"), ImageEntry::File);
    EXPECT_EQ(look("/folder/hostname"), ImageEntry::File);
    EXPECT_EQ(look("/to-the-host"), ImageEntry::Missing);
    EXPECT_EQ(root().look("/loop").error().code, Code::Refused);
    EXPECT_EQ(root().link("/loop").value(), "loop");
    EXPECT_EQ(root().link("/etc/hostname").value(), std::nullopt);
    EXPECT_EQ(root().link("/none").value(), std::nullopt);
}

// A container's own mount may be a file system that never answers.
TEST_F(Image, NoMountIsCrossed) {
    const auto machine = ImageRoot::open("/");
    ASSERT_TRUE(machine);
    EXPECT_EQ(machine->look("/proc/version").error().code, Code::Refused);
    EXPECT_EQ(machine->names("/proc", 1U << 20U).error().code, Code::Refused);
}

TEST_F(Image, AFolderWithTooManyNamesIsNotListed) {
    for (const char* name : {"b", "a", "c"})
        tree_.put(std::string("/folder/") + name);
    tree_.put("/file");
    EXPECT_EQ(root().names("/folder", 3).value(), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(root().names("/folder", 2).error().code, Code::BadInput);
    EXPECT_EQ(root().names("/none", 2).value(), std::vector<std::string>{});
    EXPECT_FALSE(root().names("/file", 2));
}

TEST_F(Image, ThereMustBeARoot) {
    EXPECT_FALSE(ImageRoot::open(tree_.at("/none")));
    EXPECT_FALSE(root().is_read_only().value());
}

}  // namespace
}  // namespace netns
