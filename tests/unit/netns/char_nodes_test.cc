// SPDX-License-Identifier: Apache-2.0
#include "netns/char_nodes.h"

#include <gtest/gtest.h>

namespace netns {
namespace {
using Majors = std::vector<uint32_t>;

TEST(CharNodes, MajorsOfRdmaInProcDevices) {
    EXPECT_EQ(parse_rdma_majors("Character devices:\n"
                                "  1 mem\n"
                                " 10 misc\n"
                                "231 infiniband_mad\n"
                                "231 infiniband_verbs\n"
                                "509 nvidia-uvm\n"
                                "510 infiniband_verbs\n"
                                "511 infiniband_mad\n"
                                "\n"
                                "Block devices:\n"
                                "259 blkext\n"
                                "300 infiniband_disk\n"),
              (Majors{231, 510, 511}));
}

TEST(CharNodes, OtherTextHasNone) {
    for (const char* text : {"",
                             "\n",
                             " ",
                             "Character devices:\n\nBlock devices:\n",
                             "infiniband_verbs",
                             "231infiniband_verbs\n",
                             "231 not_infiniband\n",
                             "-1 infiniband_verbs\n",
                             "99999999999999 infiniband_verbs\n"})
        EXPECT_EQ(parse_rdma_majors(text), Majors{}) << text;
    EXPECT_EQ(parse_rdma_majors("234 infiniband_verbs"), Majors{234}) << "without an end of line";
}
}  // namespace
}  // namespace netns
