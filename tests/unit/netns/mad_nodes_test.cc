// SPDX-License-Identifier: Apache-2.0
// The class infiniband_mad of a sysfs made by hand, in the layout of a kernel's.
#include "netns/kernel/mad_nodes.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace netns {
namespace {

class MadNodes : public testing::Test {
  protected:
    void add(const std::string& node, const std::string& device, const std::string& number) {
        const std::filesystem::path folder = root_ / ("class/infiniband_mad/" + node);
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "ibdev") << device << "\n";
        std::ofstream(folder / "dev") << number << "\n";
    }

    std::vector<CharDevice> nodes_of(const std::string& device) {
        return mad_nodes_in(SysTree::at(root_.path()).value(), device).value();
    }

    test::TempDir root_;
};

TEST_F(MadNodes, EachPortOfTheDeviceAndOfNoOther) {
    EXPECT_TRUE(nodes_of("mlx5_0").empty()) << "ib_umad is not loaded";
    add("umad0", "mlx5_0", "231:0");
    add("umad1", "mlx5_0", "231:1");
    add("umad40", "mlx5_01", "510:8");
    add("issm0", "mlx5_0", "231:64");
    std::ofstream(root_ / "class/infiniband_mad/abi_version") << "5\n";
    EXPECT_EQ(nodes_of("mlx5_0"),
              (std::vector<CharDevice>{{"issm0", 231, 64}, {"umad0", 231, 0}, {"umad1", 231, 1}}));
    EXPECT_EQ(nodes_of("mlx5_01"), (std::vector<CharDevice>{{"umad40", 510, 8}}));
    EXPECT_TRUE(nodes_of("").empty());
}

TEST_F(MadNodes, ANumberThatCannotBeReadIsNone) {
    for (const char* number : {"", "231", "231:", ":0", "231:0x", "231 0"}) {
        add("umad0", "mlx5_0", number);
        EXPECT_TRUE(nodes_of("mlx5_0").empty()) << number;
    }
}

}  // namespace
}  // namespace netns
