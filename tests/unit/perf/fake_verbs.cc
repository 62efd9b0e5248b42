// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/perf/fake_verbs.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf/verbs/device.h"
#include "tests/unit/perf/fake_objects.h"

namespace test {

namespace {
using Guard = std::lock_guard<std::mutex>;

// Whether the kernel could pin it; if not, errno is EFAULT. A wait that is over at once reads it: QEMU's user mode has no
// process_vm_readv().
bool is_there(const std::byte* memory) {
    const timespec now{};
    const uintptr_t word = reinterpret_cast<uintptr_t>(memory) & ~(sizeof(uint32_t) - 1);
    return ::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &now) == 0 || errno != EFAULT;
}
}  // namespace

FakeVerbs::FakeVerbs(std::vector<FakeDevice> devices) : devices_(std::move(devices)) {
    if (devices_.empty())
        devices_.push_back(loopback_device());
}

FakeVerbs::~FakeVerbs() = default;

void FakeVerbs::inject(Fault fault, uint64_t message, uint64_t count, uint64_t step) {
    const Guard guard(lock_);
    fault_ = fault;
    fault_at_ = message;
    fault_count_ = count;
    fault_step_ = step;
}

void FakeVerbs::go_silent(uint64_t message) {
    const Guard guard(lock_);
    silent_at_ = message;
}

void FakeVerbs::go_on() {
    const Guard guard(lock_);
    silent_at_ = UINT64_MAX;
    for (const auto& [number, pair] : pairs_)
        progress(*pair);
}

void FakeVerbs::fail_messages(uint64_t message) {
    const Guard guard(lock_);
    fail_at_ = message;
}

void FakeVerbs::take_link_down(const std::string& device) {
    const Guard guard(lock_);
    std::ranges::find(devices_, device, &FakeDevice::name)->link_up = false;
}

void FakeVerbs::announce(const std::string& device, ibv_event_type event) {
    const Guard guard(lock_);
    for (Context* context : contexts_) {
        if (context->device->name != device)
            continue;
        context->removed = context->removed || event == IBV_EVENT_DEVICE_FATAL;
        context->events.push_back(event);
        const uint64_t one = 1;
        (void)!::write(context->async_fd, &one, sizeof one);
    }
}

size_t FakeVerbs::objects() {
    const Guard guard(lock_);
    return objects_.size();
}

std::string FakeVerbs::complaint() {
    const Guard guard(lock_);
    return complaint_;
}

std::vector<ibv_ah_attr> FakeVerbs::paths() {
    const Guard guard(lock_);
    return paths_;
}

// rdma_check_ah_attr() of the kernel: a port that requires a GRH takes no path without.
int FakeVerbs::take_path(const Context& context, const ibv_ah_attr& path) {
    if (context.device->wants_grh && path.is_global == 0)
        return EINVAL;
    paths_.push_back(path);
    return 0;
}

uint64_t FakeVerbs::posted_by_calls() {
    const Guard guard(lock_);
    return posted_by_calls_;
}

uint64_t FakeVerbs::polled_lazily() {
    const Guard guard(lock_);
    return polled_lazily_;
}

uint64_t FakeVerbs::posted_by_lists() {
    const Guard guard(lock_);
    return posted_by_lists_;
}

uint64_t FakeVerbs::unsignaled() {
    const Guard guard(lock_);
    return unsignaled_;
}

std::vector<int> FakeVerbs::reads() {
    const Guard guard(lock_);
    return reads_;
}

std::vector<unsigned> FakeVerbs::thread_domains() {
    const Guard guard(lock_);
    std::vector<unsigned> pairs;
    for (const auto& domain : past_domains_)
        pairs.push_back(domain->all_pairs);
    return pairs;
}

std::vector<int> FakeVerbs::accesses() {
    const Guard guard(lock_);
    return accesses_;
}

uint64_t FakeVerbs::dma_bufs() {
    const Guard guard(lock_);
    return all_dma_bufs_;
}

uint64_t FakeVerbs::messages() {
    const Guard guard(lock_);
    return messages_;
}

void FakeVerbs::complain(const std::string& text) {
    if (complaint_.empty())
        complaint_ = text;
}

base::Result<std::vector<std::string>> FakeVerbs::device_names() {
    std::vector<std::string> names;
    for (const FakeDevice& device : devices_)
        names.push_back(device.name);
    return names;
}

ibv_context* FakeVerbs::open_device(const std::string& name) {
    const Guard guard(lock_);
    const auto it = std::ranges::find(devices_, name, &FakeDevice::name);
    errno = it == devices_.end() ? ENODEV : it->open_error;
    if (it == devices_.end() || it->open_error != 0)
        return nullptr;
    auto* context = new Context{};
    context->owner = this;
    context->device = &*it;
    static ibv_device no_iwarp{};  // IBV_TRANSPORT_IB
    context->ibv_context::device = &no_iwarp;
    context->ops.poll_cq = poll_cq;
    context->ops.req_notify_cq = req_notify_cq;
    context->ops.post_send = post_send;
    context->ops.post_recv = post_recv;
    context->async_fd = ::eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    objects_.insert(context);
    contexts_.insert(context);
    return context;
}

int FakeVerbs::release(ibv_context* context) {
    const Guard guard(lock_);
    objects_.erase(context);
    contexts_.erase(static_cast<Context*>(context));
    ::close(context->async_fd);
    delete static_cast<Context*>(context);
    return 0;
}

// As the kernel does: after the event of a device that was removed there is only EIO.
int FakeVerbs::take_async_event(ibv_context* context, ibv_event_type* type) {
    const Guard guard(lock_);
    auto& self = *static_cast<Context*>(context);
    uint64_t one = 0;
    if (self.events.empty() && self.removed) {
        errno = EIO;
        return -1;
    }
    if (::read(context->async_fd, &one, sizeof one) != sizeof one)
        return -1;
    *type = self.events.front();
    self.events.pop_front();
    return 0;
}

int FakeVerbs::query_device(ibv_context* context, ibv_device_attr* attr) {
    *attr = {};
    attr->phys_port_cnt = 1;
    attr->vendor_id = static_cast<Context*>(context)->device->vendor_id;
    attr->max_qp_wr = static_cast<Context*>(context)->device->max_qp_wr;
    attr->max_cqe = 32767;
    attr->max_qp_rd_atom = attr->max_qp_init_rd_atom =
        static_cast<Context*>(context)->device->max_reads;
    return 0;
}

int FakeVerbs::query_port(ibv_context* context, uint8_t port, ibv_port_attr* attr) {
    if (port != 1)
        return EINVAL;
    *attr = {};
    attr->state = static_cast<Context*>(context)->device->link_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    const FakeDevice& device = *static_cast<Context*>(context)->device;
    attr->link_layer = device.infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
    attr->lid = device.infiniband ? 7 : 0;
    attr->flags = device.wants_grh ? IBV_QPF_GRH_REQUIRED : 0;
    attr->max_msg_sz = device.is_efa ? 8192 : 1U << 30U;
    attr->pkey_tbl_len = static_cast<uint16_t>(device.pkeys.size());
    attr->gid_tbl_len = 16;
    attr->active_width = static_cast<Context*>(context)->device->width;
    attr->active_speed = static_cast<Context*>(context)->device->speed;
    attr->active_mtu = perf::mtu_enum(static_cast<Context*>(context)->device->mtu);
    return 0;
}

ssize_t FakeVerbs::query_gid_table(ibv_context* context, std::span<ibv_gid_entry> out) {
    if (no_table_)
        return -EOPNOTSUPP;
    size_t count = 0;
    for (const perf::GidRow& row : static_cast<Context*>(context)->device->gids) {
        ibv_gid_entry& entry = out[count++];
        entry = {};
        entry.port_num = 1;
        entry.gid_index = row.index;
        entry.gid_type = row.type == perf::GidType::RoceV2   ? IBV_GID_TYPE_ROCE_V2
                         : row.type == perf::GidType::RoceV1 ? IBV_GID_TYPE_ROCE_V1
                                                             : IBV_GID_TYPE_IB;
        std::memcpy(entry.gid.raw, row.gid.bytes.data(), 16);
    }
    return static_cast<ssize_t>(count);
}

int FakeVerbs::query_pkey(ibv_context* context, uint8_t, int index, uint16_t* key) {
    const auto& pkeys = static_cast<Context*>(context)->device->pkeys;
    if (static_cast<size_t>(index) >= pkeys.size())
        return EINVAL;
    *key = pkeys[static_cast<size_t>(index)];
    return 0;
}

ibv_pd* FakeVerbs::alloc_pd(ibv_context* context) {
    const Guard guard(lock_);
    auto* pd = new ibv_pd{};
    pd->context = context;
    objects_.insert(pd);
    return pd;
}

int FakeVerbs::release(ibv_pd* pd) {
    const Guard guard(lock_);
    const auto domain = domains_.find(pd);
    if (domain != domains_.end()) {
        if (domain->second->pairs != 0)
            complain("a parent domain goes before its queue pairs: the real call answers EBUSY");
        domains_.erase(domain);
    }
    objects_.erase(pd);
    delete pd;
    return 0;
}

ibv_td* FakeVerbs::alloc_td(ibv_context* context) {
    const Guard guard(lock_);
    const uint32_t most = static_cast<Context*>(context)->device->thread_domains;
    if (thread_domains_in_use_ == most) {
        errno = most == 0 ? EOPNOTSUPP : ENOMEM;
        return nullptr;
    }
    ++thread_domains_in_use_;
    auto* td = new ibv_td{};
    td->context = context;
    objects_.insert(td);
    return td;
}

int FakeVerbs::release(ibv_td* td) {
    const Guard guard(lock_);
    if (std::ranges::any_of(domains_, [td](const auto& one) { return one.second->td == td; }))
        complain("a thread domain goes before its parent domain: the real call answers EBUSY");
    --thread_domains_in_use_;
    objects_.erase(td);
    delete td;
    return 0;
}

ibv_pd* FakeVerbs::alloc_parent_domain(ibv_context* context, ibv_pd* pd, ibv_td* td) {
    ibv_pd* parent = alloc_pd(context);
    const Guard guard(lock_);
    domains_[parent] = std::make_shared<Domain>(Domain{.pd = pd, .td = td});
    past_domains_.push_back(domains_[parent]);
    return parent;
}

ibv_mr* FakeVerbs::reg_mr(ibv_pd* pd, std::span<std::byte> memory, int access) {
    const Guard guard(lock_);
    rlimit limit{};
    errno = memory_error_;
    if (errno == 0 && heeds_memory_limit_ && !leaks(Leak::MemoryLimit) &&
        ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && memory.size() > limit.rlim_cur)
        errno = ENOMEM;
    if (errno != 0 || !is_there(memory.data()))
        return nullptr;
    return add_region(pd, memory.data(), memory.size(), access);
}

ibv_mr* FakeVerbs::reg_dmabuf_mr(
    ibv_pd* pd, uint64_t offset, size_t bytes, uint64_t address, int fd, int access) {
    const Guard guard(lock_);
    if (!static_cast<Context*>(pd->context)->device->takes_dma_bufs) {
        errno = EOPNOTSUPP;
        return nullptr;
    }

    struct stat status {};

    // dma_buf_get() and ib_umem_dmabuf_get() of the kernel.
    if (::fstat(fd, &status) != 0 || offset + bytes > static_cast<uint64_t>(status.st_size)) {
        errno = errno == EBADF ? EBADF : EINVAL;
        return nullptr;
    }
    void* inside =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (inside == MAP_FAILED)
        return nullptr;
    Region* region = add_region(pd, reinterpret_cast<void*>(address), bytes, access);
    region->inside = static_cast<std::byte*>(inside);
    dma_bufs_.push_back(region);
    ++all_dma_bufs_;
    return region;
}

FakeVerbs::Region* FakeVerbs::add_region(ibv_pd* pd, void* address, size_t bytes, int access) {
    auto* region = new Region{};
    region->context = pd->context;
    region->pd = pd;
    region->addr = address;
    region->length = bytes;
    region->lkey = region->rkey = new_key();
    region->access = old_kernel_ ? access & ~static_cast<int>(IBV_ACCESS_OPTIONAL_RANGE) : access;
    accesses_.push_back(region->access);
    regions_[region->rkey] = region;
    objects_.insert(region);
    return region;
}

uint32_t FakeVerbs::new_key() {
    if (leaks(Leak::KeysInOrder))
        return next_number_++;
    for (;;) {
        const auto key = static_cast<uint32_t>(keys_());
        if (!regions_.contains(key) && !stale_.contains(key))
            return key;
    }
}

int FakeVerbs::release(ibv_mr* mr) {
    const Guard guard(lock_);
    if (leaks(Leak::StaleKey))
        stale_[mr->rkey] = std::make_shared<Region>(*static_cast<Region*>(mr));
    regions_.erase(mr->rkey);
    std::erase(dma_bufs_, mr);
    if (std::byte* inside = static_cast<Region*>(mr)->inside; inside != nullptr)
        (void)::munmap(inside, mr->length);
    objects_.erase(mr);
    delete static_cast<Region*>(mr);
    return 0;
}

ibv_comp_channel* FakeVerbs::create_channel(ibv_context* context) {
    const Guard guard(lock_);
    auto* channel = new Channel{};
    channel->context = context;
    channel->fd = ::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    objects_.insert(channel);
    return channel;
}

int FakeVerbs::release(ibv_comp_channel* channel) {
    const Guard guard(lock_);
    objects_.erase(channel);
    (void)::close(channel->fd);
    delete static_cast<Channel*>(channel);
    return 0;
}

ibv_cq* FakeVerbs::create_cq(ibv_context* context, int entries, ibv_comp_channel* channel) {
    const Guard guard(lock_);
    auto* queue = new Queue{};
    queue->context = context;
    queue->cqe = entries;
    queue->fake_channel = static_cast<Channel*>(channel);
    objects_.insert(queue);
    return ibv_cq_ex_to_cq(queue);
}

// Fields that nobody asked for have no function to read them.
ibv_cq_ex* FakeVerbs::create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) {
    const FakeDevice& device = *static_cast<Context*>(context)->device;
    if (!device.has_lazy_queues || device.iwarp || attr->wc_flags != 0 ||
        attr->comp_mask != IBV_CQ_INIT_ATTR_MASK_FLAGS) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    if (device.vendor_id == perf::kRxeVendor)
        complain("librxe before rdma-core 59 skips completions in ibv_next_poll");
    Queue* queue = queue_of(create_cq(context, static_cast<int>(attr->cqe), attr->channel));
    queue->start_poll = [](ibv_cq_ex* cq, ibv_poll_cq_attr* none) {
        return none->comp_mask == 0 ? step(cq, true) : EINVAL;
    };
    queue->next_poll = [](ibv_cq_ex* cq) { return step(cq, false); };
    queue->end_poll = end_poll;
    queue->read_vendor_err = [](ibv_cq_ex* cq) {
        return static_cast<Queue*>(cq)->current.vendor_err;
    };
    return queue;
}

int FakeVerbs::release(ibv_cq* cq) {
    const Guard guard(lock_);
    Queue* queue = queue_of(cq);
    if (queue->is_open)
        complain("a queue is destroyed between ibv_start_poll and ibv_end_poll");
    std::erase(queue->fake_channel->events, cq);
    objects_.erase(cq);
    delete queue;
    return 0;
}

bool FakeVerbs::take_cq_event(ibv_comp_channel* channel) {
    uint64_t one = 0;
    if (::read(channel->fd, &one, sizeof one) != sizeof one)
        return false;
    const Guard guard(lock_);
    static_cast<Channel*>(channel)->events.pop_front();
    return true;
}

FakeVerbs::Pair* FakeVerbs::make_pair(const ibv_qp_init_attr_ex& attr) {
    const Guard guard(lock_);
    ibv_pd* pd = attr.pd;
    if (attr.cap.max_inline_data > static_cast<Context*>(pd->context)->device->max_inline) {
        errno = EINVAL;
        return nullptr;
    }
    const FakeDevice& device = *static_cast<Context*>(pd->context)->device;
    const bool is_connected = attr.qp_type == IBV_QPT_RC || attr.qp_type == IBV_QPT_UC;
    if ((attr.qp_type == IBV_QPT_RC && !device.has_rc) || (is_connected && device.is_efa)) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    if (attr.qp_type == IBV_QPT_RAW_PACKET && !leaks(Leak::RawPackets)) {
        errno = EPERM;
        return nullptr;
    }
    auto* pair = new Pair{};
    pair->context = pd->context;
    pair->pd = pd;
    pair->send_cq = attr.send_cq;
    pair->recv_cq = attr.recv_cq;
    pair->state = IBV_QPS_RESET;
    pair->qp_num = next_number_++;
    pair->caps = attr.cap;
    pair->kind = pair->qp_type = attr.qp_type;
    pair->reaches = pd;
    if (const auto domain = domains_.find(pd); domain != domains_.end()) {
        pair->domain = domain->second;
        pair->reaches = pair->domain->pd;
        ++pair->domain->pairs;
        ++pair->domain->all_pairs;
    }
    pairs_[pair->qp_num] = pair;
    objects_.insert(pair);
    return pair;
}

ibv_qp* FakeVerbs::create_qp(ibv_qp_init_attr_ex* attr, ibv_qp_ex** extended) {
    *extended = nullptr;
    if (attr->comp_mask == IBV_QP_INIT_ATTR_PD)  // ibv_create_qp_ex(3) calls ibv_create_qp(3)
        return make_pair(*attr);
    // efa_check_qp_attr() of rdma-core.
    const FakeDevice& device = *static_cast<Context*>(attr->pd->context)->device;
    constexpr uint64_t kSends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    constexpr uint64_t kRdma =
        IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    const uint64_t known = kSends | (device.has_efa_rdma ? kRdma : 0);
    const bool can = attr->qp_type == IBV_QPT_DRIVER
                         ? device.is_efa && (attr->send_ops_flags & ~known) == 0
                         : device.has_calls && !device.iwarp;
    if (!can || attr->comp_mask != (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)) {
        errno = can ? EINVAL : EOPNOTSUPP;
        return nullptr;
    }
    Pair* pair = make_pair(*attr);
    if (pair == nullptr)
        return nullptr;
    pair->extended = std::make_unique<Extended>();
    pair->extended->pair = pair;
    pair->extended->operations = attr->send_ops_flags;
    equip(*pair->extended);
    *extended = pair->extended.get();
    return pair;
}

int FakeVerbs::release(ibv_qp* qp) {
    const Guard guard(lock_);
    auto* pair = static_cast<Pair*>(qp);
    for (auto& entry : queue_of(qp->send_cq)->entries) {
        if (entry.pair == pair)
            entry.pair = nullptr;
    }
    if (pair->domain)
        --pair->domain->pairs;
    pairs_.erase(qp->qp_num);
    objects_.erase(qp);
    delete pair;
    return 0;
}

ibv_qp_state FakeVerbs::state_of(uint32_t number) {
    const Guard guard(lock_);
    const auto it = pairs_.find(number);
    return it != pairs_.end() ? it->second->state : IBV_QPS_RESET;
}

void FakeVerbs::connect_iwarp(uint32_t a, uint32_t b) {
    const Guard guard(lock_);
    for (const auto& [own, peer] : {std::pair(a, b), std::pair(b, a)}) {
        const auto it = pairs_.find(own);
        if (it == pairs_.end() || it->second->state != IBV_QPS_INIT) {
            complain("a queue pair is connected that is not in INIT");
            return;
        }
        it->second->peer = peer;
        it->second->state = IBV_QPS_RTS;
    }
}

int FakeVerbs::modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
    const Guard guard(lock_);
    auto* pair = static_cast<Pair*>(qp);
    if (static_cast<Context*>(qp->context)->device->iwarp) {
        if (attr->qp_state != IBV_QPS_INIT || pair->state != IBV_QPS_RESET ||
            mask != (IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
            return EINVAL;
        pair->access = attr->qp_access_flags;
        pair->state = IBV_QPS_INIT;
        return 0;
    }
    // The attributes that each transport requires: ibv_modify_qp(3).
    const bool rc = pair->kind == IBV_QPT_RC;
    const bool ud = pair->is_datagram();
    // srd_modify of the kernel: the only thing that SRD may have besides.
    if (pair->kind == IBV_QPT_DRIVER && attr->qp_state == IBV_QPS_RTS)
        mask &= ~IBV_QP_RNR_RETRY;
    const int connected = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    const std::map<ibv_qp_state, std::pair<ibv_qp_state, int>> due = {
        {IBV_QPS_INIT,
         {IBV_QPS_RESET,
          IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)}},
        {IBV_QPS_RTR,
         {IBV_QPS_INIT,
          (ud ? 0 : connected) | (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)}},
        {IBV_QPS_RTS,
         {IBV_QPS_RTR,
          IBV_QP_SQ_PSN |
              (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                  : 0)}}};
    const auto step = due.find(attr->qp_state);
    if (step == due.end() || pair->state != step->second.first ||
        mask != (step->second.second | IBV_QP_STATE))
        return EINVAL;
    if (attr->qp_state == IBV_QPS_INIT) {
        pair->access = attr->qp_access_flags;
        pair->queue_key = attr->qkey;
        const FakeDevice& device = *static_cast<Context*>(qp->context)->device;
        if (attr->pkey_index >= device.pkeys.size())
            return EINVAL;
        pair->pkey = device.pkeys[attr->pkey_index];
    }
    if (attr->qp_state == IBV_QPS_RTR) {
        if (rtr_error_ != 0)
            return rtr_error_;
        const auto& guarded = static_cast<Context*>(qp->context)->device->guarded_gids;
        if (!ud && guarded.contains(attr->ah_attr.grh.sgid_index))
            return ENODEV;
        const auto& context = *static_cast<Context*>(qp->context);
        if (const int refused = ud ? 0 : take_path(context, attr->ah_attr); refused != 0)
            return refused;
        if (rc && attr->max_dest_rd_atomic > context.device->max_reads)
            return EINVAL;
        pair->peer = ud ? 0 : attr->dest_qp_num;
    }
    if (attr->qp_state == IBV_QPS_RTS && rc)
        reads_.push_back(attr->max_rd_atomic);
    pair->state = attr->qp_state;
    return 0;
}

ibv_ah* FakeVerbs::create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
    const Guard guard(lock_);
    errno = rtr_error_ != 0 ? rtr_error_ : take_path(*static_cast<Context*>(pd->context), *attr);
    if (errno != 0)
        return nullptr;
    auto* ah = new ibv_ah{};
    ah->pd = pd;
    objects_.insert(ah);
    return ah;
}

int FakeVerbs::release(ibv_ah* ah) {
    const Guard guard(lock_);
    objects_.erase(ah);
    delete ah;
    return 0;
}

perf::GidRow gid_row(uint32_t index,
                     const std::string& address,
                     perf::GidType type,
                     const std::string& netdev) {
    perf::GidRow row;
    row.index = index;
    row.device = "rxe0";
    row.gid = perf::parse_address(address).value();
    row.type = type;
    row.netdev = netdev;
    row.netdev_present = !netdev.empty();
    return row;
}

FakeDevice loopback_device(const std::string& name) {
    FakeDevice device;
    device.name = name;
    device.gids = {gid_row(0, "fe80::1"), gid_row(1, "127.0.0.1")};
    return device;
}

}  // namespace test
