// SPDX-License-Identifier: Apache-2.0
// The fake of netns/rdma.h. Codes and errno values are the kernel room's: see tests/contract.
#include "tests/fakes/fake_rdma.h"

#include <algorithm>
#include <cerrno>

namespace test {

using netns::GidEntry;
using netns::RdmaDevice;

namespace {
Error no_rdma() {
    return coded(Code::Unavailable, EPROTONOSUPPORT, "the kernel has no RDMA")
        .advise("run: modprobe rdma_rxe");
}

Error no_roce(const RdmaDevice& device) {
    return make_error(
               Code::Unsupported,
               "RDMA device " + device.name + " has no GIDs: RoCE is switched off on its function")
        .advise("switch it on: devlink dev param set");
}

std::string device_text(uint32_t device) {
    return "RDMA device " + std::to_string(device);
}

bool lists(const World& world, const FakeRdma& device, const Netns& ns) {
    return world.sees(ns.id(), device) && !device.unlisted.value;
}

bool is_on(const World& world, const FakeRdma& device, const Netns& ns, uint32_t netdev) {
    return netdev != 0 && lists(world, device, ns) && device.netdev_ns == ns.id() &&
           device.netdev == netdev;
}

bool is_open(const FakeRdma& device) {
    return device.contexts != 0 || !device.openers.empty();
}

// True if removal waits for users. Drivers that can be moved can also be taken from under their
// users.
bool waits(const World& world, const std::string& type) {
    return type == "siw" || !world.kernel.rxe_can_move;
}

bool serves(World& world, const FakeRdma& rxe, const Netns& ns) {
    const auto stands_on_it = [&](const auto& entry) {
        return is_child(entry.second) && entry.second.link.parent == rxe.netdev;
    };
    const FakeNetns* found = world.find(ns);
    return rxe.netdev_ns == ns.id() ||
           (world.kernel.rxe_serves_children && found != nullptr && rxe.netdev_ns == world.host &&
            std::ranges::any_of(found->links, stands_on_it));
}

}  // namespace

Result<netns::RdmaNetnsMode> FakeRdmaDevices::mode() {
    if (!world_.kernel.rdma)
        return no_rdma();
    return world_.mode;
}

Result<FakeRdma*> FakeRdmaDevices::see(const Netns& ns, uint32_t device) {
    if (!world_.kernel.rdma)
        return no_rdma();
    const auto found = world_.rdma.find(device);
    if (found == world_.rdma.end() || !lists(world_, found->second, ns))
        return coded(Code::Unavailable, EINVAL, device_text(device) + " is not there");
    return &found->second;
}

Result<std::optional<RdmaDevice>> FakeRdmaDevices::find_by_netdev(const Netns& ns,
                                                                  uint32_t netdev,
                                                                  const std::string& name) {
    if (!world_.kernel.rdma)
        return no_rdma();
    std::optional<RdmaDevice> found;
    for (const auto& [index, device] : world_.rdma) {
        if (is_on(world_, device, ns, netdev) && (!found || device.device.name == name))
            found = device.device;
    }
    return found;
}

Result<std::vector<RdmaDevice>> FakeRdmaDevices::list(const Netns& ns) {
    if (!world_.kernel.rdma)
        return no_rdma();
    std::vector<RdmaDevice> found;
    for (const auto& [index, device] : world_.rdma) {
        if (lists(world_, device, ns))
            found.push_back(device.device);
    }
    return found;
}

Result<std::vector<RdmaDevice>> FakeRdmaDevices::list_on(const Netns& ns, uint32_t netdev) {
    if (!world_.kernel.rdma)
        return no_rdma();
    std::vector<RdmaDevice> found;
    for (const auto& [index, device] : world_.rdma) {
        if (is_on(world_, device, ns, netdev))
            found.push_back(device.device);
    }
    return found;
}

Result<std::optional<RdmaDevice>> FakeRdmaDevices::find_software(const Netns& ns,
                                                                 uint32_t netdev,
                                                                 const std::string& type) {
    if (!world_.kernel.rdma)
        return no_rdma();
    for (const auto& [index, device] : world_.rdma) {
        if (is_on(world_, device, ns, netdev) && device.type == type)
            return std::optional<RdmaDevice>{device.device};
    }
    return std::optional<RdmaDevice>{};
}

Result<std::optional<RdmaDevice>> FakeRdmaDevices::find_by_name(const Netns& ns,
                                                                const std::string& name) {
    if (!world_.kernel.rdma)
        return no_rdma();
    for (const auto& [index, device] : world_.rdma) {
        if (lists(world_, device, ns) && device.device.name == name)
            return std::optional<RdmaDevice>{device.device};
    }
    return std::optional<RdmaDevice>{};
}

Result<bool> FakeRdmaDevices::wait_until_free(const Netns& ns,
                                              const std::string& name,
                                              base::Deadline deadline) {
    if (TRY(find_by_name(ns, name)))
        gate_.wait_for_others(deadline);
    return !TRY(find_by_name(ns, name));
}

Result<std::optional<uint32_t>> FakeRdmaDevices::netdev_of(const Netns& ns, uint32_t device) {
    if (!world_.kernel.rdma)
        return no_rdma();
    const auto found = see(ns, device);
    if (!found || (*found)->netdev == 0 || !((*found)->netdev_ns == ns.id()))
        return std::optional<uint32_t>{};
    return std::optional<uint32_t>{(*found)->netdev};
}

Result<std::string> FakeRdmaDevices::software_type(const Netns& ns, const RdmaDevice& device) {
    const auto found = see(ns, device.index);
    if (!found)
        return coded(Code::Unavailable, ENOENT, "RDMA device " + device.name + " is not there");
    const std::string& type = (*found)->type;
    return type == "rxe" || type == "siw" ? type : std::string{};
}

Result<std::string> FakeRdmaDevices::driver(const Netns& ns, const netns::RdmaDevice& device) {
    const std::string type = TRY(software_type(ns, device));
    const auto function = world_.pci.find(TRY(see(ns, device.index))->pci);
    return type.empty() && function != world_.pci.end() ? function->second.driver : type;
}

Result<std::optional<std::string>> FakeRdmaDevices::provider_abi(const netns::CharDevice& node) {
    for (const auto& [index, device] : world_.rdma) {
        if (device.uverbs.name == node.name)
            return std::optional<std::string>{device.type == "rxe" ? "2" : "1"};
    }
    return std::optional<std::string>{};
}

Result<netns::CharDevice> FakeRdmaDevices::uverbs_node(const Netns& ns, uint32_t device) {
    return TRY(see(ns, device))->uverbs;
}

Result<std::optional<std::string>> FakeRdmaDevices::device_of_node(
    const netns::DeviceNumber& number) {
    for (const auto& [index, device] : world_.rdma) {
        const auto is_it = [&](const netns::CharDevice& node) {
            return node.major == number.major && node.minor == number.minor;
        };
        if (is_it(device.uverbs) || std::ranges::any_of(device.mad_nodes, is_it))
            return std::optional{device.device.name};
    }
    return std::optional<std::string>{};
}

Result<std::vector<netns::CharDevice>> FakeRdmaDevices::mad_nodes(const netns::RdmaDevice& device) {
    for (const auto& [index, each] : world_.rdma) {
        if (each.device.name == device.name)
            return each.mad_nodes;
    }
    return std::vector<netns::CharDevice>{};
}

Result<netns::CharDevice> FakeRdmaDevices::rdma_cm_node() {
    if (!world_.kernel.rdma)
        return no_rdma();
    return netns::CharDevice{"rdma_cm", 10, 121};
}

Result<bool> FakeRdmaDevices::open_without_context(const std::string& type) {
    return waits(world_, type) && std::ranges::any_of(world_.rdma, [&](const auto& entry) {
               return entry.second.type == type && !entry.second.openers.empty();
           });
}

Result<uint32_t> FakeRdmaDevices::user_contexts(const Netns& ns, uint32_t device) {
    return TRY(see(ns, device))->contexts;
}

Result<bool> FakeRdmaDevices::has_gsi_qp(const Netns& ns, uint32_t device) {
    return TRY(see(ns, device))->gsi_qp;
}

Result<bool> FakeRdmaDevices::roce_port_served(const Netns& ns) {
    const FakeNetns* found = world_.find(ns);
    if (found != nullptr && found->foreign_4791)
        return true;
    // Before 7.1 the module's one socket is the host's.
    if (!world_.kernel.rxe_serves_netns)
        return ns.id() == world_.host && world_.kernel.rdma;
    return std::any_of(world_.rdma.begin(), world_.rdma.end(), [&](const auto& entry) {
        return entry.second.type == "rxe" && entry.second.netdev != 0 &&
               serves(world_, entry.second, ns);
    });
}

Result<std::optional<GidEntry>> FakeRdmaDevices::find_gid(const Netns& ns,
                                                          const RdmaDevice& device,
                                                          const netns::WantedGid& wanted) {
    const FakeRdma* found = TRY(see(ns, device.index));
    if (found->gid_slots == 0)
        return no_roce(device);
    const NetnsId reader = wanted.netdev_ns ? wanted.netdev_ns->id() : world_.host;
    for (const auto& entry : found->gids) {
        if (world_.has_quirk(found->pci, "gids_by_reader") && !(entry.ns == reader))
            continue;
        const FakeLink* link = world_.find_link(entry.ns, entry.netdev);
        const std::string netdev = link == nullptr ? "" : link->link.name;
        if (entry.gid == wanted.gid && entry.type == netns::GidType::RoceV2 &&
            (wanted.netdev.empty() || wanted.netdev == netdev))
            return std::optional<GidEntry>{{entry.index, entry.gid, entry.type, netdev}};
    }
    return std::optional<GidEntry>{};
}

Result<GidEntry> FakeRdmaDevices::wait_for_gid(const Netns& ns,
                                               const RdmaDevice& device,
                                               const netns::WantedGid& wanted,
                                               base::Deadline deadline) {
    const auto found = TRY(find_gid(ns, device, wanted));
    if (found)
        return *found;
    if (!deadline.passed())
        TRY(see(ns, device.index))->deaf.value = false;
    return make_error(
        Code::Timeout,
        "GID " + netns::to_string(wanted.gid) + " has not appeared on " + device.name);
}

Result<std::string> FakeRdmaDevices::wait_for_active(const Netns& ns,
                                                     uint32_t device,
                                                     const Netns& /*netdev_ns*/,
                                                     base::Deadline deadline) {
    ++port_looks;
    port_waits += deadline.passed() ? 0 : 1;
    FakeRdma* found = TRY(see(ns, device));
    const auto function = world_.pci.find(found->pci);
    if (function != world_.pci.end() &&
        function->second.settings.link_state == netns::VfLinkState::Off)
        return std::string("DOWN");
    const FakeLink* link = world_.find_link(found->netdev_ns, found->netdev);
    // A port without a netdev (EFA, InfiniBand without IPoIB) has a state of its own.
    const bool runs =
        found->netdev == 0 || (link != nullptr && (link->link.up || !link->link.ethernet));
    if (!runs || world_.has_quirk(found->pci, "no_carrier"))
        return std::string("DOWN");
    if (!deadline.passed())
        found->comes_up.value = false;
    return std::string(found->comes_up.value ? "DOWN" : netns::kActivePort);
}

Result<netns::GidSpace> FakeRdmaDevices::gid_space(const Netns& ns,
                                                   const RdmaDevice& device,
                                                   uint32_t enough) {
    const auto found = see(ns, device.index);
    if (!found)
        return coded(Code::Unavailable, ENOENT, "RDMA device " + device.name + " is not there");
    if ((*found)->gid_slots == 0)
        return no_roce(device);
    if (enough == 0)
        return netns::GidSpace{};
    const uint32_t size = std::min((*found)->gid_slots, 256U);
    const auto is_seen = [&](const FakeGid& entry) {
        return !world_.has_quirk((*found)->pci, "gids_by_reader") || entry.ns == world_.host;
    };
    const auto used =
        std::min(size, static_cast<uint32_t>(std::ranges::count_if((*found)->gids, is_seen)));
    return netns::GidSpace{.size = size, .free = std::min(enough, size - used), .per_address = 1};
}

Result<> FakeRdmaDevices::add_link(const Netns& ns, const netns::RdmaLinkSpec& spec) {
    return gate_.pass<void>("add RDMA link " + spec.name, [&] { return make_link(ns, spec); });
}

Result<> FakeRdmaDevices::make_link(const Netns& ns, const netns::RdmaLinkSpec& spec) {
    const std::string what = "add RDMA link " + spec.name;
    if (!world_.kernel.rdma)
        return no_rdma();
    const FakeLink* link = world_.find_link(ns.id(), spec.netdev);
    if (link == nullptr)
        return coded(Code::Unavailable, ENODEV, what);
    if (spec.name.empty() || spec.name.find('%') != std::string::npos)
        return coded(Code::BadInput, EINVAL, what);
    if (spec.type != "rxe" && spec.type != "siw")
        return coded(Code::Unsupported, EINVAL, what);
    const bool rxe = spec.type == "rxe";
    if (rxe && link->link.kind == "vlan")
        return coded(Code::Refused, EPERM, what);
    for (const auto& [index, device] : world_.rdma) {
        if (device.netdev_ns == ns.id() && device.netdev == spec.netdev && device.type == spec.type)
            return coded(Code::Busy, EEXIST, what);
    }
    if (rxe && world_.kernel.rxe_serves_netns && world_.find(ns)->foreign_4791)
        return coded(Code::Refused, EPERM, what);
    // Names are unique in the whole system; since 7.3, in exclusive mode, in each namespace.
    const bool scoped =
        world_.kernel.rxe_can_move && world_.mode == netns::RdmaNetnsMode::Exclusive;
    for (const auto& [index, device] : world_.rdma) {
        if (device.device.name == spec.name && (!scoped || device.owner == world_.host))
            return coded(Code::Busy, ENFILE, what);
    }
    world_.add_rdma(ns.id(), spec.netdev, spec.name, spec.type);
    return {};
}

Result<> FakeRdmaDevices::remove_link(const Netns& ns, uint32_t device) {
    return gate_.pass<void>("remove " + device_text(device), [&]() -> Result<> {
        auto found = see(ns, device);
        if (!found)
            return found.error().sys == EINVAL ? Result<>{} : Result<>{std::move(found).error()};
        const FakeRdma& gone = **found;
        if (gone.type != "rxe" && gone.type != "siw")
            return coded(Code::Unsupported, EINVAL, "remove " + device_text(device));
        // The kernel would not answer until the users have closed it: no test should get here.
        if (is_open(gone) && waits(world_, gone.type))
            return make_error(Code::Internal,
                              "remove " + device_text(device) + " would block: it is open");
        world_.rdma.erase(device);
        return {};
    });
}

Result<> FakeRdmaDevices::move(const Netns& from, const Netns& to, uint32_t device) {
    return gate_.pass<void>("move " + device_text(device),
                            [&] { return change_owner(from, to, device); });
}

Result<> FakeRdmaDevices::change_owner(const Netns& from, const Netns& to, uint32_t device) {
    const std::string what = "move " + device_text(device);
    FakeRdma* found = TRY(see(from, device));
    const bool software = found->type == "rxe" || found->type == "siw";
    const bool can = !software || (found->type == "rxe" && world_.kernel.rxe_can_move);
    if (world_.mode == netns::RdmaNetnsMode::Shared || !can)
        return coded(Code::Unsupported, EOPNOTSUPP, what);
    for (const auto& [index, other] : world_.rdma) {
        if (index != device && other.owner == to.id() && other.device.name == found->device.name)
            return coded(Code::Busy, EEXIST, what);
    }
    found->owner = to.id();
    found->contexts = 0;  // users are cut off
    found->uverbs = {};
    found->uverbs = world_.free_uverbs();  // the new node has the lowest free number
    if (software)
        found->gsi_qp = false;  // a flaw of 7.3's rxe
    return {};
}

Result<> FakeRdmaDevices::rename(const Netns& ns, uint32_t device, const std::string& name) {
    const std::string what = "rename " + device_text(device);
    return gate_.pass<void>(what, [&]() -> Result<> {
        FakeRdma* found = TRY(see(ns, device));
        if (name.empty() || name.find('%') != std::string::npos)
            return coded(Code::BadInput, EINVAL, what);
        const bool scoped =
            world_.kernel.rxe_can_move && world_.mode == netns::RdmaNetnsMode::Exclusive;
        for (const auto& [index, other] : world_.rdma) {
            const bool beside = !scoped || other.owner == found->owner;
            if (index != device && beside && other.device.name == name)
                return coded(Code::Busy, EEXIST, what);
        }
        found->device.name = name;
        return {};
    });
}

Result<> FakeRdmaDevices::wait_gone(const Netns& ns, uint32_t device, base::Deadline /*deadline*/) {
    const auto found = see(ns, device);
    if (!found && found.error().sys == EINVAL)
        return {};
    if (!found)
        return found.error();
    return make_error(Code::Timeout, device_text(device) + " is still there");
}

}  // namespace test
