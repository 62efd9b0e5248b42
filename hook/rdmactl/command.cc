// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/command.h"

#include <algorithm>

#include <fmt/format.h>

namespace hook::ctl {

Config config_for_upkeep(const Options& options) {
    auto config = options.load_config();
    if (config)
        return *std::move(config);
    fmt::print(stderr, "rdmactl: warning: {}\n", config.error().message());
    return options.default_config();
}

Result<Site> host_site(netns::Host& host) {
    return Site{.host = host, .host_ns = TRY(host.namespaces.current()), .container = {}};
}

Result<HostView> host_view(const Context& context) {
    return HostView{context, TRY(host_site(context.host))};
}

Result<std::unique_ptr<OpenState>> open_state(const Options& options, netns::Host& host) {
    auto state = std::make_unique<OpenState>(host, config_for_upkeep(options));
    TRY(state->store.open());
    return state;
}

Json with_schema(std::string_view command, const Json& members) {
    std::string name = fmt::format("rdmactl-{}/1", command);
    std::ranges::replace(name, ' ', '-');
    Json json{{"schema", std::move(name)}};
    json.update(members);
    return json;
}

Answer intended(const std::vector<std::string>& intents, Answer now) {
    Json json{{"dry_run", true}, {"would", intents}};
    json.update(now.json);
    std::string text;
    for (const std::string& intent : intents)
        text += "would " + intent + "\n";
    return {.json = std::move(json),
            .text = (text.empty() ? "nothing to do\n" : text) + now.text,
            .trouble = now.trouble,
            .status = now.status};
}

}  // namespace hook::ctl
