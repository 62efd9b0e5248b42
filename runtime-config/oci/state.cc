// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/oci/state.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "netns/base/ascii.h"
#include "netns/base/json_view.h"

namespace oci {

using base::Code;
using base::JsonView;
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
Result<pid_t> parse_pid(const JsonView& state) {
    const auto pid = TRY(base::optional_member<int64_t>(state, "pid", 0));
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
std::map<std::string, std::string> annotations_of(const JsonView& state) {
    std::map<std::string, std::string> all;
    for (auto& [key, value] : state.find("annotations").value_or(JsonView{}).members()) {
        if (auto text = value.get<std::string>())
            all.emplace(std::move(key), *std::move(text));
    }
    return all;
}

Result<State> read_state(const JsonView& json) {
    State state;
    state.id = TRY(parse_id(TRY(base::required<std::string>(json, "id"))));
    state.bundle = TRY(parse_bundle(TRY(base::required<std::string>(json, "bundle"))));
    state.status = TRY(base::optional_member<std::string>(json, "status", ""));
    state.pid = TRY(parse_pid(json));
    state.annotations = annotations_of(json);
    return state;
}

template <class Read>
Result<State> read_text(std::string_view text, const Read& read) {
    if (text.size() > kMaxStateBytes)
        return make_error(Code::BadInput,
                          fmt::format("container state is larger than {} bytes", kMaxStateBytes))
            .advise(kReport);
    const auto nodes = TRY(base::scan_json(text, "container state"));
    const JsonView json(text, nodes);
    if (!json.is_object())
        return make_error(Code::BadInput, "container state is not a JSON object").advise(kReport);
    return read(json);
}

// Reads the process of a kept state.
Result<> read_process(const JsonView& json, const char* pid, const char* start, State& state) {
    state.pid = TRY(base::required<pid_t>(json, pid));
    state.start = TRY(base::required<uint64_t>(json, start));
    if (state.pid <= 0)
        return bad(pid, std::to_string(state.pid), "a process id");
    return {};
}

// runc keeps the container's annotations as labels KEY=VALUE, and its bundle as the label behind
// them. So an annotation "bundle" is not the bundle.
Result<std::string> runc_bundle(const JsonView& json) {
    constexpr std::string_view kLabel = "bundle=";
    const auto config = json.find("config");
    if (!config || !config->is_object())
        return make_error(Code::BadInput, "it has no 'config'").advise(kReport);
    const auto labels = config->find("labels");
    if (labels && !labels->is_array())
        return make_error(Code::BadInput, "'labels' must be a list").advise(kReport);
    std::string bundle;
    for (const JsonView& entry : labels.value_or(JsonView{}).elements()) {
        const auto label = TRY(base::as<std::string>(entry, "labels"));
        if (label.starts_with(kLabel))
            bundle = label.substr(kLabel.size());
    }
    return parse_bundle(bundle);
}

Result<State> read_runc_state(const JsonView& json, const std::string& id) {
    State state;
    state.id = TRY(parse_id(TRY(base::required<std::string>(json, "id"))));
    if (state.id != id)
        return make_error(Code::BadInput,
                          "it is about container " + state.id + " and not about " + id)
            .advise(kReport);
    TRY(read_process(json, "init_process_pid", "init_process_start", state));
    state.bundle = TRY(runc_bundle(json));
    return state;
}

Result<State> read_crun_status(const JsonView& json, const std::string& id) {
    State state;
    state.id = TRY(parse_id(id));
    TRY(read_process(json, "pid", "process-start-time", state));
    state.bundle = TRY(parse_bundle(TRY(base::required<std::string>(json, "bundle"))));
    return state;
}
}  // namespace

bool is_container_id(std::string_view id) {
    return !id.empty() && id.size() <= kMaxIdBytes && base::is_alnum(id[0]) &&
           base::is_made_of(id, "_.+-");
}

Result<State> parse_state(std::string_view text) {
    return read_text(
        text, [](const JsonView& json) { return read_state(json).context("container state"); });
}

Result<State> parse_runc_state(std::string_view text, const std::string& id) {
    return read_text(text, [&](const JsonView& json) {
        return read_runc_state(json, id).context("runc's state of container");
    });
}

Result<State> parse_crun_status(std::string_view text, const std::string& id) {
    return read_text(text, [&](const JsonView& json) {
        return read_crun_status(json, id).context("crun's status of container");
    });
}

}  // namespace oci
