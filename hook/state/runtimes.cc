// SPDX-License-Identifier: Apache-2.0
#include "hook/state/runtimes.h"

#include <algorithm>
#include <array>

#include "hook/state/store.h"
#include "netns/base/ids.h"

namespace hook {

using base::Json;

namespace {
constexpr char kLast[] = "last";
constexpr std::string_view kRecordEnding = ".json";

std::string key_of(const std::string& root, const std::string& id) {
    return base::sha256_hex(root + '\0' + id);
}
}  // namespace

std::string Runtimes::path_of(const std::string& key) const {
    return dir_ + "/" + key + std::string(kRecordEnding);
}

Result<Served> Runtimes::load(const std::string& key) const {
    const std::string path = path_of(key);
    const Json json = TRY(base::parse_json(TRY(host_.files.read(path, kMaxStateFile)), path));
    TRY(check_format(json).context(path));
    TRY(check_key(json, key).context(path));
    return Served{.root = TRY(base::required<std::string>(json, "root")),
                  .id = TRY(base::required<std::string>(json, "id")),
                  .runtime = TRY(base::required<std::string>(json, "runtime")),
                  .creator = {.pid = TRY(base::required<pid_t>(json, "pid")),
                              .start = TRY(base::required<uint64_t>(json, "start"))}};
}

std::optional<Served> Runtimes::find(const std::string& root, const std::string& id) const {
    auto served = load(key_of(root, id));
    return served ? std::optional(*std::move(served)) : std::nullopt;
}

std::optional<std::string> Runtimes::last() const {
    auto served = load(kLast);
    return served ? std::optional(std::move(served->runtime)) : std::nullopt;
}

Result<> Runtimes::remember(const Served& served, bool configured) const {
    const auto put = [&](const std::string& key) {
        return host_.files.write(path_of(key),
                                 base::dump_json(base::object({{"format", kFormat},
                                                               {"key", key},
                                                               {"root", served.root},
                                                               {"id", served.id},
                                                               {"runtime", served.runtime},
                                                               {"pid", served.creator.pid},
                                                               {"start", served.creator.start}})));
    };
    const std::string key = key_of(served.root, served.id);
    auto done = put(key);
    if (!done && base::is_missing(done.error())) {  // the first since the boot
        TRY(host_.files.make_dir(dir_.substr(0, dir_.rfind('/'))));
        TRY(host_.files.make_dir(dir_));
        done = put(key);
    }
    TRY(std::move(done));
    return !configured || last() == served.runtime ? Result<>{} : put(kLast);
}

bool Runtimes::is_gone(const Served& served) const {
    const auto creator = host_.processes.token(served.creator.pid);
    if (!creator || *creator == served.creator)
        return false;
    if (!served.root.empty())
        return !host_.processes.exists(served.root + "/" + served.id);
    // Runtimes keep the folder here by default. A wrapper that calls runc keeps it as runc does.
    const std::array names = {served.runtime.substr(served.runtime.rfind('/') + 1),
                              std::string("runc")};
    return std::ranges::none_of(names, [&](const std::string& name) {
        return host_.processes.exists("/run/" + name + "/" + served.id);
    });
}

Result<std::vector<std::string>> Runtimes::keys() const {
    std::vector<std::string> all;
    const auto names = host_.files.list(dir_);
    if (!names && base::is_missing(names.error()))
        return all;  // rdma-runtime has not been called since the boot
    for (const std::string& name : TRY(names)) {
        std::string key = name.substr(0, name.size() - std::min(name.size(), kRecordEnding.size()));
        if (key != kLast)
            all.push_back(std::move(key));
    }
    return all;
}

Result<std::vector<Served>> Runtimes::living() const {
    std::vector<Served> all;
    for (const std::string& key : TRY(keys())) {
        if (auto served = load(key); served && !is_gone(*served))
            all.push_back(*std::move(served));
    }
    return all;
}

Result<std::vector<std::string>> Runtimes::find_gone() const {
    std::vector<std::string> gone;
    for (const std::string& key : TRY(keys())) {
        if (const auto served = load(key); served && is_gone(*served))
            gone.push_back(path_of(key));
    }
    return gone;
}

Result<std::vector<std::string>> Runtimes::forget_gone() const {
    auto swept = host_.files.sweep(dir_);
    if (!swept && base::is_missing(swept.error()))
        return std::vector<std::string>{};
    std::vector<std::string> forgotten = TRY(std::move(swept));
    for (const std::string& path : TRY(find_gone())) {
        TRY(host_.files.remove(path));
        forgotten.push_back(path);
    }
    return forgotten;
}

}  // namespace hook
