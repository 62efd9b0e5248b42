// SPDX-License-Identifier: Apache-2.0
// The floor under tests/bench/attach: what a softroce attach and detach cost if nobody decided,
// checked, logged or remembered anything. The netlink requests that rdma-hook sends, in its order,
// by one loop in one process; they do their work, so the device appears and vanishes. Besides, a
// launcher that measures a command without a share of the launcher's own cost:
//
//     bench_floor attach NETNS-PATH PARENT V4-ADDRESS PREFIX RDMA-NAME PIN-PATH
//     bench_floor attach-asap2 NETNS-PATH NETDEV V4-ADDRESS PREFIX RDMA-NAME PIN-PATH ESWITCH PORT
//         BRIDGE
//     bench_floor measure FIGURES COMMAND [ARG...]
//     bench_floor state ID
//
// The last does nothing: the least that a program can cost, for the stages of an engine that have
// nothing to do, and for tests/bench/shim.
// FIGURES gets one line: wall, user and system time in microseconds, peak memory in KiB, status. A
// child begins with the peak memory of the process that started it, so that must be a small one:
// hence no library but the C one, and static linking.
//
//     c++ -std=c++20 -O2 -static -I. tests/bench/floor.cc tests/bench/floor_asap2.cc -o bench_floor
#include "tests/bench/floor.h"

#include <sys/resource.h>
#include <sys/wait.h>

namespace {
using namespace floor_of;  // NOLINT(google-build-using-namespace): its other half

void create_macvlan(Socket& route, uint32_t parent, uint32_t mtu, int target) {
    Message message{RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL};
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(kLinkIndex);
    header.ifi_flags = header.ifi_change = IFF_UP;
    message.append(&header, sizeof header);
    const std::array<uint8_t, 6> mac{2, 0, 0x5e, 0x10, 0, 0x77};
    message.put(IFLA_LINK, parent);
    message.put(IFLA_IFNAME, "rdma0");
    message.put(IFLA_ADDRESS, mac.data(), mac.size());
    message.put(IFLA_MTU, mtu);
    message.put(IFLA_NET_NS_FD, static_cast<uint32_t>(target));
    const uint32_t info = message.begin(IFLA_LINKINFO);
    message.put(IFLA_INFO_KIND, "macvlan");
    const uint32_t data = message.begin(IFLA_INFO_DATA);
    message.put(IFLA_MACVLAN_MODE, uint32_t{MACVLAN_MODE_BRIDGE});
    message.end(data);
    message.end(info);
    route.ask(message, "create macvlan");
}

int attach(char** args) {
    const char* pin = args[5];
    const char* device_name = args[4];
    in_addr address{};
    if (inet_pton(AF_INET, args[2], &address) != 1)
        die("address");
    const int home = must(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), "own netns");
    const int target = must(open(args[0], O_RDONLY | O_CLOEXEC), args[0]);

    static Socket route{home, home, NETLINK_ROUTE};
    static Socket inner_route{target, home, NETLINK_ROUTE};
    static Socket rdma{home, home, NETLINK_RDMA};
    static Socket inner_rdma{target, home, NETLINK_RDMA};
    uint8_t mode = 0;
    Message system = nldev(RDMA_NLDEV_CMD_SYS_GET);
    rdma.ask(system, "ask for the mode", RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0, &mode, sizeof mode);
    uint32_t mtu = 0;
    const uint32_t parent = if_nametoindex(args[1]);
    Message look = get_link(0, args[1]);
    route.ask(look, "look up the parent", IFLA_MTU, sizeof(ifinfomsg), &mtu, sizeof mtu);
    close(must(open(pin, O_RDONLY | O_CREAT | O_CLOEXEC, 0600), pin));
    must(mount(args[0], pin, "none", MS_BIND, nullptr), "pin");
    create_macvlan(route, parent, mtu, target);
    add_address(inner_route, address, std::atoi(args[3]));
    Message made = get_link(kLinkIndex, nullptr);
    inner_route.ask(made, "look up the macvlan");
    remove_rxe(inner_rdma, make_rxe(rdma, inner_rdma, target, home, device_name, address));
    Message look_again = get_link(kLinkIndex, nullptr);
    inner_route.ask(look_again, "look up the macvlan");
    Message removal = get_link(kLinkIndex, nullptr);
    removal.head()->nlmsg_type = RTM_DELLINK;
    inner_route.ask(removal, "remove the macvlan");
    must(umount2(pin, MNT_DETACH), "unpin");
    return must(unlink(pin), "unlink");
}

int64_t microseconds(timeval time) {
    return time.tv_sec * 1000000 + time.tv_usec;
}

int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

int measure(const char* figures, char** command) {
    const int out = must(open(figures, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), figures);
    const int64_t start = now();
    const pid_t child = must(fork(), "fork");
    if (child == 0) {
        execvp(command[0], command);
        die(command[0]);
    }
    int status = 0;
    rusage usage{};
    must(wait4(child, &status, 0, &usage), "wait4");
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    dprintf(out,
            "%lld %lld %lld %ld %d\n",
            static_cast<long long>(now() - start),
            static_cast<long long>(microseconds(usage.ru_utime)),
            static_cast<long long>(microseconds(usage.ru_stime)),
            usage.ru_maxrss,
            code);
    return code;
}
}  // namespace

int main(int argc, char** argv) {
    if (argc == 8 && std::strcmp(argv[1], "attach") == 0)
        return attach(argv + 2);
    if (argc == 11 && std::strcmp(argv[1], "attach-asap2") == 0)
        return attach_asap2(argv + 2);
    if (argc > 3 && std::strcmp(argv[1], "measure") == 0)
        return measure(argv[2], argv + 3);
    if (argc == 3 && std::strcmp(argv[1], "state") == 0)
        return 0;
    std::fputs(
        "usage: bench_floor attach NETNS PARENT ADDRESS PREFIX NAME PIN\n"
        "       bench_floor attach-asap2 NETNS NETDEV ADDRESS PREFIX NAME PIN ESWITCH PORT BRIDGE\n"
        "       bench_floor measure FIGURES COMMAND [ARG...]\n"
        "       bench_floor state ID\n",
        stderr);
    return 64;
}
