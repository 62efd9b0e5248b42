// SPDX-License-Identifier: Apache-2.0
// rdmactl cdi: the host's RDMA devices as devices of the Container Device Interface, for containers
// that are given a device by name and nothing else. A CDI device is static: it names nodes that are
// there. It has no annotations, no netdev and no address, so what a hook does is not to be had this
// way; what it gives is what rdma.placement=host gives: the host's device with the host's identity.
//
// Not listed: what belongs to a container (its netdev is not the host's), what we made for
// containers and remove with the last of them, and VFs, which mode vf gives out.
#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "hook/ctl/find.h"
#include "hook/ctl/pf.h"
#include "hook/ctl/text.h"
#include "hook/journal.h"

namespace hook::ctl {

using base::Code;
using base::make_error;

namespace {
constexpr char kKind[] = "rdma-hook.org/hca";
constexpr char kEverything[] = "all";
constexpr size_t kMaxCdiFile = 1U << 20U;

struct Hca {
    std::string name;
    std::string node;    // the verbs node's path
    std::string netdev;  // empty: InfiniBand
};

std::string path_of(const netns::CharDevice& node) {
    return "/dev/infiniband/" + node.name;
}

// What CDI lets a device be called.
bool is_cdi_name(const std::string& name) {
    const auto plain = [](unsigned char c) { return std::isalnum(c) != 0; };
    return !name.empty() && name != kEverything && plain(name.front()) && plain(name.back()) &&
           std::all_of(name.begin(), name.end(), [&](unsigned char c) {
               return plain(c) ||
                      std::string_view("_.:-").find(static_cast<char>(c)) != std::string_view::npos;
           });
}

// In mode exclusive a device can be opened in its own network namespace only.
Result<> check_mode(netns::Host& host) {
    if (TRY(host.rdma.mode()) == netns::RdmaNetnsMode::Exclusive)
        return make_error(Code::Refused,
                          "in RDMA netns mode exclusive no container can open a device of the host")
            .advise(
                "give it one by annotation (rdma.mode=vf), or see: rdma system set netns shared");
    return {};
}

// Names of devices that were made for attachments.
Result<std::set<std::string>> made_for_containers(const Store& store) {
    std::set<std::string> names;
    for (const std::string& akey : TRY(store.journal_keys())) {
        const auto journal = TRY(load_journal(store, akey));
        if (!journal)
            continue;
        for (const auto& step : journal->steps) {
            if (step->kind() == "create_rdma_link")
                names.insert(journal->endpoint.device);
        }
    }
    return names;
}

Result<bool> is_vf(const std::string& name, netns::Host& host) {
    const auto address = TRY(host.sriov.find_by_rdma(name));
    const auto function = address ? TRY(host.sriov.find(*address)) : std::nullopt;
    return function && !function->pf.empty();
}

// Nothing if it is not for everybody.
Result<std::optional<Hca>> look_at(const std::string& name, Site& site) {
    netns::RdmaDevices& rdma = site.host.rdma;
    const auto device = TRY(rdma.find_by_name(site.host_ns, name));
    if (!device || !is_cdi_name(name))
        return std::optional<Hca>{};
    const auto index = TRY(rdma.netdev_of(site.host_ns, device->index));
    const bool of_container = !index && TRY(rdma.is_software(site.host_ns, *device));
    if (of_container || TRY(is_vf(name, site.host)))
        return std::optional<Hca>{};
    const auto link = index ? TRY(site.host.links.find(site.host_ns, *index)) : std::nullopt;
    const auto node = TRY(rdma.uverbs_node(site.host_ns, device->index));
    return std::optional(
        Hca{.name = name, .node = path_of(node), .netdev = link ? link->name : std::string()});
}

Result<std::vector<Hca>> survey(const Options& options, netns::Host& host) {
    TRY(check_mode(host));
    Config config;
    const Store store = TRY(open_store(options, host, config));
    Site site = TRY(host_site(host));
    const auto made = TRY(made_for_containers(store));
    const auto names = host.files.list(options.rdma_class);
    if (!names && !base::is_missing(names.error()))
        return names.error();
    std::vector<Hca> found;
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
        auto hca = made.contains(name) ? std::nullopt : TRY(look_at(name, site));
        if (hca)
            found.push_back(*std::move(hca));
    }
    return found;
}

// No type and no numbers: the engine looks at the node when it uses it, and after a boot the same
// name may have others.
Json node_json(const std::string& path) {
    return {{"path", path}, {"permissions", "rw"}};
}

Json device_json(const std::string& name, const std::vector<Hca>& hcas) {
    Json edits = Json::object();
    if (hcas.size() == 1 && name != kEverything)
        edits["env"] = Json::array({"RDMA_DEVICE=" + name});
    for (const Hca& hca : hcas)
        edits["deviceNodes"].push_back(node_json(hca.node));
    return {{"name", name}, {"containerEdits", std::move(edits)}};
}

// The lowest that has all that is used: engines refuse a file of one that they do not know.
std::string minimum_version(const std::vector<Hca>& hcas) {
    const bool digit = std::any_of(hcas.begin(), hcas.end(), [](const Hca& hca) {
        return std::isdigit(static_cast<unsigned char>(hca.name.front())) != 0;
    });
    return digit ? "0.5.0" : "0.3.0";
}

Result<Json> spec_of(const std::vector<Hca>& hcas, netns::Host& host) {
    Json spec{{"cdiVersion", minimum_version(hcas)}, {"kind", kKind}, {"devices", Json::array()}};
    for (const Hca& hca : hcas)
        spec["devices"].push_back(device_json(hca.name, {hca}));
    spec["devices"].push_back(device_json(kEverything, hcas));
    const auto cm = TRY(host.rdma.rdma_cm_node());
    spec["containerEdits"] = {{"deviceNodes", Json::array({node_json(path_of(cm))})}};
    return spec;
}

// Engines look at these folders all the time: what is right stays untouched. A file without devices
// is none to them, so there is none.
Result<bool> put_spec(const std::string& path, const std::string& text, base::Files& files) {
    const auto now = files.read(path, kMaxCdiFile);
    if (!now && !base::is_missing(now.error()))
        return now.error();
    if (now ? *now == text : text.empty())
        return false;
    if (text.empty()) {
        TRY(files.remove(path));
        return true;
    }
    const auto slash = path.rfind('/');
    if (slash != std::string::npos && slash > 0)
        TRY(files.make_dir(path.substr(0, slash), base::Access::Readable));
    TRY(files.write(path, text, base::Access::Readable));
    return true;
}
}  // namespace

Result<Answer> cdi_generate(const Options& options, netns::Host& host) {
    const auto hcas = TRY(survey(options, host));
    const Json spec = hcas.empty() ? Json::object() : TRY(spec_of(hcas, host));
    std::string text = hcas.empty() ? "" : spec.dump(2) + "\n";
    if (options.cdi_output == "-")
        return Answer{.json = spec, .text = std::move(text)};
    const bool changed = TRY(put_spec(options.cdi_output, text, host.files));
    Json json{{"file", options.cdi_output}, {"changed", changed}, {"devices", hcas.size()}};
    return Answer{
        .json = std::move(json),
        .text = fmt::format(
            "{}: {} devices{}\n", options.cdi_output, hcas.size(), changed ? "" : ", as before")};
}

Result<Answer> cdi_list(const Options& options, netns::Host& host) {
    const auto hcas = TRY(survey(options, host));
    Json json{{"devices", Json::array()}};
    std::vector<std::vector<std::string>> rows = {{"DEVICE", "NODE", "NETDEV"}};
    for (const Hca& hca : hcas) {
        const std::string name = fmt::format("{}={}", kKind, hca.name);
        json["devices"].push_back({{"name", name}, {"node", hca.node}, {"netdev", hca.netdev}});
        rows.push_back({name, hca.node, hca.netdev});
    }
    return Answer{.json = std::move(json), .text = table(rows)};
}

}  // namespace hook::ctl
