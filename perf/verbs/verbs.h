// SPDX-License-Identifier: Apache-2.0
// The control path of libibverbs behind one narrow interface, and owners for what it makes. Tests
// put a fake provider behind it: it hands out ibv_context objects whose operation tables are its
// own, so that the data path (ibv_post_send, ibv_post_recv, ibv_poll_cq: inline calls through these
// tables) is the same machine code with a device and without one.
//
// The calls of librdmacm that we use are behind another such interface, Cm. Tests put a fake behind
// it, too (tests/unit/perf/fake_cm.h). What is done with it: cm/connection.h.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "perf/base/names.h"

namespace perf {

// Calls answer as libibverbs does: null or -1 with errno, or an errno value. Thread safe.
class Verbs {
  public:
    virtual ~Verbs() = default;

    virtual Result<std::vector<std::string>> device_names() = 0;
    virtual ibv_context* open_device(const std::string& name) = 0;
    // Takes and acknowledges the next asynchronous event; -1 with EAGAIN if there is none.
    virtual int take_async_event(ibv_context* context, ibv_event_type* type) = 0;
    virtual int query_device(ibv_context* context, ibv_device_attr* attr) = 0;
    virtual int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attr) = 0;

    // Of all ports, without the empty entries; of a kernel before 5.10 libibverbs reads sysfs. The
    // number of entries, or a negative errno value.
    virtual ssize_t query_gid_table(ibv_context* context, std::span<ibv_gid_entry> out) = 0;
    // `key` in host order.
    virtual int query_pkey(ibv_context* context, uint8_t port, int index, uint16_t* key) = 0;

    virtual ibv_pd* alloc_pd(ibv_context* context) = 0;
    virtual ibv_td* alloc_td(ibv_context* context) = 0;
    virtual ibv_pd* alloc_parent_domain(ibv_context* context, ibv_pd* pd, ibv_td* td) = 0;
    virtual ibv_mr* reg_mr(ibv_pd* pd, std::span<std::byte> memory, int access) = 0;
    virtual ibv_mr* reg_dmabuf_mr(
        ibv_pd* pd, uint64_t offset, size_t bytes, uint64_t address, int fd, int access) = 0;
    virtual ibv_comp_channel* create_channel(ibv_context* context) = 0;
    virtual ibv_cq* create_cq(ibv_context* context, int entries, ibv_comp_channel* channel) = 0;
    virtual ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) = 0;
    // Waits for the next event of a completion queue, takes and acknowledges it. At once: a queue with
    // unacknowledged events could never be destroyed. False: a signal came first, or it failed.
    virtual bool take_cq_event(ibv_comp_channel* channel) = 0;
    // As ibv_create_qp_ex(3), in attr->pd. `extended` is what ibv_wr_*(3) take; null without the mask
    // IBV_QP_INIT_ATTR_SEND_OPS_FLAGS. IBV_QPT_DRIVER is EFA's SRD (efadv_create_qp_ex(3)).
    virtual ibv_qp* create_qp(ibv_qp_init_attr_ex* attr, ibv_qp_ex** extended) = 0;
    virtual int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) = 0;
    virtual ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr) = 0;

    // Gives an object back.
    virtual int release(ibv_context* context) = 0;
    virtual int release(ibv_pd* pd) = 0;  // or a parent domain
    virtual int release(ibv_td* td) = 0;
    virtual int release(ibv_mr* mr) = 0;
    virtual int release(ibv_comp_channel* channel) = 0;
    virtual int release(ibv_cq* cq) = 0;
    virtual int release(ibv_qp* qp) = 0;
    virtual int release(ibv_ah* ah) = 0;
};

// libibverbs itself.
Verbs& system_verbs();

// Calls answer as librdmacm does: null or -1 with errno. All ids are of RDMA_PS_TCP (RC) and have
// no queue pair of their own (id->qp is null). A bound id has its device in id->verbs, or null
// where no device has the address. Thread safe, but for two calls on one id.
//
// librdmacm is loaded on first use (dlopen): rdma-perf runs without it where nobody asks for --cm.
class Cm {
  public:
    virtual ~Cm() = default;

    // Once before anything else. Code::Unsupported where there is no librdmacm, or one too old.
    virtual Result<> load() = 0;

    virtual rdma_event_channel* create_channel() = 0;
    virtual int create_id(rdma_event_channel* channel, rdma_cm_id** id) = 0;
    virtual int bind_addr(rdma_cm_id* id, sockaddr* address) = 0;
    virtual int listen(rdma_cm_id* id, int backlog) = 0;
    virtual int resolve_addr(rdma_cm_id* id, sockaddr* to, int timeout_ms) = 0;
    virtual int resolve_route(rdma_cm_id* id, int timeout_ms) = 0;
    virtual int connect(rdma_cm_id* id, rdma_conn_param* param) = 0;
    virtual int establish(rdma_cm_id* id) = 0;
    virtual int accept(rdma_cm_id* id, rdma_conn_param* param) = 0;
    virtual int reject(rdma_cm_id* id) = 0;
    virtual int disconnect(rdma_cm_id* id) = 0;
    virtual int init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attr, int* mask) = 0;
    virtual int get_event(rdma_event_channel* channel, rdma_cm_event** event) = 0;

    // Of a bound id, in host order.
    virtual uint16_t port_of(rdma_cm_id* id) = 0;

    // Gives an object back, and so acknowledges an event. For an id it waits for ever while one of
    // its events is not acknowledged.
    virtual void release(rdma_event_channel* channel) = 0;
    virtual int release(rdma_cm_id* id) = 0;
    virtual int release(rdma_cm_event* event) = 0;
};

// librdmacm itself.
Cm& system_cm();

// Of a call that answers an errno value, or 0.
inline Result<> outcome_of(int rc, std::string what) {
    return rc == 0 ? Result<>() : Result<>(sys_error(rc, std::move(what)));
}

// The text beside a number.
template <class Number, size_t kRows>
const char* hint_for(const std::pair<Number, const char*> (&rows)[kRows],
                     Number number,
                     const char* otherwise = "") {
    const auto* row = std::ranges::find(rows, number, &std::pair<Number, const char*>::first);
    return row == std::end(rows) ? otherwise : row->second;
}

// Gives an object back to the calls that made it: Verbs or Cm. A failure to do so is a bug or a
// dead device, and nothing can be done about it: the process ends soon after.
template <class Calls>
struct ReleaseTo {
    Calls* calls = nullptr;

    template <class T>
    void operator()(T* object) const {
        (void)calls->release(object);
    }
};

using Release = ReleaseTo<Verbs>;

template <class T>
using Owned = std::unique_ptr<T, Release>;

using CmRelease = ReleaseTo<Cm>;

template <class T>
using CmOwned = std::unique_ptr<T, CmRelease>;

Result<> make_non_blocking(int fd);
Result<Owned<ibv_context>> open_device(Verbs& verbs, const std::string& name);
Result<Owned<ibv_pd>> alloc_pd(Verbs& verbs, ibv_context* context);

// What the queue pairs of one thread are made in. Only one thread at a time may use them; so they
// need no lock, and have a doorbell to themselves. mlx5 has four of those for each process, which
// the first queue pairs get, and twelve that the others share (get_num_low_lat_uuars() in
// rdma-core).
struct ThreadDomain {
    Owned<ibv_td> td;
    Owned<ibv_pd> pd;  // goes first; none where the provider has no thread domains, or none left
};

// Errors carry the hint about RLIMIT_MEMLOCK with the limit that holds.
Result<Owned<ibv_mr>> register_memory(Verbs& verbs,
                                      ibv_pd* pd,
                                      std::span<std::byte> memory,
                                      int access);

// A completion queue and the channel that announces its events; the channel goes last.
struct CompletionQueue {
    Verbs* verbs = nullptr;
    Owned<ibv_comp_channel> channel;
    Owned<ibv_cq> cq;
    ibv_cq_ex* extended = nullptr;  // the same, where it can be polled lazily

    // How many completions there were, or -1 and errno.
    int poll(std::span<ibv_wc> out) noexcept {
        const int n = ibv_poll_cq(cq.get(), static_cast<int>(out.size()), out.data());
        if (n < 0)
            errno = EIO;
        return n;
    }

    // The next completion makes fd() readable; one that is there already may not. An errno value.
    int arm() noexcept { return ibv_req_notify_cq(cq.get(), 0); }

    [[nodiscard]] int fd() const noexcept { return channel->fd; }

    // As Verbs::take_cq_event().
    bool take_event() noexcept { return verbs->take_cq_event(channel.get()); }
};

// In wr_id of a receive whose completion is polled lazily.
inline constexpr uint64_t kReceiveMark = uint64_t{1} << 63U;

// A queue as loops of a measurement poll it where the provider has ibv_start_poll(3). Of a
// completion they go by wr_id and status, so nothing else is read: `opcode` says of `out` only
// whether it is of a receive.
struct LazyQueue {
    CompletionQueue* queue;
    ibv_poll_cq_attr none = {};

    int poll(std::span<ibv_wc> out) noexcept {
        ibv_cq_ex* cq = queue->extended;
        int rc = ibv_start_poll(cq, &none);
        if (rc == ENOENT)
            return 0;
        ibv_wc* next = out.data();
        ibv_wc* const end = next + out.size();
        if (rc == 0) {
            do {
                ibv_wc& wc = *next++;
                wc.wr_id = cq->wr_id;
                wc.status = cq->status;
                wc.opcode = (wc.wr_id & kReceiveMark) != 0 ? IBV_WC_RECV : IBV_WC_SEND;
                if (wc.status != IBV_WC_SUCCESS) [[unlikely]]
                    wc.vendor_err = ibv_wc_read_vendor_err(cq);
            } while (next != end && (rc = ibv_next_poll(cq)) == 0);
            ibv_end_poll(cq);
        }
        if (rc == 0 || rc == ENOENT) [[likely]]
            return static_cast<int>(next - out.data());
        errno = EIO;
        return -1;
    }

    int arm() noexcept { return queue->arm(); }

    [[nodiscard]] int fd() const noexcept { return queue->fd(); }

    bool take_event() noexcept { return queue->take_event(); }
};

// `lazily`: for one thread, and a LazyQueue beside, if the provider has that. libmlx5 then takes no
// lock, and looks only at what is read of a completion.
Result<CompletionQueue> create_cq(Verbs& verbs,
                                  ibv_context* context,
                                  int entries,
                                  bool lazily = false);

// The operations that are to be posted by ibv_wr_*(3), as IBV_QP_EX_WITH_*, and through what; null:
// its provider has no such calls, or not for all of them, and ibv_post_send(3) takes them.
struct SendCalls {
    uint64_t wanted = 0;
    ibv_qp_ex* qp = nullptr;
};

// A queue pair in RESET. `caps` holds what is wanted and is set to what there is.
Result<Owned<ibv_qp>> create_qp(Verbs& verbs,
                                ibv_pd* pd,
                                ibv_cq* cq,
                                ibv_qp_type type,
                                ibv_qp_cap& caps,
                                SendCalls* calls = nullptr);

// 1024 <-> IBV_MTU_1024; 0 for values that are no path MTU.
uint32_t mtu_bytes(ibv_mtu mtu);
ibv_mtu mtu_enum(uint32_t bytes);

// Of a completion; its Error has the status by name, what it means, and the exit code's class.
Result<> outcome_of(const ibv_wc& wc);

}  // namespace perf
