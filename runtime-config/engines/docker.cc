// SPDX-License-Identifier: Apache-2.0
// daemon.json: members, their order and the indentation are kept.
#include <algorithm>

#include <fmt/format.h>

#include "netns/base/json.h"
#include "runtime-config/engines/edit.h"

namespace engines {

namespace {
constexpr char kWhite[] = " \t\r\n";
constexpr char kLimits[] = "default-ulimits";
constexpr char kMemlock[] = "memlock";

Result<Json> parse_daemon(const std::string& path, const FileText& text) {
    // Docker takes an empty file for one without settings.
    if (!text || text->find_first_not_of(kWhite) == std::string::npos)
        return Json::object();
    Json json = TRY(base::parse_json(*text, path));
    const auto runtimes = json.is_object() ? json.find("runtimes") : json.end();
    if (!json.is_object() || (runtimes != json.end() && !runtimes->is_object()))
        return make_error(
                   Code::BadInput,
                   path + (json.is_object() ? ": `runtimes` is" : " is") + " not a JSON object")
            .advise("run: dockerd --validate --config-file " + path);
    return json;
}

enum class Owner { Nobody, Us, UsAndOthers, Others };

// Returns the program of an entry of `runtimes`; empty if it has none.
std::string program_of(const Json& entry) {
    const auto path = entry.is_object() ? entry.find("path") : entry.end();
    return entry.is_object() && path != entry.end() && path->is_string() ? path->get<std::string>()
                                                                         : std::string();
}

// An entry of rdma-hook is as rdma-hook writes it.
Owner owner_of(const Json& daemon, const std::string& name) {
    const auto runtimes = daemon.find("runtimes");
    if (runtimes == daemon.end() || !runtimes->contains(name))
        return Owner::Nobody;
    const Json& entry = (*runtimes)[name];
    if (!is_ours(name, program_of(entry)))
        return Owner::Others;
    return entry.size() == 1 ? Owner::Us : Owner::UsAndOthers;
}

Result<> take_out(Json& daemon, const EngineEdit& edit) {
    const auto chosen = daemon.find("default-runtime");
    if (chosen != daemon.end() && *chosen == edit.name)
        return make_error(Code::Busy, edit.path + ": `default-runtime` is " + edit.name)
            .advise("set another one first: Docker does not start without its default runtime");
    daemon["runtimes"].erase(edit.name);
    if (daemon["runtimes"].empty())
        daemon.erase("runtimes");
    return {};
}

// True if the entry is what rdmactl writes, in whatever order.
bool is_unlimited(const Json& limit) {
    return limit.is_object() && limit.size() == 3 && limit.value("Name", Json()) == kMemlock &&
           limit.value("Hard", Json()) == -1 && limit.value("Soft", Json()) == -1;
}

// Returns the new text of the file; nothing if it would have no settings.
Result<FileText> text_of(const Json& daemon, const Json& before, const EngineEdit& edit) {
    if (daemon == before)
        return edit.before;
    if (daemon.empty())
        return FileText{};
    std::string text = layout_json(daemon, edit.before.value_or("")) + "\n";
    if (TRY(base::parse_json(text, "the new " + edit.path)) != daemon)
        return make_error(Code::Internal, edit.path + " cannot be written again as it is");
    return FileText{std::move(text)};
}
}  // namespace

std::string layout_json(const Json& json, const std::string& like) {
    auto line = like.find('\n', like.find('{'));
    if (line != std::string::npos && like.find_first_not_of(kWhite, line) == std::string::npos)
        line = std::string::npos;  // the end of the only line
    if (line == std::string::npos && !like.empty() && json.size() > 0 && like.size() > 2)
        return base::dump_json(json);
    int width = 2;
    char fill = ' ';
    if (line != std::string::npos) {
        const auto text = like.find_first_not_of(" \t", line + 1);
        if (text != std::string::npos && text > line + 1) {
            fill = like[line + 1];
            width = static_cast<int>(std::min<size_t>(text - line - 1, 8));
        }
    }
    return json.dump(width, fill, false, Json::error_handler_t::replace);
}

Result<Edited> edit_docker(const EngineEdit& edit) {
    Json daemon = TRY(parse_daemon(edit.path, edit.before));
    const Json before = daemon;
    const Owner owner = owner_of(daemon, edit.name);
    if (owner == Owner::Others || (owner == Owner::UsAndOthers && edit.unset))
        return make_error(Code::Busy,
                          fmt::format("{}: `runtimes.{}` is {}",
                                      edit.path,
                                      edit.name,
                                      owner == Owner::Others ? "not rdma-hook's"
                                                             : "more than rdmactl wrote"))
            .advise("look at it, and take it out by hand");
    if (edit.unset && owner == Owner::Us)
        TRY(take_out(daemon, edit));
    else if (!edit.unset)
        daemon["runtimes"][edit.name]["path"] = edit.program;
    return Edited{TRY(text_of(daemon, before, edit)), {}};
}

Result<Edited> edit_docker_memlock(const EngineEdit& edit) {
    Json daemon = TRY(parse_daemon(edit.path, edit.before));
    const Json before = daemon;
    const auto limits = daemon.find(kLimits);
    if (limits != daemon.end() && !limits->is_object())
        return make_error(Code::BadInput,
                          fmt::format("{}: `{}` is not a JSON object", edit.path, kLimits))
            .advise("run: dockerd --validate --config-file " + edit.path);
    const bool there = limits != daemon.end() && limits->contains(kMemlock);
    if (there && !is_unlimited((*limits)[kMemlock]))
        return make_error(Code::Busy,
                          fmt::format("{}: `{}.{}` is another limit", edit.path, kLimits, kMemlock))
            .advise("look at it, and take it out by hand");
    if (there && edit.unset) {
        limits->erase(kMemlock);
        if (limits->empty())
            daemon.erase(kLimits);
    } else if (!there && !edit.unset) {
        daemon[kLimits][kMemlock] = base::object({{"Name", kMemlock}, {"Hard", -1}, {"Soft", -1}});
    }
    return Edited{TRY(text_of(daemon, before, edit)), {}};
}

Result<Runtimes> docker_runtimes(const std::string& path, const FileText& text) {
    const Json daemon = TRY(parse_daemon(path, text));
    Runtimes found;
    if (!daemon.contains("runtimes"))
        return found;
    for (const auto& [name, entry] : daemon["runtimes"].items()) {
        if (const std::string program = program_of(entry); is_ours(name, program))
            found.emplace(name, program);
    }
    return found;
}

}  // namespace engines
