// SPDX-License-Identifier: Apache-2.0
// rdmactl gc, and recover, which is the same.
#include <algorithm>
#include <chrono>
#include <iterator>

#include <fmt/format.h>

#include "hook/container/end.h"
#include "hook/container/into_running.h"
#include "hook/rdmactl/find.h"
#include "hook/state/runtimes.h"
#include "netns/base/log.h"
#include "netns/base/text.h"

namespace hook::ctl {

namespace {
// Less than TimeoutStartSec= of rdma-hook-gc.service, so that gc reaches its last part.
constexpr std::chrono::minutes kCollectTimeout{4};

Json to_json(const Collected& collected) {
    return {{"containers", collected.containers},
            {"journals", collected.journals},
            {"leftovers", collected.leftovers},
            {"locked", collected.locked},
            {"trouble", collected.trouble}};
}

// Adds the records of runtimes that were, or would be, forgotten: rdma-runtime's, so root's.
void add_runtimes(Collected& collected, const Result<std::vector<std::string>>& paths) {
    if (paths)
        collected.leftovers.insert(collected.leftovers.end(), paths->begin(), paths->end());
    else
        collected.trouble.push_back(paths.error().message());
}

Result<Answer> would_collect(const Options& options, const Context& context) {
    Collected found = find_garbage(context, Deadline::in(kCollectTimeout));
    if (!context.config.rootless)
        add_runtimes(found, Runtimes{context.host, options.runtimes}.find_gone());
    Names names{context.host.files, options.host_root};
    std::vector<std::string> intents;
    for (const Known& known : TRY(known_containers(context, names))) {
        if (std::ranges::find(found.containers, known.key) != found.containers.end())
            intents.push_back("undo container " + label_of(known) + ", which is dead");
    }
    for (const std::string& akey : found.journals)
        intents.push_back("undo attachment " + akey + ", which no container has");
    for (const std::string& path : found.leftovers)
        intents.push_back("remove " + path);
    std::string text;
    for (const std::string& line : found.trouble)
        text += "unknown: " + line + "\n";
    return intended(
        intents,
        {.json = to_json(found), .text = std::move(text), .trouble = !found.trouble.empty()});
}
}  // namespace

Result<Answer> collect(const Options& options, netns::Host& host) {
    const Config config = config_for_upkeep(options);
    base::log::open({.file = config.log_file, .level = config.log_level, .program = "rdmactl"});
    const Store store{host.files, config.state_dir};
    TRY(store.open());
    const Context context{host, config, store, options.forget};
    if (options.dry_run)
        return would_collect(options, context);
    // Living containers come first: they wait for nothing that dead ones left.
    Regranted regranted;
    if (options.regrant)
        regranted = regrant(context);
    Collected collected = collect_garbage(context, Deadline::in(kCollectTimeout));
    if (!config.rootless)
        add_runtimes(collected, Runtimes{host, options.runtimes}.forget_gone());
    collected.trouble.insert(
        collected.trouble.end(), regranted.trouble.begin(), regranted.trouble.end());
    std::ranges::copy_if(
        regranted.locked, std::back_inserter(collected.locked), [&](const std::string& name) {
            return std::ranges::find(collected.locked, name) == collected.locked.end();
        });
    Json json = to_json(collected);
    std::string text = fmt::format("undone: {}, {}, {}\n",
                                   base::number_of(collected.containers.size(), "container"),
                                   base::number_of(collected.journals.size(), "attachment"),
                                   base::number_of(collected.leftovers.size(), "file"));
    if (options.regrant) {
        json["regranted"] = regranted.containers;
        text +=
            "granted again: " + base::number_of(regranted.containers.size(), "container") + "\n";
    }
    for (const std::string& name : collected.locked)
        text += "left, since another process is at work on it: " + name + "\n";
    for (const std::string& line : collected.trouble)
        text += "not undone: " + line + "\n";
    return Answer{
        .json = std::move(json), .text = std::move(text), .trouble = !collected.trouble.empty()};
}

}  // namespace hook::ctl
