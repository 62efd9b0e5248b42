// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/vf/pf.h"

#include <chrono>

#include <fmt/format.h>

#include "hook/state/autoprobe.h"
#include "hook/steps/free_vf.h"
#include "hook/steps/vf.h"
#include "netns/base/ids.h"
#include "netns/base/log.h"
#include "netns/link.h"

namespace hook::ctl {

using netns::PciFunction;
using netns::VfSettings;

namespace {
constexpr std::chrono::seconds kSetTimeout{20};   // for each setting of a VF
constexpr std::chrono::seconds kBindTimeout{20};  // from one VF's netdev to the next
constexpr std::chrono::seconds kNameTimeout{10};

// Describes one VF: "free", or why it is not, and the container that has it.
Result<Json> describe_vf(HostView& view, const std::string& address, uint32_t number) {
    Json json{{"number", number},
              {"address", address},
              {"driver", ""},
              {"netdev", ""},
              {"rdma", ""},
              {"mac", ""},
              {"containers", Json::array()}};
    if (const auto function = TRY(view.host.sriov.find(address))) {
        json["driver"] = function->driver;
        if (!function->netdevs.empty())
            json["netdev"] = function->netdevs.front().name;
        if (!function->rdma_names.empty())
            json["rdma"] = function->rdma_names.front();
    }
    const auto owner =
        view.store.files().read(view.store.lease_path(vf_lease(address)), kMaxStateFile);
    if (owner) {
        json["state"] = "attached";
        json["containers"] = TRY(holders_of(view, *owner));
        return json;
    }
    FreeVf found;
    const std::string why = TRY(why_not_free(address, view.site, found));
    json["state"] = why.empty() ? "free" : why;
    if (why.empty())
        json["mac"] = netns::to_string(found.link.mac);
    return json;
}

// Returns a locally administered MAC that is the same after each boot: PFs have MACs of their own.
netns::Mac admin_mac(const netns::Link& pf, uint32_t number) {
    const std::string hex =
        base::sha256_hex(fmt::format("vf/{}/{}", netns::to_string(pf.mac), number));
    netns::Mac mac{{0x02}};
    for (size_t i = 1; i < mac.bytes.size(); ++i)
        mac.bytes[i] =
            static_cast<uint8_t>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));  // of 64 digits
    return mac;
}

Result<VfSettings> reported_settings(Site& site, const netns::Link& pf, const PciFunction& vf) {
    return TRY(site.host.sriov.settings(site.host_ns, pf.index, vf.number)).value_or(VfSettings{});
}

bool lacks_mac(const VfSettings& settings) {
    return settings.mac && settings.mac->is_zero();
}

// False for a VF that a container or a virtual machine may have: it stays as it is.
Result<bool> is_ours_to_set(const Context& context, const PciFunction& vf) {
    const auto lease =
        context.store.files().read(context.store.lease_path(vf_lease(vf.address)), kMaxStateFile);
    return !lease && vf.driver != kDriverForVms;
}

// True if the host uses the VF: it stays as it is, too. Busy: it has no MAC, and cannot get one
// then.
Result<bool> is_in_use(Site& site, const VfSettings& present, const PciFunction& vf) {
    FreeVf found;
    const std::string why = TRY(why_not_free(vf.address, site, found));
    if (why.empty() || !lacks_mac(present))
        return !why.empty();
    const std::string cure = freed_by(why, vf);
    return make_error(Code::Busy, "it has no MAC, and cannot be given one as it is " + why)
        .advise((cure.empty() ? "end its use" : cure) + "; then rdmactl vf enable again");
}

// Returns what the VF lacks: a MAC, and its settings before it was made again.
VfSettings to_set(const netns::Link& pf,
                  const PciFunction& vf,
                  const VfSettings& present,
                  const std::vector<VfSettings>& kept) {
    VfSettings wanted = vf.number < kept.size() ? kept[vf.number] : VfSettings{};
    if (lacks_mac(wanted))
        wanted.mac.reset();
    if (!wanted.mac && lacks_mac(present))
        wanted.mac = admin_mac(pf, vf.number);
    return difference(wanted, present);
}

// A PF whose VFs are being set up.
struct AtWork {
    HostView& view;
    const Pf& pf;
    netns::Link link;
    const std::vector<VfSettings>& kept;  // by number, of VFs that were made again
};

Result<AtWork> begin(HostView& view, const Pf& pf, const std::vector<VfSettings>& kept) {
    const auto link = TRY(view.host.links.find(view.site.host_ns, pf.netdev.index));
    if (!link)
        return make_error(Code::Unavailable, "PF " + pf.netdev.name + " is gone")
            .advise("see what there is: rdmactl vf list");
    return AtWork{view, pf, *link, kept};
}

// Returns what a VF lacks; nothing for one that the host uses. A VF that was `made` a moment ago has
// no user yet, whatever has brought it up.
Result<VfSettings> lacking(const AtWork& at, const PciFunction& vf, bool made) {
    const VfSettings present = TRY(reported_settings(at.view.site, at.link, vf));
    if (!made && !vf.driver.empty() && TRY(is_in_use(at.view.site, present, vf)))
        return VfSettings{};
    return to_set(at.link, vf, present, at.kept);
}

Result<> prepare_vf(const AtWork& at, const PciFunction& vf, bool made) {
    Site& site = at.view.site;
    const VfSettings change = TRY(lacking(at, vf, made));
    if (is_empty(change))
        return {};
    netns::Sriov& sriov = site.host.sriov;
    TRY(sriov.configure(site.host_ns, at.link.index, vf.number, change, Deadline::in(kSetTimeout)));
    return sriov.unbind(vf.address);
}

std::string text_of(const AtWork& at, const PciFunction& vf) {
    return fmt::format("VF {} of {}", vf.number, at.pf.netdev.name);
}

// Waits for the netdev. Some drivers make it a while after they were bound, and udev may still be
// loading the driver's module.
Result<> await_netdev(Site& site, const std::string& vf, Deadline deadline) {
    const auto function = TRY(site.host.sriov.find(vf));
    if (function && function->driver == kDriverForVms)
        return {};
    (void)TRY(site.host.sriov.wait_for_netdev(vf, deadline)
                  .advise("see dmesg: has its driver been loaded, and does the PF answer it?"));
    return {};
}

// Gives each VF the settings that an earlier run did not reach, and its driver. Stops at the first
// failure, but waits for all netdevs that come. After one that does not come in time it only looks
// at the others: all have been bound for as long.
Result<> give_drivers(const AtWork& at, const std::vector<PciFunction>& vfs) {
    Result<> done;
    std::vector<std::string> given;
    for (auto vf = vfs.begin(); done && vf != vfs.end(); ++vf) {
        done = prepare_vf(at, *vf, true);
        if (done)
            done = at.view.host.sriov.bind(vf->address, {});
        done = std::move(done).context(text_of(at, *vf));
        if (done)
            given.push_back(vf->address);
    }
    Result<> came;
    for (const std::string& vf : given) {
        const Deadline deadline = came ? Deadline::in(kBindTimeout) : Deadline::now();
        came = join(std::move(came), await_netdev(at.view.site, vf, deadline));
    }
    return join(std::move(done), std::move(came));
}

// Waits for the final names, so that rdmactl shows those. Does not wait for a udev that makes no
// progress.
Result<> await_names(Site& site, const std::vector<PciFunction>& vfs) {
    bool named = true;
    for (const PciFunction& vf : vfs)
        named = named && TRY(site.host.sriov.wait_for_name(vf.address, Deadline::in(kNameTimeout)));
    return {};
}
}  // namespace

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
        return make_error(
                   Code::Unavailable,
                   "the host has no PCI function, netdev or RDMA device '" + printable(name) + "'")
            .advise("see what there is: rdmactl vf list");
    if (function->total_vfs == 0)
        return make_error(Code::Refused, name_of(*function) + " has no SR-IOV")
            .advise(
                "enable it in the firmware of machine and adapter, or name a PF that `rdmactl "
                "vf list` shows");
    Site site = TRY(host_site(host));
    TRY(check_netdev(*function, site));
    Pf pf;
    pf.netdev = function->netdevs.front();
    pf.function = *std::move(function);
    return pf;
}

Result<Json> holders_of(const Context& context, const std::string& owner) {
    Json ids = Json::array();
    const auto journal = TRY(load_journal(context.store, owner));
    for (const std::string& key : journal ? journal->holders : std::vector<std::string>{}) {
        const auto container = TRY(context.store.load_container(key));
        ids.push_back(container && !container->id.empty() ? container->id : key);
    }
    return ids;
}

Result<Json> describe_pf(HostView& view, const PciFunction& pf) {
    Json json{{"address", pf.address},
              {"netdev", pf.netdevs.empty() ? "" : pf.netdevs.front().name},
              {"driver", pf.driver},
              {"numa_node", pf.numa_node},
              {"total", pf.total_vfs},
              {"enabled", pf.num_vfs},
              {"vfs", Json::array()}};
    for (uint32_t number = 0; number < pf.num_vfs; ++number) {
        if (const auto address = TRY(view.host.sriov.find_vf(pf.address, number)))
            json["vfs"].push_back(TRY(describe_vf(view, *address, number)));
    }
    return json;
}

Result<> work_on(HostView& view, const std::string& handle, const std::function<Result<>()>& work) {
    const auto lock = TRY(view.store.lock_attachment(kRdmactl, Deadline::in(kLockTimeout)));
    const std::string lease = view.store.lease_path(adapter_lease(handle));
    {
        // Containers choose and claim their VFs under this lock: their claims are visible from now
        // on.
        const auto leases = TRY(view.store.lock_leases(Deadline::in(kLockTimeout)));
        TRY(view.store.files().write(lease, kRdmactl));
    }
    auto done = work();
    // Restore the setting after any failure, and after an earlier run that left it changed.
    done = join(std::move(done),
                restore_autoprobe(view.store, view.host.sriov, netns::function_of(handle)));
    if (const auto removed = view.store.files().remove(lease); !removed)
        base::log::warning(removed.error().message() + "; run: rdmactl gc");
    return done;
}

Result<> check_unused(HostView& view, const PciFunction& pf) {
    const Json json = TRY(describe_pf(view, pf));
    for (const Json& vf : json["vfs"]) {
        const auto state = vf["state"].get<std::string>();
        if (state == "free" || state == kDriverless)
            continue;
        const auto address = vf["address"].get<std::string>();
        const auto function = TRY(view.host.sriov.find(address));
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
    return check_serves_vfs(pf.netdev.name,
                            TRY(site.host.links.find(site.host_ns, pf.netdev.index)));
}

Result<std::vector<PciFunction>> vfs_of(Site& site, const std::string& pf) {
    std::vector<PciFunction> vfs;
    const auto now = TRY(site.host.sriov.find(pf));
    for (uint32_t number = 0; now && number < now->num_vfs; ++number) {
        const auto address = TRY(site.host.sriov.find_vf(pf, number));
        auto vf = address ? TRY(site.host.sriov.find(*address)) : std::nullopt;
        if (!vf)
            return make_error(Code::Internal,
                              fmt::format("PF {} has no VF {}", name_of(*now), number));
        vfs.push_back(*std::move(vf));
    }
    return vfs;
}

Result<> prepare_vfs(HostView& view,
                     const Pf& pf,
                     uint32_t count,
                     const std::vector<VfSettings>& kept) {
    netns::Sriov& sriov = view.host.sriov;
    const std::string& address = pf.function.address;
    const bool made = pf.function.num_vfs != count;
    if (made) {
        if (pf.function.num_vfs != 0)
            TRY(sriov.set_num_vfs(address, 0));
        TRY(with_autoprobe(
            view.store, sriov, address, false, [&] { return sriov.set_num_vfs(address, count); }));
    }
    const AtWork at = TRY(begin(view, pf, kept));
    for (const PciFunction& vf : TRY(vfs_of(view.site, pf.function.address))) {
        if (TRY(is_ours_to_set(view, vf)))
            TRY(prepare_vf(at, vf, made).context(text_of(at, vf)));
    }
    return {};
}

Result<> bind_vfs(HostView& view, const Pf& pf, const std::vector<VfSettings>& kept) {
    const auto vfs = TRY(vfs_of(view.site, pf.function.address));
    std::vector<PciFunction> unbound;
    for (const PciFunction& vf : vfs) {
        if (vf.driver.empty() && TRY(is_ours_to_set(view, vf)))
            unbound.push_back(vf);
    }
    const AtWork at = TRY(begin(view, pf, kept));
    if (!unbound.empty())
        TRY(with_autoprobe(view.store, view.host.sriov, pf.function.address, true, [&] {
            return give_drivers(at, unbound);
        }));
    return await_names(view.site, vfs);
}

Result<std::vector<std::string>> intents_of(HostView& view, const Pf& pf, uint32_t count) {
    std::vector<std::string> intents;
    const uint32_t now = pf.function.num_vfs;
    if (now != count) {
        if (now != 0)
            intents.push_back(fmt::format("destroy the {} VFs of {}", now, pf.netdev.name));
        if (count != 0)
            intents.push_back(fmt::format(
                "make {} VFs of {}, each with a MAC and its driver", count, pf.netdev.name));
        return intents;
    }
    const std::vector<VfSettings> none;
    const AtWork at = TRY(begin(view, pf, none));
    for (const PciFunction& vf : TRY(vfs_of(view.site, pf.function.address))) {
        if (!TRY(is_ours_to_set(view, vf)))
            continue;
        const VfSettings change = TRY(lacking(at, vf, false).context(text_of(at, vf)));
        if (change.mac)
            intents.push_back(fmt::format(
                "set the MAC of {} to {}", text_of(at, vf), netns::to_string(*change.mac)));
        if (vf.driver.empty() || !is_empty(change))
            intents.push_back("give its driver to " + text_of(at, vf));
    }
    return intents;
}

Result<> make_vfs(HostView& view, const Pf& pf, uint32_t count) {
    auto done = prepare_vfs(view, pf, count, {});
    if (done)
        done = bind_vfs(view, pf, {});
    if (!done && pf.function.num_vfs != count)
        return join(std::move(done), view.host.sriov.set_num_vfs(pf.function.address, 0));
    return done;
}

}  // namespace hook::ctl
