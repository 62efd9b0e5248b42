// SPDX-License-Identifier: Apache-2.0
// rdmactl gc (and recover, which is the same) and config check.
#include <fmt/format.h>

#include "hook/ctl/command.h"
#include "hook/live.h"

namespace hook::ctl {

Config config_for_upkeep(const Options& options) {
    auto config = options.load_config();
    if (config)
        return *std::move(config);
    fmt::print(stderr, "rdmactl: warning: {}\n", config.error().message());
    return Config{};
}

Result<Answer> collect(const Options& options, netns::Host& host) {
    const Config config = config_for_upkeep(options);
    const Store store{host.files, config.state_dir};
    TRY(store.open());
    World world{host, config, store};
    Collected collected = TRY(collect_garbage(world));
    Regranted regranted;
    if (options.regrant)
        regranted = TRY(regrant(world));
    collected.trouble.insert(
        collected.trouble.end(), regranted.trouble.begin(), regranted.trouble.end());
    Json json{{"containers", collected.containers},
              {"journals", collected.journals},
              {"leftovers", collected.leftovers},
              {"trouble", collected.trouble}};
    std::string text = fmt::format("undone: {} containers, {} attachments, {} files\n",
                                   collected.containers.size(),
                                   collected.journals.size(),
                                   collected.leftovers.size());
    if (options.regrant) {
        json["regranted"] = regranted.containers;
        text += fmt::format("granted anew: {} containers\n", regranted.containers.size());
    }
    for (const std::string& line : collected.trouble)
        text += "not undone: " + line + "\n";
    return Answer{
        .json = std::move(json), .text = std::move(text), .trouble = !collected.trouble.empty()};
}

Result<Answer> check_config(const Options& options, netns::Host& host) {
    (void)host;  // the file is read by descriptor, with its folders
    const Config config = TRY(options.load_config());
    Json json{{"file", options.config_path},
              {"valid", true},
              {"pools", config.pools.size()},
              {"policy", config.policy.has_value()}};
    std::string text = fmt::format("{}: valid, {} pools, {}\n",
                                   options.config_path,
                                   config.pools.size(),
                                   config.policy ? "with a policy" : "default policy");
    return Answer{.json = std::move(json), .text = std::move(text), .trouble = false};
}

}  // namespace hook::ctl
