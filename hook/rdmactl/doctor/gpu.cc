// SPDX-License-Identifier: Apache-2.0
// rdmactl doctor gpu: which adapter is near which GPU, and whether the two reach each other's
// memory without the host's. Sources: NVIDIA, "GPUDirect RDMA" (nvidia_peermem, ACS, IOMMU); NCCL,
// "Environment Variables" (NCCL_DMABUF_ENABLE: kernel 5.12, open kernel modules).
#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/modes/near.h"
#include "hook/rdmactl/doctor/check.h"
#include "hook/rdmactl/text.h"

namespace hook::ctl {

using base::Diagnosis;
using netns::PciCard;

namespace {
constexpr size_t kColumns = 8;  // adapters in one table: its lines have less than 100 characters

struct Chosen {
    size_t adapter = 0;
    Distance distance{};
};

struct Topology {
    std::vector<PciCard> gpus;
    std::vector<PciCard> adapters;  // without VFs: they are where their PFs are
    std::vector<Chosen> nearest;    // of each GPU; none if there is no adapter
};

Result<Topology> look_at_cards(Look& look) {
    const auto cards = TRY(look.site.host.pci.cards());
    Topology found{.gpus = gpus_of(cards), .adapters = {}, .nearest = {}};
    std::ranges::copy_if(cards, std::back_inserter(found.adapters), [](const PciCard& card) {
        return card.pf.empty() && !card.rdma_names.empty();
    });
    std::vector<netns::PciPlace> places;
    for (const PciCard& adapter : found.adapters)
        places.push_back(adapter.place);
    for (size_t i = 0; i < found.gpus.size() && !places.empty(); ++i) {
        const size_t chosen = nearest(found.gpus, i, places);
        found.nearest.push_back({chosen, distance(found.gpus[i].place, places[chosen])});
    }
    return found;
}

std::string name_of_adapter(const PciCard& adapter) {
    return fmt::format("{}", fmt::join(adapter.rdma_names, ","));
}

Findings look_at_gpus(const Topology& all) {
    if (all.gpus.empty())
        return one(Status::Skipped, "the host has no GPU");
    if (all.adapters.empty())
        return one(
            Status::Warning, "the host has no RDMA adapter", "load the driver of your adapter");
    Findings found;
    for (size_t i = 0; i < all.gpus.size(); ++i) {
        const PciCard& gpu = all.gpus[i];
        const Chosen& near = all.nearest[i];
        if (gpu.driver.empty())
            found.push_back({.status = Status::Warning,
                             .why = fmt::format("GPU {} ({}) has no driver", i, gpu.address),
                             .fix = "load the driver of your GPU"});
        if (near.distance >= Distance::Node)
            found.push_back({.status = Status::Warning,
                             .why = fmt::format(
                                 "GPU {} ({}) has no adapter at its host bridge: {} is nearest, {}",
                                 i,
                                 gpu.address,
                                 name_of_adapter(all.adapters[near.adapter]),
                                 name_of(near.distance))});
    }
    if (found.empty())
        found.push_back({.status = Status::Ok,
                         .why = fmt::format("each of {} GPUs has an adapter at its host bridge",
                                            all.gpus.size())});
    return found;
}

Result<Findings> look_at_peers(Look& look, const Topology& all) {
    const netns::GpuHost host{
        .kernel = TRY(kernel_version(look)),
        .nvidia_version = TRY(text_of(look, netns::kNvidiaVersion)),
        .exists = [&](const char* path) { return look.site.host.processes.exists(look.at(path)); }};
    std::set<std::string> drivers;
    for (const PciCard& gpu : all.gpus)
        drivers.insert(gpu.driver);
    drivers.erase("");
    Findings found;
    for (const std::string& driver : drivers) {
        Finding& way = found.emplace_back(netns::look_at_gpu(host, driver));
        if (way.status == Status::Warning)
            way.why += ": RDMA of GPU memory goes through the host's";
    }
    return found;
}

// An IOMMU that translates is asked for each transfer between devices.
Findings look_at_iommu(const Topology& all) {
    std::vector<std::string> translated;
    for (const auto* cards : {&all.gpus, &all.adapters}) {
        for (const PciCard& card : *cards) {
            if (card.iommu.starts_with("DMA"))
                translated.push_back(card.address);
        }
    }
    if (translated.empty())
        return one(Status::Ok, "no IOMMU translates for GPUs and adapters");
    return one(Status::Warning,
               fmt::format("an IOMMU translates for {}: transfers between them are slow, or fail",
                           fmt::join(translated, ", ")),
               "boot with iommu=pt, unless containers or virtual machines need protection");
}

// Returns the bridges between two places, without those that both are below.
std::vector<std::string> bridges_between(const netns::PciPlace& a, const netns::PciPlace& b) {
    const auto [part, other] = std::ranges::mismatch(a.bridges, b.bridges);
    std::vector<std::string> all(part, a.bridges.end());
    all.insert(all.end(), other, b.bridges.end());
    return all;
}

Result<Findings> look_at_acs(Look& look, const Topology& all) {
    std::set<std::string> redirect;
    for (size_t i = 0; i < all.nearest.size(); ++i) {
        const Chosen& near = all.nearest[i];
        if (near.distance > Distance::Pxb)
            continue;  // the processor is on the way in any case
        for (const std::string& bridge :
             bridges_between(all.gpus[i].place, all.adapters[near.adapter].place)) {
            if ((TRY(look.site.host.pci.acs(bridge)).value_or(0) & netns::kAcsRedirects) != 0)
                redirect.insert(bridge);
        }
    }
    if (redirect.empty())
        return one(Status::Ok, "no bridge between a GPU and its adapter redirects (ACS)");
    return one(
        Status::Warning,
        fmt::format("ACS sends what passes between GPUs and adapters to the processor, at {}",
                    fmt::join(redirect, ", ")),
        "setpci -s BRIDGE ECAP_ACS+6.w=0 for each of them, unless virtual machines use "
        "devices below it; a boot sets it again");
}

std::string text_of_node(const netns::PciPlace& place) {
    return place.numa_node < 0 ? "-" : std::to_string(place.numa_node);
}

// Lays out the distances, with the legend of the adapters.
std::string text_of_topology(const Topology& all) {
    std::string text;
    for (size_t first = 0; first < all.adapters.size(); first += kColumns) {
        const size_t end = std::min(first + kColumns, all.adapters.size());
        Rows rows{{"GPU", "ADDRESS", "DRIVER", "NODE"}};
        for (size_t i = first; i < end; ++i)
            rows[0].push_back(fmt::format("N{}", i));
        for (size_t gpu = 0; gpu < all.gpus.size(); ++gpu) {
            const PciCard& card = all.gpus[gpu];
            auto& row =
                rows.emplace_back(Row{std::to_string(gpu),
                                      card.address,
                                      card.driver.empty() ? "-" : base::printable(card.driver, 10),
                                      text_of_node(card.place)});
            for (size_t i = first; i < end; ++i)
                row.push_back(fmt::format("{}{}",
                                          name_of(distance(card.place, all.adapters[i].place)),
                                          all.nearest[gpu].adapter == i ? "*" : ""));
        }
        text += table(rows) + "\n";
    }
    Rows legend{{"ADAPTER", "ADDRESS", "NODE", "DEVICE"}};
    for (size_t i = 0; i < all.adapters.size(); ++i)
        legend.push_back({fmt::format("N{}", i),
                          all.adapters[i].address,
                          text_of_node(all.adapters[i].place),
                          base::printable(name_of_adapter(all.adapters[i]), 60)});
    return text + table(legend) +
           "\n*: the nearest. PIX: one switch; PXB: several; PHB: through the host bridge;\n"
           "NODE: through host bridges of a NUMA node; SYS: through NUMA nodes.\n\n";
}

Json json_of(const PciCard& card) {
    return {{"address", card.address},
            {"vendor", fmt::format("{:04x}", card.vendor)},
            {"device", fmt::format("{:04x}", card.device)},
            {"driver", card.driver},
            {"numa_node", card.place.numa_node},
            {"iommu", card.iommu}};
}

Json json_of(const Topology& all) {
    Json gpus = Json::array();
    Json adapters = Json::array();
    for (const PciCard& adapter : all.adapters) {
        adapters.push_back(json_of(adapter));
        adapters.back()["rdma"] = adapter.rdma_names;
    }
    for (size_t i = 0; i < all.gpus.size(); ++i) {
        Json gpu = json_of(all.gpus[i]);
        gpu["nearest"] = all.nearest.empty() ? "" : all.adapters[all.nearest[i].adapter].address;
        Json distances = Json::object();
        for (const PciCard& adapter : all.adapters)
            distances[adapter.address] = name_of(distance(all.gpus[i].place, adapter.place));
        gpu["distances"] = std::move(distances);
        gpus.push_back(std::move(gpu));
    }
    return {{"gpus", std::move(gpus)}, {"adapters", std::move(adapters)}};
}
}  // namespace

Result<Answer> doctor_gpu(Look& look) {
    const Topology all = TRY(look_at_cards(look));
    std::vector<Diagnosis> checks;
    const auto add = [&](std::string_view id, Findings findings) {
        for (Finding& finding : findings)
            checks.push_back({.id = id, .finding = std::move(finding)});
    };
    add("gpu", look_at_gpus(all));
    if (!all.gpus.empty() && !all.adapters.empty()) {
        add("peer_memory", TRY(look_at_peers(look, all)));
        add("iommu", look_at_iommu(all));
        add("acs", TRY(look_at_acs(look, all)));
    }
    Json json = json_of(all);
    json["healthy"] = !base::any_failed(checks);
    json["checks"] = base::to_json(checks);
    std::string text = all.nearest.empty() ? "" : text_of_topology(all);
    return Answer{.json = std::move(json), .text = text + base::to_text(checks)};
}

}  // namespace hook::ctl
