// SPDX-License-Identifier: Apache-2.0
// README and schema of the configuration say what the code takes; the files that we install for
// engines are what their engines read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/request/draft.h"
#include "tests/unit/hook/documents.h"

namespace hook {
namespace {
using base::Json;
using testing::ElementsAreArray;
using testing::UnorderedElementsAreArray;

Json config_schema() {
    return test::source_json("runtime-config/install/schema/config.schema.json");
}

TEST(ConfigDocuments, SchemaListsEveryMember) {
    EXPECT_THAT(test::members(config_schema()["properties"]), ElementsAreArray(config_members("")));
    for (const char* object : {"pool", "policy", "pool_policy", "log"})
        EXPECT_THAT(test::members(config_schema()["$defs"][object]["properties"]),
                    ElementsAreArray(config_members(object)))
            << object;
    const Json defaults = config_schema()["$defs"]["pool"]["properties"]["defaults"]["properties"];
    std::vector<std::string_view> keys;
    for (const Key& key : all_keys()) {
        if (key.pool_default)
            keys.push_back(key.name);
    }
    EXPECT_THAT(test::members(defaults), ElementsAreArray(keys));
}

TEST(ConfigDocuments, SchemaRefusesWhatIsNotKnown) {
    EXPECT_EQ(config_schema()["additionalProperties"], false);
    for (const char* object : {"pool", "policy", "pool_policy", "log"})
        EXPECT_EQ(config_schema()["$defs"][object]["additionalProperties"], false) << object;
}

TEST(ConfigDocuments, SchemaListsEveryMode) {
    const std::vector<std::string> pool =
        config_schema()["$defs"]["pool"]["properties"]["mode"]["enum"];
    const std::vector<std::string> policy =
        config_schema()["$defs"]["policy"]["properties"]["modes"]["items"]["enum"];
    EXPECT_THAT(pool, UnorderedElementsAreArray(mode_names()));
    EXPECT_EQ(policy, pool);
}

TEST(ConfigDocuments, SchemaOfAPoolsPolicyIsThePolicys) {
    const Json pool = config_schema()["$defs"]["pool_policy"]["properties"];
    for (const auto& [member, value] : pool.items())
        EXPECT_EQ(value["$ref"], "#/$defs/policy/properties/" + member);
}

TEST(ConfigDocuments, ReadmeListsEveryMember) {
    const std::string readme = test::source_file("hook/README.md");
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
        readme,
        R"(\n\| `(pools\.NAME\.\w+|policy\.\w+|policy|log\.\w+|state_dir|runtime|\$schema)`)");
    EXPECT_THAT(rows, UnorderedElementsAreArray(expected));
}

TEST(ConfigDocuments, ReadmeExampleIsAccepted) {
    const std::string readme = test::source_file("hook/README.md");
    const auto start = readme.find("```json\n") + 8;
    const auto config = parse_config(readme.substr(start, readme.find("```", start) - start));
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
        EXPECT_TRUE(std::regex_search(key, std::regex(keys[0]))) << key;
    EXPECT_FALSE(std::regex_search("xrdma.mode", std::regex(keys[0])));
}
}  // namespace
}  // namespace hook
