// SPDX-License-Identifier: Apache-2.0
// The parts of answers that several verbs share.
#include <algorithm>

#include <fmt/format.h>

#include "hook/rdmactl/command.h"

namespace hook::ctl {

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
