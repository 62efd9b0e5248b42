// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/cm/cm.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

namespace perf {

namespace {
// The functions of the library, by the names that they have there.
#define RDMACM_CALLS(call)                                                                  \
    call(create_event_channel) call(destroy_event_channel) call(create_id) call(destroy_id) \
        call(bind_addr) call(listen) call(resolve_addr) call(resolve_route) call(connect)   \
            call(establish) call(accept) call(reject) call(disconnect) call(init_qp_attr)   \
                call(get_cm_event) call(ack_cm_event) call(get_src_port)

struct Rdmacm {
#define DECLARE_CALL(name) decltype(&::rdma_##name) name = nullptr;
    RDMACM_CALLS(DECLARE_CALL)
#undef DECLARE_CALL
};

Result<Rdmacm> load_library() {
    // Never closed: it keeps devices open for the next id, and the process ends soon.
    void* library = ::dlopen("librdmacm.so.1", RTLD_NOW | RTLD_LOCAL);
    const char* why = library == nullptr ? ::dlerror() : nullptr;
    if (library == nullptr)
        return make_error(Code::Unsupported,
                          "load librdmacm: " + printable(why != nullptr ? why : "unknown error"))
            .advise("install the package librdmacm1 where rdma-perf runs, or run without --cm");
    Rdmacm calls;
    const char* missing = nullptr;
    const auto find = [&](auto& call, const char* name) {
        call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(library, name));
        if (call == nullptr)
            missing = name;
    };
#define FIND_CALL(name) find(calls.name, "rdma_" #name);
    RDMACM_CALLS(FIND_CALL)
#undef FIND_CALL
    if (missing != nullptr)
        return make_error(Code::Unsupported,
                          std::string("librdmacm has no ") + missing + ": it is too old")
            .advise("install librdmacm1 of rdma-core 23 or later, or run without --cm");
    return calls;
}

// Each call but load() only comes after a load() that went well.
const Result<Rdmacm>& library() {
    static const Result<Rdmacm> kLoaded = load_library();
    return kLoaded;
}

class SystemCm : public Cm {
  public:
    Result<> load() override { return library() ? Result<>() : Result<>(library().error()); }

    rdma_event_channel* create_channel() override { return library()->create_event_channel(); }

    void destroy_channel(rdma_event_channel* channel) override {
        library()->destroy_event_channel(channel);
    }

    int create_id(rdma_event_channel* channel, rdma_cm_id** id) override {
        return library()->create_id(channel, id, nullptr, RDMA_PS_TCP);
    }

    int destroy_id(rdma_cm_id* id) override { return library()->destroy_id(id); }

    int bind_addr(rdma_cm_id* id, sockaddr* address) override {
        return library()->bind_addr(id, address);
    }

    int listen(rdma_cm_id* id, int backlog) override { return library()->listen(id, backlog); }

    int resolve_addr(rdma_cm_id* id, sockaddr* to, int timeout_ms) override {
        return library()->resolve_addr(id, nullptr, to, timeout_ms);
    }

    int resolve_route(rdma_cm_id* id, int timeout_ms) override {
        return library()->resolve_route(id, timeout_ms);
    }

    int connect(rdma_cm_id* id, rdma_conn_param* param) override {
        return library()->connect(id, param);
    }

    int establish(rdma_cm_id* id) override { return library()->establish(id); }

    int accept(rdma_cm_id* id, rdma_conn_param* param) override {
        return library()->accept(id, param);
    }

    int reject(rdma_cm_id* id) override { return library()->reject(id, nullptr, 0); }

    int disconnect(rdma_cm_id* id) override { return library()->disconnect(id); }

    int init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attr, int* mask) override {
        return library()->init_qp_attr(id, attr, mask);
    }

    int get_event(rdma_event_channel* channel, rdma_cm_event** event) override {
        return library()->get_cm_event(channel, event);
    }

    int ack_event(rdma_cm_event* event) override { return library()->ack_cm_event(event); }

    uint16_t port_of(rdma_cm_id* id) override { return be16toh(library()->get_src_port(id)); }

    std::string device_of(rdma_cm_id* id) override {
        return id->verbs != nullptr ? ::ibv_get_device_name(id->verbs->device) : "";
    }

    bool is_iwarp(rdma_cm_id* id) override {
        return id->verbs != nullptr && id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
    }
};

// ---- the steps of an id --------------------------------------------------------------------------
// Loads the library and opens /dev/infiniband/rdma_cm.
Result<CmChannel> open_channel(Cm& cm) {
    TRY(cm.load());
    rdma_event_channel* made = cm.create_channel();
    // The library looks for devices before it opens its node.
    const bool no_device = made == nullptr && errno == ENODEV;
    if (made == nullptr)
        return sys_error("open rdma_cm (/dev/infiniband/rdma_cm)")
            .advise(no_device ? "see `rdma link` and `ls /dev/infiniband`: this process has no "
                                "RDMA device"
                              : "run `modprobe rdma_ucm` on the host, and give a container the "
                                "node (podman run --device /dev/infiniband/rdma_cm)");
    CmChannel channel(made, CmRelease{&cm});
    const int flags = ::fcntl(channel->fd, F_GETFL);
    if (flags < 0 || ::fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return sys_error("make the channel of rdma_cm non-blocking");
    return channel;
}

// For a loopback address rdma_cm would take any device; a link-local one means nothing without its
// interface, which an Address does not hold.
Result<> check_address(const Address& address) {
    if (!address.is_loopback() && !address.is_link_local())
        return {};
    return make_error(Code::Unsupported,
                      "rdma_cm cannot be used with the {} address {}",
                      address.is_loopback() ? "loopback" : "link-local",
                      address.text())
        .advise("give both sides an address of an RDMA device's interface, with --bind there");
}

Result<> check_place(const CmBound& bound, const CmPlace& place) {
    const std::string& found = bound.device.device;
    if (found.empty())
        return make_error(
                   Code::Unsupported, "no RDMA device has the address {}", place.address.text())
            .advise("see `rdma link` and `ip address` in this network namespace");
    if (place.device.empty() || place.device == found)
        return {};
    return make_error(Code::Unsupported,
                      "rdma_cm uses {} for the address {}, the queue pairs are on {}",
                      found,
                      place.address.text(),
                      place.device)
        .advise("give an address of the interface of " + place.device + ", or --device " + found);
}

// ---- what rdma_cm reports when it cannot do something, in words ---------------------------------
constexpr char kOtherSide[] = "see what `rdma-perf serve` says on the other side";

// Reasons of an InfiniBand CM REJ message that one meets (IBTA 12.6.7.2).
constexpr std::pair<int, const char*> kRejections[] = {
    {1, "no queue pair was available"},
    {4, "it timed out there"},
    {8, "nobody listens at that port there"},
    {10, "the number of our queue pair belongs to an older connection there"},
    {28, "by the program there"}};

std::string reject_text(int status, bool iwarp) {
    if (iwarp)
        return status == -ECONNRESET ? "by the program there, or it has gone"
                                     : "by the program there";
    const auto* reason =
        std::ranges::find(kRejections, status, &std::pair<int, const char*>::first);
    return reason != std::end(kRejections) ? reason->second : "unknown reason";
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
        return make_error(Code::Unavailable, "{} (status {})", text, status)
            .advise("see the address and its route: ip route get ADDRESS");
    Error error = sys_error(-status, text);
    if (is_peers_fault(-status))
        error.code = Code::Unavailable;
    return std::move(error).advise(advice_for(-status));
}
}  // namespace

Cm& system_cm() {
    static SystemCm cm;
    return cm;
}

Result<CmBound> bind_id(Cm& cm, const CmPlace& place) {
    TRY(check_address(place.address));
    CmBound bound{.cm = &cm};
    bound.channel = TRY(open_channel(cm));
    rdma_cm_id* id = nullptr;
    if (cm.create_id(bound.channel.get(), &id) != 0)
        return sys_error("create an id of rdma_cm");
    bound.id = CmOwned<rdma_cm_id>(id, CmRelease{&cm});
    sockaddr_storage raw{};
    (void)to_sockaddr(place.address, 0, raw);
    if (cm.bind_addr(bound.id.get(), reinterpret_cast<sockaddr*>(&raw)) != 0)
        return call_error(fmt::format("bind rdma_cm to {}", place.address.text()));
    bound.device.device = cm.device_of(bound.id.get());
    TRY(check_place(bound, place));
    bound.device.port = bound.id->port_num;
    bound.device.iwarp = cm.is_iwarp(bound.id.get());
    const ibv_gid& gid = bound.id->route.addr.addr.ibaddr.sgid;
    std::memcpy(bound.device.gid.bytes.data(), gid.raw, sizeof gid.raw);
    bound.init.qp_state = IBV_QPS_INIT;
    if (cm.init_qp_attr(bound.id.get(), &bound.init, &bound.init_mask) != 0)
        return call_error("ask rdma_cm for the attributes of a queue pair on " +
                          bound.device.device);
    return bound;
}

Result<CmOwned<rdma_cm_event>> next_event(Cm& cm,
                                          const CmChannel& channel,
                                          const Deadline& deadline,
                                          const CmWait& wait) {
    for (;;) {
        // Strangers whose events come one after the other must not keep us from it.
        if (deadline.passed())
            return make_error(Code::Timeout, "the deadline passed");
        TRY(wait_ready(channel->fd, POLLIN, deadline, wait.stop, wait.control));
        rdma_cm_event* event = nullptr;
        if (cm.get_event(channel.get(), &event) == 0)
            return CmOwned<rdma_cm_event>(event, CmRelease{&cm});
        if (errno != EAGAIN && errno != EINTR)
            return sys_error("read an event of rdma_cm");
    }
}

Error event_error(const rdma_cm_event& event, bool iwarp) {
    const int status = event.status;
    switch (event.event) {
        case RDMA_CM_EVENT_ADDR_ERROR:
            return event_failure("rdma_cm does not find the address", status);
        case RDMA_CM_EVENT_ROUTE_ERROR:
            return event_failure("rdma_cm does not find a route", status);
        case RDMA_CM_EVENT_REJECTED:
            return make_error(Code::Unavailable,
                              "the peer rejected the connection: {} (status {})",
                              reject_text(status, iwarp),
                              status)
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
                              "event {} of rdma_cm (status {}) is not due",
                              static_cast<int>(event.event),
                              status);
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
