// SPDX-License-Identifier: Apache-2.0
// Page and schema of the configuration say what the code takes; the files that we install for
// engines are what their engines read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/request/request.h"
#include "tests/unit/hook/documents.h"

namespace hook {
namespace {
using base::Json;
using testing::ElementsAreArray;
using testing::UnorderedElementsAreArray;

constexpr char kConfigSchema[] = "runtime-config/install/schema/config.schema.json";

Json config_schema() {
    return test::source_json(kConfigSchema);
}

TEST(ConfigDocuments, SchemaListsEveryMember) {
    EXPECT_THAT(test::members(config_schema()["properties"]), ElementsAreArray(config_members("")));
    for (const char* object : {"pool", "policy", "pool_policy", "log"})
        EXPECT_THAT(test::members(config_schema()["$defs"][object]["properties"]),
                    ElementsAreArray(config_members(object)))
            << object;
}

TEST(ConfigDocuments, SchemaListsEveryDefault) {
    std::string defaults;
    for (const Key& key : all_keys()) {
        if (!key.pool_default)
            continue;
        // Containers cannot share addresses.
        const std::string value =
            key.name == "ip"
                ? R"("enum": ["auto", "none"])"
                : fmt::format(R"("$ref": "annotations.schema.json#/$defs/{}")", key.name);
        defaults += fmt::format(
            "{}            \"{}\": {{{}}}", defaults.empty() ? "" : ",\n", key.name, value);
    }
    test::expect_printed(kConfigSchema,
                         "container does not set.\",\n          \"type\": \"object\",\n"
                         "          \"additionalProperties\": false,\n"
                         "          \"properties\": {\n",
                         "\n          }",
                         defaults);
}

TEST(ConfigDocuments, SchemaRefusesWhatIsNotKnown) {
    EXPECT_EQ(config_schema()["additionalProperties"], false);
    for (const char* object : {"pool", "policy", "pool_policy", "log"})
        EXPECT_EQ(config_schema()["$defs"][object]["additionalProperties"], false) << object;
}

TEST(ConfigDocuments, ModesAreThoseOfAnnotations) {
    const Json definitions = config_schema()["$defs"];
    const Json policy = definitions["policy"]["properties"];
    for (const Json& mode : {definitions["pool"]["properties"]["mode"],
                             policy["modes"]["items"],
                             policy["forbid_capabilities"]["oneOf"][1]["propertyNames"]})
        EXPECT_EQ(mode, Json({{"$ref", "annotations.schema.json#/$defs/mode"}}));
}

TEST(ConfigDocuments, SchemaOfAPoolsPolicyIsThePolicys) {
    std::string members;
    for (const auto member : config_members("pool_policy"))
        members += fmt::format("{}        \"{}\": {{\"$ref\": \"#/$defs/policy/properties/{}\"}}",
                               members.empty() ? "" : ",\n",
                               member,
                               member);
    test::expect_printed(kConfigSchema,
                         "same member of the policy.\",\n      \"type\": \"object\",\n"
                         "      \"additionalProperties\": false,\n      \"properties\": {\n",
                         "\n      }",
                         members);
}

TEST(ConfigDocuments, PageListsEveryMember) {
    const std::string page = test::source_file("docs/reference/configuration.md");
    std::vector<std::string> expected;
    for (const auto member : config_members("pool"))
        expected.push_back("pools.NAME." + std::string(member));
    for (const auto member : config_members("log"))
        expected.push_back("log." + std::string(member));
    for (const auto member : config_members("policy"))
        expected.push_back("policy." + std::string(member));
    for (const auto member : config_members("")) {
        if (member != "pools" && member != "log")
            expected.emplace_back(member);
    }
    const auto rows = test::find_all(
        page,
        R"(\n\| `(pools\.NAME\.\w+|policy\.\w+|policy|log\.\w+|state_dir|runtime|\$schema)`)");
    EXPECT_THAT(rows, UnorderedElementsAreArray(expected));
}

TEST(ConfigDocuments, PageExampleIsAccepted) {
    const std::string page = test::source_file("docs/reference/configuration.md");
    const auto start = page.find("```json\n") + 8;
    const auto config = parse_config(page.substr(start, page.find("```", start) - start));
    ASSERT_TRUE(config) << config.error().message();
    ASSERT_TRUE(config->policy);
    const auto request = parse_request({{"rdma.mode", "softroce"}}, *config);
    ASSERT_TRUE(request) << request.error().message();
    EXPECT_EQ(request->attachments[0].ip_source, IpSource::Auto);
    EXPECT_TRUE(check_policy(*request, *config, {}));
    EXPECT_TRUE(parse_request({{"rdma.mode", "softroce"}, {"rdma.pool", "old-kernels"}}, *config));
}

TEST(ConfigDocuments, PodmansHookFile) {
    const Json file = test::source_json("runtime-config/install/podman/rdma-hook.json.in");
    EXPECT_EQ(file["version"], "1.0.0");
    // Any other stage in this file would run the hook a second time.
    EXPECT_EQ(file["stages"], Json::array({"precreate"}));
    EXPECT_EQ(file["hook"]["path"], "@RDMA_HOOK_PATH@");
    EXPECT_EQ(file["hook"]["args"], Json::array({"rdma-hook", "precreate"}));
    const auto keys = test::members(file["when"]["annotations"]);
    ASSERT_EQ(keys.size(), 1U);
    for (const char* key : {"rdma.mode", "rdma.mod", "rdma.", "rdma.3.x"})
        EXPECT_FALSE(test::find_match(key, keys[0]).empty()) << key;
    EXPECT_TRUE(test::find_match("xrdma.mode", keys[0]).empty());
}
}  // namespace
}  // namespace hook
