// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/link_refusal.h"

#include <cerrno>

#include <fmt/format.h>
#include <net/if.h>

namespace netns {

namespace {
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
}  // namespace

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

}  // namespace netns
