// SPDX-License-Identifier: Apache-2.0
// rdmactl stats: the counters of the devices and interfaces of containers. It looks these up each
// time, from the journal and through the pin: a container may have renamed them.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "hook/container/inspect.h"
#include "hook/rdmactl/command.h"
#include "hook/rdmactl/find.h"
#include "hook/rdmactl/text.h"
#include "hook/steps/executor.h"
#include "hook/steps/journal.h"
#include "netns/base/ascii.h"
#include "netns/link.h"
#include "netns/statistics.h"

namespace hook::ctl {

namespace {
Result<> add_device(Site& site, const Endpoint& endpoint, Json& out) {
    const FoundDevice found = TRY(find_device(site, endpoint));
    out["device"] = found.device.name;
    // Other users of the device are in its counters, too.
    out["shared"] = endpoint.where == Where::Host || endpoint.hca_netdev != 0;
    out["device_counters"] = TRY(site.host.statistics.of_device(found.ns, found.device));
    return {};
}

Result<> add_netdev(Site& site, const Endpoint& endpoint, Json& out) {
    const netns::Netns* ns = site.ns(endpoint.where);
    const auto link =
        ns == nullptr ? std::nullopt : TRY(site.host.links.find(*ns, endpoint.netdev));
    if (!link)
        return make_error(Code::Unavailable, "its interface is gone").advise("run: rdmactl gc");
    out["netdev"] = link->name;
    out["netdev_counters"] = TRY(site.host.statistics.of_link(*ns, endpoint.netdev));
    return {};
}

Result<> add_counters(const Context& context, const Journal& journal, Json& out) {
    Site site = TRY(open_site(context.host, context.store, journal));
    auto device = add_device(site, journal.endpoint, out);
    if (journal.endpoint.rdma_index && journal.endpoint.netdev == 0)
        return device;
    return join(std::move(device), add_netdev(site, journal.endpoint, out));
}

// Returns nothing if the attachment has ended meanwhile.
Result<std::optional<Json>> counters_of(const Context& context, const std::string& akey) {
    const auto journal = TRY(load_journal_head(context.store, akey));
    if (!journal)
        return std::optional<Json>{};
    Json out{{"attachment", akey}, {"request", journal->attachment}};
    if (const auto done = add_counters(context, *journal, out); !done)
        out["error"] = done.error().message();
    return std::optional{std::move(out)};
}

Result<Json> counters_of(const Context& context,
                         const Container& container,
                         const CalledAs& called) {
    Json json{{"id", container.id},
              {"key", container.key},
              {"name", called.name},
              {"engine", called.engine},
              {"attachments", Json::array()}};
    for (const std::string& akey : container.attachments) {
        const auto counters = counters_of(context, akey);
        if (!counters)
            json["attachments"].push_back(
                {{"attachment", akey}, {"error", counters.error().message()}});
        else if (*counters)
            json["attachments"].push_back(**counters);
    }
    return json;
}

Result<bool> is_live(const Context& context, const Container& container) {
    return container.committed && TRY(is_alive(context, container));
}

Result<std::vector<Container>> running(const Context& context,
                                       Names& names,
                                       const std::string& name) {
    std::vector<Container> all;
    if (!name.empty()) {
        auto container = TRY(require_container(context, names, name));
        if (!TRY(is_live(context, container)))
            return make_error(Code::Unavailable,
                              "container '" + printable(name) + "' is not running with RDMA")
                .advise("see all: rdmactl list");
        return std::vector{std::move(container)};
    }
    for (const std::string& key : TRY(context.store.container_keys())) {
        auto container = context.store.load_container(key);  // list reports unreadable ones
        if (container && *container && TRY(is_live(context, **container)))
            all.push_back(**std::move(container));
    }
    return all;
}

// Leaves out counters at 0: a device has dozens.
void add_rows(Rows& rows, const std::string& container, const Json& attachment, const char* what) {
    const auto counters = attachment.find(std::string(what) + "_counters");
    if (counters == attachment.end())
        return;
    const bool shared = std::string_view(what) == "device" && attachment["shared"];
    const std::string name = printable(attachment[what].get<std::string>());
    for (const auto& [counter, value] : counters->items()) {
        if (value != 0)
            rows.push_back({container,
                            name + (shared ? " (shared)" : ""),
                            printable(counter),
                            std::to_string(value.get<uint64_t>())});
    }
}

// ---- Prometheus
using Labels = std::vector<std::pair<std::string, std::string>>;
// Values of a metric by their labels. Two attachments of a container may use one device, which has
// one series.
using Samples = std::map<std::string, uint64_t>;
// By name: the format wants all samples of a metric in one place.
using Metrics = std::map<std::string, Samples>;

// Other characters than letters, digits and "_" are not allowed in a name.
std::string metric_name(std::string_view what, std::string counter) {
    std::ranges::replace_if(
        counter, [](char c) { return !base::is_alnum(c) && c != '_'; }, '_');
    return fmt::format("rdma_hook_{}_{}_total", what, counter);
}

// Names may have any bytes; labels are UTF-8.
std::string quoted(const std::string& value) {
    std::string text = "\"";
    for (const char c : base::printable(value)) {
        if (c == '\\' || c == '"')
            text += '\\';
        text += c;
    }
    return text + "\"";
}

std::string text_of(const Labels& labels) {
    std::string text;
    for (const auto& [name, value] : labels) {
        if (!value.empty())
            text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, quoted(value));
    }
    return text;
}

void add_counters(const Json& attachment,
                  const char* what,
                  const Labels& labels,
                  Metrics& metrics) {
    const auto counters = attachment.find(fmt::format("{}_counters", what));
    if (counters == attachment.end())
        return;
    for (const auto& [name, value] : counters->items())
        metrics[metric_name(what, name)].emplace(text_of(labels), value.get<uint64_t>());
}

void add_attachment(const Json& container, const Json& attachment, Metrics& metrics) {
    const auto request = attachment.find("request");
    Labels labels{{"container", string_at(container, "id")},
                  {"name", string_at(container, "name")},
                  {"device", string_at(attachment, "device")},
                  {"mode", request == attachment.end() ? "" : string_at(*request, "mode")}};
    Labels with_port = labels;
    with_port.emplace_back("port", "1");  // of two ports containers are given the first
    with_port.emplace_back("shared", attachment.value("shared", false) ? "true" : "false");
    add_counters(attachment, "device", with_port, metrics);
    labels.emplace_back("netdev", string_at(attachment, "netdev"));
    add_counters(attachment, "netdev", labels, metrics);
}

std::string head(std::string_view name, std::string_view help, std::string_view type) {
    return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}
}  // namespace

std::string prometheus_text(const Json& stats) {
    Metrics metrics;
    size_t containers = 0;
    size_t unread = 0;
    for (const Json& container : stats["containers"]) {
        ++containers;
        for (const Json& attachment : container["attachments"]) {
            add_attachment(container, attachment, metrics);
            unread += attachment.contains("error") ? 1 : 0;
        }
    }
    std::string text = head("rdma_hook_containers", "Running containers with RDMA.", "gauge") +
                       fmt::format("rdma_hook_containers {}\n", containers) +
                       head("rdma_hook_unread_attachments",
                            "Attachments some of whose counters could not be read.",
                            "gauge") +
                       fmt::format("rdma_hook_unread_attachments {}\n", unread);
    for (const auto& [name, samples] : metrics) {
        const bool of_device = name.starts_with("rdma_hook_device_");
        text += head(name,
                     of_device ? "A counter of the driver of the container's RDMA device."
                               : "A counter of the container's network interface.",
                     "counter");
        for (const auto& [labels, value] : samples)
            text += fmt::format("{}{{{}}} {}\n", name, labels, value);
    }
    return text;
}

Result<Answer> stats(const Options& options, netns::Host& host) {
    const auto state = TRY(open_state(options, host));
    const Context& context = state->context;
    Answer answer{.json = {{"containers", Json::array()}}, .text = {}};
    Rows rows = {{"CONTAINER", "OF", "COUNTER", "VALUE"}};
    std::string trouble;
    Names names{host.files, options.host_root};
    for (const Container& container : TRY(running(context, names, options.container))) {
        const CalledAs called = names.of(container.id, container.bundle);
        const std::string label =
            label_of({.key = container.key, .id = container.id, .called = called});
        Json json = TRY(counters_of(context, container, called));
        for (const Json& attachment : json["attachments"]) {
            for (const char* what : {"device", "netdev"})
                add_rows(rows, label, attachment, what);
            if (attachment.contains("error"))
                trouble += fmt::format("{}: {}\n", label, attachment["error"].get<std::string>());
        }
        answer.json["containers"].push_back(std::move(json));
    }
    answer.text =
        options.prometheus ? prometheus_text(answer.json) : table(rows, options.page) + trouble;
    answer.trouble = !trouble.empty();
    if (!options.output.empty()) {
        TRY(host.files.write(options.output, answer.text, base::Access::Readable));
        answer.text.clear();
    }
    return answer;
}

}  // namespace hook::ctl
