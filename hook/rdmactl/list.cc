// SPDX-License-Identifier: Apache-2.0
// rdmactl list and show: attachments and their containers, failed undos, and failures.
#include <algorithm>
#include <chrono>
#include <ctime>

#include <fmt/format.h>

#include "hook/container/granted_nodes.h"
#include "hook/rdmactl/asap2/status.h"
#include "hook/rdmactl/command.h"
#include "hook/rdmactl/find.h"
#include "hook/rdmactl/text.h"
#include "hook/rdmactl/vf/pf.h"
#include "hook/state/failures.h"
#include "netns/base/folder_watch.h"

namespace hook::ctl {

namespace {
// Returns "live", "creating", or "dead" (not yet collected).
std::string_view state_of(const Context& context, const Container& container) {
    const auto alive = is_alive(context, container);
    if (!alive || !*alive)
        return "dead";
    return container.committed ? "live" : "creating";
}

void add_names(Json& json, const CalledAs& called) {
    json["name"] = called.name;
    json["engine"] = called.engine;
}

Result<Json> describe(const Context& context, Names& names, const Container& container) {
    Json json = hook::to_json(container);
    add_names(json, names.of(container.id, container.bundle));
    json["state"] = state_of(context, container);
    const auto attach = context.store.read_json(context.store.attach_path(container.key));
    json["granted"] = attach ? *attach : Json::object();
    json["stale"] = Json::array();
    for (const GrantedNode& node : TRY(granted_nodes(context.store, container.key))) {
        const Json device = node.device;  // several nodes may be one device's
        Json& stale = json["stale"];
        if (TRY(is_stale(context.host, node)) &&
            std::find(stale.begin(), stale.end(), device) == stale.end())
            stale.push_back(device);
    }
    return json;
}

// Describes a record of another version, or a broken one: its container is unknown.
Json unreadable(const std::string& key, const Error& error) {
    Json json{{"key", key}, {"id", key}};
    add_names(json, {});
    json["state"] = "unreadable";
    json["error"] = error.message();
    json["granted"] = Json::object();
    return json;
}

Result<Json> containers(const Context& context, Names& names) {
    Json list = Json::array();
    for (const std::string& key : TRY(context.store.container_keys())) {
        const auto container = context.store.load_container(key);
        if (!container)
            list.push_back(unreadable(key, container.error()));
        else if (*container)
            list.push_back(TRY(describe(context, names, **container)));
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

// Adds to `paths`, for each representor of the attachment, whether hardware forwards its traffic.
Result<> add_paths(const Context& context, const std::string& akey, Json& paths) {
    const auto journal = load_journal(context.store, akey);
    if (!journal || !*journal)
        return {};
    Site site = TRY(host_site(context.host));
    for (const AnyStep& step : (*journal)->steps) {
        if (const auto* raised = std::get_if<RaiseRepresentor>(&step))
            paths.push_back(TRY(describe_path(site, raised->eswitch, raised->port)));
    }
    return {};
}

std::string name_in(const Json& container) {
    return label_of({.key = string_at(container, "key"),
                     .id = string_at(container, "id"),
                     .called = {.engine = {}, .name = string_at(container, "name")}});
}

std::string or_dash(std::string text) {
    return text.empty() ? "-" : std::move(text);
}

// Adds a row for the attachment, and one for each further address.
void add_rows(const Json& container, const Json& attachment, int64_t now, Rows& rows) {
    const std::string state = string_at(container, "state");
    const int64_t created = container.value("created", int64_t{0});
    const Json& addresses = base::array_of(attachment, "addresses");
    rows.push_back({name_in(container),
                    or_dash(string_at(container, "engine")),
                    or_dash(span(created, now)),
                    {state, colour_of(state)},
                    or_dash(string_at(attachment, "mode")),
                    or_dash(string_at(attachment, "device")),
                    or_dash(string_at(attachment, "netdev")),
                    addresses.empty() ? "-" : addresses.front().get<std::string>()});
    for (size_t i = 1; i < addresses.size(); ++i)
        rows.push_back({"", "", "", "", "", "", "", addresses[i].get<std::string>()});
}

std::string list_text(const Json& json, const Page& page) {
    const auto now = static_cast<int64_t>(std::time(nullptr));
    Rows rows = {{"NAME", "ENGINE", "AGE", "STATE", "MODE", "DEVICE", "NETDEV", "ADDRESSES"}};
    for (const Json& container : json["containers"]) {
        const Json& attachments = base::array_of(container["granted"], "attachments");
        for (const Json& attachment : attachments)
            add_rows(container, attachment, now, rows);
        if (attachments.empty())
            add_rows(container, Json::object(), now, rows);
    }
    std::string text = table_within(std::move(rows), page);
    for (const Json& container : json["containers"]) {
        if (container.contains("error"))
            text += string_at(container, "error") + "\n";
        for (const Json& device : base::array_of(container, "stale"))
            text += fmt::format("RDMA device {} of container {} is gone: restart the container\n",
                                printable(device.get<std::string>()),
                                name_in(container));
    }
    for (const Json& journal : json["dirty"]) {
        text += "not undone: " + string_at(journal, "attachment") + "\n";
        for (const Json& line : journal["trouble"])
            text += "  " + line.get<std::string>() + "\n";
    }
    return text;
}

std::string failures_text(const Json& json, const Page& page) {
    const auto now = static_cast<int64_t>(std::time(nullptr));
    Rows rows = {{"NAME", "WHEN", "PHASE", "CODE", "ERROR"}};
    for (const Json& f : json["failures"])
        rows.push_back({name_in(f),
                        age(f.value("time", int64_t{0}), now),
                        string_at(f, "phase"),
                        string_at(f, "code"),
                        string_at(f, "error")});
    return table(rows, page);
}

Result<Json> failures(const Context& context, Names& names) {
    Json list = Json::array();
    for (Json& failure : TRY(load_failures(context.store))) {
        if (!failure.is_object())
            continue;
        add_names(failure, names.of(string_at(failure, "id"), string_at(failure, "bundle")));
        list.push_back(std::move(failure));
    }
    return list;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

void add(Pairs& values, const char* name, const std::string& value) {
    if (!value.empty())
        values.emplace_back(name, value);
}

// Adds a list, with a line for each of its texts.
void add_list(Pairs& values, const char* name, const Json& list) {
    for (const Json& text : list)
        values.emplace_back(&text == &list.front() ? name : "", text.get<std::string>());
}

std::string container_page(const Json& container, const Page& page) {
    const auto now = static_cast<int64_t>(std::time(nullptr));
    const Json& granted = container["granted"];
    const std::string since = span(container.value("created", int64_t{0}), now);
    const std::string state = string_at(container, "state");
    Pairs values;
    add(values, "engine", string_at(container, "engine"));
    add(values, "id", string_at(container, "id"));
    add(values,
        "state",
        base::paint(state, colour_of(state), page.colours) +
            (since.empty() ? "" : ", attached " + since + " ago"));
    add(values, "bundle", string_at(container, "bundle"));
    add(values, "isolation", string_at(granted, "isolation"));
    add(values, "no RDMA", string_at(granted, "error"));
    add_list(values, "gone", base::array_of(container, "stale"));
    return heading(name_in(container), page) + pairs(values);
}

// Returns the annotations that ask for exactly this attachment.
std::string request_text(const Json& request) {
    std::string text;
    for (const auto& [key, value] : request.items()) {
        if (value.is_string())
            text += (text.empty() ? "" : " ") + key + "=" + value.get<std::string>();
    }
    return text;
}

std::string attachment_page(const Json& a, const Json& journals, const Page& page) {
    const unsigned index = a.value("index", 0U);
    Pairs values;
    add(values,
        "device",
        fmt::format("{} ({}), node GUID {}{}",
                    string_at(a, "device"),
                    string_at(a, "provider"),
                    string_at(a, "node_guid"),
                    a.contains("port_state") ? ", port " + string_at(a, "port_state") : ""));
    add(values,
        "netdev",
        fmt::format("{}{}, MAC {}, MTU {}",
                    string_at(a, "netdev"),
                    string_at(a, "placement") == "host" ? " of the host" : "",
                    string_at(a, "mac"),
                    a.value("mtu", 0U)));
    add_list(values, "addresses", base::array_of(a, "addresses"));
    if (a.contains("gid"))
        add(values,
            "GID",
            fmt::format("{}, index {}, {}",
                        string_at(a, "gid"),
                        a.value("gid_index", 0U),
                        string_at(a, "gid_type")));
    add(values, "rdma_cm", a.value("rdma_cm", false) ? "works" : "does not work");
    add_list(values, "nodes", base::array_of(a, "nodes"));
    add(values, "path", string_at(a, "software_path"));
    for (const Json& journal : journals) {
        if (!journal.is_object() || !journal.contains("request") ||
            journal["request"].value("index", 0U) != index)
            continue;
        add(values, "request", request_text(journal["request"]));
        add_list(values, "not undone", base::array_of(journal, "trouble"));
    }
    return "\n" + heading(fmt::format("attachment {}: {}", index, string_at(a, "mode")), page) +
           pairs(values);
}

std::string offload_page(const Json& paths, const Page& page) {
    Pairs values;
    for (const Json& path : paths) {
        std::string text = string_at(path, "path");
        if (path.contains("rules"))
            text += fmt::format(", {} of {} rules in hardware, {} of {} packets",
                                path.value("in_hw", uint64_t{0}),
                                path.value("rules", uint64_t{0}),
                                path.value("hw_packets", uint64_t{0}),
                                path.value("packets", uint64_t{0}));
        values.emplace_back(string_at(path, "eswitch") + " " + string_at(path, "port"), text);
    }
    return "\n" + heading("offload", page) + pairs(values);
}

std::string failure_page(const Json& failure, const Page& page) {
    const auto now = static_cast<int64_t>(std::time(nullptr));
    Pairs values;
    add(values,
        "when",
        age(failure.value("time", int64_t{0}), now) + ", in " + string_at(failure, "phase"));
    add(values, "code", string_at(failure, "code"));
    add(values, "error", string_at(failure, "error"));
    return heading("last failure of " + name_in(failure), page) + pairs(values);
}

std::string show_text(const Json& json, const Page& page) {
    std::string text;
    if (json.contains("container")) {
        text += container_page(json["container"], page);
        for (const Json& a : base::array_of(json["container"]["granted"], "attachments"))
            text += attachment_page(a, json["journals"], page);
        if (json.contains("offload"))
            text += offload_page(json["offload"], page);
    }
    if (json.contains("last_error"))
        text += (text.empty() ? "" : "\n") + failure_page(json["last_error"], page);
    return text;
}
}  // namespace

Result<Answer> list(const Options& options, netns::Host& host) {
    const auto state = TRY(open_state(options, host));
    const Context& context = state->context;
    Names names{host.files, options.host_root};
    if (options.failed) {
        Json json{{"failures", TRY(failures(context, names))}};
        std::string text = failures_text(json, options.page);
        return Answer{.json = std::move(json), .text = std::move(text), .trouble = false};
    }
    Json json{{"containers", TRY(containers(context, names))},
              {"dirty", TRY(dirty_journals(context))}};
    std::string text = list_text(json, options.page);
    return Answer{.json = std::move(json), .text = std::move(text), .trouble = false};
}

Result<Answer> show(const Options& options, netns::Host& host) {
    const auto state = TRY(open_state(options, host));
    const Context& context = state->context;
    Names names{host.files, options.host_root};
    const Json failed = TRY(failures(context, names));
    auto all = TRY(known_containers(context, names));
    for (const Json& failure : failed) {
        const std::string key = string_at(failure, "key");
        if (std::ranges::find(all, key, &Known::key) == all.end())
            all.push_back({.key = key,
                           .id = string_at(failure, "id"),
                           .called = {.engine = string_at(failure, "engine"),
                                      .name = string_at(failure, "name")}});
    }
    const auto chosen = TRY(choose(all, options.container));
    if (!chosen)
        return no_container(options.container);
    Json json = Json::object();
    if (const auto container = TRY(context.store.load_container(chosen->key))) {
        json["container"] = TRY(describe(context, names, *container));
        json["journals"] = Json::array();
        Json paths = Json::array();
        for (const std::string& akey : container->attachments) {
            if (const auto journal = context.store.read_json(context.store.journal_path(akey)))
                json["journals"].push_back(*journal);
            TRY(add_paths(context, akey, paths));
        }
        if (!paths.empty())
            json["offload"] = std::move(paths);
    }
    for (const Json& failure : failed) {
        if (string_at(failure, "key") == chosen->key)
            json["last_error"] = failure;
    }
    std::string text = show_text(json, options.page);
    return Answer{.json = std::move(json), .text = std::move(text), .trouble = false};
}

// ---- list --watch
namespace {
constexpr std::chrono::seconds kLookAgain{2};
constexpr const char* kWatched[] = {"containers", "pending", "journals", "attach", "errors"};
constexpr std::string_view kHome = "\033[H";
constexpr std::string_view kClearLine = "\033[K";
constexpr std::string_view kClearRest = "\033[J";
}  // namespace

std::string drawing(const std::string& text, const Page& page) {
    std::string out(kHome);
    size_t line = 0;
    for (size_t at = 0; at < text.size(); ++line) {
        if (page.rows != 0 && line + 1 >= page.rows)  // the last one is the cursor's
            break;
        const size_t end = std::min(text.find('\n', at), text.size());
        out.append(text, at, end - at).append(kClearLine).append("\n");
        at = end + 1;
    }
    return out.append(kClearRest);
}

Result<> watch(Options options, netns::Host& host, const Screen& screen) {
    const auto state = TRY(open_state(options, host));
    std::vector<std::string> folders;
    for (const char* name : kWatched)
        folders.push_back(state->store.folder(name));
    base::FolderWatch changes = TRY(base::FolderWatch::open(folders));
    for (;;) {
        options.page = screen.page();
        if (!screen.draw(TRY(list(options, host)).text))
            return {};
        (void)TRY(changes.wait(Deadline::in(kLookAgain)));
    }
}

}  // namespace hook::ctl
