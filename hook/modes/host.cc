// SPDX-License-Identifier: Apache-2.0
// host: RDMA devices of the host as they are, for a container of the host's network or of its own.
// A plan has no steps: an attachment is one device of the host, and its containers are holders.
#include "hook/modes/host.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/modes/mode.h"
#include "hook/steps/free_vf.h"
#include "hook/steps/journal.h"
#include "netns/link.h"
#include "netns/rdma.h"
#include "netns/sriov.h"

namespace hook {

using netns::RdmaDevice;

namespace {
Error not_hosts(const std::string& what, std::string fix) {
    return make_error(Code::Refused, what).advise(std::move(fix));
}

// Returns whether an attachment made the device, on a netdev of the host.
Result<bool> is_made_by_us(const std::string& name, const Store& store) {
    const auto keys = store.journal_keys();
    if (!keys && base::is_missing(keys.error()))
        return false;  // nothing was attached since the boot
    for (const std::string& akey : TRY(keys)) {
        const auto journal = TRY(load_journal(store, akey));
        if (!journal || journal->endpoint.device != name)
            continue;
        for (const AnyStep& step : journal->steps) {
            if (std::holds_alternative<CreateRdmaLink>(step))
                return true;
        }
    }
    return false;
}

Result<> check_software(const RdmaDevice& device, Site& site, const Store& store) {
    constexpr char kOwn[] = "name another; for a device of its own: rdma.mode=softroce";
    if (!TRY(site.host.rdma.netdev_of(site.host_ns, device.index)))
        return not_hosts("RDMA device '" + device.name + "' is another network's", kOwn);
    if (TRY(is_made_by_us(device.name, store)))
        return not_hosts("RDMA device '" + device.name +
                             "' goes with the containers for which rdma-hook made it",
                         kOwn);
    return {};
}

// Returns whether the claim of a container on the function exists.
Result<bool> is_claimed(const std::string& function, const Store& store) {
    const auto lease = store.files().read(store.lease_path(vf_lease(function)), kMaxStateFile);
    if (!lease && !base::is_missing(lease.error()))
        return lease.error();
    return lease.has_value();
}

// Returns whether root's containers have the function. A user does not see root's claims. But the
// adapters that a pool lends are in the configuration, and one that is lent has no netdev here.
bool is_lent_by_root(const netns::PciFunction& function, const Config& config) {
    return config.rootless && function.netdevs.empty() &&
           std::ranges::any_of(config.pools, [&](const Pool& pool) {
               return std::ranges::find(pool.functions,
                                        function.address,
                                        &MappedFunction::function) != pool.functions.end();
           });
}

// Names of devices for people.
std::string names_of(const std::vector<RdmaDevice>& devices) {
    std::vector<std::string> names;
    for (const RdmaDevice& device : devices)
        names.push_back(device.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

// The host's devices, and the way from what a container names to one of them.
struct Search {
    const Context& context;
    Site& site;
    std::vector<RdmaDevice> devices;  // all that the host sees

    [[nodiscard]] std::optional<RdmaDevice> named(const std::string& name) const {
        const auto found = std::ranges::find(devices, name, &RdmaDevice::name);
        return found == devices.end() ? std::nullopt : std::optional{*found};
    }

    [[nodiscard]] Error missing(const std::string& name) const {
        const auto own = list_hosts_own(context, site);
        return make_error(Code::Unavailable,
                          fmt::format("the host has no RDMA device, and no netdev or PCI function "
                                      "with one, that is called '{}'",
                                      printable(name)))
            .advise(own && !own->empty()
                        ? "name one or more of these in rdma.device: " + names_of(*own)
                        : "load the driver of your adapter; see: rdmactl doctor host");
    }

    Result<RdmaDevice> of_function(const std::string& address) const {
        const auto function = TRY(site.host.sriov.find(address));
        const auto& names = function ? function->rdma_names : std::vector<std::string>{};
        if (names.size() > 1)
            return make_error(Code::Refused,
                              fmt::format("{} has several RDMA devices", printable(address)))
                .advise(fmt::format("name one or more of {}", fmt::join(names, ", ")));
        const auto device = names.empty() ? std::nullopt : named(names.front());
        return device ? Result<RdmaDevice>{*device} : missing(address);
    }

    // Returns the device on a netdev, or on a port of a bond: hardware before software.
    Result<RdmaDevice> on_netdev(const std::string& name) const {
        netns::Links& links = site.host.links;
        const auto link = TRY(links.find_by_name(site.host_ns, name));
        if (!link)
            return missing(name);
        std::vector<uint32_t> netdevs{link->index};
        if (link->kind == "bond")
            std::ranges::copy(TRY(links.ports_of(site.host_ns, link->index)),
                              std::back_inserter(netdevs));
        std::optional<RdmaDevice> found;
        for (const uint32_t netdev : netdevs) {
            for (const RdmaDevice& device : TRY(site.host.rdma.list_on(site.host_ns, netdev))) {
                if (TRY(site.host.rdma.software_type(site.host_ns, device)).empty())
                    return device;
                found = found ? found : device;
            }
        }
        return found ? Result<RdmaDevice>{*found} : missing(name);
    }

    Result<RdmaDevice> find(const std::string& name) const {
        if (const auto device = named(name))
            return *device;
        return netns::is_function_name(name) ? of_function(name) : on_netdev(name);
    }
};

// Returns the devices that a container asks for.
Result<std::vector<RdmaDevice>> asked_devices(const Attachment& a,
                                              const Context& context,
                                              Site& site) {
    const Search search{
        .context = context, .site = site, .devices = TRY(site.host.rdma.list(site.host_ns))};
    std::vector<RdmaDevice> devices;
    for (const DeviceSpec& spec : a.devices) {
        if (names_all(spec))
            return list_hosts_own(context, site);
        RdmaDevice device = TRY(search.find(spec.device));
        TRY(check_hosts_own(device, context, site));
        if (std::ranges::find(devices, device) != devices.end())
            return make_error(Code::BadInput,
                              fmt::format("rdma.device='{}' names {} twice",
                                          printable(devices_text(a.devices)),
                                          device.name))
                .advise("name each device once");
        devices.push_back(std::move(device));
    }
    return devices;
}

Result<std::vector<Attachment>> expand_host(const Attachment& a,
                                            const Context& context,
                                            Site& site) {
    // Only in mode shared does the kernel let a device of another namespace be opened.
    if (!site.hosts_network && TRY(site.host.rdma.mode()) == netns::RdmaNetnsMode::Exclusive)
        return make_error(
                   Code::Unsupported,
                   "in RDMA namespace mode exclusive the host's devices can be opened only in the "
                   "host's network")
            .advise(
                "start the container with --network host, or boot with ib_core.netns_mode=1 (the "
                "mode shared)");
    std::vector<Attachment> all;
    for (const RdmaDevice& device : TRY(asked_devices(a, context, site))) {
        all.push_back(a);
        all.back().devices = {{.device = device.name, .vfs = {}}};
    }
    if (all.empty())
        return make_error(Code::Unavailable, "the host has no RDMA device of its own")
            .advise("load the driver of your adapter; see: rdmactl doctor host");
    return all;
}

// Returns the device of an attachment that expand_host() returned.
Result<RdmaDevice> hosts_device(const Attachment& a, Site& site) {
    const std::string& name = a.devices.front().device;
    if (const auto device = TRY(site.host.rdma.find_by_name(site.host_ns, name)))
        return *device;
    return make_error(Code::Unavailable, "RDMA device '" + name + "' is gone")
        .advise("start the container again");
}

// Returns the device in the attachment's scope. Names change hands, and an index never does.
Scope scope_of(const RdmaDevice& device) {
    return {.where = Where::Host, .interface = fmt::format("rdma {}", device.index)};
}

Result<Scope> host_scope(const Attachment& a, Site& site) {
    return scope_of(TRY(hosts_device(a, site)));
}

Result<Plan> plan_host(const Attachment& a, const Survey& s) {
    const RdmaDevice device = TRY(hosts_device(a, s.site));
    // The key was made from the name before rdma-hook waited for the lock.
    if (s.attachment_key != attachment_key(s.site.host_ns.id(), scope_of(device).interface))
        return make_error(Code::Busy, "another RDMA device is called " + device.name + " meanwhile")
            .advise("start the container again");
    TRY(check_hosts_own(device, s, s.site));
    Plan plan;
    plan.endpoint = {
        .where = Where::Host,
        .netdev = TRY(s.site.host.rdma.netdev_of(s.site.host_ns, device.index)).value_or(0),
        .device = device.name,
        .gid = {},
        .addresses = {},
        .rdma_index = device.index};
    return plan;
}
}  // namespace

Result<> check_hosts_own(const RdmaDevice& device, const Context& context, Site& site) {
    const auto address = TRY(site.host.sriov.find_by_rdma(device.name));
    const auto function = address ? TRY(site.host.sriov.find(*address)) : std::nullopt;
    if (function && (TRY(is_claimed(function->address, context.store)) ||
                     is_lent_by_root(*function, context.config)))
        return not_hosts("RDMA device '" + device.name + "' is a container's",
                         "name another; see who has it: rdmactl list");
    if (function && !function->pf.empty())
        return not_hosts("RDMA device '" + device.name + "' is a VF of " + function->pf,
                         "name its PF; or give the VF: rdma.mode=vf");
    if (TRY(site.host.rdma.software_type(site.host_ns, device)).empty())
        return {};
    return check_software(device, site, context.store);
}

Result<std::vector<RdmaDevice>> list_hosts_own(const Context& context, Site& site) {
    std::vector<RdmaDevice> own;
    for (RdmaDevice& device : TRY(site.host.rdma.list(site.host_ns))) {
        auto checked = check_hosts_own(device, context, site);
        if (checked)
            own.push_back(std::move(device));
        else if (checked.error().code != Code::Refused && checked.error().code != Code::Unavailable)
            return std::move(checked).error();  // Unavailable: it has gone since it was listed
    }
    return own;
}

const Mode kHost{.name = "host",
                 .expand = expand_host,
                 .scope = host_scope,
                 .plan = plan_host,
                 .check_device = check_hosts_own};

}  // namespace hook
