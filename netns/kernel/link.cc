// SPDX-License-Identifier: Apache-2.0
#include "netns/link.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "netns/kernel/busy.h"
#include "netns/kernel/link_message.h"
#include "netns/kernel/netlink/message.h"
#include "netns/kernel/netlink/socket.h"

namespace netns {

using netlink::Request;

namespace {
// ---- Refusals: the checks before a request, and the meaning of the kernel's answer.
constexpr size_t kAliasSpace = 256;  // IFALIASZ

const char* module_of(ChildKind kind) {
    return kind == ChildKind::Vlan ? "8021q" : kind == ChildKind::Ipvlan ? "ipvlan" : "macvlan";
}

// The kernel answers EEXIST for name and index alike. Before 6.15 it looks the index up in the
// namespace of the socket, which is the host's.
Error explain_taken(Links& links, const Netns& target, const ChildSpec& spec, Error refusal) {
    const auto named = links.find_by_name(target, spec.name);
    if (named && *named)
        return std::move(refusal).as(Code::Busy,
                                     "choose another rdma.ifname: the container has an interface " +
                                         base::printable(spec.name));
    if (spec.type.kind == ChildKind::Vlan)
        return std::move(refusal).as(Code::Busy,
                                     fmt::format("choose another rdma.vlan: another interface has "
                                                 "VLAN {} of the parent, or the index {}",
                                                 spec.type.vlan,
                                                 spec.index));
    return std::move(refusal).as(
        Code::Busy, "try again: another interface has the index " + std::to_string(spec.index));
}

// EBUSY is about the parent; before 6.15 also about an index that is taken in the target namespace.
Error explain_busy(Links& links, const Netns& target, const ChildSpec& spec, Error refusal) {
    const auto indexed = links.find(target, spec.index);
    if (indexed && *indexed)
        return explain_taken(links, target, spec, std::move(refusal));
    return std::move(refusal).as(Code::Refused,
                                 "set rdma.parent to an interface that is no port of a bridge, a "
                                 "bond or Open vSwitch, and has no children of another kind");
}

Error explain_parent(Links& links, const Netns& host, const ChildSpec& spec, Error refusal) {
    const auto parent = links.find(host, spec.parent);
    if (parent && !*parent)
        return std::move(refusal).as(Code::Unavailable,
                                     "set rdma.parent to an interface that is there");
    if (!parent)
        return refusal;
    const Link& link = **parent;
    if (spec.mtu > link.mtu)
        return std::move(refusal).as(
            Code::BadInput,
            "set rdma.mtu to at most " + std::to_string(link.mtu) + ", the MTU of " + link.name);
    if (link.loopback || !link.ethernet)
        return std::move(refusal).as(
            Code::Refused,
            "set rdma.parent to an Ethernet interface, which " + link.name + " is not");
    return std::move(refusal).as(Code::BadInput);
}

// BadInput for values that the kernel would refuse half-way, or take for a pattern ("%d").
Result<> check_change(const std::string& what, const LinkChange& change) {
    const bool good =
        !change.name ||
        (!change.name->empty() && change.name->size() < IFNAMSIZ && *change.name != "." &&
         *change.name != ".." && change.name->find_first_of("/:% \t\n\v\f\r") == std::string::npos);
    if (!good)
        return base::sys_error(EINVAL, what + ", name " + base::printable(*change.name))
            .as(Code::BadInput);
    if (change.alias && change.alias->size() >= kAliasSpace)
        return base::sys_error(ERANGE, what + ", alias").as(Code::BadInput);
    if (change.index && (*change.index == 0 || *change.index > INT32_MAX))
        return base::sys_error(ERANGE, what + ", index").as(Code::BadInput);
    return {};
}

// Gives the kernel's refusal of a change its code and advice.
Error explain_change(const LinkChange& change, Error refusal) {
    switch (refusal.sys) {
        case EEXIST:
            return std::move(refusal).as(
                Code::Busy,
                change.name ? "rename the interface there that has the name " +
                                  base::printable(*change.name) + ", or this one's"
                            : "rename the interface there that has this one's name");
        case EAGAIN:
        case EBUSY:
        case EADDRINUSE:
            return std::move(refusal).as(Code::Busy);
        case ENODEV:
            return std::move(refusal).as(Code::Unavailable);
        case EADDRNOTAVAIL:
            return std::move(refusal).as(Code::BadInput,
                                         "set rdma.mac to a unicast address; if it is one, leave "
                                         "it out: the PF has set another for this VF");
        case EINVAL:
        case ERANGE:
            return std::move(refusal).as(Code::BadInput);
        case EOPNOTSUPP:
            return std::move(refusal).as(Code::Unsupported);
        case EPERM:
            return std::move(refusal).advise("run as root");
        default:
            return refusal;
    }
}

// The same for a child that was not made. The kernel has one errno for many causes, so this looks
// at what is there.
Error explain_child(
    Links& links, const Netns& host, const Netns& target, const ChildSpec& spec, Error refusal) {
    switch (refusal.sys) {
        case EEXIST:
            return explain_taken(links, target, spec, std::move(refusal));
        case EADDRINUSE:
            return std::move(refusal).as(
                Code::Busy,
                "choose another rdma.mac: another interface on this parent has " +
                    to_string(spec.mac));
        case EADDRNOTAVAIL:
            return std::move(refusal).as(Code::BadInput,
                                         "choose a unicast MAC that is not zero as rdma.mac");
        case EBUSY:
            return explain_busy(links, target, spec, std::move(refusal));
        case EOPNOTSUPP:
            return std::move(refusal).as(
                Code::Unsupported, fmt::format("run: modprobe {}", module_of(spec.type.kind)));
        case EPERM:
            return std::move(refusal).advise("run as root");
        case EINVAL:
        case ERANGE:
        case ENODEV:
            return explain_parent(links, host, spec, std::move(refusal));
        default:
            return refusal;
    }
}

// ---- The room
std::string link_text(uint32_t index) {
    return "link " + std::to_string(index);
}

class KernelLinks : public Links {
  public:
    Result<std::optional<Link>> find(const Netns& ns, uint32_t index) override {
        if (index == 0 || index > INT32_MAX)
            return std::optional<Link>{};
        Request request = link_query(index);
        return get(ns, std::move(request), "look up " + link_text(index));
    }

    Result<std::optional<Link>> find_by_name(const Netns& ns, const std::string& name) override {
        // ERANGE in the kernel: no link has such a name.
        if (name.empty() || name.size() >= IFNAMSIZ)
            return std::optional<Link>{};
        Request request = link_query(0);
        request.put(IFLA_IFNAME, name);
        return get(ns, std::move(request), "look up link " + base::printable(name));
    }

    Result<bool> wait_until_free(const Netns& ns,
                                 const std::string& name,
                                 base::Deadline deadline) override {
        bool is_free = false;
        TRY(ask_on_link_events(ns, deadline, [&]() -> Result<bool> {
            is_free = !TRY(find_by_name(ns, name));
            return is_free;
        }));
        return is_free;
    }

    Result<std::vector<Link>> list(const Netns& ns) override {
        Request request = link_query(0);
        std::vector<Link> all;
        for (const auto& reply : TRY(TRY(sockets_.get(ns))->dump(request, "list links"))) {
            if (reply.type == RTM_NEWLINK)
                all.push_back(TRY(parse_link(reply)));
        }
        return all;
    }

    Result<std::vector<uint32_t>> ports_of(const Netns& ns, uint32_t master) override {
        if (master == 0)  // to the kernel: no filter
            return std::vector<uint32_t>{};
        Request request = link_query(0);
        request.put(IFLA_MASTER, master);  // a filter, because the socket is strict
        std::vector<uint32_t> ports;
        const std::string what = "list the ports of " + link_text(master);
        for (const auto& reply : TRY(TRY(sockets_.get(ns))->dump(request, what))) {
            if (reply.type == RTM_NEWLINK)
                ports.push_back(TRY(parse_link(reply)).index);
        }
        return ports;
    }

    Result<std::vector<Address>> addresses(const Netns& ns, uint32_t index) override {
        Request request{RTM_GETADDR, 0};
        ifaddrmsg header{};
        header.ifa_family = AF_UNSPEC;  // IPv4, then IPv6
        header.ifa_index = index;       // a filter, because the socket is strict
        request.header(header);
        const std::string what = "list addresses of " + link_text(index);
        auto replies = TRY(sockets_.get(ns))->dump(request, what);
        if (!replies && replies.error().sys == ENODEV)
            return std::move(replies).error().as(Code::Unavailable);
        std::vector<Address> all;
        for (const auto& reply : TRY(std::move(replies))) {
            if (const auto address = parse_address(reply))
                all.push_back(*address);
        }
        return all;
    }

    Result<uint32_t> receive_rules(const Netns& ns, const std::string& name) override {
        return TRY(sockets_.get(ns))->receive_rules(name);
    }

    Result<std::optional<uint32_t>> default_route_link(const Netns& ns) override {
        // Addresses for documentation (RFC 5737, RFC 3849) and from the middle of the unicast
        // space. One of them may have its own route here, hardly all.
        static constexpr std::array<const char*, 6> kDestinations{
            "203.0.113.1", "198.51.100.1", "128.66.0.1", "2001:db8::1", "2600::1", "2a00::1"};
        for (const char* destination : kDestinations) {
            if (const auto link = TRY(route_link(ns, parse_ip(destination).value())))
                return link;
        }
        return std::optional<uint32_t>{};
    }

    Result<> create_child(const Netns& host, const Netns& target, const ChildSpec& spec) override {
        Request request = child_request(spec, target.fd());
        const std::string what = fmt::format("create {} {} on {}",
                                             to_string(spec.type.kind),
                                             base::printable(spec.name),
                                             link_text(spec.parent));
        auto done = TRY(sockets_.get(host))->request(request, what);
        if (!done)
            return explain_child(*this, host, target, spec, std::move(done).error());
        return {};
    }

    Result<> remove(const Netns& ns, uint32_t index) override {
        Request request{RTM_DELLINK, 0};
        request.header(link_header(index));
        auto done = TRY(sockets_.get(ns))->request(request, "remove " + link_text(index));
        if (done || done.error().sys == ENODEV)
            return {};
        if (done.error().sys == EOPNOTSUPP)
            return std::move(done).error().as(Code::Unsupported);
        return std::move(done).error();
    }

    Result<std::optional<Link>> find_by_device(const Netns& ns,
                                               const std::string& device) override {
        for (auto& link : TRY(list(ns))) {
            if (!device.empty() && link.device == device)
                return std::optional<Link>{std::move(link)};
        }
        return std::optional<Link>{};
    }

    Result<> move(const Netns& from,
                  const Netns& to,
                  uint32_t index,
                  const LinkChange& change) override {
        const std::string what = "move " + link_text(index) + " to another network namespace";
        TRY(check_change(what, change));
        (void)TRY(free_altname(from, index, change));  // the move may change the index
        Request request = change_request(index, change, to.fd());
        auto done = TRY(sockets_.get(from))->request(request, what);
        if (done)
            return {};
        // EINVAL before the move: the link cannot leave. After the move: it cannot have a value.
        const bool stayed = done.error().sys == EINVAL && TRY(find(from, index));
        if (stayed && !(from.id() == to.id()))
            return std::move(done).error().as(
                Code::Refused,
                "use another interface: this one cannot leave its network namespace");
        return explain_change(change, std::move(done).error());
    }

    Result<> change(const Netns& ns, uint32_t index, const LinkChange& change) override {
        const std::string what = "change " + link_text(index);
        TRY(check_change(what, change));
        // The kernel sets flags last, so the link is taken down before.
        if (change.up && !*change.up) {
            Request down = change_request(index, {.up = false}, std::nullopt);
            auto done = TRY(sockets_.get(ns))->request(down, what);
            if (!done)
                return explain_change(change, std::move(done).error());
        }
        Request request = change_request(index, change, std::nullopt);
        auto done = TRY(sockets_.get(ns))->request(request, what);
        if (!done && done.error().sys == EEXIST && TRY(free_altname(ns, index, change))) {
            Request again = change_request(index, change, std::nullopt);
            done = TRY(sockets_.get(ns))->request(again, what);
        }
        if (!done)
            return explain_change(change, std::move(done).error());
        return {};
    }

    Result<> raise(const Netns& ns, uint32_t index, base::Deadline deadline) override {
        const LinkChange up{.up = true};
        auto done = ask_until_ready(ns, deadline, [&]() -> Result<> {
            Request request = change_request(index, up, std::nullopt);
            return TRY(sockets_.get(ns))->request(request, "bring up " + link_text(index));
        });
        return done ? std::move(done) : explain_change(up, std::move(done).error());
    }

    Result<> remove_altname(const Netns& ns, uint32_t index, const std::string& name) override {
        Request request = altname_request(RTM_DELLINKPROP, 0, index, name);
        const std::string what =
            "take the altname " + base::printable(name) + " off " + link_text(index);
        auto done = TRY(sockets_.get(ns))->request(request, what);
        if (!done && done.error().sys != ENOENT && done.error().sys != ENODEV)
            return std::move(done).error();
        return {};
    }

    Result<> set_strict_arp(const Netns& ns, uint32_t index) override {
        Request request = strict_arp_request(index);
        auto done =
            TRY(sockets_.get(ns))->request(request, "set strict ARP on " + link_text(index));
        if (done)
            return {};
        return done.error().sys == ENODEV ? std::move(done).error().as(Code::Unavailable)
                                          : std::move(done).error();
    }

    Result<> add_address(const Netns& ns, uint32_t index, const Address& address) override {
        Request request = address_request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, index, address);
        const std::string what = "add address " + to_string(address) + " to " + link_text(index);
        auto done = TRY(sockets_.get(ns))->request(request, what);
        if (done)
            return {};
        switch (done.error().sys) {
            case EEXIST:
                return std::move(done).error().as(Code::Busy);
            case ENODEV:
                return std::move(done).error().as(Code::Unavailable);
            case EACCES:  // from the IPv6 code if disable_ipv6 is set
                return std::move(done).error().as(
                    Code::Refused,
                    "run the container with --sysctl net.ipv6.conf.all.disable_ipv6=0, as IPv6 is "
                    "off in it, or give it only IPv4 addresses");
            default:
                return std::move(done).error();
        }
    }

    Result<> remove_address(const Netns& ns, uint32_t index, const Address& address) override {
        Request request = address_request(RTM_DELADDR, 0, index, address);
        const std::string what =
            "remove address " + to_string(address) + " from " + link_text(index);
        auto done = TRY(sockets_.get(ns))->request(request, what);
        if (!done && done.error().sys != EADDRNOTAVAIL && done.error().sys != ENODEV)
            return std::move(done).error();
        return {};
    }

  private:
    Result<std::optional<Link>> get(const Netns& ns, Request request, const std::string& what) {
        auto reply = TRY(sockets_.get(ns))->get(request, what);
        if (!reply && reply.error().sys == ENODEV)
            return std::optional<Link>{};
        if (!reply)
            return std::move(reply).error();
        if (reply->type != RTM_NEWLINK)
            return make_error(Code::Internal, what + ": the kernel answers without a link");
        return std::optional<Link>{TRY(parse_link(*reply))};
    }

    Result<std::optional<uint32_t>> route_link(const Netns& ns, const Address& destination) {
        Request request{RTM_GETROUTE, 0};
        rtmsg header{};
        header.rtm_family = kernel_family(destination.family);
        header.rtm_dst_len = destination.prefix;
        header.rtm_flags = RTM_F_FIB_MATCH;  // the route itself, not what it resolves to
        request.header(header).put(RTA_DST, raw(destination));
        auto reply = TRY(sockets_.get(ns))->get(request, "look up the default route");
        if (!reply) {
            const int refusal = reply.error().sys;
            // There is no route, or one that refuses. EAFNOSUPPORT, EOPNOTSUPP: no IPv6 in this
            // kernel.
            for (const int none :
                 {ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, EAFNOSUPPORT, EOPNOTSUPP})
                if (refusal == none)
                    return std::optional<uint32_t>{};
            return std::move(reply).error();
        }
        return reply->type == RTM_NEWROUTE ? default_link(*reply) : std::optional<uint32_t>{};
    }

    // A link cannot take a name that it has as an altname. A VF that comes back from a dead
    // namespace under the container's name gets its old name as an altname from udev. Returns
    // whether that was the cause.
    Result<bool> free_altname(const Netns& ns, uint32_t index, const LinkChange& change) {
        const auto link = change.name ? TRY(find(ns, index)) : std::nullopt;
        if (!link || std::find(link->altnames.begin(), link->altnames.end(), *change.name) ==
                         link->altnames.end())
            return false;
        TRY(remove_altname(ns, index, *change.name));
        return true;
    }

    netlink::Sockets sockets_{NETLINK_ROUTE};
};
}  // namespace

std::unique_ptr<Links> make_kernel_links() {
    return std::make_unique<KernelLinks>();
}

}  // namespace netns
