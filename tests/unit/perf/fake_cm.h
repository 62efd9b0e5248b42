// SPDX-License-Identifier: Apache-2.0
// FakeCm: rdma_cm in memory. Listeners and connections of one process find each other by address
// and port; events come through descriptors that can be polled. It is strict where the kernel is:
// states of ids and queue pairs (FakeVerbs), attributes of each transport, unacknowledged events.
// And it can be told to go wrong.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "perf/address/address.h"
#include "perf/verbs/verbs.h"
#include "tests/unit/perf/fake_verbs.h"

namespace test {

// What the administrator has set (default_roce_tos of rdma_cm's configfs).
inline constexpr uint8_t kCmTrafficClass = 32;

// What a device of rdma_cm is known by.
struct FakeCmDevice {
    std::string name = "rxe0";
    perf::Address address = perf::parse_address("10.9.0.1").value();
    bool iwarp = false;
};

class FakeCm : public perf::Cm {
  public:
    // A call that can be told to fail.
    enum class Call {
        CreateChannel,
        CreateId,
        Bind,
        Listen,
        ResolveAddr,
        ResolveRoute,
        Connect,
        Establish,
        Accept,
        InitAttributes,
        GetEvent
    };

    FakeCm(FakeVerbs& verbs, std::vector<FakeCmDevice> devices);
    ~FakeCm() override;
    FakeCm(const FakeCm&) = delete;
    FakeCm& operator=(const FakeCm&) = delete;
    FakeCm(FakeCm&&) = delete;
    FakeCm& operator=(FakeCm&&) = delete;

    // ---- what goes wrong ------------------------------------------------------------------------
    void have_no_library() { library_ = false; }

    void fail(Call call, int number);
    // Instead of the event `due`, `event` with `status` comes; instead of a request one of the
    // listener itself.
    void answer(rdma_cm_event_type due, rdma_cm_event_type event, int status);
    // The event never comes, or when release() is called. wait_for_held(): until there is one;
    // false after ten seconds.
    void hold(rdma_cm_event_type event);
    [[nodiscard]] bool wait_for_held();
    void release();

    // The next so many looks for an address find it not, each after its time.
    void miss_neighbour(int times) { missed_ = times; }

    // connect() sleeps until a signal comes, as Soft-iWARP does that waits for TCP.
    void block_connect() { blocking_ = true; }

    // A stranger asks the listener at that port. With `for_ever` a rejection makes it ask again.
    void knock(uint16_t port, std::vector<std::byte> private_data, bool for_ever = false);

    // ---- what is left ---------------------------------------------------------------------------
    [[nodiscard]] size_t objects();  // not given back
    [[nodiscard]] std::string complaint();
    [[nodiscard]] size_t rejected();  // requests
    [[nodiscard]] size_t disconnects();

    base::Result<> load() override;
    rdma_event_channel* create_channel() override;
    void release(rdma_event_channel* channel) override;
    int create_id(rdma_event_channel* channel, rdma_cm_id** id) override;
    int release(rdma_cm_id* id) override;
    int bind_addr(rdma_cm_id* id, sockaddr* address) override;
    int listen(rdma_cm_id* id, int backlog) override;
    int resolve_addr(rdma_cm_id* id, sockaddr* to, int timeout_ms) override;
    int resolve_route(rdma_cm_id* id, int timeout_ms) override;
    int connect(rdma_cm_id* id, rdma_conn_param* param) override;
    int establish(rdma_cm_id* id) override;
    int accept(rdma_cm_id* id, rdma_conn_param* param) override;
    int reject(rdma_cm_id* id) override;
    int disconnect(rdma_cm_id* id) override;
    int init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attr, int* mask) override;
    int get_event(rdma_event_channel* channel, rdma_cm_event** event) override;
    int release(rdma_cm_event* event) override;
    uint16_t port_of(rdma_cm_id* id) override;

  private:
    struct Channel;
    struct Id;
    struct Event;

    struct Substitute {
        rdma_cm_event_type event;
        int status;
    };

    using Bytes = std::vector<std::byte>;

    int refuse(Call call);
    int wrong_state(const std::string& what);
    void complain(const std::string& text);
    Id* make_id(Channel* channel);
    Id* listener_at(const perf::Address& address, uint16_t port);
    void request(Id& listener, Id* client, Bytes private_data, bool for_ever);
    void tell_rejected(Id& child);
    void send(Id& to, rdma_cm_event_type type, int status = 0, Id* child = nullptr);
    void queue(Event* event);
    void drop_events(Id& id);
    void part(Id& id);
    void forget(Id* id);
    static void init_attributes(const Id& id, ibv_qp_attr& attr, int& mask);
    static void path_attributes(const Id& id, ibv_qp_attr& attr, int& mask);

    std::mutex lock_;
    std::condition_variable held_one_;
    FakeVerbs* verbs_;
    std::vector<FakeCmDevice> devices_;
    std::set<void*> objects_;
    std::set<Id*> ids_;  // also those that nobody was told of yet
    std::map<Call, int> failures_;
    std::map<rdma_cm_event_type, Substitute> substitutes_;
    std::set<rdma_cm_event_type> held_;
    std::vector<Event*> waiting_;
    std::string complaint_;
    bool library_ = true;
    bool blocking_ = false;
    int missed_ = 0;
    uint16_t next_port_ = 4711;
    size_t rejected_ = 0;
    size_t disconnects_ = 0;
};

}  // namespace test
