// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/outside.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns/kernel/link_message.h"
#include "netns/kernel/netlink/socket.h"
#include "netns/rdma.h"
#include "tests/contract/outside_cgroups.h"

namespace test {

using netns::netlink::Request;
using netns::netlink::Socket;

namespace {
constexpr char kParentName[] = "ctparent";
constexpr char kPeerName[] = "ctpeer";
constexpr char kBridgeName[] = "ctbridge";

bool on_host() {
    const char* wish = std::getenv("CONTRACT_ON_HOST");
    return wish != nullptr && std::string(wish) == "1";
}

bool write_text(const char* path, const std::string& text) {
    std::ofstream out(path);
    out << text;
    return static_cast<bool>(out.flush());
}

// Once per program, before any test: network and mount namespaces of our own; without root, a user
// namespace first, in which we are.
std::string make_private() {
    const int netns_flag = on_host() ? 0 : CLONE_NEWNET;
    if (::geteuid() == 0) {
        if (::unshare(CLONE_NEWNS | netns_flag) != 0)
            return std::string("unshare: ") + std::strerror(errno);
    } else {
        const std::string uid = "0 " + std::to_string(::getuid()) + " 1";
        const std::string gid = "0 " + std::to_string(::getgid()) + " 1";
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0)
            return std::string("neither root nor user namespaces: ") + std::strerror(errno);
        if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", uid) ||
            !write_text("/proc/self/gid_map", gid))
            return "the user namespace takes no map";
    }
    if (::mount("", "/", "none", MS_REC | MS_PRIVATE, nullptr) != 0)
        return std::string("make mounts private: ") + std::strerror(errno);
    return {};
}

const std::string& private_world() {
    static const std::string kFailure = make_private();
    return kFailure;
}

Netns own_netns() {
    return netns::KernelNetnses{}.current().value();
}

// Before the first test: the namespace of this process is opened once and stays open.
class OwnNetns : public testing::Environment {
    void SetUp() override {
        (void)private_world();
        (void)netns::KernelNetnses{}.current();
    }
};

[[maybe_unused]] testing::Environment* const kOwnNetns =
    testing::AddGlobalTestEnvironment(new OwnNetns);

base::Result<> send(Request& request) {
    auto socket = TRY(Socket::open(own_netns(), NETLINK_ROUTE));
    return socket.request(request, "set up the test");
}

// Ends the program, with the reason, if something failed that the tests cannot do without.
void must(const base::Result<>& done) {
    if (done)
        return;
    std::fprintf(stderr, "%s\n", done.error().message().c_str());
    std::abort();
}

void delete_link(const char* name) {
    Request request{RTM_DELLINK, 0};
    request.header(netns::link_header(0)).put(IFLA_IFNAME, std::string(name));
    (void)send(request);  // it may not be there
}

void change_link(const char* name, bool up, uint32_t master) {
    Request request{RTM_NEWLINK, 0};
    ifinfomsg header = netns::link_header(0);
    header.ifi_change = IFF_UP;
    header.ifi_flags = up ? IFF_UP : 0;
    request.header(header).put(IFLA_IFNAME, std::string(name));
    if (master != 0)
        request.put(IFLA_MASTER, master);
    must(send(request));
}

// The MAC is given: one that the kernel chose, udev would replace while a test runs.
void make_veth() {
    Request request{RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL};
    request.header(netns::link_header(0))
        .put(IFLA_IFNAME, std::string(kParentName))
        .put(IFLA_ADDRESS, netns::netlink::Bytes{netns::parse_mac("02:00:5e:10:ff:01")->bytes})
        .begin(IFLA_LINKINFO)
        .put(IFLA_INFO_KIND, std::string("veth"))
        .begin(IFLA_INFO_DATA)
        .begin(VETH_INFO_PEER)
        .header(netns::link_header(0))
        .put(IFLA_IFNAME, std::string(kPeerName))
        .end()
        .end()
        .end();
    must(send(request));
    change_link(kParentName, true, 0);
    change_link(kPeerName, true, 0);
}

// A child that waits for its death, in the network namespace in which it was born.
pid_t idle_child() {
    const pid_t pid = ::fork();
    if (pid != 0)
        return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        ::pause();
}
}  // namespace

std::string KernelOutside::missing() {
    return private_world();
}

std::string KernelOutside::rdma_missing() {
    if (!missing().empty())
        return missing();
    const auto mode = netns::make_kernel_rdma_devices()->mode();
    if (!mode)
        return mode.error().message();
    // New devices and their events belong to the machine's first network namespace.
    return on_host() ? "" : "a machine of the tests' own is wanted: set CONTRACT_ON_HOST=1 there";
}

KernelTraits KernelOutside::traits() const {
    utsname name{};
    (void)::uname(&name);
    int major = 0;
    int minor = 0;
    (void)std::sscanf(name.release, "%d.%d", &major, &minor);  // NOLINT(cert-err34-c)
    const auto since = [&](int a, int b) { return major != a ? major > a : minor >= b; };
    KernelTraits traits;
    traits.rxe_serves_netns = since(7, 1);
    traits.rxe_can_move = since(7, 3);
    traits.has_monitor = since(6, 12);
    traits.lookup_in_target = since(6, 15);
    return traits;
}

KernelOutside::KernelOutside() : kernel_(std::make_unique<netns::KernelHost>()) {
    delete_link(kParentName);  // left by a test that died
    delete_link(kBridgeName);
    make_veth();
    parent_ = ::if_nametoindex(kParentName);
    const Netns container = netns::KernelNetnses{}.make().value();
    must(netns::inside(container, [&]() -> base::Result<> {
        pid_ = idle_child();
        return {};
    }));
}

KernelOutside::~KernelOutside() {
    if (pid_ > 0) {
        (void)::kill(pid_, SIGKILL);
        (void)::waitpid(pid_, nullptr, 0);
    }
    remove_test_cgroups();
    delete_link(kParentName);
    delete_link(kBridgeName);
}

Netns KernelOutside::host_ns() {
    return own_netns();
}

Netns KernelOutside::container_ns() {
    return netns::KernelNetnses{}.open_process(pid_).value();
}

void KernelOutside::end_container() {
    (void)::kill(pid_, SIGKILL);
    siginfo_t info{};
    (void)::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);  // stays a zombie
}

pid_t KernelOutside::missing_pid() {
    const pid_t pid = idle_child();
    (void)::kill(pid, SIGKILL);
    (void)::waitpid(pid, nullptr, 0);
    return pid;
}

uint32_t KernelOutside::enslave_parent() {
    Request request{RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL};
    request.header(netns::link_header(0))
        .put(IFLA_IFNAME, std::string(kBridgeName))
        .begin(IFLA_LINKINFO)
        .put(IFLA_INFO_KIND, std::string("bridge"))
        .end();
    must(send(request));
    const uint32_t bridge = ::if_nametoindex(kBridgeName);
    change_link(kParentName, true, bridge);
    return bridge;
}

void KernelOutside::take_roce_port() {
    must(netns::inside(container_ns(), [&]() -> base::Result<> {
        base::UniqueFd fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(4791);
        if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
            return base::sys_error("bind UDP 4791");
        opened_.push_back(std::move(fd));
        return {};
    }));
}

void KernelOutside::add_altname(const Netns& ns, uint32_t index, const std::string& name) {
    const int flags = NLM_F_CREATE | NLM_F_EXCL | NLM_F_APPEND;
    Request request = netns::altname_request(RTM_NEWLINKPROP, flags, index, name);
    must([&]() -> base::Result<> {
        auto socket = TRY(Socket::open(ns, NETLINK_ROUTE));
        return socket.request(request, "add an altname");
    }());
}

void KernelOutside::open_device(const Netns& ns, uint32_t device) {
    opened_devices_.push_back(
        netns::GidEvents::open(ns, kernel_->host().rdma.uverbs_node(ns, device).value()));
}

OutsideFactory<Outside> kernel(std::string (*missing)()) {
    return {"Kernel", [] { return std::make_unique<KernelOutside>(); }, missing};
}

Result<> make_macvlan(Outside& outside,
                      const Netns& ns,
                      uint32_t index,
                      const std::string& name,
                      const netns::Mac& mac) {
    return outside.host().links.create_child(outside.host_ns(),
                                             ns,
                                             {.parent = outside.parent(),
                                              .index = index,
                                              .name = name,
                                              .mac = mac,
                                              .mtu = 1400,
                                              .type = {}});
}

std::string fresh_rdma_name() {
    static int count = 100;
    return "rxect" + std::to_string(count++);
}

Netns make_rxe(Outside& outside, uint32_t netdev, const std::string& name) {
    netns::Host host = outside.host();
    const Netns ns = outside.container_ns();
    EXPECT_TRUE(make_macvlan(outside, ns, netdev, "rdma0", {{2, 0, 0x5e, 0x10, 0, 1}}));
    const auto added = host.rdma.add_link(ns, {.name = name, .type = "rxe", .netdev = netdev});
    EXPECT_TRUE(added) << added.error().message();
    return host.rdma.mode().value() == netns::RdmaNetnsMode::Exclusive ? outside.host_ns() : ns;
}

}  // namespace test
