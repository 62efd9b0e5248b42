// SPDX-License-Identifier: Apache-2.0
// The pages of annotations and exit codes, schema, completion and the tables of keys and modes say
// the same; what the page shows is accepted.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hook/modes/mode.h"
#include "tests/unit/hook/documents.h"

namespace hook {
namespace {
using base::Json;
using testing::ElementsAreArray;

constexpr char kAnnotationsSchema[] = "runtime-config/install/schema/annotations.schema.json";

Json annotations_schema() {
    return test::source_json(kAnnotationsSchema);
}

bool matches_schema(const Json& rule, const std::string& value) {
    const auto listed = [&](const Json& list) {
        return std::find(list.begin(), list.end(), value) != list.end();
    };
    if (rule.contains("enum") && !listed(rule["enum"]))
        return false;
    const Json refused = rule.value("not", Json::object());
    if (listed(refused.value("enum", Json::array())) ||
        (refused.contains("const") && refused["const"] == value) ||
        (refused.contains("pattern") && !test::find_match(value, refused["pattern"]).empty()))
        return false;
    return !rule.contains("pattern") || !test::find_match(value, rule["pattern"]).empty();
}

bool is_once(const Key& key) {
    return key.reach == Key::Reach::Container;
}

std::string index_pattern(bool once) {
    return once ? R"((0\\.)?)" : R"(((1[0-5]|[0-9])\\.)?)";
}

std::string join(const std::vector<std::string_view>& words, const std::string& between) {
    return fmt::format("{}", fmt::join(words, between));
}

TEST(RequestDocuments, PageListsEveryKey) {
    const auto rows = test::find_all(test::source_file("docs/reference/annotations.md"),
                                     R"(\n(\| `rdma\.[a-z_]+` \|[^\n]*))");
    ASSERT_EQ(rows.size(), all_keys().size());
    for (size_t i = 0; i < rows.size(); ++i) {
        const Key& key = all_keys()[i];
        const bool every = key.reach == Key::Reach::EveryDevice;
        const char* where = is_once(key) ? "once a container"
                            : every      ? "every device"
                                         : "as the mode says";
        EXPECT_TRUE(rows[i].starts_with(fmt::format("| `rdma.{}` |", key.name))) << rows[i];
        EXPECT_TRUE(rows[i].ends_with(fmt::format("| {} |", where))) << rows[i];
    }
}

// A row for the keys that the same modes take.
TEST(RequestDocuments, PageSaysWhichModesTakeAKey) {
    std::vector<std::pair<std::string, std::string>> rows;  // modes, keys
    for (const Key& key : all_keys()) {
        if (key.reach != Key::Reach::Mode)
            continue;
        std::string modes;
        for (const ModeInfo& mode : all_mode_infos())
            modes += takes(mode, key) ? " yes |" : " |";
        const auto same = std::ranges::find(rows, modes, [](const auto& row) { return row.first; });
        if (same == rows.end())
            rows.emplace_back(modes, fmt::format("`{}`", key.name));
        else
            same->second += fmt::format(", `{}`", key.name);
    }
    std::string table = fmt::format("`{}` |\n|---|", join(mode_names(), "` | `"));
    for (size_t i = 0; i < mode_names().size(); ++i)
        table += "---|";
    for (const auto& [modes, keys] : rows)
        table += fmt::format("\n| {} |{}", keys, modes);
    test::expect_printed("docs/reference/annotations.md", "| keys | ", "\n\n", table);
}

TEST(RequestDocuments, SchemaListsEveryKey) {
    EXPECT_THAT(test::members(annotations_schema()["$defs"]), ElementsAreArray(key_names()));
    std::string patterns;
    std::vector<std::string_view> once;
    std::vector<std::string_view> others;
    for (const Key& key : all_keys()) {
        patterns += fmt::format("{}    \"^rdma\\\\.{}{}$\": {{\"$ref\": \"#/$defs/{}\"}}",
                                patterns.empty() ? "" : ",\n",
                                index_pattern(is_once(key)),
                                key.name,
                                key.name);
        (is_once(key) ? once : others).push_back(key.name);
    }
    test::expect_printed(kAnnotationsSchema, "\"patternProperties\": {\n", "\n  }", patterns);
    const auto pattern = [](bool is_once, const std::vector<std::string_view>& keys) {
        return fmt::format("      {{\"pattern\": \"^rdma\\\\.{}({})$\"}}",
                           index_pattern(is_once),
                           join(keys, "|"));
    };
    test::expect_printed(kAnnotationsSchema,
                         "{\"not\": {\"pattern\": \"^rdma\\\\.[^/]*$\"}},\n",
                         "\n    ]",
                         pattern(false, others) + ",\n" + pattern(true, once));
}

TEST(RequestDocuments, EveryModeIsListed) {
    test::expect_printed(
        kAnnotationsSchema, "device.\",\n      \"enum\": [\"", "\"]", join(mode_names(), "\", \""));
    test::expect_printed(
        "docs/completion/rdmactl.bash", "doctor:0) words+=' ", "'", join(mode_names(), " "));
}

// Each row of the table of modes has a mode in hook/modes/.
TEST(RequestDocuments, EveryModeHasAPlan) {
    for (const auto name : mode_names()) {
        const Mode* mode = find_mode(name);
        ASSERT_NE(mode, nullptr) << name;
        EXPECT_NE(mode->plan, nullptr) << name;
    }
}

// Two keys of one place would stand in an order that nobody chose.
TEST(RequestDocuments, APlaceIsOneKeys) {
    for (const auto place : {&Key::in_journal, &Key::in_policy}) {
        const auto keys = in_order(place);
        for (size_t i = 0; i < keys.size(); ++i)
            EXPECT_EQ(keys[i]->*place, i + 1) << keys[i]->name;
    }
    for (const Key& key : all_keys()) {
        EXPECT_EQ(key.policy != nullptr, key.in_policy != 0) << key.name;
        EXPECT_TRUE(key.in_journal == 0 || key.value.print != nullptr) << key.name;
    }
}

// A name that no key has would be one that no annotation reaches.
TEST(RequestDocuments, ModesTakeKeysThatThereAre) {
    for (const ModeInfo& mode : all_mode_infos()) {
        std::istringstream keys{std::string(mode.keys)};
        for (std::string key; keys >> key;) {
            ASSERT_NE(find_key(key), nullptr) << mode.name << ": " << key;
            EXPECT_EQ(find_key(key)->reach, Key::Reach::Mode) << mode.name << ": " << key;
        }
    }
}

// Keys: exactly what matches propertyNames is ours and known, or not ours.
TEST(RequestDocuments, SchemaAndCodeAgreeOnKeys) {
    const Json any_of = annotations_schema()["propertyNames"]["anyOf"];
    for (const std::string key : {"rdma.mode",
                                  "rdma.0.mode",
                                  "rdma.15.ip",
                                  "rdma.16.ip",
                                  "rdma.01.ip",
                                  "rdma.ip.1",
                                  "rdma.1.memlock",
                                  "rdma.0.memlock",
                                  "rdma.memlock",
                                  "rdma.",
                                  "rdma.x",
                                  "rdma.x/y",
                                  "RDMA.mode",
                                  "rdma",
                                  "org.rdma.mode",
                                  "rdma.1.2.mode",
                                  "rdma.modes",
                                  "rdma..mode"}) {
        bool allowed = false;
        for (const Json& rule : any_of) {
            const bool inverted = rule.contains("not");
            const std::string pattern = (inverted ? rule["not"] : rule)["pattern"];
            allowed = allowed || test::find_match(key, pattern).empty() == inverted;
        }
        const auto parsed = parse_annotations({{key, "1"}, {"rdma.2.mode", "x"}});
        const bool refused =
            !parsed && (parsed.error().text.find("unknown annotation") != std::string::npos ||
                        parsed.error().text.find("index") != std::string::npos);
        EXPECT_EQ(allowed, !refused) << key;
    }
}

TEST(RequestDocuments, SchemaAndCodeAgreeOnValues) {
    const std::vector<std::string> probes = {"",
                                             "0",
                                             "1",
                                             "575",
                                             "576",
                                             "1279",
                                             "5999",
                                             "9978",
                                             "9979",
                                             "01500",
                                             "12345",
                                             "container",
                                             "host",
                                             "Host",
                                             "true",
                                             "false",
                                             "yes",
                                             "auto",
                                             "none",
                                             "unlimited",
                                             "eth0",
                                             "lo",
                                             "all",
                                             ".",
                                             "..",
                                             "a/b",
                                             "a:b",
                                             "a%b",
                                             "a b",
                                             "-x",
                                             "_x",
                                             "10.9.0.1/24",
                                             "10.9.0.1/24,fd00::1/64",
                                             "10.9.0.1",
                                             "10.9.0.1/24,",
                                             "02:00:5e:10:00:01",
                                             "01:00:5e:10:00:01",
                                             "00:00:00:00:00:00",
                                             "02:00:5E:10:00:01",
                                             "02-00-5e-10-00-01",
                                             "sixteen-letters.",
                                             "4094",
                                             "4095",
                                             "7",
                                             "8",
                                             "1000000",
                                             "1000001",
                                             "on",
                                             "off",
                                             "rxe",
                                             "802.1ad",
                                             "802.1Q",
                                             "0000:3b:00.0",
                                             "0000:3B:00.0",
                                             "0000:3b:20.0",
                                             "enp1s0#0",
                                             "enp1s0#0-3,65535",
                                             "enp1s0#65536",
                                             "enp1s0#",
                                             "enp1s0#01",
                                             "mlx5_0,0000:3b:00.0",
                                             "mlx5_0,",
                                             "mlx5_0,lo",
                                             "mlx5_0,all",
                                             "all,mlx5_0",
                                             "mlx5_0,enp1s0#1",
                                             "#1",
                                             "near:",
                                             "near:01",
                                             "near:999",
                                             "near:1000",
                                             "near:0#1",
                                             "near:gpu0",
                                             "near:0000:3B:00.0",
                                             "near:0,near:1,eth0",
                                             "near:0,all",
                                             "00:11:22:33:44:55:66:77",
                                             "00:00:00:00:00:00:00:00",
                                             "FF:ff:ff:ff:ff:ff:ff:ff",
                                             "0011:2233:4455:6677",
                                             std::string(63, 'a'),
                                             std::string(64, 'a'),
                                             "x\n"};
    for (const Key& key : all_keys()) {
        const Json rule = annotations_schema()["$defs"][std::string(key.name)];
        std::vector<std::string> texts = probes;
        for (const Json& example : rule.value("examples", Json::array())) {
            texts.push_back(example);
            EXPECT_TRUE(matches_schema(rule, example)) << key.name << "=" << example;
        }
        for (const auto& value : texts) {
            KeyValues values;
            const bool taken = parse_value(key, key.name, value, values).has_value();
            // No pattern says that nothing is set behind a prefix.
            if (key.name == "routes" && !taken && value.find('/') != std::string::npos)
                continue;
            // Which modes there are is not the table's to know.
            EXPECT_TRUE(key.name == "mode" || taken == matches_schema(rule, value))
                << key.name << "=" << base::printable(value);
        }
    }
}

TEST(RequestDocuments, PageExamplesAreAccepted) {
    const std::string page = test::source_file("docs/reference/annotations.md");
    const auto commands = test::find_all(page, R"(\n    (podman run [^\n]*))");
    EXPECT_GE(commands.size(), 3U);
    for (const auto& command : commands) {
        Annotations annotations;
        for (const auto& pair : test::find_all(command, R"(--annotation ([^ ]+))"))
            annotations.emplace(pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1));
        const auto request = parse_request(annotations, Config{});
        EXPECT_TRUE(request) << command << "\n" << request.error().message();
    }
}

TEST(RequestDocuments, ExampleInJournalIsAccepted) {
    const auto journals =
        test::find_all(test::source_file("hook/STATE.md"), R"(\n    (\{"index"[^\n]*))");
    ASSERT_EQ(journals.size(), 1U);
    const auto attachment = attachment_from_json(base::parse_json(journals[0], "x").value());
    ASSERT_TRUE(attachment) << attachment.error().message();
    EXPECT_EQ(base::dump_json(to_json(*attachment)), journals[0]);
}

TEST(RequestDocuments, PageListsEveryExitCode) {
    const std::string page = test::source_file("docs/reference/exit-codes.md");
    const auto section = page.substr(page.find("## rdma-hook"));
    const std::string table = section.substr(0, section.find("\n## "));
    size_t rows = test::find_all(table, R"(\n\| `([a-z_]+)` \| [0-9]+ \|)").size();
    for (int code = 0; code <= static_cast<int>(base::Code::Kernel); ++code) {
        const auto value = static_cast<base::Code>(code);
        const std::string row = "\n| `" + std::string(base::code_name(value)) + "` | " +
                                std::to_string(base::exit_status(value)) + " |";
        EXPECT_NE(table.find(row), std::string::npos) << row;
        --rows;
    }
    EXPECT_EQ(rows, 0U) << "the table has codes that the program does not";
}
}  // namespace
}  // namespace hook
