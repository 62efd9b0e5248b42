// SPDX-License-Identifier: Apache-2.0
// tests/data/hook/attachments.json: what journals have for an attachment, as recorded when there was
// a function for each member. A journal of then has to be read, and compared, byte for byte.
#include <gtest/gtest.h>

#include "hook/request/request.h"
#include "tests/unit/hook/documents.h"

namespace hook {
namespace {

TEST(RequestJournal, AttachmentsAreWrittenAsTheyWere) {
    const Json recorded = test::source_json("tests/data/hook/attachments.json");
    for (const Json& row : recorded["requests"]) {
        const Json& configuration = recorded["configurations"][row["configuration"].get<size_t>()];
        const auto config = parse_config(base::dump_json(configuration));
        ASSERT_TRUE(config) << config.error().message();
        const auto asked = row["annotations"].get<Annotations>();
        const auto request = parse_request(asked, *config);
        ASSERT_TRUE(request) << row["annotations"] << ": " << request.error().message();
        Json written = Json::array();
        for (const Attachment& attachment : request->attachments)
            written.push_back(to_json(attachment));
        EXPECT_EQ(base::dump_json(written), base::dump_json(row["attachments"]));
    }
}

TEST(RequestJournal, AttachmentsAreReadAsTheyWere) {
    const Json recorded = test::source_json("tests/data/hook/attachments.json");
    for (const Json& row : recorded["requests"]) {
        for (const Json& written : row["attachments"]) {
            const auto attachment = attachment_from_json(written);
            ASSERT_TRUE(attachment) << attachment.error().message();
            EXPECT_EQ(base::dump_json(to_json(*attachment)), base::dump_json(written));
        }
    }
}

}  // namespace
}  // namespace hook
