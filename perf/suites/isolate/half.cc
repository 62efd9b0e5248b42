// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/isolate/isolate.h"
#include "perf/suites/isolate/target.h"

namespace perf {

namespace {
constexpr std::string_view kMessages[] = {
    "isolate", "probe", "inspect", "listen", "hear", "release"};

bool consents(const SideOptions& options) {
    return options.allow_isolation_tests;
}

class IsolationHalf : public ServerHalf {
  public:
    explicit IsolationHalf(Lent lent) : lent_(std::move(lent)) {}

    Result<Json> answer(std::string_view type, const Json& frame) override {
        if (type == "isolate")
            return target_ ? Result<Json>(not_due(type)) : expose(frame);
        if (!target_)
            return not_due(type);
        if (type == "probe") {
            const Endpoint own = TRY(target_->accept(*lent_.peer, TRY(parse_endpoint_of(frame))));
            return message("probed", {{"endpoint", to_json(own)}});
        }
        if (type == "inspect") {
            const auto round = TRY(required<uint32_t>(frame, "round"));
            return message("inspected", to_json(target_->inspect(round)));
        }
        if (type == "listen")
            return message("listening", to_json(TRY(target_->listen(*lent_.peer))));
        if (type == "hear")
            return hear(frame);
        target_.reset();
        over_ = true;
        return message("released");
    }

    [[nodiscard]] bool is_over() const override { return over_; }

  private:
    Result<Json> expose(const Json& frame) {
        if (!consents(*lent_.options))
            return make_error(Code::Refused, "this server does not take part in isolation tests")
                .advise("start it with: rdma-perf serve --allow-isolation-tests");
        target_ = TRY(Target::expose(*lent_.device, TRY(required<uint64_t>(frame, "seed"))));
        return message("isolated", to_json(target_->exposure()));
    }

    Result<Json> hear(const Json& frame) {
        const auto until = TRY(required<uint32_t>(frame, "until"));
        const Waiting waiting{.control = lent_.control,
                              .device = lent_.device,
                              .patience = lent_.options->timeout,
                              .poll = {}};
        return message("heard", {{"immediates", TRY(target_->hear(until, waiting))}});
    }

    Lent lent_;
    std::unique_ptr<Target> target_;
    bool over_ = false;
};
}  // namespace

const ServedSuite kServedIsolation = {
    .what = "isolation tests",
    .capability = kIsolationCapability,
    .takes_part = consents,
    .messages = kMessages,
    .make = [](const Lent& lent) -> std::unique_ptr<ServerHalf> {
        return std::make_unique<IsolationHalf>(lent);
    },
};

}  // namespace perf
