// SPDX-License-Identifier: Apache-2.0
#include "netns/sriov.h"

#include <algorithm>
#include <cerrno>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "netns/kernel/busy.h"
#include "netns/kernel/netlink/socket.h"
#include "netns/kernel/rdma_message.h"
#include "netns/kernel/sriov_message.h"
#include "netns/kernel/sriov_tree.h"
#include "netns/kernel/udev.h"

namespace netns {

using netlink::Socket;

namespace {
std::string vf_text(uint32_t number, uint32_t pf) {
    return "VF " + std::to_string(number) + " of link " + std::to_string(pf);
}

class KernelSriov : public Sriov {
  public:
    Result<std::optional<PciFunction>> find(const std::string& address) override {
        return find_function(TRY(SysTree::host()), address);
    }

    Result<std::optional<std::string>> find_vf(const std::string& pf, uint32_t number) override {
        return find_vf_of(TRY(SysTree::host()), pf, number);
    }

    Result<std::optional<std::string>> find_by_netdev(const std::string& name) override {
        return find_in_class(TRY(SysTree::host()), "net", name);
    }

    Result<std::optional<std::string>> find_by_rdma(const std::string& name) override {
        return find_in_class(TRY(SysTree::host()), "infiniband", name);
    }

    Result<std::vector<PciFunction>> list_pfs() override {
        return list_pfs_of(TRY(SysTree::host()));
    }

    Result<std::vector<PciNetdev>> representors(const std::string& pf) override {
        return representors_of(TRY(SysTree::host()), pf);
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
                          "link " + std::to_string(pf) + " has no VF " + std::to_string(number));
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
        return write_num_vfs(TRY(SysTree::host()), pf, count);
    }

    Result<std::optional<bool>> autoprobe(const std::string& pf) override {
        return read_autoprobe(TRY(SysTree::host()), pf);
    }

    Result<> set_autoprobe(const std::string& pf, bool on) override {
        return write_autoprobe(TRY(SysTree::host()), pf, on);
    }

    Result<> unbind(const std::string& address) override {
        return unbind_driver(TRY(SysTree::host()), address);
    }

    Result<> bind(const std::string& address, const std::string& driver) override {
        return bind_driver(TRY(SysTree::host()), address, driver);
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

    netlink::Sockets sockets_{NETLINK_ROUTE};
    netlink::Sockets rdma_sockets_{NETLINK_RDMA};
};
}  // namespace

std::unique_ptr<Sriov> make_kernel_sriov() {
    return std::make_unique<KernelSriov>();
}

}  // namespace netns
