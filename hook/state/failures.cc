// SPDX-License-Identifier: Apache-2.0
#include "hook/state/failures.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

namespace hook {

using base::Json;

namespace {
constexpr size_t kMostKept = 64;

// Returns the time of a failure in seconds since 1970. A file that cannot be read is older than all
// others.
int64_t remembered_at(const Store& store, const std::string& path) {
    const auto json = store.read_json(path);
    const auto time = json ? base::required<int64_t>(*json, "time") : Result<int64_t>{json.error()};
    return time ? *time : std::numeric_limits<int64_t>::min();
}

// Removes the oldest failures, but never `newest`: others may have the same second.
void forget_oldest(const Store& store, const std::string& newest) {
    const auto names = store.files().list(store.folder("errors"));
    if (!names || names->size() <= kMostKept)
        return;
    std::vector<std::pair<int64_t, std::string>> others;
    for (const std::string& name : *names) {
        const std::string path = store.folder("errors") + "/" + name;
        if (path != newest)
            others.emplace_back(remembered_at(store, path), path);
    }
    std::ranges::sort(others);
    for (size_t i = 0; i + kMostKept < names->size() && i < others.size(); ++i)
        (void)store.files().remove(others[i].second);
}
}  // namespace

void remember_failure(const Store& store, const Failure& failure, const base::Error& error) {
    const Json json = base::object({{"format", 1},
                                    {"key", failure.key},
                                    {"id", failure.id},
                                    {"bundle", failure.bundle},
                                    {"phase", failure.stage},
                                    {"code", base::code_name(error.code)},
                                    {"error", error.message()},
                                    {"time", static_cast<int64_t>(std::time(nullptr))}});
    const std::string path = store.error_path(failure.key);
    if (store.open() && store.files().write(path, base::dump_json(json)))
        forget_oldest(store, path);
}

Result<Json> load_failures(const Store& store) {
    Json list = Json::array();
    for (const std::string& name : TRY(store.files().list(store.folder("errors")))) {
        if (auto json = store.read_json(store.folder("errors") + "/" + name))
            list.push_back(*std::move(json));
    }
    return list;
}

}  // namespace hook
