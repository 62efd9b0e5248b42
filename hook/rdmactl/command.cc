// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/command.h"

#include <algorithm>

#include <fmt/format.h>

#include "hook/container/asking.h"
#include "hook/container/attach.h"
#include "netns/base/ids.h"

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

Result<Asked> asked_for(const Options& options, netns::Host& host) {
    Asked asked;
    if (!options.spec_path.empty()) {
        const std::string text = TRY(host.files.read(options.spec_path, oci::kMaxSpecBytes));
        asked.spec = TRY(oci::Spec::parse(text));
        asked.annotations = asked.spec->annotations();
    }
    for (const std::string& pair : options.annotations) {
        const auto equals = pair.find('=');
        if (equals == std::string::npos)
            return make_error(Code::Usage,
                              "--annotation wants KEY=VALUE, not '" + printable(pair) + "'");
        asked.annotations[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
    return asked;
}

Result<Powers> powers_of(const Asked& asked, const Config& config, netns::Host& host) {
    if (!asked.spec)
        return Powers{};
    TRY(check_author(*asked.spec, config));
    return hook::powers_of(*asked.spec, config, host.char_nodes);
}

Result<std::vector<Plan>> plan_all(const Context& context,
                                   const Request& request,
                                   const std::optional<netns::Netns>& ns) {
    Container container;
    container.key = container_key("rdmactl plan");
    container.uuid = base::random_uuid();
    std::vector<Plan> plans;
    for (const Attachment& attachment : request.attachments)
        plans.push_back(TRY(make_plan(context, container, ns, attachment)));
    return plans;
}

}  // namespace hook::ctl
