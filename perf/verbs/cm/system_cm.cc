// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <dlfcn.h>

#include "perf/verbs/cm/cm.h"

namespace perf {

namespace {
constexpr char kLibrary[] = "librdmacm.so.1";

// The functions of the library, by the names that they have there.
struct Rdmacm {
    decltype(&::rdma_create_event_channel) create_event_channel = nullptr;
    decltype(&::rdma_destroy_event_channel) destroy_event_channel = nullptr;
    decltype(&::rdma_create_id) create_id = nullptr;
    decltype(&::rdma_destroy_id) destroy_id = nullptr;
    decltype(&::rdma_bind_addr) bind_addr = nullptr;
    decltype(&::rdma_listen) listen = nullptr;
    decltype(&::rdma_resolve_addr) resolve_addr = nullptr;
    decltype(&::rdma_resolve_route) resolve_route = nullptr;
    decltype(&::rdma_connect) connect = nullptr;
    decltype(&::rdma_establish) establish = nullptr;
    decltype(&::rdma_accept) accept = nullptr;
    decltype(&::rdma_reject) reject = nullptr;
    decltype(&::rdma_disconnect) disconnect = nullptr;
    decltype(&::rdma_init_qp_attr) init_qp_attr = nullptr;
    decltype(&::rdma_get_cm_event) get_cm_event = nullptr;
    decltype(&::rdma_ack_cm_event) ack_cm_event = nullptr;
    decltype(&::rdma_get_src_port) get_src_port = nullptr;
};

std::string last_dl_error() {
    const char* text = ::dlerror();
    return printable(text != nullptr ? text : "unknown error");
}

Result<Rdmacm> load_library() {
    // Never closed: it keeps devices open for the next id, and the process ends soon.
    void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return make_error(Code::Unsupported, "load librdmacm: " + last_dl_error())
            .advise("install the package librdmacm1 where rdma-perf runs, or run without --cm");
    Rdmacm calls;
    const char* missing = nullptr;
    const auto find = [&](auto& call, const char* name) {
        call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(library, name));
        if (call == nullptr)
            missing = name;
    };
    find(calls.create_event_channel, "rdma_create_event_channel");
    find(calls.destroy_event_channel, "rdma_destroy_event_channel");
    find(calls.create_id, "rdma_create_id");
    find(calls.destroy_id, "rdma_destroy_id");
    find(calls.bind_addr, "rdma_bind_addr");
    find(calls.listen, "rdma_listen");
    find(calls.resolve_addr, "rdma_resolve_addr");
    find(calls.resolve_route, "rdma_resolve_route");
    find(calls.connect, "rdma_connect");
    find(calls.establish, "rdma_establish");
    find(calls.accept, "rdma_accept");
    find(calls.reject, "rdma_reject");
    find(calls.disconnect, "rdma_disconnect");
    find(calls.init_qp_attr, "rdma_init_qp_attr");
    find(calls.get_cm_event, "rdma_get_cm_event");
    find(calls.ack_cm_event, "rdma_ack_cm_event");
    find(calls.get_src_port, "rdma_get_src_port");
    if (missing != nullptr)
        return make_error(Code::Unsupported,
                          std::string("librdmacm has no ") + missing + ": it is too old")
            .advise("install librdmacm1 of rdma-core 23 or later, or run without --cm");
    return calls;
}

const Result<Rdmacm>& library() {
    static const Result<Rdmacm> kLoaded = load_library();
    return kLoaded;
}

// Each call but load() only comes after a load() that went well.
const Rdmacm& calls() {
    return *library();
}

class SystemCm : public Cm {
  public:
    Result<> load() override {
        const auto& loaded = library();
        return loaded ? Result<>() : Result<>(Result<Rdmacm>(loaded).error());
    }

    rdma_event_channel* create_channel() override { return calls().create_event_channel(); }

    void destroy_channel(rdma_event_channel* channel) override {
        calls().destroy_event_channel(channel);
    }

    int create_id(rdma_event_channel* channel, rdma_cm_id** id) override {
        return calls().create_id(channel, id, nullptr, RDMA_PS_TCP);
    }

    int destroy_id(rdma_cm_id* id) override { return calls().destroy_id(id); }

    int bind_addr(rdma_cm_id* id, sockaddr* address) override {
        return calls().bind_addr(id, address);
    }

    int listen(rdma_cm_id* id, int backlog) override { return calls().listen(id, backlog); }

    int resolve_addr(rdma_cm_id* id, sockaddr* to, int timeout_ms) override {
        return calls().resolve_addr(id, nullptr, to, timeout_ms);
    }

    int resolve_route(rdma_cm_id* id, int timeout_ms) override {
        return calls().resolve_route(id, timeout_ms);
    }

    int connect(rdma_cm_id* id, rdma_conn_param* param) override {
        return calls().connect(id, param);
    }

    int establish(rdma_cm_id* id) override { return calls().establish(id); }

    int accept(rdma_cm_id* id, rdma_conn_param* param) override {
        return calls().accept(id, param);
    }

    int reject(rdma_cm_id* id) override { return calls().reject(id, nullptr, 0); }

    int disconnect(rdma_cm_id* id) override { return calls().disconnect(id); }

    int init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attr, int* mask) override {
        return calls().init_qp_attr(id, attr, mask);
    }

    int get_event(rdma_event_channel* channel, rdma_cm_event** event) override {
        return calls().get_cm_event(channel, event);
    }

    int ack_event(rdma_cm_event* event) override { return calls().ack_cm_event(event); }

    uint16_t port_of(rdma_cm_id* id) override { return be16toh(calls().get_src_port(id)); }

    std::string device_of(rdma_cm_id* id) override {
        return id->verbs != nullptr ? ::ibv_get_device_name(id->verbs->device) : "";
    }

    bool is_iwarp(rdma_cm_id* id) override {
        return id->verbs != nullptr && id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
    }
};
}  // namespace

Cm& system_cm() {
    static SystemCm cm;
    return cm;
}

}  // namespace perf
