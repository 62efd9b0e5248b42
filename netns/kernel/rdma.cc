// SPDX-License-Identifier: Apache-2.0
#include "netns/rdma.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "netns/base/files.h"
#include "netns/base/unique_fd.h"
#include "netns/kernel/busy.h"
#include "netns/kernel/gid_events.h"
#include "netns/kernel/gid_table.h"
#include "netns/kernel/mad_nodes.h"
#include "netns/kernel/netlink/socket.h"
#include "netns/kernel/rdma_message.h"
#include "netns/kernel/sysfs.h"

namespace netns {

using netlink::Reply;
using netlink::Request;
using netlink::Socket;

namespace {
constexpr uint32_t kPort = 1;
constexpr uint16_t kRocePort = 4791;

std::string device_text(uint32_t device) {
    return "RDMA device " + std::to_string(device);
}

// Turns the kernel's EINVAL into Unavailable: it does not know the index, or does not show it to
// this namespace.
Error not_there(Error error) {
    return error.sys == EINVAL ? std::move(error).as(Code::Unavailable) : error;
}

Request device_request(int command, uint32_t device) {
    Request request = nldev::request(command);
    request.put(RDMA_NLDEV_ATTR_DEV_INDEX, device);
    return request;
}

// Returns "rxe" or "siw" for a driver over a netdev; empty for hardware. Nothing: there is no such
// device.
Result<std::optional<std::string>> software_type_in(const SysTree& tree,
                                                    const std::string& device) {
    const auto folder = TRY(tree.enter("class/infiniband/" + device));
    if (!folder)
        return std::optional<std::string>{};
    if (TRY(folder->link("device")))  // hardware has a device on its bus
        return std::optional{std::string{}};
    const auto node = TRY(folder->read("node_type"));  // "1: CA" or "4: RNIC"
    if (!node)
        return std::optional<std::string>{};
    return std::optional<std::string>{node->starts_with('4') ? "siw" : "rxe"};
}

// Returns the number of references to the module of a type. Each open verbs node of its devices has
// one, if the driver counts them. 0: the module is not loaded, or built in.
Result<uint64_t> module_references(const SysTree& tree, const std::string& type) {
    const std::string module = type == "rxe" ? "rdma_rxe" : type;
    const std::string text = TRY(tree.read("module/" + module + "/refcnt")).value_or("0");
    uint64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    return error == std::errc{} ? count : ~uint64_t{0};  // an unreadable count means many
}

class KernelRdmaDevices : public RdmaDevices {
  public:
    Result<RdmaNetnsMode> mode() override { return TRY(system()).mode; }

    Result<std::optional<RdmaDevice>> find_by_netdev(const Netns& ns,
                                                     uint32_t netdev,
                                                     const std::string& name) override {
        auto devices = TRY(list(ns));
        std::stable_partition(devices.begin(), devices.end(), [&](const auto& device) {
            return device.name == name;
        });
        for (const auto& device : devices) {
            if (netdev != 0 && TRY(netdev_of(ns, device.index)) == netdev)
                return std::optional<RdmaDevice>{device};
        }
        return std::optional<RdmaDevice>{};
    }

    Result<std::vector<RdmaDevice>> list(const Netns& ns) override {
        Request request = nldev::request(RDMA_NLDEV_CMD_GET);
        std::vector<RdmaDevice> all;
        for (const auto& reply : TRY(TRY(socket(ns))->dump(request, "list RDMA devices"))) {
            if (const auto device = nldev::parse_device(reply))
                all.push_back(*device);
        }
        return all;
    }

    Result<std::vector<RdmaDevice>> list_on(const Netns& ns, uint32_t netdev) override {
        std::vector<RdmaDevice> found;
        for (const auto& device : TRY(list(ns))) {
            if (netdev != 0 && TRY(netdev_of(ns, device.index)) == netdev)
                found.push_back(device);
        }
        return found;
    }

    Result<std::optional<RdmaDevice>> find_by_name(const Netns& ns,
                                                   const std::string& name) override {
        for (const auto& device : TRY(list(ns))) {
            if (device.name == name)
                return std::optional<RdmaDevice>{device};
        }
        return std::optional<RdmaDevice>{};
    }

    Result<bool> wait_until_free(const Netns& ns,
                                 const std::string& name,
                                 Deadline deadline) override {
        bool is_free = false;
        // A new name and the end of a device are events of the class.
        TRY(ask_on_device_events(DeviceEvents::Kernel, deadline, [&]() -> Result<bool> {
            is_free = !TRY(find_by_name(ns, name));
            return is_free;
        }));
        return is_free;
    }

    Result<std::optional<uint32_t>> netdev_of(const Netns& ns, uint32_t device) override {
        auto reply = port(ns, device, "interface");
        if (!reply && reply.error().sys == EINVAL)  // it has gone since it was listed
            return std::optional<uint32_t>{};
        return nldev::parse_port_netdev(TRY(std::move(reply)));
    }

    Result<std::string> software_type(const Netns& ns, const RdmaDevice& device) override {
        if (auto type = TRY(software_type_in(TRY(tree(ns)), device.name)))
            return *std::move(type);
        return sys_error(ENOENT, "RDMA device " + printable(device.name) + " is not there")
            .as(Code::Unavailable);
    }

    Result<std::string> driver(const Netns& ns, const RdmaDevice& device) override {
        std::string type = TRY(software_type(ns, device));
        if (!type.empty())
            return type;
        return TRY(TRY(tree(ns)).link("class/infiniband/" + device.name + "/device/driver"))
            .value_or("");
    }

    // The class infiniband_verbs is not tagged with a namespace.
    Result<std::optional<std::string>> provider_abi(const CharDevice& node) override {
        return TRY(SysTree::host()).read("class/infiniband_verbs/" + node.name + "/abi_version");
    }

    Result<std::optional<RdmaDevice>> find_software(const Netns& ns,
                                                    uint32_t netdev,
                                                    const std::string& type) override {
        for (const auto& device : TRY(list_on(ns, netdev))) {
            if (TRY(software_type_in(TRY(tree(ns)), device.name)) == type)
                return std::optional<RdmaDevice>{device};
        }
        return std::optional<RdmaDevice>{};
    }

    Result<CharDevice> uverbs_node(const Netns& ns, uint32_t device) override {
        Request request = device_request(RDMA_NLDEV_CMD_GET_CHARDEV, device);
        request.put(RDMA_NLDEV_ATTR_CHARDEV_TYPE, std::string("uverbs"));
        return chardev(ns, std::move(request), "ask for the verbs node of " + device_text(device))
            .advise("run: modprobe ib_uverbs");
    }

    Result<std::optional<std::string>> device_of_node(const DeviceNumber& number) override {
        const std::string path = "/sys/dev/char/" + std::to_string(number.major) + ":" +
                                 std::to_string(number.minor) + "/ibdev";
        const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
        if (!file && (errno == ENOENT || errno == ENODEV))
            return std::optional<std::string>{};
        if (!file)
            return sys_error("open " + path);
        std::string name = TRY(base::read_all(file.get(), 256, path));
        while (name.ends_with('\n'))
            name.pop_back();
        return std::optional{std::move(name)};
    }

    // The class is not tagged with a namespace, and names of devices are the whole system's.
    Result<std::vector<CharDevice>> mad_nodes(const RdmaDevice& device) override {
        return mad_nodes_in(TRY(SysTree::host()), device.name);
    }

    Result<CharDevice> rdma_cm_node() override {
        Request request = nldev::request(RDMA_NLDEV_CMD_GET_CHARDEV);
        request.put(RDMA_NLDEV_ATTR_CHARDEV_TYPE, std::string("rdma_cm"));
        return chardev(TRY(home()), std::move(request), "ask for the connection manager's node")
            .advise("run: modprobe rdma_ucm");
    }

    Result<uint32_t> user_contexts(const Netns& ns, uint32_t device) override {
        Request request = device_request(RDMA_NLDEV_CMD_RES_CTX_GET, device);
        auto replies = TRY(socket(ns))->dump(request, "count the users of " + device_text(device));
        if (!replies)
            return not_there(std::move(replies).error());
        uint32_t users = 0;
        for (const auto& reply : *replies)
            users += nldev::count_contexts(reply);
        return users;
    }

    Result<bool> open_without_context(const std::string& type) override {
        const SysTree sys = TRY(SysTree::host());
        const uint64_t before = TRY(module_references(sys, type));
        uint64_t contexts = 0;
        for (const auto& device :
             before == 0 ? std::vector<RdmaDevice>{} : TRY(list(TRY(home())))) {
            const bool counts = TRY(software_type_in(sys, device.name)) == type;
            const auto users = counts ? user_contexts(*home_, device.index) : Result<uint32_t>{0};
            contexts += users ? *users : 0;  // gone since it was listed
        }
        // Other processes open and close devices meanwhile, so the references are read before and
        // after.
        return std::max(before, TRY(module_references(sys, type))) > contexts;
    }

    Result<bool> has_gsi_qp(const Netns& ns, uint32_t device) override {
        Request request = device_request(RDMA_NLDEV_CMD_RES_QP_GET, device);
        auto replies = TRY(socket(ns))->dump(request, "list the QPs of " + device_text(device));
        if (!replies)
            return not_there(std::move(replies).error());
        return std::any_of(replies->begin(), replies->end(), nldev::lists_gsi_qp);
    }

    Result<bool> roce_port_served(const Netns& ns) override {
        bool taken = false;
        TRY(inside(ns, [&]() -> Result<> {
            const UniqueFd fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
            if (!fd)
                return sys_error("open a UDP socket");
            sockaddr_in any{};
            any.sin_family = AF_INET;
            any.sin_port = htons(kRocePort);
            // Without SO_REUSEADDR, so that the kernel's own socket on the port is in the way.
            if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0)
                return {};
            if (errno != EADDRINUSE)
                return sys_error("try UDP port 4791");
            taken = true;
            return {};
        }));
        return taken;
    }

    Result<std::optional<GidEntry>> find_gid(const Netns& ns,
                                             const RdmaDevice& device,
                                             const WantedGid& wanted) override {
        const SysTree sys = TRY(tree(ns));
        std::optional<GidEntry> found;
        const auto look = [&]() -> Result<> {
            found = TRY(find_gid_in(sys, device.name, wanted));
            return {};
        };
        TRY(look());
        if (!found && wanted.netdev_ns)
            TRY(inside(*wanted.netdev_ns, look));
        return found;
    }

    Result<GidEntry> wait_for_gid(const Netns& ns,
                                  const RdmaDevice& device,
                                  const WantedGid& wanted,
                                  Deadline deadline) override {
        if (const auto found = TRY(find_gid(ns, device, wanted)))
            return *found;
        GidEvents events = GidEvents::open(ns, TRY(uverbs_node(ns, device.index)));
        for (;;) {
            // Look after listening began: earlier changes are seen, later ones are heard.
            if (const auto found = TRY(find_gid(ns, device, wanted)))
                return *found;
            if (deadline.passed())
                return make_error(Code::Timeout,
                                  "GID " + to_string(wanted.gid) + " has not appeared on " +
                                      printable(device.name));
            (void)TRY(events.wait(deadline));  // look again, heard or not
        }
    }

    Result<std::string> wait_for_active(const Netns& ns,
                                        uint32_t device,
                                        const Netns& netdev_ns,
                                        Deadline deadline) override {
        std::string state;
        TRY(ask_on_link_events(netdev_ns, deadline, [&]() -> Result<bool> {
            auto reply = port(ns, device, "state");
            if (!reply)
                return not_there(std::move(reply).error());
            state = nldev::parse_port_state(*reply);
            return state == kActivePort;
        }));
        return state;
    }

    Result<GidSpace> gid_space(const Netns& ns,
                               const RdmaDevice& device,
                               uint32_t enough) override {
        return gid_space_in(TRY(tree(ns)), device.name, enough);
    }

    Result<> add_link(const Netns& ns, const RdmaLinkSpec& spec) override {
        // NEWLINK finds the netdev by its name, in the namespace of the socket.
        const std::string netdev = TRY(TRY(socket(ns))->link_name(spec.netdev));
        Request request = nldev::request(RDMA_NLDEV_CMD_NEWLINK);
        request.put(RDMA_NLDEV_ATTR_DEV_NAME, spec.name)
            .put(RDMA_NLDEV_ATTR_LINK_TYPE, spec.type)
            .put(RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
        const std::string what = "add RDMA link " + printable(spec.name) + " type " +
                                 printable(spec.type) + " on " + printable(netdev);
        auto done = TRY(socket(ns))->request(request, what);
        if (!done)
            return nldev::explain_new_link(spec, std::move(done).error());
        return {};
    }

    Result<> remove_link(const Netns& ns, uint32_t device) override {
        Request request = device_request(RDMA_NLDEV_CMD_DELLINK, device);
        auto done = TRY(socket(ns))->request(request, "remove " + device_text(device));
        if (done)
            return {};
        // EINVAL has two meanings: there is no such device, or it is not removable.
        if (done.error().sys != EINVAL)
            return std::move(done).error();
        if (!TRY(is_there(ns, device)))
            return {};
        return std::move(done).error().as(Code::Unsupported,
                                          "name an rxe or siw link: no other can be removed");
    }

    Result<> move(const Netns& from, const Netns& to, uint32_t device) override {
        Request request = device_request(RDMA_NLDEV_CMD_SET, device);
        request.put(RDMA_NLDEV_NET_NS_FD, static_cast<uint32_t>(to.fd()));
        const std::string what = "move " + device_text(device) + " to another network namespace";
        Socket* in_from = TRY(socket(from));
        // The kernel takes the calling thread's namespace for the present one, not the socket's.
        Result<> done = inside(from, [&] { return in_from->request(request, what); });
        if (done)
            return {};
        switch (done.error().sys) {
            case EOPNOTSUPP:
                return std::move(done).error().as(Code::Unsupported);
            case EINVAL:
                return std::move(done).error().as(Code::Unavailable);
            case EEXIST:
                return std::move(done).error().as(
                    Code::Busy,
                    "rename the RDMA device of this name that the target has: rdma dev set");
            default:
                return done;
        }
    }

    Result<> rename(const Netns& ns, uint32_t device, const std::string& name) override {
        const std::string what = "rename " + device_text(device) + " to " + printable(name);
        // The kernel would take a "%d" for a pattern.
        if (name.empty() || name.find('%') != std::string::npos)
            return sys_error(EINVAL, what).as(Code::BadInput);
        Request request = device_request(RDMA_NLDEV_CMD_SET, device);
        request.put(RDMA_NLDEV_ATTR_DEV_NAME, name);
        auto done = TRY(socket(ns))->request(request, what);
        if (done)
            return {};
        if (done.error().sys == EEXIST)
            return std::move(done).error().as(Code::Busy);
        return not_there(std::move(done).error());
    }

    Result<> wait_gone(const Netns& ns, uint32_t device, Deadline deadline) override {
        if (!TRY(is_there(ns, device)))
            return {};
        Error timeout = make_error(Code::Timeout, device_text(device) + " is still there");
        const auto sys = TRY(system());
        if (!sys.monitor)
            return timeout;
        // Events go to the device's own namespace: in shared mode that is the first one.
        const bool shared = sys.mode == RdmaNetnsMode::Shared;
        Socket events = TRY(Socket::open(shared ? TRY(home()) : ns, NETLINK_RDMA));
        TRY(events.join(nldev::kGroupNotify));
        // The event comes a moment before the device is out of sight: hence the pace.
        for (Pace pace; TRY(is_there(ns, device));) {
            if (deadline.passed())
                return timeout;
            if (TRY(events.heard(pace.next_ms(deadline))))
                pace.hurry();
        }
        return {};
    }

  private:
    Result<Netns> home() {
        if (!home_)
            home_ = TRY(KernelNetnses{}.current());
        return *home_;
    }

    Result<Socket*> socket(const Netns& ns) {
        auto opened = sockets_.get(ns);
        if (!opened && opened.error().sys == EPROTONOSUPPORT)
            return std::move(opened)
                .error()
                .in("the kernel has no RDMA")
                .as(Code::Unavailable, "run: modprobe rdma_rxe (or the driver of your adapter)");
        return opened;
    }

    // Asked once: the mode changes only while no container has a namespace.
    Result<nldev::System> system() {
        if (system_)
            return *system_;
        Request request = nldev::request(RDMA_NLDEV_CMD_SYS_GET);
        const std::string what = "ask for RDMA's network namespace mode";
        const Netns ns = TRY(home());
        system_ = nldev::parse_system(TRY(TRY(socket(ns))->get(request, what)));
        if (system_)
            return *system_;
        return make_error(Code::Internal, what + ": the kernel does not say");
    }

    Result<CharDevice> chardev(const Netns& ns, Request request, const std::string& what) {
        auto reply = TRY(socket(ns))->get(request, what);
        if (!reply)
            return not_there(std::move(reply).error());
        if (const auto node = nldev::parse_chardev(*reply))
            return *node;
        return make_error(Code::Internal, what + ": the kernel answers without a node");
    }

    Result<bool> is_there(const Netns& ns, uint32_t device) {
        Request request = device_request(RDMA_NLDEV_CMD_GET, device);
        auto reply = TRY(socket(ns))->get(request, "look up " + device_text(device));
        if (!reply && reply.error().sys == EINVAL)
            return false;
        (void)TRY(std::move(reply));
        return true;
    }

    Result<SysTree> tree(const Netns& ns) {
        // In shared mode every sysfs shows every device.
        if (ns.id() == TRY(home()).id() || TRY(mode()) == RdmaNetnsMode::Shared)
            return SysTree::host();
        return SysTree::of(ns);
    }

    Result<Reply> port(const Netns& ns, uint32_t device, const char* what) {
        Request request = device_request(RDMA_NLDEV_CMD_PORT_GET, device);
        request.put(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
        return TRY(socket(ns))
            ->get(request, fmt::format("ask for the {} of {}", what, device_text(device)));
    }

    std::optional<Netns> home_;
    std::optional<nldev::System> system_;
    netlink::Sockets sockets_{NETLINK_RDMA};
};
}  // namespace

std::unique_ptr<RdmaDevices> make_kernel_rdma_devices() {
    return std::make_unique<KernelRdmaDevices>();
}

}  // namespace netns
