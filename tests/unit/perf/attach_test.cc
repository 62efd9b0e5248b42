// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include <gtest/gtest.h>

#include "perf/address/gid.h"
#include "tests/support/temp_dir.h"

namespace perf {
namespace {

constexpr const char* kGid = "0000:0000:0000:0000:0000:ffff:0a09:0001";

std::string attach_json(const std::string& gid = kGid, const std::string& device = "rxe4f2a") {
    return R"({"format":1,"attached":true,"id":"x","attachments":[{"index":0,"mode":"softroce",)"
           R"("device":")" +
           device + R"(","netdev":"rdma0","gid":")" + gid +
           R"(","gid_index":1,"addresses":["10.9.0.1/24"],"rdma_cm":true}]})";
}

TEST(AttachFile, GivesDeviceAndGidValue) {
    const auto gids = parse_attach_file(attach_json());
    ASSERT_TRUE(gids) << gids.error().message();
    ASSERT_EQ(gids->size(), 1U);
    EXPECT_EQ(gids->front().device, "rxe4f2a");
    EXPECT_EQ(gids->front().gid.text(), "10.9.0.1");
}

TEST(AttachFile, NothingAttachedIsNoError) {
    const auto gids = parse_attach_file(R"({"format":1,"attached":false,"error":"no device"})");
    ASSERT_TRUE(gids);
    EXPECT_TRUE(gids->empty());
}

TEST(AttachFile, RefusesWhatItDoesNotKnow) {
    const std::string zero = "0000:0000:0000:0000:0000:0000:0000:0000";
    for (const std::string& text :
         {std::string(""),
          std::string("[]"),
          std::string(R"({"format":2,"attached":true,"attachments":[]})"),
          std::string(R"({"format":1,"attachments":[]})"),
          std::string(R"({"format":1,"attached":true})"),
          std::string(R"({"format":1,"attached":true,"attachments":[7]})"),
          attach_json(zero),
          attach_json("10.9.0.1/24"),
          attach_json(kGid, "../uverbs0"),
          attach_json(kGid, ""),
          attach_json(kGid, std::string(64, 'x'))})
        EXPECT_FALSE(parse_attach_file(text)) << text;
}

TEST(AttachFile, RefusesMoreThanSixteenAttachments) {
    std::string list;
    for (int i = 0; i < 17; ++i)
        list += std::string(i == 0 ? "" : ",") + R"({"device":"a","gid":"10.0.0.1"})";
    EXPECT_FALSE(parse_attach_file(R"({"format":1,"attached":true,"attachments":[)" + list + "]}"));
}

TEST(Attachment, MissingFileIsUsual) {
    const auto attachment = load_attachment("/nonexistent/attach.json", "", "");
    EXPECT_TRUE(attachment.gids.empty());
    EXPECT_TRUE(attachment.remarks.empty());
}

TEST(Attachment, BrokenFileIsARemark) {
    const test::TempDir dir;
    std::ofstream(dir / "attach.json") << "{\"format\":1,";
    const auto attachment = load_attachment(dir / "attach.json", "", "");
    EXPECT_TRUE(attachment.gids.empty());
    ASSERT_EQ(attachment.remarks.size(), 1U);
    EXPECT_NE(attachment.remarks[0].find("not used"), std::string::npos);
}

TEST(Attachment, HugeFileIsARemark) {
    const test::TempDir dir;
    std::ofstream(dir / "attach.json") << std::string(1 << 20, ' ');
    EXPECT_EQ(load_attachment(dir / "attach.json", "", "").remarks.size(), 1U);
}

TEST(Attachment, EnvironmentAddsToTheFile) {
    const test::TempDir dir;
    std::ofstream(dir / "attach.json") << attach_json();
    const auto same = load_attachment(dir / "attach.json", "rxe4f2a", kGid);
    EXPECT_EQ(same.gids.size(), 1U);
    EXPECT_EQ(same.preferred_device, "rxe4f2a");
    const auto more = load_attachment(dir / "attach.json", "", "fd00::1");
    EXPECT_EQ(more.gids.size(), 2U);
    const auto broken = load_attachment("", "a/b", "what");
    EXPECT_TRUE(broken.gids.empty());
    EXPECT_GE(broken.remarks.size(), 2U);
}

}  // namespace
}  // namespace perf
