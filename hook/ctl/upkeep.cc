// SPDX-License-Identifier: Apache-2.0
// rdmactl gc (and recover, which is the same).
#include <fmt/format.h>

#include "hook/ctl/command.h"
#include "hook/live.h"
#include "netns/base/log.h"

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
    base::log::open({.file = config.log_file, .level = config.log_level, .program = "rdmactl"});
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

}  // namespace hook::ctl
