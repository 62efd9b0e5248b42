// SPDX-License-Identifier: Apache-2.0
// rdmactl list and show: attachments and their containers, failed undos, and failures.
#include <ctime>

#include <fmt/format.h>

#include "hook/container/granted_nodes.h"
#include "hook/rdmactl/asap2/status.h"
#include "hook/rdmactl/command.h"
#include "hook/rdmactl/find.h"
#include "hook/rdmactl/text.h"
#include "hook/rdmactl/vf/pf.h"
#include "hook/state/failures.h"

namespace hook::ctl {

namespace {
constexpr size_t kShortId = 12;

std::string text_of(const Json& json, const char* key) {
    const auto it = json.find(key);
    return it != json.end() && it->is_string() ? it->get<std::string>() : std::string{};
}

Result<Json> read_json(const Store& store, const std::string& path) {
    return base::parse_json(TRY(store.files().read(path, kMaxStateFile)), path);
}

// Returns "live", "creating", or "dead" (not yet collected).
std::string_view state_of(const Context& context, const Container& container) {
    const auto alive = is_alive(context, container);
    if (!alive || !*alive)
        return "dead";
    return container.committed ? "live" : "creating";
}

Result<Json> describe(const Context& context, const Container& container) {
    Json json = hook::to_json(container);
    json["state"] = state_of(context, container);
    const auto attach = read_json(context.store, context.store.attach_path(container.key));
    json["granted"] = attach ? *attach : Json::object();
    json["stale"] = Json::array();
    for (const GrantedNode& node : TRY(granted_nodes(context.store, container.key))) {
        if (TRY(is_stale(context.host, node)))
            json["stale"].push_back(node.device);
    }
    return json;
}

// Describes a record of another version, or a broken one: its container is unknown.
Json unreadable(const std::string& key, const base::Error& error) {
    return {{"key", key},
            {"id", key},
            {"state", "unreadable"},
            {"error", error.message()},
            {"granted", Json::object()}};
}

Result<Json> containers(const Context& context) {
    Json list = Json::array();
    for (const std::string& key : TRY(context.store.container_keys())) {
        const auto container = context.store.load_container(key);
        if (!container)
            list.push_back(unreadable(key, container.error()));
        else if (*container)
            list.push_back(TRY(describe(context, **container)));
    }
    return list;
}

// Lists journals that hold something without users: the next gc tries again.
Result<Json> dirty_journals(const Context& context) {
    Json list = Json::array();
    for (const std::string& akey : TRY(context.store.journal_keys())) {
        const auto journal = load_journal(context.store, akey);
        if (!journal)
            list.push_back({{"attachment", akey},
                            {"trouble", Json::array({journal.error().message()})},
                            {"request", Json::object()}});
        else if (*journal && (*journal)->holders.empty())
            list.push_back({{"attachment", akey},
                            {"trouble", (*journal)->trouble},
                            {"request", (*journal)->attachment}});
    }
    return list;
}

// Tells for each representor in the journals whether hardware forwards its traffic.
Result<Json> offload(const Context& context, const Json& journals) {
    Site site = TRY(host_site(context.host));
    Json paths = Json::array();
    for (const Json& journal : journals) {
        for (const Json& step : base::array_of(journal, "steps")) {
            if (text_of(step, "kind") == "raise_representor")
                paths.push_back(
                    TRY(describe_path(site, text_of(step, "eswitch"), text_of(step, "port"))));
        }
    }
    return paths;
}

std::string list_text(const Json& json) {
    std::vector<std::vector<std::string>> rows = {
        {"CONTAINER", "STATE", "MODE", "DEVICE", "NETDEV", "ADDRESSES"}};
    for (const Json& container : json["containers"]) {
        const std::string id = text_of(container, "id").substr(0, kShortId);
        for (const Json& a : base::array_of(container["granted"], "attachments")) {
            std::string addresses;
            for (const Json& address : base::array_of(a, "addresses"))
                addresses += (addresses.empty() ? "" : ",") + address.get<std::string>();
            rows.push_back({id,
                            text_of(container, "state"),
                            text_of(a, "mode"),
                            text_of(a, "device"),
                            text_of(a, "netdev"),
                            addresses});
        }
        if (!container["granted"].contains("attachments"))
            rows.push_back({id, text_of(container, "state"), "-", "-", "-", "-"});
    }
    std::string text = table(rows);
    for (const Json& container : json["containers"]) {
        if (container.contains("error"))
            text += text_of(container, "error") + "\n";
        for (const Json& device : base::array_of(container, "stale"))
            text += fmt::format("RDMA device {} of container {} is gone: restart the container\n",
                                base::printable(device.get<std::string>()),
                                text_of(container, "id"));
    }
    for (const Json& journal : json["dirty"]) {
        text += "not undone: " + text_of(journal, "attachment") + "\n";
        for (const Json& line : journal["trouble"])
            text += "  " + line.get<std::string>() + "\n";
    }
    return text;
}

std::string failures_text(const Json& json) {
    const auto now = static_cast<int64_t>(std::time(nullptr));
    std::vector<std::vector<std::string>> rows = {{"CONTAINER", "WHEN", "PHASE", "CODE", "ERROR"}};
    for (const Json& f : json["failures"])
        rows.push_back({text_of(f, "id").substr(0, kShortId),
                        age(f.value("time", int64_t{0}), now),
                        text_of(f, "phase"),
                        text_of(f, "code"),
                        text_of(f, "error")});
    return table(rows);
}

std::string show_text(const Json& json) {
    return json.dump(2) + "\n";
}
}  // namespace

Result<Answer> list(const Options& options, netns::Host& host) {
    Config config;
    const Store store = TRY(open_store(options, host, config));
    const Context context{host, config, store};
    if (options.failed) {
        Json json{{"failures", TRY(load_failures(store))}};
        std::string text = failures_text(json);
        return Answer{.json = std::move(json), .text = std::move(text), .trouble = false};
    }
    Json json{{"containers", TRY(containers(context))}, {"dirty", TRY(dirty_journals(context))}};
    std::string text = list_text(json);
    return Answer{.json = std::move(json), .text = std::move(text), .trouble = false};
}

Result<Answer> show(const Options& options, netns::Host& host) {
    Config config;
    const Store store = TRY(open_store(options, host, config));
    const Context context{host, config, store};
    Json json = Json::object();
    const auto container = TRY(find_container(context, options.container));
    if (container) {
        json["container"] = TRY(describe(context, *container));
        json["journals"] = Json::array();
        for (const std::string& akey : container->attachments) {
            if (const auto journal = read_json(store, store.journal_path(akey)))
                json["journals"].push_back(*journal);
        }
        if (Json paths = TRY(offload(context, json["journals"])); !paths.empty())
            json["offload"] = std::move(paths);
    }
    for (const Json& failure : TRY(load_failures(store))) {
        if (text_of(failure, "id").starts_with(options.container) ||
            text_of(failure, "key").starts_with(options.container))
            json["last_error"] = failure;
    }
    if (json.empty())
        return make_error(Code::Unavailable,
                          "no container '" + base::printable(options.container) + "'")
            .advise("see all: rdmactl list; failed ones: rdmactl list --failed");
    std::string text = show_text(json);
    return Answer{.json = std::move(json), .text = std::move(text), .trouble = false};
}

}  // namespace hook::ctl
