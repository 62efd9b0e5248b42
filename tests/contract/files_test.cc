// SPDX-License-Identifier: Apache-2.0
// The contract of base/files.h, as far as decisions lean on it.
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/contract/outside.h"

namespace test {
namespace {

template <class Outside>
class FilesContract : public ContractTest<Outside> {
  protected:
    base::Files& room() { return outside_.host().files; }

    std::string path(const std::string& name) { return outside_.file_path(name); }

    Outside outside_;
};

using FilesOutsides = testing::Types<FakeOutside<Kernel::V7_2>, KernelOutside>;
TYPED_TEST_SUITE(FilesContract, FilesOutsides, OutsideNames);

TYPED_TEST(FilesContract, WritesReplaceAndCreateDoesNot) {
    ASSERT_TRUE(this->room().create(this->path("a"), "one"));
    const Error again = error_of(this->room().create(this->path("a"), "two"));
    EXPECT_EQ(again.code, Code::Busy);
    EXPECT_EQ(again.sys, EEXIST);
    EXPECT_EQ(this->room().read(this->path("a"), 100).value(), "one");
    ASSERT_TRUE(this->room().write(this->path("a"), "three"));
    EXPECT_EQ(this->room().read(this->path("a"), 100).value(), "three");
}

TYPED_TEST(FilesContract, MissingFilesAreUnavailableToReadAndNothingToRemove) {
    const Error missing = error_of(this->room().read(this->path("none"), 100));
    EXPECT_EQ(missing.code, Code::Unavailable);
    EXPECT_TRUE(base::is_missing(missing));
    EXPECT_TRUE(this->room().remove(this->path("none")));
    EXPECT_FALSE(this->room().list(this->path("none")));
}

TYPED_TEST(FilesContract, FilesFoldersAndLinksThemselvesHaveLabels) {
    const std::string label = "system_u:object_r:container_file_t:s0:c1,c2";
    ASSERT_TRUE(this->room().make_dir(this->path("d")));
    ASSERT_TRUE(this->room().write(this->path("d/a"), ""));
    ASSERT_TRUE(this->room().make_link(this->path("d/b"), "/nowhere"));
    for (const char* name : {"d", "d/a", "d/b"}) {
        const auto done = this->room().set_label(this->path(name), label);
        EXPECT_TRUE(done) << done.error().message();
    }
    const Error missing = error_of(this->room().set_label(this->path("none"), label));
    EXPECT_TRUE(base::is_missing(missing));
}

TYPED_TEST(FilesContract, FoldersListTheirFilesInOrder) {
    ASSERT_TRUE(this->room().make_dir(this->path("d/e")));
    EXPECT_TRUE(this->room().make_dir(this->path("d/e")));
    ASSERT_TRUE(this->room().write(this->path("d/e/b"), ""));
    ASSERT_TRUE(this->room().write(this->path("d/e/a"), ""));
    EXPECT_EQ(this->room().list(this->path("d/e")).value(), (std::vector<std::string>{"a", "b"}));
    ASSERT_TRUE(this->room().rename(this->path("d/e/a"), this->path("d/e/c")));
    ASSERT_TRUE(this->room().remove(this->path("d/e/b")));
    EXPECT_EQ(this->room().list(this->path("d/e")).value(), std::vector<std::string>{"c"});
}

}  // namespace
}  // namespace test
