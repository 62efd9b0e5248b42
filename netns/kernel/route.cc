// SPDX-License-Identifier: Apache-2.0
#include "netns/route.h"

#include <cerrno>

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include "netns/kernel/link_message.h"
#include "netns/kernel/netlink/message.h"
#include "netns/kernel/netlink/socket.h"

namespace netns {

using netlink::Request;

namespace {
constexpr int kNew = NLM_F_CREATE | NLM_F_EXCL;

std::string text_of(const Route& route) {
    std::string text = route.destination ? to_string(*route.destination) : "default";
    if (route.gateway)
        text += " via " + ip_string(*route.gateway);
    text += " on link " + std::to_string(route.link);
    if (route.table != kMainTable)
        text += " in table " + std::to_string(route.table);
    return text;
}

Request route_request(int type, int flags, const Route& route) {
    Request request{type, flags};
    rtmsg header{};
    header.rtm_family = kernel_family(route.family);
    header.rtm_dst_len = route.destination ? route.destination->prefix : 0;
    header.rtm_type = RTN_UNICAST;
    // The table's number is in RTA_TABLE: the header has room only for small ones.
    header.rtm_table = RT_TABLE_UNSPEC;
    if (type == RTM_NEWROUTE)
        header.rtm_protocol = RTPROT_STATIC;
    header.rtm_scope = type == RTM_DELROUTE ? RT_SCOPE_NOWHERE
                       : route.gateway      ? RT_SCOPE_UNIVERSE
                                            : RT_SCOPE_LINK;
    request.header(header).put(RTA_TABLE, route.table).put(RTA_OIF, route.link);
    if (route.destination)
        request.put(RTA_DST, raw(*route.destination));
    if (route.gateway)
        request.put(RTA_GATEWAY, raw(*route.gateway));
    if (route.source)
        request.put(RTA_PREFSRC, raw(*route.source));
    return request;
}

Request rule_request(int type, int flags, const SourceRule& rule) {
    Request request{type, flags};
    fib_rule_hdr header{};
    header.family = kernel_family(rule.source.family);
    header.src_len = static_cast<uint8_t>(address_bytes(rule.source.family) * 8);
    header.action = FR_ACT_TO_TBL;
    request.header(header)
        .put(FRA_SRC, raw(rule.source))
        .put(FRA_TABLE, rule.table)
        .put(FRA_PRIORITY, rule.priority);
    return request;
}

base::Error explain(base::Error error, const Route& route) {
    switch (error.sys) {
        case EEXIST:
            return std::move(error).as(Code::Busy);
        case ENETUNREACH:
        case EHOSTUNREACH:
            return std::move(error).as(Code::BadInput,
                                       "choose a gateway on a network of the interface: " +
                                           (route.gateway ? ip_string(*route.gateway) : "none") +
                                           " is on none");
        case ENODEV:
        case ENETDOWN:
            return std::move(error).as(Code::Unavailable);
        default:
            return error;
    }
}

class KernelRoutes : public Routes {
  public:
    Result<> add(const Netns& ns, const Route& route) override {
        auto done =
            send(ns, route_request(RTM_NEWROUTE, kNew, route), "add route " + text_of(route));
        return done ? Result<>{} : Result<>{explain(std::move(done).error(), route)};
    }

    Result<> remove(const Netns& ns, const Route& route) override {
        auto done =
            send(ns, route_request(RTM_DELROUTE, 0, route), "remove route " + text_of(route));
        // It is also gone if the link or the table is.
        if (!done &&
            (done.error().sys == ESRCH || done.error().sys == ENODEV || done.error().sys == ENOENT))
            return {};
        return done;
    }

    Result<> add_rule(const Netns& ns, const SourceRule& rule) override {
        auto done = send(ns, rule_request(RTM_NEWRULE, kNew, rule), "add rule " + text(rule));
        if (!done && done.error().sys == EEXIST)
            done.error().code = Code::Busy;
        return done;
    }

    Result<> remove_rule(const Netns& ns, const SourceRule& rule) override {
        auto done = send(ns, rule_request(RTM_DELRULE, 0, rule), "remove rule " + text(rule));
        if (!done && (done.error().sys == ENOENT || done.error().sys == ESRCH))
            return {};
        return done;
    }

  private:
    static std::string text(const SourceRule& rule) {
        return "from " + ip_string(rule.source) + " to table " + std::to_string(rule.table);
    }

    Result<> send(const Netns& ns, Request request, const std::string& what) {
        return TRY(sockets_.get(ns))->request(request, what);
    }

    netlink::Sockets sockets_{NETLINK_ROUTE};
};
}  // namespace

std::unique_ptr<Routes> make_kernel_routes() {
    return std::make_unique<KernelRoutes>();
}

}  // namespace netns
