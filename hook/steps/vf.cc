// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/vf.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/request/values.h"
#include "netns/base/log.h"
#include "netns/rdma.h"

namespace hook {

using netns::Link;
using netns::LinkChange;
using netns::PciFunction;
using netns::RdmaDevice;
using netns::VfSettings;

namespace {
// The time in which a driver makes its netdev: within the bind or shortly after it.
constexpr std::chrono::seconds kBindTimeout{10};
// The time until a VF that its PF resets is ready again: a second or two.
constexpr std::chrono::seconds kReadyTimeout{10};
// The time until a namespace without a process gives its netdevs back, whenever the kernel gets to
// it.
constexpr std::chrono::seconds kReturnTimeout{5};
// The time in which the other of two VFs with exchanged names is renamed, too.
constexpr std::chrono::seconds kNameTimeout{3};
}  // namespace

// ---- Settings
namespace {
// Calls `visit` with each field.
template <class Visit>
void each_setting(const Visit& visit) {
    std::apply([&](const auto&... field) { (visit(field), ...); }, kFieldsOf<VfSettings>);
}
}  // namespace

bool is_empty(const VfSettings& settings) {
    return settings == VfSettings{};
}

VfSettings difference(const VfSettings& wanted, const VfSettings& present) {
    VfSettings out;
    each_setting([&](const auto& field) {
        const auto member = field.member;
        if (wanted.*member && wanted.*member != present.*member)
            out.*member = wanted.*member;
    });
    return out;
}

VfSettings members_of(const VfSettings& chosen, const VfSettings& present) {
    VfSettings out;
    each_setting([&](const auto& field) {
        if (chosen.*field.member)
            out.*field.member = present.*field.member;
    });
    return out;
}

std::vector<std::string_view> keys_of_missing(const VfSettings& asked, const VfSettings& present) {
    std::vector<std::string_view> keys;
    each_setting([&](const auto& field) {
        if (asked.*field.member && !(present.*field.member))
            keys.push_back(field.name == "rate" ? "max_tx_rate" : field.name);
    });
    return keys;
}

// ---- Names
namespace {
bool is_taken(const Result<>& done) {
    return !done && done.error().code == Code::Busy;
}

Result<> call_by_address(Site& site, const std::string& vf, const Link& link) {
    LinkChange change;
    change.name = interim_name(vf);
    if (link.up)
        change.up = false;
    return site.host.links.change(site.host_ns, link.index, change);
}
}  // namespace

std::string interim_name(const std::string& vf) {
    std::string address = netns::device_of(vf);
    std::erase_if(address, [](char c) { return c == ':' || c == '.'; });
    constexpr size_t kMost = 13;  // an interface's name has at most 15
    return "vf" + address.substr(address.size() - std::min(address.size(), kMost));
}

Result<std::optional<RdmaDevice>> rdma_device_of(Site& site, const std::string& vf) {
    const auto names = [&]() -> Result<std::vector<std::string>> {
        const auto function = TRY(site.host.sriov.find(vf));
        return function ? function->rdma_names : std::vector<std::string>{};
    };
    constexpr int kLooks = 3;
    for (int look = 0; look < kLooks; ++look) {
        const auto before = TRY(names());
        if (before.empty())
            break;
        const auto device = TRY(site.host.rdma.find_by_name(site.host_ns, before.front()));
        // A name may have gone to another device between the two looks.
        if (device && TRY(names()) == before)
            return device;
    }
    return std::optional<RdmaDevice>{};
}

namespace {
// Names the RDMA device of the VF. If another device keeps that name, the device stays under
// interim_name(). The VF's next holder finds it by its function, and nothing else depends on the
// name.
Result<> name_rdma_device(Site& site, const std::string& vf, const std::string& name) {
    netns::RdmaDevices& rdma = site.host.rdma;
    const auto device = TRY(rdma_device_of(site, vf));
    if (!device || device->name == name)
        return {};
    const auto rename = [&](const std::string& to) {
        return rdma.rename(site.host_ns, device->index, to)
            .context(fmt::format("rename RDMA device {} of VF {} to {}", device->name, vf, to));
    };
    auto done = rename(name);
    if (!is_taken(done))
        return done;
    const auto aside = rename(interim_name(vf));
    if (!aside && !is_taken(aside))
        return aside;
    if (TRY(rdma.wait_until_free(site.host_ns, name, Deadline::in(kNameTimeout))))
        done = rename(name);
    if (!is_taken(done))
        return done;
    base::log::warning(
        fmt::format("the RDMA device of VF {} is not called {}: another has that name", vf, name));
    return {};
}

// Makes sure that the VF's netdev `link` can take `name`. Busy: another netdev keeps that name. The
// host's network is configured by such names, so its administrator has to resolve this.
Result<> free_netdev_name(Site& site,
                          const std::string& vf,
                          const Link& link,
                          const std::string& name) {
    netns::Links& links = site.host.links;
    const auto rival = [&] { return links.find_by_name(site.host_ns, name); };
    auto other = link.name == name ? std::nullopt : TRY(rival());
    if (!other || other->index == link.index)
        return {};
    // Another function may wait for the name that this netdev has.
    if (!other->device.empty()) {
        if (link.name != interim_name(vf)) {
            auto aside = call_by_address(site, vf, link);
            if (!aside && !is_taken(aside))
                return aside;
        }
        if (TRY(links.wait_until_free(site.host_ns, name, Deadline::in(kNameTimeout))))
            return {};
        other = TRY(rival()).value_or(*other);
    }
    return make_error(Code::Busy,
                      fmt::format("VF {} cannot have its name {} back: netdev {} ({}) has it",
                                  vf,
                                  name,
                                  other->index,
                                  other->device.empty() ? other->kind : other->device))
        .advise("rename that one, then run: rdmactl gc");
}

// Removes all altnames from the link except those that it had on the host. A container with
// NET_ADMIN may add some, and the kernel moves them along. A name that is taken in the other
// namespace keeps the netdev from leaving. A name that comes back keeps the netdev from every
// namespace that has it.
Result<> drop_altnames(Site& site,
                       const netns::Netns& ns,
                       const Link& link,
                       const std::vector<std::string>& but) {
    for (const std::string& name : link.altnames) {
        if (std::ranges::find(but, name) == but.end())
            TRY(site.host.links.remove_altname(ns, link.index, name));
    }
    return {};
}
}  // namespace

// ---- RestoreVf
namespace {
// Returns the VF with a new netdev on the host, wherever the old one was: an unbind removes it
// there.
Result<std::optional<PciFunction>> bind_again(Site& site, const RestoreVf& was) {
    netns::Sriov& sriov = site.host.sriov;
    TRY(sriov.unbind(was.vf));
    TRY(sriov.bind(was.vf, was.driver));
    TRY(sriov.wait_for_netdev(was.vf, Deadline::in(kBindTimeout)));
    return sriov.find(was.vf);
}

// Returns the VF with its driver and its netdev on the host; nothing if it is gone or not
// rdma-hook's to repair.
Result<std::optional<PciFunction>> find_on_host(Site& site, const RestoreVf& was) {
    netns::Sriov& sriov = site.host.sriov;
    auto function = TRY(sriov.find(was.vf));
    if (function && function->driver.empty()) {
        TRY(sriov.bind(was.vf, was.driver));
        function = TRY(sriov.find(was.vf));
    }
    if (!function || function->driver != was.driver)
        return std::optional<PciFunction>{};
    if (!function->netdevs.empty())
        return function;
    // A container that could move the netdev on may have it anywhere.
    if (site.net_admin || !sriov.wait_for_netdev(was.vf, Deadline::in(kReturnTimeout)))
        return bind_again(site, was);
    return sriov.find(was.vf);
}

Result<bool> needs_rebind(Site& site, const RestoreVf& was, const PciFunction& function) {
    if (function.netdevs.empty())
        return false;
    const auto link = TRY(site.host.links.find(site.host_ns, function.netdevs.front().index));
    // A process that entered its namespace may have altered the netdev, even if the holder could
    // not.
    const bool is_altered =
        link && (link->promiscuous || link->xdp ||
                 TRY(site.host.links.receive_rules(site.host_ns, link->name)) != 0);
    if (!was.rebound && !site.net_admin && !is_altered)
        return false;
    // This check comes first: otherwise gc would bind the driver again and again.
    if (link)
        TRY(free_netdev_name(site, was.vf, *link, was.name));
    // Promiscuous mode, receive rules, XDP, sizes of rings: a netdev has endless settings, and they
    // stay with it in every namespace. A new netdev has none of them.
    if (site.net_admin || is_altered)
        return true;
    if (link && link->mac != was.mac)
        return true;
    if (was.rdma.empty() || function.rdma_names.empty())
        return false;
    const auto device = TRY(rdma_device_of(site, was.vf));
    return device && device->node_guid != was.node_guid;
}

// Gives the netdev its names and MTU back, and takes it down. Returns the MAC that it then has.
Result<netns::Mac> restore_link(Site& site, const RestoreVf& was, const PciFunction& function) {
    if (function.netdevs.empty())
        return make_error(Code::Unavailable, "VF " + was.vf + " has lost its netdev again")
            .advise("wait for its driver, then run: rdmactl gc");
    const uint32_t index = function.netdevs.front().index;
    const auto link = TRY(site.host.links.find(site.host_ns, index));
    if (!link)
        return make_error(Code::Unavailable, "the netdev of VF " + was.vf + " is gone")
            .advise("wait for its driver, then run: rdmactl gc");
    TRY(free_netdev_name(site, was.vf, *link, was.name));
    // The kernel brings altnames along from a namespace that died without an undo.
    TRY(drop_altnames(site, site.host_ns, *link, was.altnames));
    LinkChange change;
    if (link->name != was.name)
        change.name = was.name;
    if (link->alias != was.alias)
        change.alias = was.alias;
    if (link->mtu != was.mtu)
        change.mtu = was.mtu;
    if (link->up || change != LinkChange{})
        change.up = false;
    if (change == LinkChange{})
        return link->mac;
    TRY(site.host.links.change(site.host_ns, index, change));
    // A netdev that goes down may take over the MAC that its PF has set.
    const auto now = TRY(site.host.links.find(site.host_ns, index));
    return now ? now->mac : was.mac;
}

// Restores the MAC. The PF decides in the end which MAC a VF has: a driver whose PF has set one
// takes no other.
Result<> restore_mac(Site& site,
                     const RestoreVf& was,
                     const PciFunction& function,
                     netns::Mac present) {
    if (present == was.mac)
        return {};
    LinkChange change;
    change.mac = was.mac;
    change.up = false;
    auto done = site.host.links.change(site.host_ns, function.netdevs.front().index, change);
    if (done)
        return done;
    const auto pf = TRY(site.host.sriov.find(function.pf));
    if (!pf || pf->netdevs.empty())
        return done;
    const auto settings =
        TRY(site.host.sriov.settings(site.host_ns, pf->netdevs.front().index, function.number));
    return settings && settings->mac == present ? Result<>{} : std::move(done);
}

Result<> restore_rdma(Site& site, const RestoreVf& was) {
    if (was.rdma.empty())
        return {};
    TRY(site.host.sriov.wait_for_rdma(was.vf, Deadline::in(kReturnTimeout))
            .context("RDMA device " + was.rdma + " has not come back")
            .advise("wait a moment, then run: rdmactl gc"));
    return name_rdma_device(site, was.vf, was.rdma);
}
}  // namespace

std::string RestoreVf::describe() const {
    return fmt::format(
        "remember VF {} as it is: {}, {}, mtu {}", vf, name, netns::to_string(mac), mtu);
}

Result<Undo> RestoreVf::undo(Site& site) const {
    if (!TRY(is_held(site, lease)))
        return Undo::gone();
    auto function = TRY(find_on_host(site, *this));
    if (!function)
        return Undo::gone();
    if (TRY(needs_rebind(site, *this, *function))) {
        function = TRY(bind_again(site, *this));
        if (!function)
            return Undo::gone();
    }
    const netns::Mac present = TRY(restore_link(site, *this, *function));
    TRY(restore_mac(site, *this, *function, present));
    return undone_by(restore_rdma(site, *this));
}

// ---- ConfigureVf
namespace {
// "mac 02:00:00:00:00:01, trust on"
std::string settings_text(const VfSettings& settings) {
    std::vector<std::string> words;
    const auto put_switch = [&](const char* name, const std::optional<bool>& value) {
        if (value)
            words.push_back(fmt::format("{} {}", name, *value ? "on" : "off"));
    };
    if (settings.mac)
        words.push_back("mac " + netns::to_string(*settings.mac));
    if (settings.vlan)
        words.push_back(fmt::format("vlan {} (qos {}, {})",
                                    settings.vlan->id,
                                    settings.vlan->qos,
                                    word_of(kVlanProtocols, settings.vlan->protocol)));
    if (settings.rate)
        words.push_back(
            fmt::format("tx rate {} to {} Mbit/s", settings.rate->min, settings.rate->max));
    put_switch("spoofchk", settings.spoofchk);
    put_switch("trust", settings.trust);
    if (settings.link_state)
        words.push_back(fmt::format("link state {}", word_of(kLinkStates, *settings.link_state)));
    if (settings.node_guid)
        words.push_back("node GUID " + guid_text(*settings.node_guid));
    if (settings.port_guid)
        words.push_back("port GUID " + guid_text(*settings.port_guid));
    return fmt::format("{}", fmt::join(words, ", "));
}

// Returns the index of the PF's netdev at this moment: it may have been renamed, or bound again.
// Nothing if the PF has no such VF any more.
Result<std::optional<uint32_t>> find_pf_link(Site& site, const ConfigureVf& step) {
    const auto pf = TRY(site.host.sriov.find(step.pf));
    if (!pf || step.number >= pf->num_vfs ||
        TRY(site.host.sriov.find_vf(step.pf, step.number)) != step.vf)
        return std::optional<uint32_t>{};
    if (pf->netdevs.empty())
        return make_error(Code::Unavailable,
                          "PF " + step.pf + " has no netdev in the host's namespace")
            .advise("bind its driver, then run: rdmactl gc");
    return std::optional{pf->netdevs.front().index};
}
}  // namespace

std::string ConfigureVf::describe() const {
    return fmt::format("set {} of VF {} ({}) of PF {}", settings_text(after), number, vf, pf);
}

Result<> ConfigureVf::apply(Site& site) const {
    const auto link = TRY(find_pf_link(site, *this));
    if (!link)
        return make_error(Code::Unavailable, fmt::format("PF {} has lost its VF {}", pf, number))
            .advise("see what there is: rdmactl vf list");
    return site.host.sriov.configure(
        site.host_ns, *link, number, after, Deadline::in(kReadyTimeout));
}

Result<Undo> ConfigureVf::undo(Site& site) const {
    if (!TRY(is_held(site, lease)))
        return Undo::gone();
    const auto link = TRY(find_pf_link(site, *this));
    if (!link)
        return Undo::gone();
    const auto present = TRY(site.host.sriov.settings(site.host_ns, *link, number));
    if (!present)
        return Undo::unknown(
            fmt::format("PF {} does not report on its VF {} any more; run: rdmactl gc once it does",
                        pf,
                        number));
    // MAC, VLAN and rate come first, trust later. configure() writes in this order, and drivers
    // refuse much to a VF that is not trusted any more.
    const auto back = difference(before, *present);
    if (is_empty(back))
        return Undo::gone();
    return undone_by(
        site.host.sriov.configure(site.host_ns, *link, number, back, Deadline::in(kReadyTimeout)));
}

// ---- RebindVf
std::string RebindVf::describe() const {
    return "bind driver " + driver + " of VF " + vf + " again";
}

Result<> RebindVf::apply(Site& site) const {
    netns::Sriov& sriov = site.host.sriov;
    TRY(sriov.unbind(vf));
    TRY(sriov.bind(vf, driver));
    const auto deadline = Deadline::in(kBindTimeout);
    TRY(sriov.wait_for_netdev(vf, deadline));
    if (!rdma)
        return {};
    TRY(sriov.wait_for_rdma(vf, deadline));
    // udev gives the device this name, too, but later, and the name that the container has must
    // stay.
    return name_rdma_device(site, vf, rdma_name);
}

// ---- MoveLink
namespace {
// Returns the VF's netdev on the host. An administrator may have bound the VF since; then its index
// belongs to another netdev.
Result<Link> find_netdev(Site& site, const MoveLink& step) {
    netns::Links& links = site.host.links;
    auto link = TRY(links.find(site.host_ns, step.host_index));
    if (!link || link->device != netns::device_of(step.vf)) {
        const auto function = TRY(site.host.sriov.find(step.vf));
        const bool there = function && !function->netdevs.empty();
        link =
            there ? TRY(links.find(site.host_ns, function->netdevs.front().index)) : std::nullopt;
    }
    if (!link)
        return make_error(Code::Unavailable,
                          "VF " + step.vf + " has no netdev in the host's namespace")
            .advise("see dmesg: what keeps its driver from making one");
    return *std::move(link);
}
}  // namespace

std::string MoveLink::describe() const {
    return fmt::format("move netdev {} of VF {} into the container's namespace as {} (mtu {})",
                       host_name,
                       vf,
                       name,
                       mtu);
}

Result<> MoveLink::apply(Site& site) const {
    const Link link = TRY(find_netdev(site, *this));
    LinkChange change;
    change.index = index;
    change.name = name;
    change.alias = host_name;
    change.mtu = mtu;
    // The present MAC is not set again: a driver whose PF has set one refuses every change.
    if (mac && link.mac != *mac)
        change.mac = mac;
    TRY(site.host.links.move(site.host_ns, *site.container, link.index, change));
    // A separate request raises the link: a busy driver is asked again, and the move is not
    // repeated.
    return site.host.links.raise(*site.container, index, Deadline::in(kReadyTimeout));
}

// RestoreVf, undone after this, sets what could not be set here.
Result<Undo> MoveLink::undo(Site& site) const {
    if (!site.container || !TRY(is_held(site, lease)))
        return Undo::gone();
    netns::Links& links = site.host.links;
    const auto link = TRY(links.find_by_device(*site.container, netns::device_of(vf)));
    if (!link)
        return Undo::gone();  // RestoreVf, undone next, finds it wherever it is
    TRY(drop_altnames(site, *site.container, *link, altnames));
    LinkChange change;
    change.name = host_name;
    change.alias = host_alias;
    change.mtu = host_mtu;
    change.up = false;
    if (!TRY(links.find(site.host_ns, host_index)))
        change.index = host_index;
    if (TRY(links.find_by_name(site.host_ns, host_name)))
        change.name = interim_name(vf);
    auto moved = links.move(*site.container, site.host_ns, link->index, change);
    if (moved || moved.error().code != Code::Busy)
        return undone_by(std::move(moved));
    // The name or the index has been taken since. RestoreVf names a netdev that has moved all the
    // same.
    if (!TRY(links.find(*site.container, link->index)))
        return Undo::undone();
    change.index.reset();
    change.name = interim_name(vf);
    return undone_by(links.move(*site.container, site.host_ns, link->index, change));
}

}  // namespace hook
