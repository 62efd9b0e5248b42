// SPDX-License-Identifier: Apache-2.0
#include "netns/sriov.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "netns/kernel/busy.h"
#include "netns/kernel/netlink/socket.h"
#include "netns/kernel/rdma_message.h"
#include "netns/kernel/sriov_message.h"
#include "netns/kernel/sysfs.h"
#include "netns/kernel/udev.h"

namespace netns {

using netlink::Socket;

namespace {
std::string vf_text(uint32_t number, uint32_t pf) {
    return "VF " + std::to_string(number) + " of link " + std::to_string(pf);
}

// The routing id of a VF has 16 bits, so there cannot be more.
constexpr uint32_t kMostVfs = 65535;

// Returns the folder of a function's bus.
std::string bus_of(const std::string& address) {
    return "bus/" + (is_pci_address(address) ? "pci" : address.substr(0, address.find('/'))) + "/";
}

std::string path_of(const std::string& address) {
    return bus_of(address) + "devices/" + device_of(address);
}

// Returns whether the name can be one part of a path.
bool is_entry(const std::string& name) {
    return !name.empty() && name.size() < 256 && name != "." && name != ".." &&
           name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

Error no_such_function(const std::string& what) {
    return sys_error(ENODEV, what).as(Code::Unavailable);
}

template <class Number>
Result<Number> number_in(const SysTree& folder, const std::string& file, Number missing) {
    const auto text = TRY(folder.read(file));
    Number number = missing;
    if (text)
        (void)std::from_chars(text->data(), text->data() + text->size(), number);
    return number;
}

// Returns whether a port's name is a representor's: "pf0vf1", "c1pf0sf88" (net/devlink/port.c). The
// netdev does not show it, because a representor may belong to the PF's device, too. The uplink's
// name is "p0", that of most others is empty.
bool is_representor(std::string_view port) {
    const size_t pf = port.find("pf");
    return pf != std::string_view::npos && (pf == 0 || port.front() == 'c');
}

// Returns whether the name is "p0": a port of the adapter.
bool is_uplink(std::string_view port) {
    return port.size() > 1 && port.front() == 'p' &&
           std::ranges::all_of(port.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

// Reads a netdev from its folder; nothing if it has just left.
Result<std::optional<PciNetdev>> read_netdev(const SysTree& tree,
                                             const std::string& folder,
                                             const std::string& name) {
    const std::string path = folder + "/" + name;
    PciNetdev netdev;
    netdev.name = name;
    netdev.index = TRY(number_in<uint32_t>(tree, path + "/ifindex", 0));
    netdev.port_name = TRY(tree.read(path + "/phys_port_name")).value_or("");
    return netdev.index == 0 ? std::nullopt : std::optional{std::move(netdev)};
}

Result<std::vector<PciNetdev>> netdevs_of(const SysTree& function) {
    std::vector<PciNetdev> all;
    const auto names = TRY(function.list("net"));
    for (const auto& name : names) {
        auto netdev = TRY(read_netdev(function, "net", name));
        if (!netdev || is_representor(netdev->port_name))
            continue;
        if (names.size() > 1)
            netdev->port = TRY(number_in<uint32_t>(function, "net/" + name + "/dev_port", 0));
        all.push_back(*std::move(netdev));
    }
    std::ranges::stable_sort(all, {}, [](const PciNetdev& netdev) {
        return std::pair{!is_uplink(netdev.port_name), netdev.port};
    });
    return all;
}

// Reads the members that only a PF has. A PF on another bus may have VFs, too (netdevsim), but no
// CPUs near it.
Result<> read_pf(const SysTree& folder, PciFunction& function) {
    function.total_vfs = TRY(number_in<uint32_t>(folder, "sriov_totalvfs", 0));
    function.num_vfs = TRY(number_in<uint32_t>(folder, "sriov_numvfs", 0));
    if (!is_pci_address(function.address))
        return {};
    function.numa_node = TRY(number_in<int>(folder, "numa_node", -1));
    function.local_cpus = TRY(folder.read("local_cpulist")).value_or("");
    return {};
}

// Returns a VF's number. The PF has a link virtfnN to each of its VFs; a VF does not know its own
// number.
Result<uint32_t> number_of(const SysTree& tree, const std::string& pf, const std::string& address) {
    const uint32_t most =
        std::min(kMostVfs, TRY(number_in<uint32_t>(tree, path_of(pf) + "/sriov_numvfs", kMostVfs)));
    for (uint32_t number = 0; number < most; ++number) {
        const auto vf = TRY(tree.link(path_of(pf) + "/virtfn" + std::to_string(number)));
        if (!vf)
            break;
        if (*vf == address)
            return number;
    }
    return base::make_error(Code::Unavailable, "PF " + pf + " no longer has the VF " + address)
        .advise("see what there is: rdmactl vf list");
}

Result<std::string> driver_of(const SysTree& tree, const std::string& address) {
    return TRY(tree.link(path_of(address) + "/driver")).value_or("");
}

Result<bool> is_there(const SysTree& tree, const std::string& address) {
    return is_function_name(address) && TRY(tree.link(path_of(address)));
}

Error explain_num_vfs(const std::string& pf, Error refusal) {
    switch (refusal.sys) {
        case EBUSY:
            return std::move(refusal).as(Code::Busy,
                                         "set the number to 0 first, when no container uses a VF");
        case ERANGE:
            return std::move(refusal).as(Code::BadInput,
                                         "see " + ("/sys/" + path_of(pf)) + "/sriov_totalvfs");
        case ENOENT:
            return std::move(refusal).as(
                Code::Unavailable,
                "load the driver that makes its VFs; see also whether the adapter has SR-IOV");
        default:
            return refusal;
    }
}

Result<std::optional<PciFunction>> find_function(const SysTree& tree, const std::string& address) {
    const auto folder =
        is_function_name(address) ? TRY(tree.enter(path_of(address))) : std::optional<SysTree>{};
    if (!folder)
        return std::optional<PciFunction>{};
    PciFunction function;
    function.address = address;
    function.driver = TRY(folder->link("driver")).value_or("");
    function.pf = TRY(folder->link("physfn")).value_or("");
    if (!function.pf.empty())
        function.number = TRY(number_of(tree, function.pf, address));
    else
        TRY(read_pf(*folder, function));
    function.netdevs = TRY(netdevs_of(*folder));
    function.rdma_names = TRY(folder->list("infiniband"));
    return std::optional<PciFunction>{std::move(function)};
}

// The kernel binds no driver to a VF whose PF has sriov_drivers_autoprobe 0, except the one named
// in driver_override. That file is empty before and after. If it names this driver already, a bind
// left it that died.
Result<> write_bind(const SysTree& tree, const std::string& address, const std::string& driver) {
    const std::string bind = bus_of(address) + "drivers/" + driver + "/bind";
    const std::string choice = path_of(address) + "/driver_override";
    const auto autoprobe = TRY(tree.read(path_of(address) + "/physfn/sriov_drivers_autoprobe"));
    const auto present = autoprobe == "0" ? TRY(tree.read(choice)) : std::nullopt;
    const bool chosen = present == "(null)" || present == "" || present == driver;
    if (chosen)
        TRY(tree.write(choice, driver));
    auto done = tree.write(bind, device_of(address));
    return chosen ? base::join(std::move(done), tree.write(choice, "\n")) : std::move(done);
}

class KernelSriov : public Sriov {
  public:
    explicit KernelSriov(std::string sys) : sys_(std::move(sys)) {}

    Result<std::optional<PciFunction>> find(const std::string& address) override {
        return find_function(TRY(SysTree::at(sys_)), address);
    }

    Result<std::optional<std::string>> find_vf(const std::string& pf, uint32_t number) override {
        if (!is_pci_address(pf))
            return std::optional<std::string>{};
        return TRY(SysTree::at(sys_)).link(path_of(pf) + "/virtfn" + std::to_string(number));
    }

    Result<std::optional<std::string>> find_by_netdev(const std::string& name) override {
        return find_in_class("net", name);
    }

    Result<std::optional<std::string>> find_by_rdma(const std::string& name) override {
        return find_in_class("infiniband", name);
    }

    Result<std::vector<PciFunction>> list_pfs() override {
        const SysTree tree = TRY(SysTree::at(sys_));
        std::vector<PciFunction> all;
        for (const auto& address : TRY(tree.list("bus/pci/devices"))) {
            // Few functions can have VFs; the others are not read further.
            if (!is_pci_address(address) || !TRY(tree.read(path_of(address) + "/sriov_totalvfs")))
                continue;
            auto found = TRY(find_function(tree, address));
            if (found && found->total_vfs != 0)
                all.push_back(std::move(*found));
        }
        return all;
    }

    Result<std::vector<PciNetdev>> representors(const std::string& pf) override {
        const SysTree tree = TRY(SysTree::at(sys_));
        std::vector<PciNetdev> all;
        const auto function = TRY(find_function(tree, pf));
        if (!function || function->netdevs.empty())
            return all;
        const auto switch_of = [&](const std::string& netdev) {
            return tree.read("class/net/" + netdev + "/phys_switch_id");
        };
        const auto id = TRY(switch_of(function->netdevs.front().name)).value_or("");
        if (id.empty())
            return all;
        for (const auto& name : TRY(tree.list("class/net"))) {
            if (TRY(switch_of(name)) != id)
                continue;
            auto netdev = TRY(read_netdev(tree, "class/net", name));
            if (netdev && is_representor(netdev->port_name))
                all.push_back(*std::move(netdev));
        }
        return all;
    }

    Result<std::optional<VfSettings>> settings(const Netns& host,
                                               uint32_t pf,
                                               uint32_t number) override {
        const std::string what = "ask for " + vf_text(number, pf);
        netlink::Request request = vf_list_request(pf);
        auto reply = TRY(sockets_.get(host))->get(request, what);
        if (!reply && reply.error().sys == ENODEV)
            return std::move(reply).error().as(Code::Unavailable);
        const netlink::Reply vfs = TRY(std::move(reply));
        if (number < count_vfs(vfs))
            return parse_vf(vfs, number);
        return make_error(Code::Unavailable,
                          "link " + std::to_string(pf) + " has no VF " + std::to_string(number))
            .advise("see what there is: rdmactl vf list");
    }

    Result<> configure(const Netns& host,
                       uint32_t pf,
                       uint32_t number,
                       const VfSettings& change,
                       Deadline deadline) override {
        for (auto& [setting, request] : vf_requests(pf, number, change)) {
            const std::string what = "set " + setting + " on " + vf_text(number, pf);
            auto done = ask_until_ready(host, deadline, [&, &request = request]() -> Result<> {
                return TRY(sockets_.get(host))->request(request, what);
            });
            if (done)
                continue;
            // Drivers answer EINVAL also for the number of a missing VF.
            if (done.error().sys == EINVAL)
                (void)TRY(settings(host, pf, number));
            return explain_setting(setting, std::move(done).error());
        }
        return {};
    }

    Result<> set_num_vfs(const std::string& pf, uint32_t count) override {
        const SysTree tree = TRY(SysTree::at(sys_));
        const std::string what = "set the number of VFs of " + printable(pf);
        if (!TRY(is_there(tree, pf)))
            return no_such_function(what);
        auto done = tree.write(path_of(pf) + "/sriov_numvfs", std::to_string(count));
        if (done)
            return {};
        return explain_num_vfs(pf, std::move(done).error().in(what));
    }

    Result<std::optional<bool>> autoprobe(const std::string& pf) override {
        const SysTree tree = TRY(SysTree::at(sys_));
        if (!TRY(is_there(tree, pf)))
            return std::optional<bool>{};
        const auto text = TRY(tree.read(path_of(pf) + "/sriov_drivers_autoprobe"));
        return text ? std::optional{*text != "0"} : std::nullopt;
    }

    Result<> set_autoprobe(const std::string& pf, bool on) override {
        const SysTree tree = TRY(SysTree::at(sys_));
        const std::string what = "set sriov_drivers_autoprobe of " + printable(pf);
        if (!TRY(is_there(tree, pf)))
            return no_such_function(what);
        return tree.write(path_of(pf) + "/sriov_drivers_autoprobe", on ? "1" : "0").context(what);
    }

    Result<> unbind(const std::string& address) override {
        const SysTree tree = TRY(SysTree::at(sys_));
        const std::string what = "unbind " + printable(address);
        if (!TRY(is_there(tree, address)))
            return no_such_function(what);
        if (TRY(driver_of(tree, address)).empty())
            return {};
        auto done = tree.write(path_of(address) + "/driver/unbind", device_of(address));
        // Another process was faster. ENOENT: the link to the driver has gone. ENODEV: it has just.
        if (done || done.error().sys == ENOENT || done.error().sys == ENODEV)
            return {};
        return std::move(done).error().in(what);
    }

    Result<> bind(const std::string& address, const std::string& driver) override {
        const SysTree tree = TRY(SysTree::at(sys_));
        const std::string what = "bind " + printable(address) + " to " + printable(driver);
        if (!TRY(is_there(tree, address)))
            return no_such_function(what);
        const std::string present = TRY(driver_of(tree, address));
        if (driver.empty() && present.empty())
            return tree.write(bus_of(address) + "drivers_probe", device_of(address)).context(what);
        if (present == driver || driver.empty())
            return {};
        if (!present.empty())
            return sys_error(EBUSY, what)
                .as(Code::Busy, "unbind it first from " + printable(present));
        if (!is_entry(driver))
            return sys_error(EINVAL, what).as(Code::BadInput);
        auto done = write_bind(tree, address, driver);
        if (done)
            return {};
        switch (done.error().sys) {
            case ENOENT:
                return std::move(done).error().in(what).as(Code::Unavailable,
                                                           "run: modprobe " + printable(driver));
            case ENODEV:
                return std::move(done).error().in(what).as(
                    Code::Unavailable,
                    "see dmesg: the driver does not take this function, or failed to start it");
            case EBUSY:
                if (TRY(driver_of(tree, address)) == driver)  // the kernel has bound it meanwhile
                    return {};
                return std::move(done).error().in(what).as(Code::Busy);
            default:
                return std::move(done).error().in(what);
        }
    }

    Result<PciNetdev> wait_for_netdev(const std::string& address, Deadline deadline) override {
        if (auto found = TRY(netdev_of(address)))
            return std::move(*found);
        Socket events = TRY(Socket::open(TRY(KernelNetnses{}.current()), NETLINK_ROUTE));
        TRY(events.join(RTNLGRP_LINK));
        for (Pace pace;;) {
            // Look after listening began: earlier changes are seen, later ones are heard.
            if (auto found = TRY(netdev_of(address)))
                return std::move(*found);
            if (deadline.passed())
                return make_error(
                    Code::Timeout,
                    "PCI function " + printable(address) + " has no network interface");
            if (TRY(events.heard(pace.next_ms(deadline))))
                pace.hurry();
        }
    }

    // ib_register_device() puts a device into sysfs before it puts it on the list. Until then no
    // request about the device works.
    Result<std::string> wait_for_rdma(const std::string& address, Deadline deadline) override {
        std::string name;
        TRY(ask_on_device_events(DeviceEvents::Kernel, deadline, [&]() -> Result<bool> {
            const auto function = TRY(find(address));
            if (function && !function->rdma_names.empty() &&
                TRY(is_listed(function->rdma_names.front())))
                name = function->rdma_names.front();
            return !name.empty();
        }));
        if (name.empty())
            return make_error(Code::Timeout,
                              "PCI function " + printable(address) + " has no RDMA device");
        return name;
    }

    Result<bool> wait_for_name(const std::string& address, Deadline deadline) override {
        bool named = false;
        TRY(ask_on_device_events(DeviceEvents::Udev, deadline, [&]() -> Result<bool> {
            const auto netdev = TRY(netdev_of(address));
            named = !netdev || !udev_owes_name("/run/udev", netdev->index);
            return named;
        }));
        return named;
    }

  private:
    // Returns the function behind an entry of a class. Nothing if there is no such entry, or if it
    // belongs to no PCI function: it is virtual, or on a virtio or auxiliary bus.
    Result<std::optional<std::string>> find_in_class(const std::string& device_class,
                                                     const std::string& name) {
        const SysTree tree = TRY(SysTree::at(sys_));
        if (!is_entry(name))
            return std::optional<std::string>{};
        auto address = TRY(tree.link("class/" + device_class + "/" + name + "/device"));
        if (address && (!is_pci_address(*address) || !TRY(is_there(tree, *address))))
            address.reset();
        return address;
    }

    Result<std::optional<PciNetdev>> netdev_of(const std::string& address) {
        auto function = TRY(find(address));
        if (!function || function->netdevs.empty())
            return std::optional<PciNetdev>{};
        return std::optional<PciNetdev>{std::move(function->netdevs.front())};
    }

    Result<bool> is_listed(const std::string& rdma_name) {
        const Netns host = TRY(KernelNetnses{}.current());
        netlink::Request request = nldev::request(RDMA_NLDEV_CMD_GET);
        const auto replies = TRY(TRY(rdma_sockets_.get(host))->dump(request, "list RDMA devices"));
        return std::ranges::any_of(replies, [&](const netlink::Reply& reply) {
            const auto device = nldev::parse_device(reply);
            return device && device->name == rdma_name;
        });
    }

    std::string sys_;
    netlink::Sockets sockets_{NETLINK_ROUTE};
    netlink::Sockets rdma_sockets_{NETLINK_RDMA};
};
}  // namespace

std::unique_ptr<Sriov> make_kernel_sriov(std::string sys) {
    return std::make_unique<KernelSriov>(std::move(sys));
}

}  // namespace netns
