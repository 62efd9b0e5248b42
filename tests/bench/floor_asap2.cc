// SPDX-License-Identifier: Apache-2.0
// The floor under an attach and detach of mode asap2: the requests to the kernel and to Open
// vSwitch's database that rdma-hook makes of a pool's mapped function, in its order, and nothing
// else.
#include <string>

#include <linux/devlink.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <sys/un.h>

#include "tests/bench/floor.h"

namespace floor_of {
namespace {
constexpr char kDatabase[] = "/run/openvswitch/db.sock";
constexpr char kMarks[] =
    R"(["map",[["owner","rdma-hook"],["rdma-hook-attachment","bench"],["rdma-hook-boot","b"]]])";

// The database's socket: a request, and the answer that ends where its braces do.
class Database {
  public:
    Database() {
        fd_ = must(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "database socket");
        sockaddr_un where{};
        where.sun_family = AF_UNIX;
        std::snprintf(where.sun_path, sizeof where.sun_path, "%s", kDatabase);
        must(connect(fd_, reinterpret_cast<sockaddr*>(&where), sizeof where), kDatabase);
    }

    template <class... Args>
    const char* ask(const char* format, Args... args) {
        const int length = std::snprintf(request_.data(), request_.size(), format, args...);
        must(static_cast<int>(send(fd_, request_.data(), static_cast<size_t>(length), 0)), "send");
        int depth = 0;
        size_t size = 0;
        do {
            const ssize_t got = recv(fd_, &answer_.at(size), answer_.size() - size - 1, 0);
            must(static_cast<int>(got), "receive");
            for (const size_t end = size + static_cast<size_t>(got); size < end; ++size)
                depth += answer_.at(size) == '{' ? 1 : answer_.at(size) == '}' ? -1 : 0;
        } while (depth != 0);
        answer_.at(size) = '\0';
        if (std::strstr(answer_.data(), "\"error\":\"") != nullptr) {
            std::fputs(answer_.data(), stderr);
            std::exit(1);
        }
        return answer_.data();
    }

  private:
    int fd_ = -1;
    std::array<char, 8192> request_{};
    std::array<char, 1U << 20U> answer_{};
};

Message generic(uint16_t family, uint8_t command, int flags = 0, uint8_t version = 1) {
    Message message{family, flags};
    const genlmsghdr header{.cmd = command, .version = version, .reserved = 0};
    message.append(&header, sizeof header);
    return message;
}

uint16_t family_of(Socket& socket, const char* name) {
    uint16_t id = 0;
    Message ask = generic(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
    ask.put(CTRL_ATTR_FAMILY_NAME, name);
    socket.ask(ask, name, CTRL_ATTR_FAMILY_ID, sizeof(genlmsghdr), &id, sizeof id);
    return id;
}

Message devlink(uint16_t family, uint8_t command, const char* handle, int flags = 0) {
    Message message = generic(family, command, flags);
    std::array<char, 64> bus{};
    std::snprintf(bus.data(), bus.size(), "%s", handle);
    char* slash = std::strchr(bus.data(), '/');
    *slash = '\0';
    message.put(DEVLINK_ATTR_BUS_NAME, bus.data());
    message.put(DEVLINK_ATTR_DEV_NAME, slash + 1);
    return message;
}

void ask_feature(Socket& socket, uint16_t family, uint32_t link) {
    Message message = generic(family, ETHTOOL_MSG_FEATURES_GET);
    const uint32_t header = message.begin(ETHTOOL_A_FEATURES_HEADER | NLA_F_NESTED);
    message.put(ETHTOOL_A_HEADER_DEV_INDEX, link);
    message.end(header);
    socket.ask(message, "ask for the feature");
}

void set_up(Socket& route, uint32_t link, bool up) {
    Message message{RTM_SETLINK, 0};
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(link);
    header.ifi_change = IFF_UP;
    header.ifi_flags = up ? IFF_UP : 0;
    message.append(&header, sizeof header);
    route.ask(message, "set a link up or down");
}

struct Move {
    uint32_t from;
    uint32_t to;
    int ns;
    const char* name;
    const char* alias;
    bool up;
};

void move(Socket& route, const Move& what) {
    Message message{RTM_SETLINK, 0};
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(what.from);
    header.ifi_change = IFF_UP;
    header.ifi_flags = what.up ? IFF_UP : 0;
    message.append(&header, sizeof header);
    message.put(IFLA_NET_NS_FD, static_cast<uint32_t>(what.ns));
    message.put(IFLA_NEW_IFINDEX, what.to);
    message.put(IFLA_IFNAME, what.name);
    message.put(IFLA_IFALIAS, what.alias);
    route.ask(message, "move the netdev");
}

void look(Socket& route, uint32_t index, const char* name) {
    Message message = get_link(index, name);
    route.ask(message, "look up a link");
}

long number_of(const char* answer, const char* column) {
    const char* at = std::strstr(answer, (std::string("\"") + column + "\":").c_str());
    if (at == nullptr)
        die(column);
    return std::atol(std::strchr(at, ':') + 1);
}

void add_port(Database& database, const char* bridge, const char* port) {
    const char* answer = database.ask(
        R"({"id":1,"method":"transact","params":["Open_vSwitch",)"
        R"({"op":"wait","table":"Bridge","where":[["name","==","%s"]],"columns":["name"],"until":"==","rows":[{"name":"%s"}],"timeout":0},)"
        R"({"op":"insert","table":"Interface","uuid-name":"i","row":{"name":"%s"}},)"
        R"({"op":"insert","table":"Port","uuid-name":"p","row":{"name":"%s","interfaces":["named-uuid","i"],"external_ids":%s}},)"
        R"({"op":"mutate","table":"Bridge","where":[["name","==","%s"]],"mutations":[["ports","insert",["set",[["named-uuid","p"]]]]]},)"
        R"({"op":"mutate","table":"Open_vSwitch","where":[],"mutations":[["next_cfg","+=",1]]},)"
        R"({"op":"select","table":"Open_vSwitch","where":[],"columns":["next_cfg","cur_cfg"]}]})",
        bridge,
        bridge,
        port,
        port,
        kMarks,
        bridge);
    const long wanted = number_of(answer, "next_cfg");
    for (long now = number_of(answer, "cur_cfg"); now < wanted; now = number_of(answer, "cur_cfg"))
        answer = database.ask(
            R"({"id":2,"method":"transact","params":["Open_vSwitch",)"
            R"({"op":"wait","table":"Open_vSwitch","where":[],"columns":["cur_cfg"],"until":"!=","rows":[{"cur_cfg":%ld}],"timeout":10000},)"
            R"({"op":"select","table":"Open_vSwitch","where":[],"columns":["cur_cfg"]},)"
            R"({"op":"select","table":"Interface","where":[["name","==","%s"]],"columns":["error","ofport"]}]})",
            now,
            port);
}

void remove_port(Database& database) {
    const char* answer = database.ask(
        R"({"id":4,"method":"transact","params":["Open_vSwitch",{"op":"select","table":"Port","where":[["external_ids","includes",%s]],"columns":["_uuid"]}]})",
        kMarks);
    std::array<char, 37> uuid{};
    const char* at = std::strstr(answer, "\"uuid\",\"");
    if (at == nullptr)
        die("the port");
    std::memcpy(uuid.data(), at + 8, uuid.size() - 1);
    database.ask(
        R"({"id":5,"method":"transact","params":["Open_vSwitch",)"
        R"({"op":"mutate","table":"Bridge","where":[["ports","includes",["uuid","%s"]]],"mutations":[["ports","delete",["set",[["uuid","%s"]]]]]},)"
        R"({"op":"mutate","table":"Open_vSwitch","where":[],"mutations":[["next_cfg","+=",1]]}]})",
        uuid.data(),
        uuid.data());
}
}  // namespace

// ESWITCH is a devlink handle; PORT the netdev of the representor.
int attach_asap2(char** args) {
    const char* netdev = args[1];
    const char* pin = args[5];
    const char* eswitch = args[6];
    const char* port = args[7];
    const char* bridge = args[8];
    in_addr address{};
    if (inet_pton(AF_INET, args[2], &address) != 1)
        die("address");
    const int home = must(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), "own netns");
    const int target = must(open(args[0], O_RDONLY | O_CLOEXEC), args[0]);
    static Socket route{home, home, NETLINK_ROUTE};
    static Socket inner_route{target, home, NETLINK_ROUTE};
    static Socket rdma{home, home, NETLINK_RDMA};
    static Socket inner_rdma{target, home, NETLINK_RDMA};
    static Socket generic_socket{home, home, NETLINK_GENERIC};
    static Database database;
    const uint32_t vf = if_nametoindex(netdev);
    const uint32_t representor = if_nametoindex(port);

    look(route, vf, nullptr);
    const uint16_t devlink_id = family_of(generic_socket, "devlink");
    Message mode = devlink(devlink_id, DEVLINK_CMD_ESWITCH_GET, eswitch);
    generic_socket.ask(mode, "ask for the e-switch");
    Message ports = devlink(devlink_id, DEVLINK_CMD_PORT_GET, eswitch, NLM_F_DUMP);
    generic_socket.ask(ports, "list ports");
    look(route, representor, nullptr);
    look(route, representor, nullptr);  // in the hook the uplink
    database.ask(
        R"({"id":0,"method":"transact","params":["Open_vSwitch",)"
        R"({"op":"select","table":"Open_vSwitch","where":[],"columns":["ovs_version","other_config","external_ids"]},)"
        R"({"op":"select","table":"Bridge","where":[["name","==","%s"]],"columns":["_uuid","name","ports","external_ids"]},)"
        R"({"op":"select","table":"Interface","where":[["type","!=",""],["type","!=","internal"],["type","!=","patch"]],"columns":["_uuid"]}]})",
        bridge);
    look(route, 0, bridge);
    ask_feature(generic_socket, family_of(generic_socket, "ethtool"), representor);
    uint8_t netns_mode = 0;
    Message system = nldev(RDMA_NLDEV_CMD_SYS_GET);
    rdma.ask(system,
             "ask for the mode",
             RDMA_NLDEV_SYS_ATTR_NETNS_MODE,
             0,
             &netns_mode,
             sizeof netns_mode);
    close(must(open(pin, O_RDONLY | O_CREAT | O_CLOEXEC, 0600), pin));
    must(mount(args[0], pin, "none", MS_BIND, nullptr), "pin");
    set_up(route, representor, true);
    add_port(database, bridge, port);
    move(
        route,
        {.from = vf, .to = kLinkIndex, .ns = target, .name = "rdma0", .alias = netdev, .up = true});
    add_address(inner_route, address, std::atoi(args[3]));
    look(inner_route, kLinkIndex, nullptr);
    const uint32_t device = make_rxe(rdma, inner_rdma, target, home, args[4], address);

    remove_rxe(inner_rdma, device);
    look(inner_route, kLinkIndex, nullptr);
    move(inner_route,
         {.from = kLinkIndex, .to = vf, .ns = home, .name = netdev, .alias = "", .up = false});
    look(route, vf, nullptr);
    remove_port(database);
    Message last = devlink(devlink_id, DEVLINK_CMD_PORT_GET, eswitch, NLM_F_DUMP);
    generic_socket.ask(last, "list ports");
    set_up(route, representor, false);
    must(umount2(pin, MNT_DETACH), "unpin");
    return must(unlink(pin), "unlink");
}

}  // namespace floor_of
