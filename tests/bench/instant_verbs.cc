// SPDX-License-Identifier: Apache-2.0
// bench_verbs: the calls of libibverbs over one adapter whose work is done as soon as it is posted.
// tests/bench/cycles preloads it into rdma-perf and perftest. It counts requests, makes completions
// where they are asked for, and moves no data: what a loop costs over it is the loop's own cost.
// RC only; write, read, send.
//
//   RDMA_BENCH_WIRE     a file that both ends share: how many SENDs each queue pair has got
//   RDMA_BENCH_FIGURES  a file of 64-bit words: messages, then the cycles that each kSlice of them
//                       took
//   RDMA_BENCH_LEGACY   if set, there are neither ibv_wr_*(3) nor ibv_start_poll(3)
//
// Both files are as long as the structs below, and zero. A process has one thread that posts and
// polls.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#undef ibv_query_port
#undef ibv_reg_mr

namespace {
constexpr uint64_t kSlice = 4096;
constexpr size_t kSlices = 1U << 16U;
constexpr size_t kCounted = 32;  // slices of which callgrind counts the instructions
constexpr size_t kPairs = 64;    // of both processes
constexpr uint32_t kMaxRequests = 1U << 14U;
constexpr uint32_t kMaxInline = 256;

[[noreturn]] void die(const char* what) {
    std::fprintf(stderr, "bench_verbs: %s\n", what);
    std::_Exit(1);
}

uint64_t cycles() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t ticks = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

struct Wire {
    struct alignas(64) Arrivals {
        std::atomic<uint64_t> messages;
    };

    std::atomic<uint32_t> pairs;  // numbers that were given out
    Arrivals to[kPairs];
};

struct Figures {
    uint64_t messages;
    uint64_t slices[kSlices];
};

template <class T>
T* map(const char* variable) {
    const char* file = std::getenv(variable);
    if (file == nullptr)
        die("an environment variable that names a file is missing");
    const int fd = ::open(file, O_RDWR | O_CLOEXEC);
    void* memory =
        fd < 0
            ? MAP_FAILED
            : ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED)
        die("cannot map a file");
    ::close(fd);
    return static_cast<T*>(memory);
}

// Before main(), which may confine itself.
Wire* const wire = map<Wire>("RDMA_BENCH_WIRE");
Figures* const figures = map<Figures>("RDMA_BENCH_FIGURES");
const bool is_legacy = std::getenv("RDMA_BENCH_LEGACY") != nullptr;

// Stamps every kSlice messages. While the queue was found empty the other end was waited for: that
// is left out.
class Meter {
  public:
    void count(uint64_t messages) {
        figures->messages += messages;
        if (figures->messages >= next_) [[unlikely]]
            stamp();
    }

    void poll_was_empty() {
        if (idle_since_ == 0)
            idle_since_ = cycles();
    }

    void poll_was_not() {
        if (idle_since_ == 0) [[likely]]
            return;
        last_ += cycles() - idle_since_;
        idle_since_ = 0;
    }

  private:
    void stamp() {
        poll_was_not();  // a poll counts its messages before it ends the wait for them
        const uint64_t now = cycles();
        // Before the first there is no whole slice.
        if (stamps_ != 0 && stamps_ <= kSlices)
            figures->slices[stamps_ - 1] = now - last_;
        if (stamps_ == 0 || stamps_ == kCounted)
            CALLGRIND_TOGGLE_COLLECT;
        ++stamps_;
        last_ = now;
        next_ += kSlice;
    }

    uint64_t next_ = kSlice;
    uint64_t last_ = 0;
    uint64_t idle_since_ = 0;
    size_t stamps_ = 0;
};

Meter meter;

struct Completion {
    uint64_t wr_id;
    ibv_wc_opcode opcode;
    uint32_t length;
    uint32_t qp_num;
};

// A ring of a power of two.
template <class T>
class Ring {
  public:
    explicit Ring(uint32_t least) : items_(std::bit_ceil(std::max(least, 1U))) {}

    [[nodiscard]] bool empty() const { return head_ == tail_; }

    T& push() {
        if (tail_ - head_ == items_.size()) [[unlikely]]
            die("a queue overran");
        return items_[tail_++ & (items_.size() - 1)];
    }

    T& pop() { return items_[head_++ & (items_.size() - 1)]; }

  private:
    std::vector<T> items_;
    uint64_t head_ = 0;
    uint64_t tail_ = 0;
};

struct Receive {
    uint64_t wr_id;
    uint32_t length;
};

struct Queue;

struct Pair {
    ibv_qp_ex handle{};  // first: the handle is the pair
    Queue* send_queue = nullptr;
    Ring<Receive> receives;
    std::atomic<uint64_t>* peer = nullptr;  // where its SENDs arrive
    bool signals_all = false;
    bool sends = false;  // SENDs, and nothing else
    uint64_t posted = 0;
    uint64_t rung = 0;
    uint64_t taken = 0;
    uint64_t arrived = 0;

    explicit Pair(const ibv_qp_cap& caps) : receives(caps.max_recv_wr) {}

    std::atomic<uint64_t>& own() const { return wire->to[handle.qp_base.qp_num].messages; }

    // Of those that arrived, the next that has a receive.
    bool take(Completion& out) {
        if (taken == arrived) {
            arrived = own().load(std::memory_order_acquire);
            if (taken == arrived)
                return false;
        }
        if (receives.empty())
            return false;
        const Receive& receive = receives.pop();
        out = {receive.wr_id, IBV_WC_RECV, receive.length, handle.qp_base.qp_num};
        ++taken;
        meter.count(1);
        return true;
    }
};

struct Queue {
    ibv_cq_ex handle{};  // first: the handle is the queue
    Ring<Completion> completions;
    std::vector<Pair*> receivers;
    Completion current{};

    explicit Queue(uint32_t entries) : completions(entries) {}

    bool take(Completion& out) {
        if (!completions.empty()) {
            out = completions.pop();
            return true;
        }
        return std::ranges::any_of(receivers, [&](Pair* pair) { return pair->take(out); });
    }
};

Pair& of(ibv_qp* qp) {
    return *reinterpret_cast<Pair*>(qp);
}

Pair& of(ibv_qp_ex* qp) {
    return *reinterpret_cast<Pair*>(qp);
}

Queue& of(ibv_cq* cq) {
    return *reinterpret_cast<Queue*>(cq);
}

Queue& of(ibv_cq_ex* cq) {
    return *reinterpret_cast<Queue*>(cq);
}

// ---- posting -------------------------------------------------------------------------------------
void begin(Pair& pair, uint64_t wr_id, unsigned flags, ibv_wc_opcode opcode) {
    ++pair.posted;
    if (pair.signals_all || (flags & IBV_SEND_SIGNALED) != 0)
        pair.send_queue->completions.push() = {wr_id, opcode, 0, pair.handle.qp_base.qp_num};
}

int ring_doorbell(Pair& pair) {
    if (pair.sends)
        pair.peer->store(pair.posted, std::memory_order_release);
    meter.count(pair.posted - pair.rung);
    pair.rung = pair.posted;
    return 0;
}

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
    Pair& pair = of(qp);
    for (; wr != nullptr; wr = wr->next) {
        ibv_wc_opcode opcode{};
        switch (wr->opcode) {
            case IBV_WR_SEND:
                opcode = IBV_WC_SEND;
                pair.sends = true;
                break;
            case IBV_WR_RDMA_WRITE:
                opcode = IBV_WC_RDMA_WRITE;
                break;
            case IBV_WR_RDMA_READ:
                opcode = IBV_WC_RDMA_READ;
                break;
            default:
                *bad = wr;
                return EINVAL;
        }
        begin(pair, wr->wr_id, wr->send_flags, opcode);
    }
    return ring_doorbell(pair);
}

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr**) {
    for (; wr != nullptr; wr = wr->next)
        of(qp).receives.push() = {wr->wr_id, wr->num_sge > 0 ? wr->sg_list[0].length : 0};
    return 0;
}

void set_calls(ibv_qp_ex& qp) {
    qp.wr_start = [](ibv_qp_ex*) {};
    qp.wr_send = [](ibv_qp_ex* at) {
        of(at).sends = true;
        begin(of(at), at->wr_id, at->wr_flags, IBV_WC_SEND);
    };
    qp.wr_rdma_write = [](ibv_qp_ex* at, uint32_t, uint64_t) {
        begin(of(at), at->wr_id, at->wr_flags, IBV_WC_RDMA_WRITE);
    };
    qp.wr_rdma_read = [](ibv_qp_ex* at, uint32_t, uint64_t) {
        begin(of(at), at->wr_id, at->wr_flags, IBV_WC_RDMA_READ);
    };
    qp.wr_set_sge = [](ibv_qp_ex*, uint32_t, uint64_t, uint32_t) {};
    qp.wr_set_inline_data = [](ibv_qp_ex*, void*, size_t) {};
    qp.wr_complete = [](ibv_qp_ex* at) { return ring_doorbell(of(at)); };
}

// ---- polling -------------------------------------------------------------------------------------
int poll_cq(ibv_cq* cq, int entries, ibv_wc* out) {
    Queue& queue = of(cq);
    Completion completion;
    int count = 0;
    for (; count < entries && queue.take(completion); ++count) {
        ibv_wc& wc = out[count];
        wc.wr_id = completion.wr_id;
        wc.status = IBV_WC_SUCCESS;
        wc.opcode = completion.opcode;
        wc.vendor_err = 0;
        wc.byte_len = completion.length;
        wc.qp_num = completion.qp_num;
        wc.wc_flags = 0;
    }
    if (count == 0)
        meter.poll_was_empty();
    else
        meter.poll_was_not();
    return count;
}

int next_poll(ibv_cq_ex* cq) {
    Queue& queue = of(cq);
    if (!queue.take(queue.current))
        return ENOENT;
    cq->wr_id = queue.current.wr_id;
    cq->status = IBV_WC_SUCCESS;
    return 0;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr*) {
    const int rc = next_poll(cq);
    if (rc != 0)
        meter.poll_was_empty();
    else
        meter.poll_was_not();
    return rc;
}

void set_calls(ibv_cq_ex& cq) {
    cq.start_poll = start_poll;
    cq.next_poll = next_poll;
    cq.end_poll = [](ibv_cq_ex*) {};
    cq.read_opcode = [](ibv_cq_ex* at) { return of(at).current.opcode; };
    cq.read_vendor_err = [](ibv_cq_ex*) { return 0U; };
    cq.read_byte_len = [](ibv_cq_ex* at) { return of(at).current.length; };
    cq.read_qp_num = [](ibv_cq_ex* at) { return of(at).current.qp_num; };
    cq.read_wc_flags = [](ibv_cq_ex*) { return 0U; };
}

// ---- making --------------------------------------------------------------------------------------
ibv_device adapter{};

Queue* make_queue(ibv_context* context,
                  uint32_t entries,
                  void* cq_context,
                  ibv_comp_channel* channel) {
    auto* queue = new Queue(entries);
    queue->handle.context = context;
    queue->handle.channel = channel;
    queue->handle.cq_context = cq_context;
    queue->handle.cqe = static_cast<int>(entries);
    return queue;
}

template <class Attr>  // ibv_qp_init_attr or ibv_qp_init_attr_ex
ibv_qp* make_pair(ibv_pd* pd, const Attr& attr) {
    const ibv_qp_cap& caps = attr.cap;
    if (attr.qp_type != IBV_QPT_RC || caps.max_inline_data > kMaxInline ||
        caps.max_send_wr > kMaxRequests || caps.max_recv_wr > kMaxRequests) {
        errno = EINVAL;
        return nullptr;
    }
    const uint32_t number = ++wire->pairs;
    if (number >= kPairs)
        die("too many queue pairs");
    auto* pair = new Pair(caps);
    ibv_qp& qp = pair->handle.qp_base;
    qp.context = pd->context;
    qp.pd = pd;
    qp.send_cq = attr.send_cq;
    qp.recv_cq = attr.recv_cq;
    qp.qp_context = attr.qp_context;
    qp.qp_num = number;
    qp.qp_type = attr.qp_type;
    qp.state = IBV_QPS_RESET;
    pair->signals_all = attr.sq_sig_all != 0;
    pair->send_queue = &of(attr.send_cq);
    of(attr.recv_cq).receivers.push_back(pair);
    return &qp;
}

ibv_qp* create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* attr) {
    constexpr uint64_t kCalls =
        IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ;
    const bool extended = (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    if (extended && (is_legacy || (attr->send_ops_flags & ~kCalls) != 0)) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    ibv_qp* qp = make_pair(attr->pd, *attr);
    if (qp != nullptr && extended)
        set_calls(of(qp).handle);
    return qp;
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) {
    if (is_legacy) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    Queue* queue = make_queue(context, attr->cqe, attr->cq_context, attr->channel);
    set_calls(queue->handle);
    return &queue->handle;
}

int query_port(ibv_context*, uint8_t, ibv_port_attr* attr, size_t size) {
    ibv_port_attr port{};
    port.state = IBV_PORT_ACTIVE;
    port.max_mtu = port.active_mtu = IBV_MTU_4096;
    port.gid_tbl_len = 1;
    port.pkey_tbl_len = 1;
    port.max_msg_sz = 1U << 30U;
    port.active_width = 2;  // 4X
    port.active_speed = 64;
    port.phys_state = 5;  // LinkUp
    port.link_layer = IBV_LINK_LAYER_ETHERNET;
    std::memcpy(attr, &port, std::min(size, sizeof port));
    return 0;
}

ibv_gid_entry gid_entry() {
    ibv_gid_entry entry{};
    entry.port_num = 1;
    entry.gid_type = IBV_GID_TYPE_ROCE_V2;
    entry.ndev_ifindex = ::if_nametoindex("lo");
    ::inet_pton(AF_INET6, "::ffff:127.0.0.1", entry.gid.raw);
    return entry;
}
}  // namespace

extern "C" {
ibv_device** ibv_get_device_list(int* count) {
    std::strcpy(adapter.name, "instant0");
    adapter.node_type = IBV_NODE_CA;
    adapter.transport_type = IBV_TRANSPORT_IB;
    if (count != nullptr)
        *count = 1;
    return new ibv_device* [2] { &adapter, nullptr };
}

void ibv_free_device_list(ibv_device** list) {
    delete[] list;
}

const char* ibv_get_device_name(ibv_device* device) {
    return device->name;
}

ibv_context* ibv_open_device(ibv_device* device) {
    auto* made = new verbs_context{};
    made->sz = sizeof *made;
    made->query_port = query_port;
    made->create_qp_ex = create_qp_ex;
    made->create_cq_ex = create_cq_ex;
    ibv_context& context = made->context;
    context.device = device;
    context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context.ops.poll_cq = poll_cq;
    context.ops.post_send = post_send;
    context.ops.post_recv = post_recv;
    context.ops.req_notify_cq = [](ibv_cq*, int) { return EOPNOTSUPP; };
    context.async_fd = ::eventfd(0, EFD_CLOEXEC);
    context.cmd_fd = -1;
    context.num_comp_vectors = 1;
    return &context;
}

int ibv_close_device(ibv_context* context) {
    ::close(context->async_fd);
    delete verbs_get_ctx(context);
    return 0;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event*) {
    // Nothing ever happens to the adapter.
    eventfd_t never = 0;
    return ::eventfd_read(context->async_fd, &never);
}

void ibv_ack_async_event(ibv_async_event*) {}

int ibv_query_device(ibv_context*, ibv_device_attr* attr) {
    *attr = {};
    attr->max_mr_size = UINT64_MAX;
    attr->max_qp = kPairs;
    attr->max_qp_wr = kMaxRequests;
    attr->max_sge = 1;
    attr->max_cq = kPairs;
    attr->max_cqe = static_cast<int>(4 * kMaxRequests);
    attr->max_mr = 1024;
    attr->max_pd = 1024;
    attr->max_qp_rd_atom = 16;
    attr->max_qp_init_rd_atom = 16;
    attr->max_res_rd_atom = 1024;
    attr->max_pkeys = 1;
    attr->phys_port_cnt = 1;
    // ConnectX-7's: perftest uses inline data and ibv_wr_*(3) with adapters that it knows.
    attr->vendor_id = 0x02c9;
    attr->vendor_part_id = 4129;
    return 0;
}

int ibv_query_port(ibv_context* context, uint8_t port, _compat_ibv_port_attr* attr) {
    return query_port(context,
                      port,
                      reinterpret_cast<ibv_port_attr*>(attr),
                      offsetof(ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(ibv_context*, uint8_t, int, ibv_gid* gid) {
    *gid = gid_entry().gid;
    return 0;
}

int _ibv_query_gid_ex(
    ibv_context*, uint32_t, uint32_t, ibv_gid_entry* entry, uint32_t, size_t size) {
    const ibv_gid_entry found = gid_entry();
    std::memcpy(entry, &found, std::min(size, sizeof found));
    return 0;
}

ssize_t _ibv_query_gid_table(
    ibv_context*, ibv_gid_entry* entries, size_t most, uint32_t, size_t size) {
    if (most == 0)
        return 0;
    const ibv_gid_entry found = gid_entry();
    std::memcpy(entries, &found, std::min(size, sizeof found));
    return 1;
}

int ibv_query_pkey(ibv_context*, uint8_t, int, __be16* key) {
    *key = 0xffff;
    return 0;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
    return new ibv_pd{context, 0};
}

int ibv_dealloc_pd(ibv_pd* pd) {
    delete pd;
    return 0;
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int) {
    return new ibv_mr{pd->context, pd, address, length, 0, 1, 2};
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t length, uint64_t, unsigned) {
    return ibv_reg_mr(pd, address, length, 0);
}

int ibv_dereg_mr(ibv_mr* mr) {
    delete mr;
    return 0;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
    return new ibv_comp_channel{context, ::eventfd(0, EFD_CLOEXEC), 0};
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
    ::close(channel->fd);
    delete channel;
    return 0;
}

// Queues are polled only: no event ever comes.
int ibv_get_cq_event(ibv_comp_channel*, ibv_cq**, void**) {
    errno = EAGAIN;
    return -1;
}

void ibv_ack_cq_events(ibv_cq*, unsigned) {}

ibv_cq* ibv_create_cq(
    ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel, int) {
    return ibv_cq_ex_to_cq(
        &make_queue(context, static_cast<uint32_t>(entries), cq_context, channel)->handle);
}

int ibv_destroy_cq(ibv_cq* cq) {
    delete &of(cq);
    return 0;
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
    return make_pair(pd, *attr);
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
    return of(qp).handle.wr_start != nullptr ? &of(qp).handle : nullptr;
}

int ibv_destroy_qp(ibv_qp* qp) {
    std::erase(of(qp->recv_cq).receivers, &of(qp));
    delete &of(qp);
    return 0;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
    if ((mask & IBV_QP_STATE) != 0)
        qp->state = attr->qp_state;
    if ((mask & IBV_QP_DEST_QPN) != 0) {
        if (attr->dest_qp_num >= kPairs)
            return EINVAL;
        of(qp).peer = &wire->to[attr->dest_qp_num].messages;
    }
    return 0;
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int, ibv_qp_init_attr* init) {
    *attr = {};
    *init = {};
    attr->qp_state = attr->cur_qp_state = qp->state;
    attr->cap.max_inline_data = init->cap.max_inline_data = kMaxInline;
    return 0;
}
}
