// SPDX-License-Identifier: Apache-2.0
// rdmactl plan: shows what an attach with these annotations would do. Changes nothing.
#include <fmt/format.h>

#include "hook/container/attach.h"
#include "hook/modes/near.h"
#include "hook/rdmactl/command.h"

namespace hook::ctl {

namespace {
Json to_json(const Plan& plan) {
    Json json{{"device", plan.endpoint.device}, {"steps", Json::array()}};
    if (plan.endpoint.gid)
        json["gid"] = netns::to_string(*plan.endpoint.gid);
    for (const AnyStep& step : plan.steps)
        json["steps"].push_back(
            {{"kind", kind_of(step)}, {"text", describe(step)}, {"changes", is_journaled(step)}});
    return json;
}

std::string to_text(const Json& json) {
    std::string text;
    for (const Json& attachment : json["attachments"]) {
        text += fmt::format("attachment {} ({})\n",
                            attachment["index"].get<int>(),
                            attachment["mode"].get<std::string>());
        if (attachment["steps"].empty())
            text += fmt::format("  nothing is made: {} is the host's\n",
                                attachment["device"].get<std::string>());
        int number = 0;
        for (const Json& step : attachment["steps"])
            text += fmt::format("  {}. {}\n", ++number, step["text"].get<std::string>());
        if (attachment.contains("gid"))
            text += fmt::format("  {}. wait until {} has GID {}\n",
                                ++number,
                                attachment["device"].get<std::string>(),
                                attachment["gid"].get<std::string>());
    }
    return text.empty() ? "no rdma.* annotations: nothing would be done\n" : text;
}
}  // namespace

Result<Answer> plan(const Options& options, netns::Host& host) {
    const Asked asked = TRY(asked_for(options, host));
    Json json{{"attachments", Json::array()}};
    if (mentions_rdma(asked.annotations)) {
        const Config config = TRY(options.load_config());
        const Store store{host.files, config.state_dir};
        TRY(store.open());
        const Context context{host, config, store};
        const Request request =
            TRY(choose_near(context, TRY(parse_request(asked.annotations, config))));
        TRY(check_policy(request, config, TRY(powers_of(asked, config, host))));
        std::optional<netns::Netns> ns;
        if (!options.netns_path.empty())
            ns = TRY(host.namespaces.open(options.netns_path));
        const bool hosts_network = asked.spec
                                       ? asked.spec->network().kind == oci::Network::Kind::Host
                                       : options.netns_path.empty();
        const Request each = TRY(expand(context, request, hosts_network));
        const auto plans = TRY(plan_all(context, each, ns));
        for (size_t i = 0; i < plans.size(); ++i) {
            Json entry = to_json(plans[i]);
            entry["index"] = each.attachments[i].index;
            entry["mode"] = each.attachments[i].mode;
            json["attachments"].push_back(std::move(entry));
        }
    }
    std::string text = to_text(json);
    return Answer{.json = std::move(json), .text = std::move(text), .trouble = false};
}

}  // namespace hook::ctl
