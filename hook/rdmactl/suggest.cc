// SPDX-License-Identifier: Apache-2.0
// rdmactl suggest: the command lines that give a container RDMA on this host, with the reason for
// each mode. A row of kRows is a mode; its candidates are planned as an attach plans them, and the
// first that the mode accepts is suggested. A mode that accepts none says why.
#include <algorithm>
#include <chrono>
#include <iterator>

#include <fmt/format.h>

#include "hook/container/attach.h"
#include "hook/rdmactl/asap2/eswitch_setup.h"
#include "hook/rdmactl/find.h"
#include "hook/rdmactl/vf/pf.h"
#include "netns/base/ascii.h"
#include "netns/link.h"
#include "netns/ovs.h"
#include "netns/rdma.h"

namespace hook::ctl {

namespace {
constexpr std::chrono::seconds kOvsTimeout{5};
constexpr char kExampleAddress[] = "10.9.0.1/24";
constexpr uint64_t kMostAddresses = 4096;  // tried in the network of an interface

// The host, as the rows look at it.
struct Ground : HostView {
    const Options& options;
};

// Annotations that may be accepted, and the interface of the host whose network they join.
struct Candidate {
    std::string what;  // "enp1s0", "pool fast"
    Annotations annotations;
    std::string netdev = {};
};

using Candidates = std::vector<Candidate>;

struct ModeRow {
    std::string_view mode;
    std::string_view reason;
    std::string_view none = {};     // why there is no candidate
    std::string_view options = {};  // of `run`, beside the annotations
    Result<Candidates> (*candidates)(Ground&);
};

Result<Candidates> functions(Ground& ground) {
    Candidates all;
    for (const auto& pf : TRY(ground.site.host.sriov.list_pfs())) {
        const std::string name = name_of(pf);
        all.push_back({.what = name, .annotations = {{"rdma.device", name}}, .netdev = name});
    }
    return all;
}

// Returns the bridge that has the uplink of an adapter; empty: none has it.
Result<std::string> bridge_of(Ground& ground, const std::string& netdev) {
    Site& site = ground.site;
    if (!TRY(site.host.ovs.present()))
        return std::string();
    const auto device = find_eswitch_device(netdev, site);
    const auto uplink = device ? find_uplink_or_bond(site, device->handle) : device.error();
    if (!uplink)  // the mode's own sentence is about that
        return std::string();
    const auto port = TRY(site.host.ovs.find_port(uplink->name, Deadline::in(kOvsTimeout)));
    return port ? port->bridge : std::string();
}

Result<Candidates> switched_functions(Ground& ground) {
    Candidates all = TRY(functions(ground));
    for (Candidate& each : all) {
        if (std::string bridge = TRY(bridge_of(ground, each.netdev)); !bridge.empty())
            each.annotations["rdma.bridge"] = std::move(bridge);
    }
    return all;
}

// True for a VF, which is for other modes, and for a device that rdma-hook or an administrator made.
Result<bool> is_no_hca(Ground& ground, const netns::RdmaDevice& device) {
    netns::Host& host = ground.site.host;
    if (!TRY(host.rdma.software_type(ground.site.host_ns, device)).empty())
        return true;
    const auto address = TRY(host.sriov.find_by_rdma(device.name));
    const auto function = address ? TRY(host.sriov.find(*address)) : std::nullopt;
    return function && !function->pf.empty();
}

Result<Candidates> hcas(Ground& ground) {
    Site& site = ground.site;
    const auto names = site.host.files.list(ground.options.rdma_class);
    if (!names && !base::is_missing(names.error()))
        return names.error();
    Candidates all;
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
        const auto device = TRY(site.host.rdma.find_by_name(site.host_ns, name));
        if (!device || TRY(is_no_hca(ground, *device)))
            continue;
        const auto netdev = TRY(site.host.rdma.netdev_of(site.host_ns, device->index));
        const auto link = netdev ? TRY(site.host.links.find(site.host_ns, *netdev)) : std::nullopt;
        Candidate each{.what = name,
                       .annotations = {{"rdma.parent", name}},
                       .netdev = link ? link->name : std::string()};
        all.push_back(each);
        each.what += ", as ipvlan";  // where the adapter carries no MAC but its own
        each.annotations["rdma.child"] = "ipvlan";
        all.push_back(std::move(each));
    }
    return all;
}

// Returns all RDMA devices of the host, of whatever kind.
Result<Candidates> hosts_devices(Ground& ground) {
    Candidates all;
    for (const auto& device : TRY(ground.site.host.rdma.list(ground.site.host_ns)))
        all.push_back({.what = device.name, .annotations = {{"rdma.device", device.name}}});
    return all;
}

// Returns the interface of the default route, which a mode takes without rdma.parent.
Result<Candidates> default_route(Ground& ground) {
    netns::Links& links = ground.site.host.links;
    const auto index = TRY(links.default_route_link(ground.site.host_ns));
    const auto link = index ? TRY(links.find(ground.site.host_ns, *index)) : std::nullopt;
    const std::string name = link ? link->name : std::string();
    return Candidates{{.what = name, .annotations = {}, .netdev = name}};
}

// The rows in the order of suggestion: the first is the fastest and the best isolated.
constexpr ModeRow kRows[] = {
    {.mode = "asap2",
     .reason = "a function of the adapter's own, and the adapter forwards its packets by the rules "
               "of Open vSwitch",
     .none = "no adapter of this host has SR-IOV",
     .candidates = switched_functions},
    {.mode = "vf",
     .reason = "a function of the adapter's own: its speed, and hardware keeps it apart",
     .none = "no adapter of this host has SR-IOV",
     .candidates = functions},
    {.mode = "shared",
     .reason = "many containers on one adapter, each with an interface and addresses of its own",
     .none = "the host has no HCA",
     .candidates = hcas},
    {.mode = "host",
     .reason = "the host's own adapter and its identity, InfiniBand too: for jobs that the host "
               "trusts",
     .none = "the host has no RDMA device",
     .options = "--network host",
     .candidates = hosts_devices},
    {.mode = "softroce",
     .reason = "RoCE in software: needs no adapter, and is for tests",
     .candidates = default_route},
    {.mode = "softiwarp",
     .reason = "iWARP in software: as softroce, for programs that connect by rdma_cm",
     .candidates = default_route},
};

// Returns the pools of the mode, which come first: the administrator has chosen them.
Candidates pools_for(const Config& config, std::string_view mode) {
    Candidates all;
    for (const Pool& pool : config.pools) {
        if (pool.mode == mode)
            all.push_back({.what = "pool " + pool.name,
                           .annotations = {{"rdma.pool", pool.name}},
                           .netdev = pool.parents.empty() ? "" : pool.parents.front()});
    }
    return all;
}

// Returns an address in the network of the interface that no container has; an example if the
// interface has none. Others on the network may have it.
Result<std::string> address_near(Ground& ground, const std::string& netdev) {
    Site& site = ground.site;
    const auto link = TRY(site.host.links.find_by_name(site.host_ns, netdev));
    auto own = link ? TRY(site.host.links.addresses(site.host_ns, link->index))
                    : std::vector<netns::Address>{};
    std::erase_if(own, netns::is_link_local);
    const Store& store = ground.store;
    const auto leases = TRY(store.files().list(store.folder("leases")));
    const auto has_lease = [&](const netns::Address& address) {
        return std::ranges::any_of(leases, [&](const std::string& lease) {
            return lease.ends_with("-" + netns::ip_string(address));
        });
    };
    for (const netns::Address& at : own) {
        for (uint64_t step = 1; step < kMostAddresses; ++step) {
            const auto next = netns::advance(at, step);
            if (!next)
                break;
            if (netns::is_host_address(*next) && !has_lease(*next) &&
                std::ranges::find(own, *next) == own.end())
                return netns::to_string(*next);
        }
    }
    return std::string(kExampleAddress);
}

// Plans an attach of a container that does not exist.
Result<> try_out(Ground& ground, const Annotations& annotations) {
    const Context& context = ground;
    const Request request = TRY(parse_request(annotations, context.config));
    TRY(check_policy(request, context.config, Powers{}));
    const bool hosts_network = std::ranges::all_of(request.attachments, stays_on_host);
    (void)TRY(plan_all(context, TRY(expand(context, request, hosts_network)), std::nullopt));
    return {};
}

// Returns the annotations that the mode accepts for a candidate.
Result<Annotations> accepted(Ground& ground, const ModeRow& row, const Candidate& candidate) {
    Annotations annotations = candidate.annotations;
    annotations["rdma.mode"] = row.mode;
    const auto pool = annotations.find("rdma.pool");
    const Pool* from = find_pool(
        ground.config, row.mode, pool == annotations.end() ? std::string_view() : pool->second);
    // A pool with a range gives an address.
    if (takes(*find_mode_info(row.mode), "ip") && (from == nullptr || from->ranges.empty()))
        annotations["rdma.ip"] = TRY(address_near(ground, candidate.netdev));
    TRY(try_out(ground, annotations));
    return annotations;
}

// Returns what the doctor found against the mode that no plan sees: the kernel and its modules.
Result<std::string> trouble_of(Ground& ground, std::string_view mode, Json& engines) {
    Options options = ground.options;
    options.mode = mode;
    const Answer found = TRY(doctor(options, ground.host));
    std::string why;
    for (const Json& check : found.json["checks"]) {
        const std::string id = check["id"];
        const std::string text =
            string_at(check, "fix").empty()
                ? string_at(check, "why")
                : fmt::format("{}; {}", string_at(check, "why"), string_at(check, "fix"));
        const bool failed = check["status"] == "fail";
        for (const char* kernel :
             {"kernel", "ib_uverbs", "rdma_rxe", "siw", "macvlan", "netns_mode"}) {
            if (failed && id == kernel && why.empty())
                why = text;
        }
        if ((id == "docker" || id == "podman") && check["status"] != "ok")
            engines[id] = text;
    }
    return why;
}

// Returns a word of a shell. Names of interfaces may have any letters.
std::string shell_word(const std::string& word) {
    if (base::is_made_of(word, "_.,:/#=+-"))
        return word;
    std::string text = "'";
    for (const char c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::string command_line(std::string_view engine, const ModeRow& row, const Annotations& all) {
    std::string line =
        std::string(engine) + (row.options.empty() ? "" : " ") + std::string(row.options);
    // The mode comes first, for people.
    line += fmt::format(" --annotation rdma.mode={}", row.mode);
    for (const auto& [key, value] : all) {
        if (key != "rdma.mode")
            line += " --annotation " + shell_word(key + "=" + value);
    }
    return line + " IMAGE";
}

Json suggestion(const ModeRow& row, const Candidate& candidate, const Annotations& annotations) {
    return {{"mode", row.mode},
            {"on", candidate.what},
            {"reason", row.reason},
            {"annotations", annotations},
            {"docker", command_line("docker run --runtime=rdma", row, annotations)},
            {"podman", command_line("podman run", row, annotations)},
            {"also", Json::array()}};
}

// Adds the mode to `json`: to its suggestions, or to what is not possible.
Result<> add_mode(Ground& ground, const ModeRow& row, Json& json) {
    std::string why = TRY(trouble_of(ground, row.mode, json["engines"]));
    Candidates all;
    if (why.empty()) {
        all = pools_for(ground.config, row.mode);
        std::ranges::move(TRY(row.candidates(ground)), std::back_inserter(all));
    }
    Json found;
    for (const Candidate& each : all) {
        if (!found.is_null() && each.annotations.contains("rdma.child"))
            continue;  // the adapter itself was accepted
        const auto annotations = accepted(ground, row, each);
        if (annotations && found.is_null())
            found = suggestion(row, each, *annotations);
        else if (annotations)
            found["also"].push_back(each.what);
        else if (why.empty())
            why = annotations.error().message();
    }
    if (!found.is_null())
        json["suggestions"].push_back(std::move(found));
    else
        json["impossible"].push_back(
            {{"mode", row.mode}, {"why", why.empty() ? std::string(row.none) : why}});
    return {};
}

std::string suggest_text(const Json& json, const Page& page) {
    std::string text;
    for (const Json& each : json["suggestions"]) {
        text +=
            heading(fmt::format("{} on {}", string_at(each, "mode"), string_at(each, "on")), page);
        text += "  " + string_at(each, "reason") + "\n";
        for (const char* engine : {"docker", "podman"})
            text += "  " + string_at(each, engine) + "\n";
        for (const Json& other : each["also"])
            text += "  also on " + other.get<std::string>() + "\n";
        text += "\n";
    }
    if (!json["suggestions"].empty())
        text += "The network was not asked whether these addresses are free: choose your own.\n";
    for (const auto& [engine, what] : json["engines"].items())
        text += fmt::format("{}: {}\n", engine, what.get<std::string>());
    for (const Json& each : json["impossible"])
        text += fmt::format("not {}: {}\n", string_at(each, "mode"), string_at(each, "why"));
    return text;
}
}  // namespace

Result<Answer> suggest(const Options& options, netns::Host& host) {
    if (!options.mode.empty() && find_mode_info(options.mode) == nullptr)
        return make_error(Code::Usage, "no mode is called '" + printable(options.mode) + "'")
            .advise("leave it out for all of them");
    const Config config = TRY(options.load_config());
    const Store store{host.files, config.state_dir};
    TRY(store.open());
    Ground ground{TRY(host_view({host, config, store})), options};
    Json json{
        {"suggestions", Json::array()}, {"impossible", Json::array()}, {"engines", Json::object()}};
    for (const ModeRow& row : kRows) {
        if (options.mode.empty() || options.mode == row.mode)
            TRY(add_mode(ground, row, json));
    }
    std::string text = suggest_text(json, options.page);
    const bool none = json["suggestions"].empty();
    return Answer{.json = std::move(json), .text = std::move(text), .trouble = none};
}

}  // namespace hook::ctl
