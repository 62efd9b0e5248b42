// SPDX-License-Identifier: Apache-2.0
// rdmactl config check: reports whether the configuration can be used, and what it lets a container
// ask for.
#include <algorithm>

#include <fmt/format.h>

#include "hook/modes/near.h"
#include "hook/rdmactl/command.h"
#include "hook/rdmactl/text.h"
#include "netns/base/text.h"

namespace hook::ctl {

namespace {
// Adds the requested values that no rule is about.
void add_the_rest(const ParsedKeys& parsed, std::vector<Decision>& decisions) {
    for (const auto& [name, given] : parsed.given) {
        // Spell the key as decisions do.
        const std::string key = annotation_key(parsed.values.index, name);
        if (std::ranges::find(decisions, key, &Decision::key) == decisions.end())
            decisions.push_back(
                {.key = key, .asked = given.text(), .rule = "no rule", .allowed = true});
    }
}

Result<std::vector<Decision>> decisions_on(const Asked& asked,
                                           const Config& config,
                                           netns::Host& host) {
    const Store store{host.files, config.state_dir};
    const Request request =
        TRY(choose_near({host, config, store}, TRY(parse_request(asked.annotations, config))));
    const ParsedAnnotations parsed = TRY(parse_annotations(asked.annotations));
    auto decisions = decide(request, config, TRY(powers_of(asked, config, host)));
    for (const auto& [index, keys] : parsed.attachments)
        add_the_rest(keys, decisions);
    add_the_rest(parsed.container, decisions);
    return decisions;
}

Json to_json(const Decision& decision) {
    Json json{{"asked", decision.asked}, {"allowed", decision.allowed}, {"rule", decision.rule}};
    if (!decision.allowed)
        json["fix"] = decision.fix;
    return json;
}

std::string lay_out(const Json& decisions, const Page& page) {
    Rows rows = {{"DECISION", "ASKED", "RULE"}};
    for (const Json& decision : decisions) {
        const bool allowed = decision["allowed"];
        const std::string rule = decision["rule"];
        const std::string verdict = allowed ? "allowed" : "denied";
        rows.push_back(
            {{verdict, colour_of(verdict)},
             decision["asked"].get<std::string>(),
             allowed ? rule : fmt::format("{}: {}", rule, std::string(decision["fix"]))});
    }
    return table(rows, page);
}
}  // namespace

Result<Answer> check_config(const Options& options, netns::Host& host) {
    const Asked asked = TRY(asked_for(options, host));
    const Config config = TRY(options.load_config());
    Json json{{"file", options.config_path},
              {"valid", true},
              {"pools", config.pools.size()},
              {"policy", config.policy.has_value()}};
    Answer answer{.json = {},
                  .text = fmt::format("{}: valid, {}, {}\n",
                                      options.config_path,
                                      base::number_of(config.pools.size(), "pool"),
                                      config.policy ? "with a policy" : "default policy")};
    if (mentions_rdma(asked.annotations)) {
        json["verdicts"] = Json::array();
        for (const Decision& decision : TRY(decisions_on(asked, config, host))) {
            json["verdicts"].push_back(to_json(decision));
            if (!decision.allowed)
                answer.status = base::exit_status(Code::Refused);
        }
        json["allowed"] = answer.status == 0;
        answer.text += lay_out(json["verdicts"], options.page);
    }
    answer.json = std::move(json);
    return answer;
}

}  // namespace hook::ctl
