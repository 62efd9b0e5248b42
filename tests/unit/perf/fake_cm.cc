// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/perf/fake_cm.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/perf/fake_cm_objects.h"

namespace test {

namespace {
using CmGuard = std::lock_guard<std::mutex>;
}  // namespace

FakeCm::FakeCm(FakeVerbs& verbs, std::vector<FakeCmDevice> devices)
    : verbs_(&verbs), devices_(std::move(devices)) {}

FakeCm::~FakeCm() {
    for (Id* id : ids_)
        delete id;
}

// ---- what goes wrong ----------------------------------------------------------------------------
void FakeCm::fail(Call call, int number) {
    const CmGuard guard(lock_);
    failures_[call] = number;
}

void FakeCm::answer(rdma_cm_event_type due, rdma_cm_event_type event, int status) {
    const CmGuard guard(lock_);
    substitutes_[due] = {event, status};
}

void FakeCm::hold(rdma_cm_event_type event) {
    const CmGuard guard(lock_);
    held_.insert(event);
}

bool FakeCm::wait_for_held() {
    std::unique_lock<std::mutex> guard(lock_);
    return held_one_.wait_for(guard, std::chrono::seconds(10), [&] { return !waiting_.empty(); });
}

void FakeCm::release() {
    const CmGuard guard(lock_);
    held_.clear();
    for (Event* event : std::exchange(waiting_, {}))
        queue(event);
}

void FakeCm::knock(uint16_t port, Bytes private_data, bool for_ever) {
    const CmGuard guard(lock_);
    for (const FakeCmDevice& device : devices_) {
        if (Id* listener = listener_at(device.address, port); listener != nullptr)
            request(*listener, nullptr, std::move(private_data), for_ever);
    }
}

int FakeCm::refuse(Call call) {
    const auto it = failures_.find(call);
    errno = it != failures_.end() ? it->second : 0;
    return errno;
}

int FakeCm::wrong_state(const std::string& what) {
    complain(what);
    errno = EINVAL;
    return -1;
}

void FakeCm::complain(const std::string& text) {
    if (complaint_.empty())
        complaint_ = text;
}

// ---- what is left -------------------------------------------------------------------------------
size_t FakeCm::objects() {
    const CmGuard guard(lock_);
    return objects_.size();
}

std::string FakeCm::complaint() {
    const CmGuard guard(lock_);
    return complaint_;
}

size_t FakeCm::rejected() {
    const CmGuard guard(lock_);
    return rejected_;
}

size_t FakeCm::disconnects() {
    const CmGuard guard(lock_);
    return disconnects_;
}

// ---- events -------------------------------------------------------------------------------------
void FakeCm::queue(Event* event) {
    auto* channel = static_cast<Channel*>(event->counted->channel);
    channel->events.push_back(event);
    const uint64_t one = 1;
    (void)!::write(channel->fd, &one, sizeof one);
}

void FakeCm::send(Id& to, rdma_cm_event_type type, int status, Id* child) {
    auto* event = new Event{};
    event->counted = &to;
    event->id = child != nullptr ? child : &to;
    event->event = type;
    event->status = status;
    if (const auto it = substitutes_.find(type); it != substitutes_.end()) {
        event->event = it->second.event;
        event->status = it->second.status;
        event->id = &to;
    }
    if (child != nullptr) {
        event->listen_id = &to;
        event->data = child->asked;
        event->param.conn.private_data = event->data.empty() ? nullptr : event->data.data();
        event->param.conn.private_data_len = static_cast<uint8_t>(event->data.size());
        event->param.conn.responder_resources = child->responder_depth;
        event->param.conn.initiator_depth = child->initiator_depth;
        event->param.conn.qp_num = child->peer_number;
    }
    if (!held_.contains(type)) {
        queue(event);
        return;
    }
    waiting_.push_back(event);
    held_one_.notify_all();
}

int FakeCm::get_event(rdma_event_channel* channel, rdma_cm_event** event) {
    const CmGuard guard(lock_);
    if (refuse(Call::GetEvent) != 0)
        return -1;
    uint64_t one = 0;
    if (::read(channel->fd, &one, sizeof one) != sizeof one)
        return -1;
    auto& events = static_cast<Channel*>(channel)->events;
    if (events.empty()) {  // it was of an id that is gone
        errno = EAGAIN;
        return -1;
    }
    Event* next = events.front();
    events.pop_front();
    ++next->counted->unacknowledged;
    objects_.insert(next);
    if (next->event == RDMA_CM_EVENT_CONNECT_REQUEST)
        objects_.insert(static_cast<Id*>(next->id));
    *event = next;
    return 0;
}

int FakeCm::release(rdma_cm_event* event) {
    const CmGuard guard(lock_);
    auto* taken = static_cast<Event*>(event);
    if (objects_.erase(taken) != 0)
        --taken->counted->unacknowledged;
    delete taken;
    return 0;
}

void FakeCm::drop_events(Id& id) {
    std::vector<Event*> dropped;
    const auto drop = [&](Event* event) {
        if (event->counted == &id)
            dropped.push_back(event);
        return event->counted == &id;
    };
    std::erase_if(static_cast<Channel*>(id.channel)->events, drop);
    std::erase_if(waiting_, drop);
    for (Event* event : dropped) {
        if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {  // nobody will answer it any more
            auto* child = static_cast<Id*>(event->id);
            tell_rejected(*child);
            forget(child);
        }
        delete event;
    }
}

// ---- channels and ids ---------------------------------------------------------------------------
base::Result<> FakeCm::load() {
    if (library_)
        return {};
    return base::make_error(base::Code::Unsupported, "load librdmacm: it is not there");
}

rdma_event_channel* FakeCm::create_channel() {
    const CmGuard guard(lock_);
    if (refuse(Call::CreateChannel) != 0)
        return nullptr;
    auto* channel = new Channel{};
    channel->fd = ::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    objects_.insert(channel);
    return channel;
}

void FakeCm::release(rdma_event_channel* channel) {
    const CmGuard guard(lock_);
    if (std::ranges::any_of(ids_, [&](Id* id) { return id->channel == channel; }))
        complain("a channel is destroyed before its ids");
    (void)::close(channel->fd);
    objects_.erase(channel);
    delete static_cast<Channel*>(channel);
}

FakeCm::Id* FakeCm::make_id(Channel* channel) {
    auto* id = new Id{};
    id->channel = channel;
    id->ps = RDMA_PS_TCP;
    id->port_num = 1;
    ids_.insert(id);
    return id;
}

int FakeCm::create_id(rdma_event_channel* channel, rdma_cm_id** id) {
    const CmGuard guard(lock_);
    if (refuse(Call::CreateId) != 0)
        return -1;
    *id = make_id(static_cast<Channel*>(channel));
    objects_.insert(static_cast<Id*>(*id));
    return 0;
}

void FakeCm::forget(Id* id) {
    drop_events(*id);
    ids_.erase(id);
    objects_.erase(id);
    delete id;
}

// What the peer sees when an id goes.
void FakeCm::part(Id& id) {
    if (id.state == Id::State::Asked)
        tell_rejected(id);
    else if (id.peer != nullptr && id.state != Id::State::Closed)
        send(*id.peer, RDMA_CM_EVENT_DISCONNECTED);
    if (id.peer != nullptr)
        id.peer->peer = nullptr;
    id.peer = nullptr;
}

int FakeCm::release(rdma_cm_id* id) {
    const CmGuard guard(lock_);
    auto* own = static_cast<Id*>(id);
    if (own->unacknowledged != 0)
        complain("an id with an unacknowledged event is destroyed: the real call never returns");
    drop_events(*own);
    for (Id* each : ids_) {
        if (each->listener == own)
            each->listener = nullptr;
    }
    part(*own);
    forget(own);
    return 0;
}

int FakeCm::bind_addr(rdma_cm_id* id, sockaddr* address) {
    const CmGuard guard(lock_);
    if (refuse(Call::Bind) != 0)
        return -1;
    auto* own = static_cast<Id*>(id);
    const auto wanted = perf::from_sockaddr(address);
    const auto it = std::ranges::find_if(
        devices_, [&](const FakeCmDevice& each) { return wanted && each.address == *wanted; });
    if (it == devices_.end()) {
        errno = ENODEV;
        return -1;
    }
    own->device = &*it;
    it->name.copy(own->adapter.name, sizeof own->adapter.name - 1);
    own->adapter.transport_type = it->iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
    own->opened.device = &own->adapter;
    own->verbs = &own->opened;
    own->port = next_port_++;
    own->state = Id::State::Bound;
    std::ranges::copy(it->address.bytes, own->route.addr.addr.ibaddr.sgid.raw);
    return 0;
}

uint16_t FakeCm::port_of(rdma_cm_id* id) {
    const CmGuard guard(lock_);
    return static_cast<Id*>(id)->port;
}

}  // namespace test
