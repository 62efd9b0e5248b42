// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include <fmt/format.h>

#include "perf/verbs/cm/cm.h"

namespace perf {

namespace {
// Reasons of an InfiniBand CM REJ message that one meets (IBTA 12.6.7.2).
constexpr int kNoQueuePair = 1;
constexpr int kTimedOut = 4;
constexpr int kWrongService = 8;
constexpr int kStale = 10;
constexpr int kByConsumer = 28;

constexpr char kNobodyListens[] = "nobody listens at that port there";
constexpr char kOtherSide[] = "see what `rdma-perf serve` says on the other side";

std::string reject_text(int status, bool iwarp) {
    if (iwarp)
        return status == -ECONNRESET ? "by the program there, or it has gone"
                                     : "by the program there";
    switch (status) {
        case kNoQueuePair:
            return "no queue pair was available";
        case kTimedOut:
            return "it timed out there";
        case kWrongService:
            return kNobodyListens;
        case kStale:
            return "the number of our queue pair belongs to an older connection there";
        case kByConsumer:
            return "by the program there";
        default:
            return "unknown reason";
    }
}

// Returns how to repair a failure that an errno names; empty if nothing is known to.
std::string advice_for(int number) {
    switch (number) {
        case ENETUNREACH:
        case EHOSTUNREACH:
            return "see `ip route get ADDRESS`: no route leads there from this network namespace";
        case ETIMEDOUT:
            return "check network, VLAN, firewall and interface: no ARP or neighbour answer, or no "
                   "answer from the peer's rdma_cm";
        case ENODEV:
            return "see `rdma link` and `ls /dev/infiniband`: no RDMA device that this process may "
                   "use belongs to the interface of that address";
        case EADDRNOTAVAIL:
            return "see `ip address`: the address is not one of this network namespace";
        case EADDRINUSE:
            return "try again: another program has the port that rdma_cm chose";
        case ECONNREFUSED:
        case ECONNRESET:
            return kOtherSide;
        case EINVAL:
            return "connect without --cm: the device may not be able to do rdma_cm here, as "
                   "Soft-RoCE after a move between network namespaces in exclusive mode";
        default:
            return "";
    }
}

bool is_peers_fault(int number) {
    return number == ENETUNREACH || number == EHOSTUNREACH || number == ETIMEDOUT ||
           number == ECONNREFUSED || number == ECONNRESET;
}

Error event_failure(const std::string& text, int status) {
    // -1 is librdmacm's own failure to look something up, without its reason.
    if (status >= -1)
        return make_error(Code::Unavailable, fmt::format("{} (status {})", text, status))
            .advise("see the address and its route: ip route get ADDRESS");
    Error error = sys_error(-status, text);
    if (is_peers_fault(-status))
        error.code = Code::Unavailable;
    return std::move(error).advise(advice_for(-status));
}
}  // namespace

Error event_error(const rdma_cm_event& event, bool iwarp) {
    const int status = event.status;
    switch (event.event) {
        case RDMA_CM_EVENT_ADDR_ERROR:
            return event_failure("rdma_cm does not find the address", status);
        case RDMA_CM_EVENT_ROUTE_ERROR:
            return event_failure("rdma_cm does not find a route", status);
        case RDMA_CM_EVENT_REJECTED:
            return make_error(Code::Unavailable,
                              fmt::format("the peer rejected the connection: {} (status {})",
                                          reject_text(status, iwarp),
                                          status))
                .advise(kOtherSide);
        case RDMA_CM_EVENT_UNREACHABLE:
            return event_failure("the peer's rdma_cm does not answer", status)
                .advise(
                    "open UDP 4791 (RoCE) between the two, and see that the peer's device is up");
        case RDMA_CM_EVENT_CONNECT_ERROR:
            return event_failure("the connection failed while it was made", status)
                .advise(kOtherSide);
        case RDMA_CM_EVENT_DISCONNECTED:
            return make_error(Code::Unavailable, "the peer closed the connection")
                .advise(kOtherSide);
        case RDMA_CM_EVENT_DEVICE_REMOVAL:
            return make_error(Code::Unsupported, "the RDMA device was removed")
                .advise("see `rdma link`: was it, its netdev or its network namespace removed?");
        default:
            return make_error(Code::Internal,
                              fmt::format("event {} of rdma_cm (status {}) is not due",
                                          static_cast<int>(event.event),
                                          status));
    }
}

Error call_error(const std::string& what) {
    const int number = errno;
    Error error = sys_error(number, what);
    if (is_peers_fault(number))
        error.code = Code::Unavailable;
    else if (number == ENODEV)
        error.code = Code::Unsupported;
    return std::move(error).advise(advice_for(number));
}

}  // namespace perf
