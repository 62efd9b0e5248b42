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

Result<Json> parse_daemon(const EngineEdit& edit) {
    // Docker takes an empty file for one without settings.
    if (!edit.before || edit.before->find_first_not_of(kWhite) == std::string::npos)
        return Json::object();
    Json json = TRY(base::parse_json(*edit.before, edit.path));
    const auto runtimes = json.is_object() ? json.find("runtimes") : json.end();
    if (!json.is_object() || (runtimes != json.end() && !runtimes->is_object()))
        return make_error(Code::BadInput,
                          edit.path + (json.is_object() ? ": `runtimes` is" : " is") +
                              " not a JSON object")
            .advise("run: dockerd --validate --config-file " + edit.path);
    return json;
}

enum class Owner { Nobody, Us, UsAndOthers, Others };

// An entry of rdma-hook is as rdma-hook writes it: a path whose last part is the program's name.
Owner owner_of(const Json& daemon) {
    const auto runtimes = daemon.find("runtimes");
    const auto entry =
        runtimes == daemon.end() ? Json::const_iterator() : runtimes->find(kRuntimeName);
    if (runtimes == daemon.end() || entry == runtimes->end())
        return Owner::Nobody;
    const auto path = entry->is_object() ? entry->find("path") : entry->end();
    if (!entry->is_object() || path == entry->end() || !path->is_string())
        return Owner::Others;
    const auto& text = path->get_ref<const std::string&>();
    if (text.substr(text.rfind('/') + 1) != "rdma-runtime")
        return Owner::Others;
    return entry->size() == 1 ? Owner::Us : Owner::UsAndOthers;
}

Result<> check_unset(const Json& daemon, const EngineEdit& edit) {
    const auto chosen = daemon.find("default-runtime");
    if (chosen != daemon.end() && *chosen == kRuntimeName)
        return make_error(Code::Busy, edit.path + ": `default-runtime` is rdma")
            .advise("set another one first: Docker does not start without its default runtime");
    return {};
}

Result<> add(Json& daemon, const EngineEdit& edit) {
    Json& runtimes = daemon["runtimes"];
    if (runtimes.is_null())
        runtimes = Json::object();
    runtimes[kRuntimeName]["path"] = edit.runtime;
    return {};
}

Result<> take_out(Json& daemon, const EngineEdit& edit) {
    TRY(check_unset(daemon, edit));
    daemon["runtimes"].erase(kRuntimeName);
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
    if (TRY(base::parse_json(text, "what would be written")) != daemon)
        return make_error(Code::Internal, edit.path + " cannot be written again as it is");
    return FileText{std::move(text)};
}
}  // namespace

std::string layout_json(const Json& json, const std::string& like) {
    const auto line = like.find('\n', like.find('{'));
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
    Json daemon = TRY(parse_daemon(edit));
    const Json before = daemon;
    const Owner owner = owner_of(daemon);
    if (owner == Owner::Others || (owner == Owner::UsAndOthers && edit.unset))
        return make_error(Code::Busy,
                          fmt::format("{}: `runtimes.rdma` is {}",
                                      edit.path,
                                      owner == Owner::Others ? "not rdma-hook's"
                                                             : "more than rdmactl wrote"))
            .advise("look at it, and take it out by hand");
    if (edit.unset && owner == Owner::Us)
        TRY(take_out(daemon, edit));
    else if (!edit.unset)
        TRY(add(daemon, edit));
    return Edited{TRY(text_of(daemon, before, edit)), {}};
}

Result<Edited> edit_docker_memlock(const EngineEdit& edit) {
    Json daemon = TRY(parse_daemon(edit));
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

}  // namespace engines
