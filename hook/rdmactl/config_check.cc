// SPDX-License-Identifier: Apache-2.0
// rdmactl config check: whether the configuration can be used, and what it lets a container ask
// for.
#include <algorithm>

#include <fmt/format.h>

#include "hook/rdmactl/asked.h"
#include "hook/rdmactl/text.h"
#include "hook/request/draft.h"

namespace hook::ctl {

using base::Code;

namespace {
// What was asked for and no rule is about.
void add_the_rest(unsigned index, const Draft& draft, std::vector<Verdict>& verdicts) {
    for (const auto& [name, given] : draft.given) {
        const std::string key = annotation_key(index, name);  // as verdicts spell it
        if (std::ranges::find(verdicts, key, &Verdict::key) == verdicts.end())
            verdicts.push_back(
                {.key = key, .asked = given.text(), .rule = "no rule", .allowed = true});
    }
}

Result<std::vector<Verdict>> verdicts_on(const Asked& asked,
                                         const Config& config,
                                         netns::Host& host) {
    const Request request = TRY(parse_request(asked.annotations, config));
    const Drafts drafts = TRY(read_drafts(asked.annotations));
    auto verdicts = judge(request, config, TRY(powers_of(asked, config, host)));
    for (const auto& [index, draft] : drafts.attachments)
        add_the_rest(index, draft, verdicts);
    add_the_rest(0, drafts.container, verdicts);
    return verdicts;
}

Json to_json(const Verdict& verdict) {
    Json json{{"asked", verdict.asked}, {"allowed", verdict.allowed}, {"rule", verdict.rule}};
    if (!verdict.allowed)
        json["fix"] = verdict.fix;
    return json;
}

std::string lay_out(const Json& verdicts) {
    std::vector<std::vector<std::string>> rows;
    for (const Json& verdict : verdicts) {
        const bool allowed = verdict["allowed"];
        const std::string rule = verdict["rule"];
        rows.push_back({allowed ? "allowed" : "denied",
                        verdict["asked"],
                        allowed ? rule : fmt::format("{}: {}", rule, std::string(verdict["fix"]))});
    }
    return table(rows);
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
                  .text = fmt::format("{}: valid, {} pools, {}\n",
                                      options.config_path,
                                      config.pools.size(),
                                      config.policy ? "with a policy" : "default policy")};
    if (mentions_rdma(asked.annotations)) {
        json["verdicts"] = Json::array();
        for (const Verdict& verdict : TRY(verdicts_on(asked, config, host))) {
            json["verdicts"].push_back(to_json(verdict));
            if (!verdict.allowed)
                answer.status = base::exit_status(Code::Refused);
        }
        json["allowed"] = answer.status == 0;
        answer.text += lay_out(json["verdicts"]);
    }
    answer.json = std::move(json);
    return answer;
}

}  // namespace hook::ctl
