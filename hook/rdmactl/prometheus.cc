// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/prometheus.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "hook/rdmactl/text.h"
#include "netns/base/error.h"

namespace hook::ctl {

using base::Json;

namespace {
using Labels = std::vector<std::pair<std::string, std::string>>;
// Values of a metric by their labels. Two attachments of a container may use one device, which has
// one series.
using Samples = std::map<std::string, uint64_t>;
// By name: the format wants all samples of a metric in one place.
using Metrics = std::map<std::string, Samples>;

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Other characters than letters, digits and "_" are not allowed in a name.
std::string metric_name(std::string_view what, std::string counter) {
    std::ranges::replace_if(
        counter, [](char c) { return !is_letter(c) && (c < '0' || c > '9'); }, '_');
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

}  // namespace hook::ctl
