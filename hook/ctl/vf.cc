// SPDX-License-Identifier: Apache-2.0
// rdmactl vf: the administrator makes VFs, sees who has them, and destroys them. Containers only
// ever get what is there.
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "hook/ctl/command.h"
#include "hook/ctl/find.h"
#include "hook/ctl/text.h"
#include "hook/vf_choice.h"
#include "netns/base/ids.h"

namespace hook::ctl {

using base::Code;
using base::Deadline;
using base::make_error;
using netns::PciFunction;

namespace {
constexpr std::chrono::seconds kBindTimeout{20};  // for all VFs of a PF together

// A PF and its netdev, by whatever name the administrator gave.
struct Pf {
    PciFunction function;
    netns::PciNetdev netdev;
};

std::string name_of(const PciFunction& pf) {
    return pf.netdevs.empty() ? pf.address : pf.netdevs.front().name;
}

Result<Pf> find_pf(const std::string& name, netns::Host& host) {
    auto address = std::optional<std::string>(name);
    if (!netns::is_pci_address(name)) {
        address = TRY(host.sriov.find_by_netdev(name));
        if (!address)
            address = TRY(host.sriov.find_by_rdma(name));
    }
    auto function = address ? TRY(host.sriov.find(*address)) : std::nullopt;
    if (!function)
        return make_error(Code::Unavailable,
                          "the host has no PCI function, netdev or RDMA device '" +
                              base::printable(name) + "'")
            .advise("see what there is: rdmactl vf list");
    if (function->total_vfs == 0)
        return make_error(Code::Refused, name_of(*function) + " has no SR-IOV")
            .advise(
                "enable it in the firmware of machine and adapter, or name a PF that `rdmactl "
                "vf list` shows");
    if (function->netdevs.empty())
        return make_error(Code::Unavailable,
                          "PF " + function->address + " has no netdev in the host's namespace")
            .advise("bind its driver");
    Pf pf;
    pf.netdev = function->netdevs.front();
    pf.function = *std::move(function);
    return pf;
}

// The ids of the containers that hold the journal that has the lease.
Result<Json> holders_of(World& world, const std::string& owner) {
    Json ids = Json::array();
    const auto journal = TRY(load_journal(world.store, owner));
    for (const std::string& key : journal ? journal->holders : std::vector<std::string>{}) {
        const auto container = TRY(world.store.load_container(key));
        ids.push_back(container && !container->id.empty() ? container->id : key);
    }
    return ids;
}

// One VF: "free", or why it is not, and who has it.
Result<Json> describe_vf(World& world, Site& site, const std::string& address, uint32_t number) {
    Json json{{"number", number},
              {"address", address},
              {"driver", ""},
              {"netdev", ""},
              {"rdma", ""},
              {"mac", ""},
              {"containers", Json::array()}};
    if (const auto function = TRY(site.host.sriov.find(address))) {
        json["driver"] = function->driver;
        if (!function->netdevs.empty())
            json["netdev"] = function->netdevs.front().name;
        if (!function->rdma_names.empty())
            json["rdma"] = function->rdma_names.front();
    }
    const auto owner =
        world.store.files().read(world.store.lease_path(vf_lease(address)), kMaxStateFile);
    if (owner) {
        json["state"] = "attached";
        json["containers"] = TRY(holders_of(world, *owner));
        return json;
    }
    FreeVf found;
    const std::string why = TRY(why_not_free(address, site, found));
    json["state"] = why.empty() ? "free" : why;
    if (why.empty())
        json["mac"] = netns::to_string(found.link.mac);
    return json;
}

Result<Json> describe_pf(World& world, Site& site, const PciFunction& pf) {
    Json json{{"address", pf.address},
              {"netdev", pf.netdevs.empty() ? "" : pf.netdevs.front().name},
              {"driver", pf.driver},
              {"numa_node", pf.numa_node},
              {"total", pf.total_vfs},
              {"enabled", pf.num_vfs},
              {"vfs", Json::array()}};
    for (uint32_t number = 0; number < pf.num_vfs; ++number) {
        if (const auto address = TRY(site.host.sriov.find_vf(pf.address, number)))
            json["vfs"].push_back(TRY(describe_vf(world, site, *address, number)));
    }
    return json;
}

std::string text_of(const Json& json) {
    std::string text;
    for (const Json& pf : json["pfs"]) {
        text += fmt::format("{} ({}, {}): {} of {} VFs\n",
                            pf["netdev"].get<std::string>(),
                            pf["address"].get<std::string>(),
                            pf["driver"].get<std::string>(),
                            pf["enabled"].get<uint32_t>(),
                            pf["total"].get<uint32_t>());
        std::vector<std::vector<std::string>> rows = {
            {"VF", "ADDRESS", "DRIVER", "NETDEV", "RDMA", "STATE", "CONTAINER"}};
        for (const Json& vf : pf["vfs"]) {
            std::string containers;
            for (const Json& id : vf["containers"])
                containers += (containers.empty() ? "" : ",") + id.get<std::string>().substr(0, 12);
            rows.push_back({std::to_string(vf["number"].get<uint32_t>()),
                            vf["address"].get<std::string>(),
                            vf["driver"].get<std::string>(),
                            vf["netdev"].get<std::string>(),
                            vf["rdma"].get<std::string>(),
                            vf["state"].get<std::string>(),
                            containers});
        }
        if (rows.size() > 1)
            text += table(rows);
    }
    return text.empty() ? "no PCI function of this host has SR-IOV\n" : text;
}

// Refused while one of the PF's VFs may be somebody's: destroying it would cut them off.
Result<> check_unused(World& world, Site& site, const PciFunction& pf) {
    const Json json = TRY(describe_pf(world, site, pf));
    for (const Json& vf : json["vfs"]) {
        const auto state = vf["state"].get<std::string>();
        if (state != "free" && state != "without a driver")
            return make_error(Code::Busy,
                              fmt::format("VF {} of {} ({}) is in use: {}",
                                          vf["number"].get<uint32_t>(),
                                          name_of(pf),
                                          vf["address"].get<std::string>(),
                                          state))
                .advise("see who has it: rdmactl vf list; end that use first");
    }
    return {};
}

// Locally administered, and the same after each boot: PFs have MACs of their own.
netns::Mac admin_mac(const netns::Link& pf, uint32_t number) {
    const std::string hex =
        base::sha256_hex(fmt::format("vf/{}/{}", netns::to_string(pf.mac), number));
    netns::Mac mac{{0x02}};
    for (size_t i = 1; i < mac.bytes.size(); ++i)
        mac.bytes[i] =
            static_cast<uint8_t>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));  // of 64 digits
    return mac;
}

// Sets the MAC of a VF that has none, and has its driver take it: node GUIDs are made of it.
Result<> give_mac(Site& site, const netns::Link& pf, const PciFunction& vf) {
    netns::Sriov& sriov = site.host.sriov;
    const auto settings = TRY(sriov.settings(site.host_ns, pf.index, vf.number));
    if (!settings.mac || !settings.mac->is_zero())
        return {};
    netns::VfSettings change;
    change.mac = admin_mac(pf, vf.number);
    TRY(sriov.configure(site.host_ns, pf.index, vf.number, change));
    TRY(sriov.unbind(vf.address));
    return sriov.bind(vf.address, vf.driver);
}

// A VF that is somebody's, or that has no driver with a netdev (vfio-pci as default), stays as it
// is.
Result<bool> is_ours_to_set(World& world, Site& site, const PciFunction& vf) {
    const auto lease =
        world.store.files().read(world.store.lease_path(vf_lease(vf.address)), kMaxStateFile);
    if (lease || vf.driver.empty() || vf.driver == "vfio-pci")
        return false;
    FreeVf found;
    return TRY(why_not_free(vf.address, site, found)).empty();
}

Result<> give_macs(World& world, Site& site, const netns::Link& pf_link, const PciFunction& pf) {
    const Deadline deadline = Deadline::in(kBindTimeout);
    for (uint32_t number = 0; number < pf.num_vfs; ++number) {
        const auto address = TRY(site.host.sriov.find_vf(pf.address, number));
        const auto vf = address ? TRY(site.host.sriov.find(*address)) : std::nullopt;
        if (!vf)
            return make_error(Code::Internal,
                              fmt::format("PF {} has no VF {}", name_of(pf), number));
        if (!TRY(is_ours_to_set(world, site, *vf)))
            continue;
        TRY(give_mac(site, pf_link, *vf).context(fmt::format("VF {} of {}", number, name_of(pf))));
        TRY(site.host.sriov.wait_for_netdev(*address, deadline));
    }
    return {};
}

// Drivers make netdevs after sriov_numvfs is written, too.
Result<> await_netdevs(Site& site, const PciFunction& pf) {
    const Deadline deadline = Deadline::in(kBindTimeout);
    for (uint32_t number = 0; number < pf.num_vfs; ++number) {
        const auto address = TRY(site.host.sriov.find_vf(pf.address, number));
        const auto vf = address ? TRY(site.host.sriov.find(*address)) : std::nullopt;
        if (vf && !vf->driver.empty() && vf->driver != "vfio-pci")
            TRY(site.host.sriov.wait_for_netdev(*address, deadline));
    }
    return {};
}

Result<> finish_vfs(World& world, Site& site, const Pf& pf, bool made) {
    const auto now = TRY(site.host.sriov.find(pf.function.address));
    const auto link = TRY(site.host.links.find(site.host_ns, pf.netdev.index));
    if (!now || !link)
        return make_error(Code::Unavailable, "PF " + pf.netdev.name + " is gone");
    if (made)
        TRY(await_netdevs(site, *now));
    return give_macs(world, site, *link, *now);
}

// All VFs of the PF, made if need be; nothing is left of what failed half-way.
Result<> make_vfs(World& world, Site& site, const Pf& pf, uint32_t count) {
    netns::Sriov& sriov = site.host.sriov;
    const bool made = pf.function.num_vfs != count;
    if (made) {
        TRY(sriov.set_num_vfs(pf.function.address, 0));
        TRY(sriov.set_num_vfs(pf.function.address, count));
    }
    auto done = finish_vfs(world, site, pf, made);
    if (!done && made)
        return join(std::move(done), sriov.set_num_vfs(pf.function.address, 0));
    return done;
}

Result<Answer> answer_of(World& world, Site& site, const std::string& pf) {
    const auto now = TRY(site.host.sriov.find(pf));
    Json json{{"pfs", Json::array()}};
    if (now)
        json["pfs"].push_back(TRY(describe_pf(world, site, *now)));
    std::string text = text_of(json);
    return Answer{.json = std::move(json), .text = std::move(text)};
}

// The VFs of a PF that is down get no answer from it: their drivers make a MAC up.
Result<> check_up(const Pf& pf, netns::Host& host, const Site& site) {
    const auto link = TRY(host.links.find(site.host_ns, pf.netdev.index));
    if (link && link->up)
        return {};
    return make_error(Code::Unavailable, "PF " + pf.netdev.name + " is down")
        .advise("run: ip link set " + pf.netdev.name + " up");
}

Result<Site> host_site(netns::Host& host) {
    return Site{.host = host, .host_ns = TRY(host.namespaces.current()), .container = {}};
}
}  // namespace

Result<Answer> vf_list(const Options& options, netns::Host& host) {
    Config config;
    const Store store = TRY(open_store(options, host, config));
    World world{host, config, store};
    Site site = TRY(host_site(host));
    if (!options.pf.empty())
        return answer_of(world, site, TRY(find_pf(options.pf, host)).function.address);
    Json json{{"pfs", Json::array()}};
    for (const PciFunction& pf : TRY(host.sriov.list_pfs()))
        json["pfs"].push_back(TRY(describe_pf(world, site, pf)));
    std::string text = text_of(json);
    return Answer{.json = std::move(json), .text = std::move(text)};
}

Result<Answer> vf_enable(const Options& options, netns::Host& host) {
    Config config;
    const Store store = TRY(open_store(options, host, config));
    World world{host, config, store};
    Site site = TRY(host_site(host));
    const Pf pf = TRY(find_pf(options.pf, host));
    if (options.count == 0 || options.count > pf.function.total_vfs)
        return make_error(Code::Usage,
                          fmt::format("PF {} can have 1 to {} VFs, not {}",
                                      pf.netdev.name,
                                      pf.function.total_vfs,
                                      options.count))
            .advise("to have none: rdmactl vf disable " + pf.netdev.name);
    TRY(check_up(pf, host, site));
    const auto lock = TRY(store.lock_leases(Deadline::in(kLockTimeout)));
    if (pf.function.num_vfs != options.count)
        TRY(check_unused(world, site, pf.function));
    TRY(make_vfs(world, site, pf, options.count).context("enable VFs of " + pf.netdev.name));
    return answer_of(world, site, pf.function.address);
}

Result<Answer> vf_disable(const Options& options, netns::Host& host) {
    Config config;
    const Store store = TRY(open_store(options, host, config));
    World world{host, config, store};
    Site site = TRY(host_site(host));
    const Pf pf = TRY(find_pf(options.pf, host));
    const auto lock = TRY(store.lock_leases(Deadline::in(kLockTimeout)));
    TRY(check_unused(world, site, pf.function));
    TRY(host.sriov.set_num_vfs(pf.function.address, 0));
    return answer_of(world, site, pf.function.address);
}

}  // namespace hook::ctl
