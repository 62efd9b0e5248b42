// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/link_child.h"

#include <cerrno>

#include <fmt/format.h>

namespace netns {

using base::Code;
using base::Error;

namespace {
const char* module_of(ChildKind kind) {
    return kind == ChildKind::Vlan ? "8021q" : kind == ChildKind::Ipvlan ? "ipvlan" : "macvlan";
}

// The kernel answers EEXIST for name and index alike. Before 6.15 it looks the index up in the
// namespace of the socket, which is the host's.
Error explain_taken(Links& links, const Netns& target, const ChildSpec& spec, Error refusal) {
    const auto named = links.find_by_name(target, spec.name);
    if (named && *named)
        return std::move(refusal).as(Code::Busy,
                                     "the container has an interface " +
                                         base::printable(spec.name) +
                                         " already: choose another rdma.ifname");
    if (spec.type.kind == ChildKind::Vlan)
        return std::move(refusal).as(
            Code::Busy,
            fmt::format("VLAN {} of the parent is taken by another interface, or the index {}",
                        spec.type.vlan,
                        spec.index));
    return std::move(refusal).as(
        Code::Busy, "an interface with index " + std::to_string(spec.index) + " is there already");
}

// EBUSY is about the parent; before 6.15 also about an index that is taken in the target namespace.
Error explain_busy(Links& links, const Netns& target, const ChildSpec& spec, Error refusal) {
    const auto indexed = links.find(target, spec.index);
    if (indexed && *indexed)
        return explain_taken(links, target, spec, std::move(refusal));
    return std::move(refusal).as(
        Code::Refused,
        "the parent is a port of a bridge, a bond or Open vSwitch, or has children of another "
        "kind: set rdma.parent to an interface that is none");
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
            Code::Refused, link.name + " is no Ethernet interface: set rdma.parent to one that is");
    return std::move(refusal).as(Code::BadInput);
}
}  // namespace

Error explain_child(
    Links& links, const Netns& host, const Netns& target, const ChildSpec& spec, Error refusal) {
    switch (refusal.sys) {
        case EEXIST:
            return explain_taken(links, target, spec, std::move(refusal));
        case EADDRINUSE:
            return std::move(refusal).as(Code::Busy,
                                         "another link on this parent has the MAC " +
                                             to_string(spec.mac) + ": choose another rdma.mac");
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
