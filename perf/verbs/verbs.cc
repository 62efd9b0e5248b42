// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/verbs.h"

#include <string_view>
#include <type_traits>

#include <dlfcn.h>
#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <infiniband/efadv.h>
#include <sys/resource.h>

namespace perf {

namespace {
using DeviceList =
    std::unique_ptr<ibv_device*, decltype([](ibv_device** list) { ::ibv_free_device_list(list); })>;

// libibverbs loads the same library as its provider.
ibv_qp* create_srd_qp(ibv_qp_init_attr_ex* attr) {
    static void* const kEfa = ::dlopen("libefa.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto call = reinterpret_cast<decltype(&::efadv_create_qp_ex)>(
        kEfa != nullptr ? ::dlsym(kEfa, "efadv_create_qp_ex") : nullptr);
    if (call == nullptr) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    efadv_qp_init_attr efa{};
    efa.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD;
    return call(attr->pd->context, attr, &efa, sizeof efa);
}

class SystemVerbs : public Verbs {
  public:
    Result<std::vector<std::string>> device_names() override {
        int count = 0;
        const DeviceList list(::ibv_get_device_list(&count));
        if (!list)
            return sys_error("list RDMA devices")
                .advise("load ib_uverbs on the host, and give the container /dev/infiniband");
        std::vector<std::string> names;
        for (int i = 0; i < count; ++i)
            names.emplace_back(::ibv_get_device_name(list.get()[i]));
        return names;
    }

    ibv_context* open_device(const std::string& name) override {
        int count = 0;
        const DeviceList list(::ibv_get_device_list(&count));
        for (int i = 0; list && i < count; ++i) {
            if (name == ::ibv_get_device_name(list.get()[i]))
                return ::ibv_open_device(list.get()[i]);
        }
        if (list)
            errno = ENODEV;
        return nullptr;
    }

    int release(ibv_context* context) override { return ::ibv_close_device(context); }

    int take_async_event(ibv_context* context, ibv_event_type* type) override {
        ibv_async_event event{};
        if (::ibv_get_async_event(context, &event) != 0)
            return -1;
        *type = event.event_type;
        ::ibv_ack_async_event(&event);
        return 0;
    }

    int query_device(ibv_context* context, ibv_device_attr* attr) override {
        return ::ibv_query_device(context, attr);
    }

    int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attr) override {
        return ibv_query_port(context, port, attr);
    }

    ssize_t query_gid_table(ibv_context* context, std::span<ibv_gid_entry> out) override {
        return ibv_query_gid_table(context, out.data(), out.size(), 0);
    }

    int query_pkey(ibv_context* context, uint8_t port, int index, uint16_t* key) override {
        __be16 raw = 0;
        const int rc = ::ibv_query_pkey(context, port, index, &raw);
        *key = be16toh(raw);
        return rc;
    }

    ibv_pd* alloc_pd(ibv_context* context) override { return ::ibv_alloc_pd(context); }

    int release(ibv_pd* pd) override { return ::ibv_dealloc_pd(pd); }

    ibv_td* alloc_td(ibv_context* context) override {
        ibv_td_init_attr none{};
        return ::ibv_alloc_td(context, &none);
    }

    int release(ibv_td* td) override { return ::ibv_dealloc_td(td); }

    ibv_pd* alloc_parent_domain(ibv_context* context, ibv_pd* pd, ibv_td* td) override {
        ibv_parent_domain_init_attr attr{};
        attr.pd = pd;
        attr.td = td;
        return ::ibv_alloc_parent_domain(context, &attr);
    }

    ibv_mr* reg_mr(ibv_pd* pd, std::span<std::byte> memory, int access) override {
        return ibv_reg_mr(pd, memory.data(), memory.size(), access);
    }

    // Not linked: rdma-perf also runs with the libibverbs of rdma-core before 34, which lacks it.
    ibv_mr* reg_dmabuf_mr(
        ibv_pd* pd, uint64_t offset, size_t bytes, uint64_t address, int fd, int access) override {
        static const auto kCall = reinterpret_cast<decltype(&::ibv_reg_dmabuf_mr)>(
            ::dlsym(RTLD_DEFAULT, "ibv_reg_dmabuf_mr"));
        if (kCall != nullptr)
            return kCall(pd, offset, bytes, address, fd, access);
        errno = EOPNOTSUPP;
        return nullptr;
    }

    int release(ibv_mr* mr) override { return ::ibv_dereg_mr(mr); }

    ibv_comp_channel* create_channel(ibv_context* context) override {
        return ::ibv_create_comp_channel(context);
    }

    int release(ibv_comp_channel* channel) override { return ::ibv_destroy_comp_channel(channel); }

    ibv_cq* create_cq(ibv_context* context, int entries, ibv_comp_channel* channel) override {
        return ::ibv_create_cq(context, entries, nullptr, channel, 0);
    }

    ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) override {
        return ibv_create_cq_ex(context, attr);
    }

    int release(ibv_cq* cq) override { return ::ibv_destroy_cq(cq); }

    bool take_cq_event(ibv_comp_channel* channel) override {
        ibv_cq* cq = nullptr;
        void* ignored = nullptr;
        const bool came = ::ibv_get_cq_event(channel, &cq, &ignored) == 0;
        if (came)
            ::ibv_ack_cq_events(cq, 1);
        return came;
    }

    ibv_qp* create_qp(ibv_qp_init_attr_ex* attr, ibv_qp_ex** extended) override {
        ibv_qp* qp = attr->qp_type == IBV_QPT_DRIVER ? create_srd_qp(attr)
                                                     : ::ibv_create_qp_ex(attr->pd->context, attr);
        const bool has_calls = (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
        *extended = qp != nullptr && has_calls ? ::ibv_qp_to_qp_ex(qp) : nullptr;
        return qp;
    }

    int release(ibv_qp* qp) override { return ::ibv_destroy_qp(qp); }

    int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) override {
        return ::ibv_modify_qp(qp, attr, mask);
    }

    ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr) override { return ::ibv_create_ah(pd, attr); }

    int release(ibv_ah* ah) override { return ::ibv_destroy_ah(ah); }
};

std::string_view name_of(ibv_qp_type type) {
    return type == IBV_QPT_RC       ? "rc"
           : type == IBV_QPT_UC     ? "uc"
           : type == IBV_QPT_UD     ? "ud"
           : type == IBV_QPT_DRIVER ? "srd, or none for this verb"
                                    : "such";
}

std::string memlock_text() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return "unknown";
    return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} bytes", limit.rlim_cur);
}

constexpr std::pair<ibv_wc_status, const char*> kCompletionHints[] = {
    {IBV_WC_RETRY_EXC_ERR,
     "nothing came back from the peer: wrong network or GID, a firewall on UDP 4791, a path MTU "
     "that does not fit, or the peer is gone"},
    {IBV_WC_RNR_RETRY_EXC_ERR, "the peer never posted a receive"},
    {IBV_WC_WR_FLUSH_ERR, "follows another failure of the same queue pair"},
    {IBV_WC_REM_ACCESS_ERR, "the peer's memory region does not allow this access"},
    {IBV_WC_LOC_PROT_ERR, "the local memory region does not cover the buffer"}};

// Whatever keeps a provider from the calls, it may make the queue pair without them.
ibv_qp* make_qp(Verbs& verbs, ibv_qp_init_attr_ex& attr, ibv_qp_ex*& extended) {
    const ibv_qp_cap wanted = attr.cap;
    const bool is_srd = attr.qp_type == IBV_QPT_DRIVER;
    if (is_srd || attr.send_ops_flags != 0) {
        attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        ibv_qp* qp = verbs.create_qp(&attr, &extended);
        if (qp != nullptr || is_srd)
            return qp;
    }
    attr.comp_mask = IBV_QP_INIT_ATTR_PD;
    attr.cap = wanted;
    return verbs.create_qp(&attr, &extended);
}
}  // namespace

Verbs& system_verbs() {
    static SystemVerbs verbs;
    return verbs;
}

// ---- librdmacm ----------------------------------------------------------------------------------
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

    void release(rdma_event_channel* channel) override {
        library()->destroy_event_channel(channel);
    }

    int create_id(rdma_event_channel* channel, rdma_cm_id** id) override {
        return library()->create_id(channel, id, nullptr, RDMA_PS_TCP);
    }

    int release(rdma_cm_id* id) override { return library()->destroy_id(id); }

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

    int release(rdma_cm_event* event) override { return library()->ack_cm_event(event); }

    uint16_t port_of(rdma_cm_id* id) override { return be16toh(library()->get_src_port(id)); }
};
}  // namespace

Cm& system_cm() {
    static SystemCm cm;
    return cm;
}

// ---- objects ------------------------------------------------------------------------------------
Result<> make_non_blocking(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return sys_error("make a descriptor non-blocking");
    return {};
}

Result<Owned<ibv_context>> open_device(Verbs& verbs, const std::string& name) {
    Owned<ibv_context> context(verbs.open_device(name), Release{&verbs});
    if (context) {
        TRY(make_non_blocking(context->async_fd).context("the asynchronous events of " + name));
        return context;
    }
    const int number = errno;
    return sys_error(number, "open RDMA device " + name)
        .advise(number == EPERM ? "run this in the network namespace that the device belongs to"
                                : "see `ls -l /dev/infiniband` and `rdma dev` in this container");
}

Result<Owned<ibv_pd>> alloc_pd(Verbs& verbs, ibv_context* context) {
    Owned<ibv_pd> pd(verbs.alloc_pd(context), Release{&verbs});
    if (!pd)
        return sys_error("allocate a protection domain")
            .advise(
                "raise the container's limit of objects, if it is reached (rdma.max of its "
                "cgroup)");
    return pd;
}

Result<Owned<ibv_mr>> register_memory(Verbs& verbs,
                                      ibv_pd* pd,
                                      std::span<std::byte> memory,
                                      int access) {
    Owned<ibv_mr> mr(verbs.reg_mr(pd, memory, access), Release{&verbs});
    if (mr)
        return mr;
    Error error = sys_error(fmt::format("register {} bytes of memory", memory.size()));
    if (error.sys == ENOMEM || error.sys == EAGAIN)
        return std::move(error).advise(
            fmt::format("raise RLIMIT_MEMLOCK, which is {} (docker run --ulimit memlock=-1, "
                        "annotation rdma.memlock=unlimited), or use a smaller --size or --depth",
                        memlock_text()));
    return error;
}

Result<CompletionQueue> create_cq(Verbs& verbs, ibv_context* context, int entries, bool lazily) {
    CompletionQueue queue{&verbs, {nullptr, Release{&verbs}}, {nullptr, Release{&verbs}}};
    queue.channel.reset(verbs.create_channel(context));
    if (!queue.channel)
        return sys_error("create a completion channel");
    if (lazily) {
        ibv_cq_init_attr_ex attr{};
        attr.cqe = static_cast<uint32_t>(entries);
        attr.channel = queue.channel.get();
        attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
        attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
        queue.extended = verbs.create_cq_ex(context, &attr);
    }
    // Whatever keeps a provider from it, it may make a queue of the older kind.
    queue.cq.reset(queue.extended != nullptr
                       ? ibv_cq_ex_to_cq(queue.extended)
                       : verbs.create_cq(context, entries, queue.channel.get()));
    if (!queue.cq)
        return sys_error(fmt::format("create a completion queue of {} entries", entries))
            .advise("use a smaller --depth");
    return queue;
}

Result<Owned<ibv_qp>> create_qp(
    Verbs& verbs, ibv_pd* pd, ibv_cq* cq, ibv_qp_type type, ibv_qp_cap& caps, SendCalls* calls) {
    ibv_qp_init_attr_ex attr{};
    attr.pd = pd;
    attr.send_cq = attr.recv_cq = cq;
    attr.qp_type = type;
    attr.cap = caps;
    attr.send_ops_flags = calls != nullptr ? calls->wanted : 0;
    ibv_qp_ex* extended = nullptr;
    Owned<ibv_qp> qp(make_qp(verbs, attr, extended), Release{&verbs});
    if (!qp && caps.max_inline_data != 0) {
        // How much fits inline is the device's affair, and it can only be asked so.
        attr.cap = caps;
        attr.cap.max_inline_data = 0;
        qp.reset(make_qp(verbs, attr, extended));
    }
    // What a provider answers for a type of queue pair that it does not have.
    if (!qp && (errno == EOPNOTSUPP || errno == ENOSYS))
        return sys_error(fmt::format("create a queue pair: the device has no {}", name_of(type)))
            .advise(type == IBV_QPT_DRIVER
                        ? "use --verb send on an older EFA, and --transport rc elsewhere"
                        : "see --transport; EFA, for one, has srd and ud only");
    if (!qp)
        return sys_error(fmt::format("create a queue pair with {} sends and {} receives",
                                     caps.max_send_wr,
                                     caps.max_recv_wr))
            .advise("use a smaller --depth; see also the rdma cgroup limits of this container");
    if (calls != nullptr)
        calls->qp = extended;
    caps = attr.cap;
    return qp;
}

uint32_t mtu_bytes(ibv_mtu mtu) {
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << static_cast<unsigned>(mtu) : 0;
}

ibv_mtu mtu_enum(uint32_t bytes) {
    for (const ibv_mtu mtu : {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096}) {
        if (mtu_bytes(mtu) == bytes)
            return mtu;
    }
    return static_cast<ibv_mtu>(0);
}

Result<> outcome_of(const ibv_wc& wc) {
    if (wc.status == IBV_WC_SUCCESS)
        return {};
    const bool peer = wc.status == IBV_WC_RETRY_EXC_ERR || wc.status == IBV_WC_RNR_RETRY_EXC_ERR ||
                      wc.status == IBV_WC_WR_FLUSH_ERR;
    return make_error(peer ? Code::Unavailable : Code::Internal,
                      fmt::format("completion failed: {} (status {}, vendor error {:#x})",
                                  ::ibv_wc_status_str(wc.status),
                                  static_cast<int>(wc.status),
                                  wc.vendor_err))
        .advise(hint_for(kCompletionHints, wc.status));
}

}  // namespace perf
