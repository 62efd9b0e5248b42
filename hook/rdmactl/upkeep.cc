// SPDX-License-Identifier: Apache-2.0
// rdmactl gc, and recover, which is the same.
#include <algorithm>
#include <chrono>
#include <iterator>

#include <fmt/format.h>

#include "hook/container/into_running.h"
#include "hook/rdmactl/command.h"
#include "hook/state/runtimes.h"
#include "netns/base/log.h"

namespace hook::ctl {

namespace {
// Less than TimeoutStartSec= of rdma-hook-gc.service, so that gc reaches its last part.
constexpr std::chrono::minutes kCollectTimeout{4};
}  // namespace

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
    const Context context{host, config, store, options.forget};
    // Living containers come first: they wait for nothing that dead ones left.
    Regranted regranted;
    if (options.regrant)
        regranted = regrant(context);
    Collected collected = collect_garbage(context, base::Deadline::in(kCollectTimeout));
    if (auto forgotten = Runtimes{host, options.runtimes}.forget_gone())
        collected.leftovers.insert(collected.leftovers.end(), forgotten->begin(), forgotten->end());
    else
        collected.trouble.push_back(forgotten.error().message());
    collected.trouble.insert(
        collected.trouble.end(), regranted.trouble.begin(), regranted.trouble.end());
    std::ranges::copy_if(
        regranted.locked, std::back_inserter(collected.locked), [&](const std::string& name) {
            return std::ranges::find(collected.locked, name) == collected.locked.end();
        });
    Json json{{"containers", collected.containers},
              {"journals", collected.journals},
              {"leftovers", collected.leftovers},
              {"locked", collected.locked},
              {"trouble", collected.trouble}};
    std::string text = fmt::format("undone: {} containers, {} attachments, {} files\n",
                                   collected.containers.size(),
                                   collected.journals.size(),
                                   collected.leftovers.size());
    if (options.regrant) {
        json["regranted"] = regranted.containers;
        text += fmt::format("granted anew: {} containers\n", regranted.containers.size());
    }
    for (const std::string& name : collected.locked)
        text += "left, since another process is at work on it: " + name + "\n";
    for (const std::string& line : collected.trouble)
        text += "not undone: " + line + "\n";
    return Answer{
        .json = std::move(json), .text = std::move(text), .trouble = !collected.trouble.empty()};
}

}  // namespace hook::ctl
