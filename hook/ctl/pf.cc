// SPDX-License-Identifier: Apache-2.0
#include "hook/ctl/pf.h"

#include <chrono>

#include <fmt/format.h>

#include "hook/vf_choice.h"
#include "netns/base/ids.h"
#include "netns/base/log.h"
#include "netns/link.h"

namespace hook::ctl {

using base::Code;
using base::Deadline;
using base::make_error;
using netns::PciFunction;

namespace {
constexpr std::chrono::seconds kBindTimeout{20};  // for all VFs of a PF together
constexpr std::chrono::seconds kNameTimeout{10};  // from one VF to the next

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

Result<bool> lacks_mac(Site& site, const netns::Link& pf, const PciFunction& vf) {
    const auto settings = TRY(site.host.sriov.settings(site.host_ns, pf.index, vf.number));
    return settings && settings->mac && settings->mac->is_zero();
}

// Sets the MAC of a VF that has none, and has its driver take it: node GUIDs are made of it.
Result<> give_mac(Site& site, const netns::Link& pf, const PciFunction& vf) {
    netns::Sriov& sriov = site.host.sriov;
    if (!TRY(lacks_mac(site, pf, vf)))
        return {};
    netns::VfSettings change;
    change.mac = admin_mac(pf, vf.number);
    TRY(sriov.configure(site.host_ns, pf.index, vf.number, change, Deadline::in(kBindTimeout)));
    TRY(sriov.unbind(vf.address));
    return sriov.bind(vf.address, vf.driver);
}

// A VF that a container has, or that has no driver with a netdev (vfio-pci as default), stays as it
// is.
Result<bool> is_ours_to_set(World& world, const PciFunction& vf) {
    const auto lease =
        world.store.files().read(world.store.lease_path(vf_lease(vf.address)), kMaxStateFile);
    return !lease && !vf.driver.empty() && vf.driver != "vfio-pci";
}

// A VF that the host uses stays as it is. Busy: it has no MAC, and cannot be given one then.
Result<bool> is_in_use(Site& site, const netns::Link& pf, const PciFunction& vf) {
    FreeVf found;
    const std::string why = TRY(why_not_free(vf.address, site, found));
    if (why.empty() || !TRY(lacks_mac(site, pf, vf)))
        return !why.empty();
    const std::string cure = freed_by(why, vf);
    return make_error(Code::Busy, "it has no MAC, and cannot be given one as it is " + why)
        .advise((cure.empty() ? "end its use" : cure) + "; then rdmactl vf enable again");
}

// An earlier run ended between taking the driver off and binding it anew.
Result<bool> lost_its_driver(Site& site, const netns::Link& pf, const PciFunction& vf) {
    if (!vf.driver.empty())
        return false;
    const auto settings = TRY(site.host.sriov.settings(site.host_ns, pf.index, vf.number));
    return settings && settings->mac == admin_mac(pf, vf.number);
}

// VFs that were `made` a moment ago may be up by now, if something manages the host's networks.
// They are bound again all the same: nobody has them yet.
Result<> give_macs(
    World& world, Site& site, const netns::Link& pf_link, const PciFunction& pf, bool made) {
    const Deadline deadline = Deadline::in(kBindTimeout);
    for (uint32_t number = 0; number < pf.num_vfs; ++number) {
        const auto address = TRY(site.host.sriov.find_vf(pf.address, number));
        const auto vf = address ? TRY(site.host.sriov.find(*address)) : std::nullopt;
        if (!vf)
            return make_error(Code::Internal,
                              fmt::format("PF {} has no VF {}", name_of(pf), number));
        const bool lost = TRY(lost_its_driver(site, pf_link, *vf));
        if (lost)
            TRY(site.host.sriov.bind(*address, {}));
        else if (!TRY(is_ours_to_set(world, *vf)))
            continue;
        const std::string what = fmt::format("VF {} of {}", number, name_of(pf));
        if (!made && !lost && TRY(is_in_use(site, pf_link, *vf).context(what)))
            continue;
        TRY(give_mac(site, pf_link, *vf).context(what));
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

// What is shown then are the names that stay. A udev that does not get on is not waited for.
Result<> await_names(Site& site, const PciFunction& pf) {
    bool named = true;
    for (uint32_t number = 0; named && number < pf.num_vfs; ++number) {
        if (const auto address = TRY(site.host.sriov.find_vf(pf.address, number)))
            named = TRY(site.host.sriov.wait_for_name(*address, Deadline::in(kNameTimeout)));
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
    TRY(give_macs(world, site, *link, *now, made));
    return await_names(site, *now);
}
}  // namespace

Result<Site> host_site(netns::Host& host) {
    return Site{.host = host, .host_ns = TRY(host.namespaces.current()), .container = {}};
}

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

Result<Json> holders_of(World& world, const std::string& owner) {
    Json ids = Json::array();
    const auto journal = TRY(load_journal(world.store, owner));
    for (const std::string& key : journal ? journal->holders : std::vector<std::string>{}) {
        const auto container = TRY(world.store.load_container(key));
        ids.push_back(container && !container->id.empty() ? container->id : key);
    }
    return ids;
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

Result<> work_on(const Store& store,
                 const std::string& handle,
                 const std::function<Result<>()>& work) {
    constexpr char kOwner[] = "rdmactl";  // of no journal
    const auto lock = TRY(store.lock_attachment(kOwner, Deadline::in(kLockTimeout)));
    const std::string lease = store.lease_path(adapter_lease(handle));
    {
        // Containers choose and claim their VFs under it: what they have claimed is seen from now
        // on.
        const auto leases = TRY(store.lock_leases(Deadline::in(kLockTimeout)));
        TRY(store.files().write(lease, kOwner));
    }
    auto done = work();
    if (const auto removed = store.files().remove(lease); !removed)
        base::log::warning(removed.error().message() + "; run: rdmactl gc");
    return done;
}

Result<> check_unused(World& world, Site& site, const PciFunction& pf) {
    const Json json = TRY(describe_pf(world, site, pf));
    for (const Json& vf : json["vfs"]) {
        const auto state = vf["state"].get<std::string>();
        if (state == "free" || state == "without a driver")
            continue;
        const auto address = vf["address"].get<std::string>();
        const auto function = TRY(site.host.sriov.find(address));
        const std::string cure = freed_by(state, function.value_or(PciFunction{}));
        return make_error(Code::Busy,
                          fmt::format("VF {} of {} ({}) is in use: {}",
                                      vf["number"].get<uint32_t>(),
                                      name_of(pf),
                                      address,
                                      state))
            .advise(cure.empty() ? "see who has it: rdmactl vf list; end that use first" : cure);
    }
    return {};
}

Result<> check_up(const Pf& pf, const Site& site) {
    const auto link = TRY(site.host.links.find(site.host_ns, pf.netdev.index));
    if (link && (link->up || !link->ethernet))
        return {};
    return make_error(Code::Unavailable, "PF " + pf.netdev.name + " is down")
        .advise("run: ip link set " + pf.netdev.name + " up");
}

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

}  // namespace hook::ctl
