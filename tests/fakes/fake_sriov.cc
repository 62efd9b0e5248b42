// SPDX-License-Identifier: Apache-2.0
// The fake of netns/sriov.h. Codes and errno values are the kernel room's: see tests/contract.
#include <algorithm>
#include <cerrno>

#include "tests/fakes/fake_host.h"

namespace test {

using netns::PciFunction;
using netns::PciNetdev;
using netns::VfSettings;
using netns::VlanProtocol;

namespace {
constexpr uint16_t kLastVlan = 4095;
constexpr uint8_t kLastQos = 7;

std::string vf_text(uint32_t number, uint32_t pf) {
    return " on VF " + std::to_string(number) + " of link " + std::to_string(pf);
}

base::Error lacking(const std::string& what) {
    return coded(Code::Unsupported, EOPNOTSUPP, what);
}

base::Error no_function(const std::string& what) {
    return coded(Code::Unavailable, ENODEV, what);
}
}  // namespace

Result<std::optional<PciFunction>> FakeSriov::find(const std::string& address) {
    const auto found = world_.pci.find(address);
    if (found == world_.pci.end())
        return std::optional<PciFunction>{};
    const FakePci& function = found->second;
    PciFunction seen;
    seen.address = address;
    seen.driver = function.driver;
    seen.pf = function.pf;
    seen.number = function.number;
    seen.total_vfs = function.total_vfs;
    seen.num_vfs = function.num_vfs;
    if (function.pf.empty()) {
        seen.numa_node = function.numa_node;
        seen.local_cpus = function.local_cpus;
    }
    for (const auto& [index, link] : world_.namespaces.at(world_.host).links) {
        if (link.link.device == netns::device_of(address) && !is_representor(link))
            seen.netdevs.push_back({link.link.name, index, 0, link.port});
    }
    for (const auto& [index, device] : world_.rdma) {
        if (device.pci == address && world_.sees(world_.host, device))
            seen.rdma_names.push_back(device.device.name);
    }
    return std::optional<PciFunction>{std::move(seen)};
}

Result<std::optional<std::string>> FakeSriov::find_vf(const std::string& pf, uint32_t number) {
    for (const auto& [address, function] : world_.pci) {
        if (!pf.empty() && function.pf == pf && function.number == number)
            return std::optional<std::string>{address};
    }
    return std::optional<std::string>{};
}

Result<std::optional<std::string>> FakeSriov::find_by_netdev(const std::string& name) {
    for (const auto& [index, link] : world_.namespaces.at(world_.host).links) {
        if (link.link.name == name && world_.pci.contains(link.link.device))
            return std::optional<std::string>{link.link.device};
    }
    return std::optional<std::string>{};
}

Result<std::optional<std::string>> FakeSriov::find_by_rdma(const std::string& name) {
    for (const auto& [index, device] : world_.rdma) {
        const bool seen = world_.sees(world_.host, device) && world_.pci.contains(device.pci);
        if (seen && device.device.name == name)
            return std::optional<std::string>{device.pci};
    }
    return std::optional<std::string>{};
}

Result<std::vector<PciFunction>> FakeSriov::list_pfs() {
    std::vector<PciFunction> all;
    for (const auto& [address, function] : world_.pci) {
        if (function.total_vfs != 0)
            all.push_back(*TRY(find(address)));
    }
    return all;
}

Result<std::vector<PciNetdev>> FakeSriov::representors(const std::string& pf) {
    std::vector<PciNetdev> all;
    for (const auto& [index, link] : world_.namespaces.at(world_.host).links) {
        if (link.link.device == netns::device_of(pf) && is_representor(link))
            all.push_back({link.link.name, index, 0, link.port});
    }
    return all;
}

Result<std::string> FakeSriov::vf_of(const Netns& host, uint32_t pf, uint32_t number) {
    const FakeLink* link = world_.find_link(host.id(), pf);
    if (link == nullptr)
        return coded(Code::Unavailable, ENODEV, "look up link " + std::to_string(pf));
    const auto vf = TRY(find_vf(link->link.device, number));
    if (!vf)
        return make_error(Code::Unavailable,
                          "link " + std::to_string(pf) + " has no VF " + std::to_string(number));
    return *vf;
}

Result<std::optional<VfSettings>> FakeSriov::settings(const Netns& host,
                                                      uint32_t pf,
                                                      uint32_t number) {
    const std::string vf = TRY(vf_of(host, pf, number));
    if (world_.has_quirk(vf, "no_vf_info"))
        return std::optional<VfSettings>{};
    return std::optional{world_.pci.at(vf).settings};
}

Result<> FakeSriov::configure(const Netns& host,
                              uint32_t pf,
                              uint32_t number,
                              const VfSettings& change,
                              base::Deadline deadline) {
    return gate_.pass<void>("configure" + vf_text(number, pf), [&]() -> Result<> {
        return write(TRY(vf_of(host, pf, number)), vf_text(number, pf), change, deadline);
    });
}

Result<> FakeSriov::write(const std::string& vf,
                          const std::string& what,
                          const VfSettings& change,
                          base::Deadline deadline) {
    VfSettings& now = world_.pci.at(vf).settings;
    const FakePci& pf = world_.pci.at(world_.pci.at(vf).pf);
    const auto lacks = [&](const char* quirk) { return pf.quirks.contains(quirk); };
    // A VF in a reset takes no setting; a caller that waits sees the reset's end.
    const auto is_ready = [&] {
        return !lacks("setting_again") || world_.out_of_reset(vf, deadline);
    };
    if (lacks("no_vf_info"))
        return coded(Code::Kernel, EPERM, "set" + what);
    if (change.mac) {
        if (lacks("no_mac"))
            return lacking("set mac" + what);
        if (change.mac->is_multicast())
            return coded(Code::BadInput, EINVAL, "set mac" + what);
        if (!is_ready())
            return coded(Code::Busy, EAGAIN, "set mac" + what);
        world_.reset_by_pf(vf);
        now.mac = change.mac;
        world_.pci.at(vf).mac_given.value = !change.mac->is_zero();
        const auto netdev = world_.netdev_of(vf);
        if (netdev && !change.mac->is_zero() && !lacks("mac_by_rebind_only"))
            world_.set_mac(netdev->first, netdev->second, *change.mac);
    }
    if (change.vlan) {
        if (lacks("no_vlan"))
            return lacking("set vlan" + what);
        if (change.vlan->id > kLastVlan || change.vlan->qos > kLastQos)
            return coded(Code::BadInput, EINVAL, "set vlan" + what);
        if (change.vlan->protocol == VlanProtocol::Dot1ad && lacks("no_1ad"))
            return coded(Code::Unsupported, EPROTONOSUPPORT, "set vlan" + what);
        if (!is_ready())
            return coded(Code::Busy, EAGAIN, "set vlan" + what);
        world_.reset_by_pf(vf);
        now.vlan = change.vlan;
    }
    if (change.rate) {
        const netns::VfRate& rate = *change.rate;
        if (lacks("no_rate"))
            return lacking("set rate" + what);
        const bool crossed = rate.max != 0 && rate.min > rate.max;
        if (crossed || rate.max > pf.mbits || (rate.min != 0 && lacks("no_min_rate")))
            return coded(Code::BadInput, EINVAL, "set rate" + what);
        now.rate = rate;
    }
    if (change.spoofchk) {
        if (lacks("no_spoofchk"))
            return lacking("set spoofchk" + what);
        now.spoofchk = change.spoofchk;
    }
    if (change.trust) {
        if (lacks("no_trust"))
            return lacking("set trust" + what);
        if (!is_ready())
            return coded(Code::Busy, EAGAIN, "set trust" + what);
        world_.reset_by_pf(vf);
        now.trust = change.trust;
    }
    if (change.link_state) {
        if (lacks("no_link_state"))
            return lacking("set link state" + what);
        now.link_state = change.link_state;
    }
    if (change.node_guid || change.port_guid) {
        if (lacks("no_guid"))
            return lacking("set GUID" + what);
        if ((change.node_guid == 0U || change.port_guid == 0U) && lacks("guid_zero_refused"))
            return coded(Code::BadInput, EINVAL, "set GUID" + what);
        now.node_guid = change.node_guid ? change.node_guid : now.node_guid;
        now.port_guid = change.port_guid ? change.port_guid : now.port_guid;
    }
    return {};
}

Result<> FakeSriov::set_num_vfs(const std::string& pf, uint32_t count) {
    const std::string what = "set the number of VFs of " + pf;
    return gate_.pass<void>(what, [&]() -> Result<> {
        const auto function = world_.pci.find(pf);
        if (function == world_.pci.end() || function->second.total_vfs == 0)
            return coded(Code::Unavailable, ENOENT, what);
        const FakePci& found = function->second;
        if (count > found.total_vfs)
            return coded(Code::BadInput, ERANGE, what);
        if (count == found.num_vfs)
            return {};
        if (found.driver.empty())
            return coded(Code::Unavailable, ENOENT, what);
        if (count != 0 && found.num_vfs != 0)
            return coded(Code::Busy, EBUSY, what);
        world_.set_num_vfs(pf, count);
        return {};
    });
}

Result<std::optional<bool>> FakeSriov::autoprobe(const std::string& pf) {
    const auto function = world_.pci.find(pf);
    const bool there = function != world_.pci.end() && function->second.total_vfs != 0;
    return there ? std::optional{function->second.autoprobe} : std::nullopt;
}

Result<> FakeSriov::set_autoprobe(const std::string& pf, bool on) {
    const std::string what = "set sriov_drivers_autoprobe of " + pf;
    return gate_.pass<void>(what, [&]() -> Result<> {
        const auto function = world_.pci.find(pf);
        if (function == world_.pci.end())
            return no_function(what);
        if (function->second.total_vfs == 0)
            return coded(Code::Kernel, ENOENT, what);
        function->second.autoprobe = on;
        return {};
    });
}

Result<> FakeSriov::unbind(const std::string& address) {
    return gate_.pass<void>("unbind " + address, [&]() -> Result<> {
        const auto function = world_.pci.find(address);
        if (function == world_.pci.end())
            return no_function("unbind " + address);
        if (!function->second.driver.empty())
            world_.unbind(address);
        return {};
    });
}

Result<> FakeSriov::bind(const std::string& address, const std::string& driver) {
    const std::string what = "bind " + address + " to " + driver;
    return gate_.pass<void>(what, [&]() -> Result<> {
        const auto function = world_.pci.find(address);
        if (function == world_.pci.end())
            return no_function(what);
        if (driver.empty() && function->second.driver.empty()) {
            const auto pf = world_.pci.find(function->second.pf);
            if (pf == world_.pci.end() || pf->second.autoprobe)
                world_.bind(address);
            return {};
        }
        if (function->second.driver == driver || driver.empty())
            return {};
        if (!function->second.driver.empty())
            return coded(Code::Busy, EBUSY, what);
        const auto known = [&](const auto& entry) { return entry.second.driver_default == driver; };
        if (std::none_of(world_.pci.begin(), world_.pci.end(), known))
            return coded(Code::Unavailable, ENOENT, what);
        if (function->second.driver_default != driver)
            return coded(Code::Unavailable, ENODEV, what);
        world_.bind(address);
        return {};
    });
}

Result<PciNetdev> FakeSriov::wait_for_netdev(const std::string& address, base::Deadline deadline) {
    world_.register_netdev(address);  // a late netdev has come by now
    const auto found = TRY(find(address));
    if (found && !found->netdevs.empty())
        return found->netdevs.front();
    netdev_waits += deadline.passed() ? 0 : 1;
    return make_error(Code::Timeout, "PCI function " + address + " has no network interface");
}

Result<std::string> FakeSriov::wait_for_rdma(const std::string& address,
                                             base::Deadline /*deadline*/) {
    world_.register_rdma(address);  // a late device has come by now
    for (auto& [index, device] : world_.rdma) {
        if (device.pci == address)
            device.unlisted.value = false;
    }
    const auto found = TRY(find(address));
    if (!found || found->rdma_names.empty())
        return make_error(Code::Timeout, "PCI function " + address + " has no RDMA device");
    return found->rdma_names.front();
}

Result<bool> FakeSriov::wait_for_name(const std::string& address, base::Deadline /*deadline*/) {
    world_.name_by_udev(address);
    return true;
}

}  // namespace test
