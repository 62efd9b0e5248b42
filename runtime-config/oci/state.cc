// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/oci/state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "netns/base/json.h"

namespace oci {

using base::Code;
using base::Json;
using base::make_error;
using base::printable;

namespace {
constexpr size_t kMaxIdBytes = 1024;
constexpr size_t kMaxPathBytes = 4096;  // PATH_MAX

base::Error bad(std::string_view key, const std::string& value, std::string_view allowed) {
    return make_error(Code::BadInput,
                      fmt::format("'{}' must be {}, not '{}'", key, allowed, printable(value)))
        .advise("the runtime that called this hook is at fault: report it there");
}

bool is_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Returns the one spelling of a bundle, because a container's key is a digest of it: "/a//b/./" is
// "/a/b". ".." and control characters are refused; runtimes resolve the path before they pass it
// on.
std::string canonical_path(std::string_view path) {
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    if (path.empty() || path[0] != '/' || path.size() > kMaxPathBytes ||
        std::any_of(path.begin(), path.end(), is_control))
        return "";
    std::string out;
    while (!path.empty()) {
        const auto end = std::min(path.find('/', 1), path.size());
        const std::string_view name = path.substr(1, end - 1);
        if (name == "..")
            return "";
        if (!name.empty() && name != ".")
            out.append("/").append(name);
        path.remove_prefix(end);
    }
    return out;
}

// Without a process, crun writes 0 and runc no pid.
Result<pid_t> parse_pid(const Json& tree) {
    const auto pid = TRY(base::optional_member<int64_t>(tree, "pid", 0));
    if (!std::in_range<pid_t>(pid) || pid < 0)
        return bad("pid", std::to_string(pid), "a process id");
    return static_cast<pid_t>(pid);
}

Result<State> read_state(const Json& tree) {
    State state;
    state.id = TRY(base::required<std::string>(tree, "id"));
    if (!is_container_id(state.id))
        return bad("id", state.id, "letters, digits and _.+- up to 1024 bytes");
    const auto bundle = TRY(base::required<std::string>(tree, "bundle"));
    state.bundle = canonical_path(bundle);
    if (state.bundle.empty())
        return bad("bundle", bundle, "an absolute path without '..' and control characters");
    state.status = TRY(base::optional_member<std::string>(tree, "status", ""));
    state.pid = TRY(parse_pid(tree));
    return state;
}
}  // namespace

bool is_container_id(std::string_view id) {
    const auto fits = [](char c) {
        return is_alnum(c) || std::string_view("_.+-").find(c) != std::string_view::npos;
    };
    return !id.empty() && id.size() <= kMaxIdBytes && is_alnum(id[0]) &&
           std::all_of(id.begin(), id.end(), fits);
}

Result<State> parse_state(std::string_view text) {
    if (text.size() > kMaxStateBytes)
        return make_error(Code::BadInput,
                          fmt::format("container state is larger than {} bytes", kMaxStateBytes));
    const Json tree = TRY(base::parse_json(text, "container state"));
    if (!tree.is_object())
        return make_error(Code::BadInput, "container state is not a JSON object");
    return read_state(tree).context("container state");
}

}  // namespace oci
