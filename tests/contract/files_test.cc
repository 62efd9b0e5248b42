// SPDX-License-Identifier: Apache-2.0
// The contract of base/files.h, as far as decisions lean on it.
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

class FilesContract : public ContractTest {
  protected:
    base::Files& room() { return outside_->host().files; }

    std::string path(const std::string& name) { return outside_->file_path(name); }
};

INSTANTIATE_TEST_SUITE_P(, FilesContract, Values(fake(Kernel::V7_2), kernel()), OutsideNames());

TEST_P(FilesContract, WritesReplaceAndCreateDoesNot) {
    ASSERT_TRUE(room().create(path("a"), "one"));
    const Error again = error_of(room().create(path("a"), "two"));
    EXPECT_EQ(again.code, Code::Busy);
    EXPECT_EQ(again.sys, EEXIST);
    EXPECT_EQ(room().read(path("a"), 100).value(), "one");
    ASSERT_TRUE(room().write(path("a"), "three"));
    EXPECT_EQ(room().read(path("a"), 100).value(), "three");
}

TEST_P(FilesContract, MissingFilesAreUnavailableToReadAndNothingToRemove) {
    const Error missing = error_of(room().read(path("none"), 100));
    EXPECT_EQ(missing.code, Code::Unavailable);
    EXPECT_TRUE(base::is_missing(missing));
    EXPECT_TRUE(room().remove(path("none")));
    EXPECT_FALSE(room().list(path("none")));
}

TEST_P(FilesContract, FilesFoldersAndLinksThemselvesHaveLabels) {
    const std::string label = "system_u:object_r:container_file_t:s0:c1,c2";
    ASSERT_TRUE(room().make_dir(path("d")));
    ASSERT_TRUE(room().write(path("d/a"), ""));
    ASSERT_TRUE(room().make_link(path("d/b"), "/nowhere"));
    for (const char* name : {"d", "d/a", "d/b"}) {
        const auto done = room().set_label(path(name), label);
        EXPECT_TRUE(done) << done.error().message();
    }
    const Error missing = error_of(room().set_label(path("none"), label));
    EXPECT_TRUE(base::is_missing(missing));
}

TEST_P(FilesContract, FoldersListTheirFilesInOrder) {
    ASSERT_TRUE(room().make_dir(path("d/e")));
    EXPECT_TRUE(room().make_dir(path("d/e")));
    ASSERT_TRUE(room().write(path("d/e/b"), ""));
    ASSERT_TRUE(room().write(path("d/e/a"), ""));
    EXPECT_EQ(room().list(path("d/e")).value(), (std::vector<std::string>{"a", "b"}));
    ASSERT_TRUE(room().rename(path("d/e/a"), path("d/e/c")));
    ASSERT_TRUE(room().remove(path("d/e/b")));
    EXPECT_EQ(room().list(path("d/e")).value(), std::vector<std::string>{"c"});
}

}  // namespace
}  // namespace test
