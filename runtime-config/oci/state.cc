// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/oci/state.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "netns/base/ascii.h"
#include "netns/base/json.h"

namespace oci {

using base::Code;
using base::Json;
using base::make_error;
using base::printable;

namespace {
constexpr size_t kMaxIdBytes = 1024;
constexpr size_t kMaxPathBytes = 4096;  // PATH_MAX

constexpr char kReport[] = "report it to the container's runtime";

base::Error bad(std::string_view key, const std::string& value, std::string_view allowed) {
    return make_error(Code::BadInput,
                      fmt::format("'{}' must be {}, not '{}'", key, allowed, printable(value)))
        .advise(kReport);
}

// Returns the one spelling of a bundle, because a container's key is a digest of it: "/a//b/./" is
// "/a/b". ".." and control characters are refused; runtimes resolve the path before they pass it
// on.
std::string canonical_path(std::string_view path) {
    if (path.empty() || path[0] != '/' || path.size() > kMaxPathBytes ||
        std::any_of(path.begin(), path.end(), base::is_control))
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
    return out.empty() ? "/" : out;
}

// Without a process, crun writes 0 and runc no pid.
Result<pid_t> parse_pid(const Json& tree) {
    const auto pid = TRY(base::optional_member<int64_t>(tree, "pid", 0));
    if (!std::in_range<pid_t>(pid) || pid < 0)
        return bad("pid", std::to_string(pid), "a process id");
    return static_cast<pid_t>(pid);
}

Result<std::string> parse_id(std::string id) {
    if (!is_container_id(id))
        return bad("id", id, "letters, digits and _.+- up to 1024 bytes");
    return id;
}

Result<std::string> parse_bundle(const std::string& bundle) {
    std::string path = canonical_path(bundle);
    if (path.empty())
        return bad("bundle", bundle, "an absolute path without '..' and control characters");
    return path;
}

// Leaves out what is no text: the runtime has judged config.json.
std::map<std::string, std::string> annotations_of(const Json& tree) {
    std::map<std::string, std::string> all;
    const auto list = tree.find("annotations");
    if (list == tree.end() || !list->is_object())
        return all;
    for (const auto& [key, value] : list->items()) {
        if (value.is_string())
            all.emplace(key, value.get<std::string>());
    }
    return all;
}

Result<State> read_state(const Json& tree) {
    State state;
    state.id = TRY(parse_id(TRY(base::required<std::string>(tree, "id"))));
    state.bundle = TRY(parse_bundle(TRY(base::required<std::string>(tree, "bundle"))));
    state.status = TRY(base::optional_member<std::string>(tree, "status", ""));
    state.pid = TRY(parse_pid(tree));
    state.annotations = annotations_of(tree);
    return state;
}

Result<Json> parse_tree(std::string_view text) {
    if (text.size() > kMaxStateBytes)
        return make_error(Code::BadInput,
                          fmt::format("container state is larger than {} bytes", kMaxStateBytes))
            .advise(kReport);
    Json tree = TRY(base::parse_json(text, "container state"));
    if (!tree.is_object())
        return make_error(Code::BadInput, "container state is not a JSON object").advise(kReport);
    return tree;
}

// Reads the process of a kept state.
Result<> read_process(const Json& tree, const char* pid, const char* start, State& state) {
    state.pid = TRY(base::required<pid_t>(tree, pid));
    state.start = TRY(base::required<uint64_t>(tree, start));
    if (state.pid <= 0)
        return bad(pid, std::to_string(state.pid), "a process id");
    return {};
}

// runc keeps the container's annotations as labels KEY=VALUE, and its bundle as the label behind
// them. So an annotation "bundle" is not the bundle.
Result<std::string> runc_bundle(const Json& tree) {
    constexpr std::string_view kLabel = "bundle=";
    const auto config = tree.find("config");
    if (config == tree.end() || !config->is_object())
        return make_error(Code::BadInput, "it has no 'config'").advise(kReport);
    std::string bundle;
    for (const Json& entry : base::array_of(*config, "labels")) {
        const auto label = TRY(base::as<std::string>(entry, "labels"));
        if (label.starts_with(kLabel))
            bundle = label.substr(kLabel.size());
    }
    return parse_bundle(bundle);
}

Result<State> read_runc_state(const Json& tree, const std::string& id) {
    State state;
    state.id = TRY(parse_id(TRY(base::required<std::string>(tree, "id"))));
    if (state.id != id)
        return make_error(Code::BadInput,
                          "it is about container " + state.id + " and not about " + id)
            .advise(kReport);
    TRY(read_process(tree, "init_process_pid", "init_process_start", state));
    state.bundle = TRY(runc_bundle(tree));
    return state;
}

Result<State> read_crun_status(const Json& tree, const std::string& id) {
    State state;
    state.id = TRY(parse_id(id));
    TRY(read_process(tree, "pid", "process-start-time", state));
    state.bundle = TRY(parse_bundle(TRY(base::required<std::string>(tree, "bundle"))));
    return state;
}
}  // namespace

bool is_container_id(std::string_view id) {
    return !id.empty() && id.size() <= kMaxIdBytes && base::is_alnum(id[0]) &&
           base::is_made_of(id, "_.+-");
}

Result<State> parse_state(std::string_view text) {
    return read_state(TRY(parse_tree(text))).context("container state");
}

Result<State> parse_runc_state(std::string_view text, const std::string& id) {
    return read_runc_state(TRY(parse_tree(text)), id).context("runc's state of container");
}

Result<State> parse_crun_status(std::string_view text, const std::string& id) {
    return read_crun_status(TRY(parse_tree(text)), id).context("crun's status of container");
}

}  // namespace oci
