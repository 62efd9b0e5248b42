// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/cm/cm.h"

#include <type_traits>

#include <dlfcn.h>
#include <endian.h>

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

}  // namespace perf
