// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "perf/suites/kv/command.h"
#include "perf/suites/kv/server.h"

namespace perf::kv {

namespace {
constexpr std::string_view kExchange[] = {"kv_open", "kv_start", "kv_stop", "kv_close"};

class ExerciseHalf : public ServerHalf {
  public:
    explicit ExerciseHalf(Lent lent) : lent_(std::move(lent)) {}

    Result<Json> answer(std::string_view type, const Json& frame) override {
        if (type == "kv_open" && !service_)
            return open(frame);
        if (type == "kv_start" && service_ && !answering_)
            return start(frame);
        if (type == "kv_stop" && answering_)
            return stop();
        if (type != "kv_close" || !service_ || answering_)
            return not_due(type);
        service_.reset();
        over_ = true;
        return message("kv_closed");
    }

    [[nodiscard]] bool is_over() const override { return over_; }

    [[nodiscard]] std::optional<Busy> busy() const override {
        if (!answering_)
            return std::nullopt;
        return Busy{.crew = &service_->crew(), .waiting = &service_->waiting()};
    }

  private:
    Result<Json> open(const Json& frame) {
        lent_.account->end_idle();
        const Opening opening = TRY(parse_opening(frame));
        const Device& device = *lent_.device;
        const Poll poll = resolve_poll(opening.poll, Transport::Rc, 1, poll_place(device));
        const uint32_t mtu = std::min(device.info.active_mtu, lent_.peer->active_mtu);
        service_ = TRY(Service::open(device,
                                     opening,
                                     *lent_.peer,
                                     mtu,
                                     {.control = lent_.control,
                                      .device = lent_.device,
                                      .patience = lent_.options->timeout,
                                      .poll = poll}));
        const Opened opened{.endpoints = {service_->endpoint()}, .mtu = mtu, .poll = poll};
        return message("kv_opened", perf::to_json(opened));
    }

    Result<Json> start(const Json& frame) {
        TRY(service_->start(TRY(parse_start(frame))));
        answering_ = true;
        lent_.account->begin(lent_.device->info);
        return message("kv_started");
    }

    Result<Json> stop() {
        Crew& crew = service_->crew();
        crew.close();
        TRY(lent_.await([&] { return crew.all_ended(); }));
        Json body = {{"answers", service_->finish()}};
        body.update(perf::to_json(lent_.account->end()));
        answering_ = false;
        return message("kv_stopped", std::move(body));
    }

    Lent lent_;
    std::unique_ptr<Service> service_;
    bool answering_ = false;
    bool over_ = false;
};
}  // namespace

const ServedSuite kServedExercise = {
    .what = "the key-value exercise",
    .capability = kCapability,
    .takes_part = [](const SideOptions&) { return true; },
    .messages = kExchange,
    .make = [](const Lent& lent) -> std::unique_ptr<ServerHalf> {
        return std::make_unique<ExerciseHalf>(lent);
    },
};

}  // namespace perf::kv
