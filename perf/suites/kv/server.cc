// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/kv/server.h"

#include <cstring>

#include "perf/engine/latency.h"

namespace perf::kv {

namespace {
constexpr size_t kRequestBytes = sizeof(uint64_t);

// A receive's wr_id: its place among the requests, from 1; sends have 0.
int post_request(Link& link, const Region& requests, uint64_t id) noexcept {
    return link.receive(requests.piece((id - 1) * kRequestBytes, kRequestBytes), id);
}

// Answers each request with the slot of its key, until the worker is closed.
template <class C>
class Answerer {
  public:
    Answerer(
        Link& link, const Region& table, const Region& requests, const Shape& shape, Worker& worker)
        : link_(link), table_(table), requests_(requests), shape_(shape), worker_(worker) {}

    Ending run(C& completer) noexcept {
        CompletionArray wc;
        int got = 0;
        while (worker_.phase() == Phase::Run &&
               take_completions(completer, worker_, wc, got, end_)) {
            for (const ibv_wc& one : std::span(wc).first(static_cast<size_t>(got))) {
                if (one.wr_id != 0)
                    end_.post_error = answer(one);
                if (!end_.good())
                    return end_;
            }
            worker_.note_sent(answers_);
        }
        return end_;
    }

  private:
    int answer(const ibv_wc& request) noexcept {
        uint64_t key = kNoKey;  // what has another length asks for nothing
        if (request.byte_len == kRequestBytes)
            std::memcpy(
                &key, &requests_.bytes()[(request.wr_id - 1) * kRequestBytes], kRequestBytes);
        // First of all a place for the next request: its sender waits for this answer only.
        if (const int rc = post_request(link_, requests_, request.wr_id); rc != 0)
            return rc;
        const size_t slot = find(table_.bytes().first(shape_.table_bytes()), shape_, key);
        return send_message(link_, table_.piece(slot, shape_.slot_bytes()), answers_++);
    }

    Link& link_;
    const Region& table_;
    const Region& requests_;
    const Shape& shape_;
    Worker& worker_;
    uint64_t answers_ = 0;
    Ending end_;
};
}  // namespace

Result<std::unique_ptr<Service>> Service::open(const Device& device,
                                               const Opening& opening,
                                               const DeviceInfo& peer,
                                               uint32_t mtu,
                                               const Waiting& waiting) {
    const Shape& shape = opening.shape;
    auto table = TRY(Region::create(device, shape.table_bytes(), IBV_ACCESS_REMOTE_READ));
    auto requests =
        TRY(Region::create(device, size_t{kReceives} * kRequestBytes, IBV_ACCESS_LOCAL_WRITE));
    auto link = TRY(Link::create(device, link_options(shape.slot_bytes(), IBV_ACCESS_REMOTE_READ)));
    for (uint64_t id = 1; id <= kReceives; ++id) {
        if (const int rc = post_request(link, requests, id); rc != 0)
            return sys_error(rc, "post receives");
    }
    TRY(link.connect(peer, opening.endpoint, mtu));
    return std::unique_ptr<Service>(
        new Service(shape, waiting, std::move(table), std::move(requests), std::move(link)));
}

Endpoint Service::endpoint() const {
    Endpoint endpoint = link_.endpoint();
    endpoint.address = table_.address();
    endpoint.length = shape_.table_bytes();
    endpoint.rkey = table_.rkey();
    return endpoint;
}

Result<> Service::start(const Start& start) {
    TRY(fill(table_.bytes().first(shape_.table_bytes()), shape_, start.version));
    crew_ = TRY(Crew::create());
    if (start.method == Method::Send)
        TRY(crew_->hire(false, [this](Crew::Hand& hand) { return answer(hand); }));
    return crew_->start();
}

Ending Service::answer(Crew::Hand& hand) {
    Waiting waiting = waiting_;
    waiting.word = hand.worker.word_fd();
    return with_completer(link_.completions(), waiting, [&](auto& completer) {
        using C = std::remove_reference_t<decltype(completer)>;
        return Answerer<C>(link_, table_, requests_, shape_, hand.worker).run(completer);
    });
}

uint64_t Service::finish() {
    const uint64_t answers = crew_->sent();
    crew_.reset();
    return answers;
}

}  // namespace perf::kv
