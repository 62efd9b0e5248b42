// SPDX-License-Identifier: Apache-2.0
// The server's side of the key-value exercise: the table, a queue pair, and while GETs are asked
// for by SEND a thread that answers them.
#include <algorithm>
#include <cstring>

#include "perf/engine/engine.h"
#include "perf/protocol/fields.h"
#include "perf/suites/kv/kv.h"

namespace perf::kv {

Result<Endpoint> the_endpoint(std::vector<Endpoint> endpoints) {
    if (endpoints.size() == 1)
        return endpoints.front();
    return make_error(Code::BadInput, "{} queue pairs instead of 1", endpoints.size());
}

namespace {
constexpr size_t kRequestBytes = sizeof(uint64_t);

// A receive's wr_id: its place among the requests, from 1; sends have 0.
int post_request(Link& link, const Region& requests, uint64_t id) noexcept {
    return link.receive(requests.piece((id - 1) * kRequestBytes, kRequestBytes), id);
}

struct Service {
    Shape shape;
    Waiting waiting;  // how the thread waits, and whose words explain a failure
    Region table;
    Region requests;
    Link link;                             // uses both
    std::unique_ptr<Crew> crew = nullptr;  // its thread uses all the above: goes first
};

// Sends the slot of the key that is asked for. `before`: answers before this one.
int answer(Service& service, const ibv_wc& request, uint64_t before) noexcept {
    uint64_t key = kNoKey;  // what has another length asks for nothing
    if (request.byte_len == kRequestBytes)
        std::memcpy(
            &key, &service.requests.bytes()[(request.wr_id - 1) * kRequestBytes], kRequestBytes);
    // First of all a place for the next request: its sender waits for this answer only.
    if (const int rc = post_request(service.link, service.requests, request.wr_id); rc != 0)
        return rc;
    const Shape& shape = service.shape;
    const size_t slot = find(service.table.bytes().first(shape.table_bytes()), shape, key);
    return send_message(service.link, service.table.piece(slot, shape.slot_bytes()), before);
}

template <class C>
Ending answer_all(Service& service, C& completer, Worker& worker) noexcept {
    CompletionArray wc;
    int got = 0;
    uint64_t answers = 0;
    Ending end;
    while (worker.phase() == Phase::Run && take_completions(completer, worker, wc, got, end)) {
        for (const ibv_wc& one : std::span(wc).first(static_cast<size_t>(got))) {
            if (one.wr_id != 0)
                end.post_error = answer(service, one, answers++);
            if (!end.good())
                return end;
        }
        worker.note_sent(answers);
    }
    return end;
}

constexpr std::string_view kExchange[] = {"kv_open", "kv_start", "kv_stop", "kv_close"};

class ExerciseHalf : public ServerHalf {
  public:
    explicit ExerciseHalf(Lent lent) : lent_(std::move(lent)), near_(stay_on(lent_.device->near)) {}

    Result<Json> answer(std::string_view type, const Json& frame) override {
        if (type == "kv_open" && !service_)
            return open(frame);
        if (type == "kv_start" && service_ && !service_->crew)
            return start(frame);
        if (type == "kv_stop" && service_ && service_->crew)
            return stop();
        if (type != "kv_close" || !service_ || service_->crew)
            return not_due(type);
        return message("kv_closed");
    }

    [[nodiscard]] Busy busy() const override {
        return service_ ? Busy{.crew = service_->crew.get(), .waiting = &service_->waiting}
                        : Busy{};
    }

  private:
    Result<Json> open(const Json& frame) {
        lent_.account->end_idle();
        const Shape shape{.keys = TRY(base::required<uint32_t>(frame, "keys")),
                          .value = TRY(base::required<uint32_t>(frame, "value_bytes")),
                          .seed = TRY(base::required<uint64_t>(frame, "seed"))};
        TRY(check_limits(shape));
        const auto poll = TRY(read_member<Poll>(frame, "poll"));
        const Endpoint remote = TRY(the_endpoint(TRY(parse_endpoints(frame))));
        const Device& device = *lent_.device;
        const Waiting waiting = lent_.waiting(resolve_poll({.poll = poll}, poll_place(device)));
        auto table = TRY(Region::create(device, shape.table_bytes(), IBV_ACCESS_REMOTE_READ));
        auto requests =
            TRY(Region::create(device, size_t{kReceives} * kRequestBytes, IBV_ACCESS_LOCAL_WRITE));
        auto link = TRY(
            Link::create(device, link_options(device, shape.slot_bytes(), IBV_ACCESS_REMOTE_READ)));
        for (uint64_t id = 1; id <= kReceives; ++id)
            TRY(outcome_of(post_request(link, requests, id), "post receives"));
        const uint32_t mtu = std::min(device.info.active_mtu, lent_.peer->active_mtu);
        TRY(link.connect(*lent_.peer, remote, mtu));
        Endpoint own = link.endpoint();
        own.address = table.address();
        own.length = shape.table_bytes();
        own.rkey = table.rkey();
        service_ = std::make_unique<Service>(
            Service{shape, waiting, std::move(table), std::move(requests), std::move(link)});
        const Opened opened{.endpoints = {own}, .mtu = mtu, .poll = waiting.poll};
        return message("kv_opened", perf::to_json(opened));
    }

    Result<Json> start(const Json& frame) {
        const auto method = TRY(read_member<Method>(frame, "method"));
        const auto version = TRY(read_member<uint32_t>(frame, "version", 1, kMaxVersion));
        const Shape& shape = service_->shape;
        TRY(fill(service_->table.bytes().first(shape.table_bytes()), shape, version));
        auto crew = TRY(Crew::create());
        if (method == Method::Send)
            TRY(crew->hire(false, [service = service_.get()](Crew::Hand& hand) {
                Waiting waiting = service->waiting;
                waiting.word = hand.worker.word_fd();
                return with_completer(service->link.completions(), waiting, [&](auto& completer) {
                    return answer_all(*service, completer, hand.worker);
                });
            }));
        TRY(crew->start());
        service_->crew = std::move(crew);
        lent_.account->begin(lent_.device->info);
        return message("kv_started");
    }

    Result<Json> stop() {
        Crew& crew = *service_->crew;
        crew.close();
        TRY(lent_.await([&] { return crew.all_ended(); }));
        Json body = {{"answers", crew.sent()}};
        service_->crew.reset();
        body.update(perf::to_json(lent_.account->end()));
        return message("kv_stopped", std::move(body));
    }

    Lent lent_;
    std::shared_ptr<void> near_;  // and so the table and the thread
    std::unique_ptr<Service> service_;
};
}  // namespace

const ServedSuite kServedExercise = {
    .what = "the key-value exercise",
    .capability = "kv",
    .takes_part = [](const SideOptions&) { return true; },
    .messages = kExchange,
    .make = [](const Lent& lent) -> std::unique_ptr<ServerHalf> {
        return std::make_unique<ExerciseHalf>(lent);
    },
};

}  // namespace perf::kv
