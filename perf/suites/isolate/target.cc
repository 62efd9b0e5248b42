// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include <arpa/inet.h>

#include "perf/suites/isolate/isolate.h"

namespace perf {

namespace {
constexpr uint32_t kDatagram = 256;  // more than a datagram of the tests with its GRH
constexpr uint32_t kInboxSlots = 32;
constexpr auto kListenPatience = std::chrono::seconds(1);
constexpr int kOpen = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

constexpr std::string_view kMessages[] = {
    "isolate", "probe", "inspect", "listen", "hear", "release"};

// One page that a client may try to reach in ways that must fail, with a guard page before it and
// one behind it. Nothing else of the server is registered for remote access meanwhile.
struct Target {
    // Each member needs the ones before it, and goes before them.
    Memory memory;
    Region inbox;
    Owned<ibv_pd> other_domain = {};
    Owned<ibv_mr> other = {};
    Owned<ibv_mr> open = {};
    Owned<ibv_mr> read_only = {};
    std::optional<Link> probe = {};
    std::optional<Link> listener = {};
};

class IsolationHalf : public ServerHalf {
  public:
    explicit IsolationHalf(Lent lent)
        : lent_(std::move(lent)), near_(stay_on(lent_.device->near)) {}

    Result<Json> answer(std::string_view type, const Json& frame) override {
        if (type == "isolate")
            return target_ ? Result<Json>(not_due(type)) : expose(frame);
        if (!target_)
            return not_due(type);
        if (type == "probe")
            return probe(frame);
        if (type == "inspect")
            return inspect(TRY(base::required<uint32_t>(frame, "round")));
        if (type == "listen")
            return listen();
        if (type == "hear")
            return hear(TRY(base::required<uint32_t>(frame, "until")));
        return message("released");
    }

  private:
    [[nodiscard]] std::span<std::byte> page() const {
        return target_->memory.slot(target_layout().in, 0);
    }

    Result<Json> expose(const Json& frame) {
        if (!lent_.options->allow_isolation_tests)
            return make_error(Code::Refused, "this server does not take part in isolation tests")
                .advise("start it with: rdma-perf serve --allow-isolation-tests");
        seed_ = TRY(base::required<uint64_t>(frame, "seed"));
        const Device& device = *lent_.device;
        Memory memory = TRY(Memory::map(target_layout()));
        Region inbox =
            TRY(Region::create(device, size_t{kInboxSlots} * kDatagram, IBV_ACCESS_LOCAL_WRITE));
        target_.emplace(Target{std::move(memory), std::move(inbox)});
        fill_pattern(page(), target_pattern(seed_, 0));
        // Where keys are handed out one after the other, the ones beside the open one are those
        // that let nobody in: a guess that is off by one must not hit a door that is rightly open.
        Verbs& verbs = *device.verbs;
        ibv_pd* domain = device.pd.get();
        target_->other_domain = TRY(alloc_pd(verbs, device.context.get()));
        target_->other = TRY(register_memory(verbs, target_->other_domain.get(), page(), kOpen));
        target_->open = TRY(register_memory(verbs, domain, page(), kOpen));
        const Owned<ibv_mr> stale = TRY(register_memory(verbs, domain, page(), kOpen));
        target_->read_only = TRY(register_memory(verbs, domain, page(), IBV_ACCESS_REMOTE_READ));
        return message(
            "isolated",
            to_json(Exposure{.address = target_->memory.address(target_layout().in.first),
                             .length = page().size(),
                             .rkey = target_->open->rkey,
                             .read_only_rkey = target_->read_only->rkey,
                             .stale_rkey = stale->rkey,
                             .other_domain_rkey = target_->other->rkey}));
    }

    // A fresh queue pair, connected to the client's, in place of the one before.
    Result<Json> probe(const Json& frame) {
        const Endpoint remote = TRY(parse_endpoint_of(frame));
        target_->probe.reset();
        target_->probe = TRY(Link::create(*lent_.device, {.access = kProbeAccess}));
        TRY(target_->probe->connect(*lent_.peer, remote));
        return message("probed", {{"endpoint", to_json(target_->probe->endpoint())}});
    }

    // `wrong` if the page does not hold the round's pattern, or anything around it was written.
    // Then all is put right again, so that what is seen next comes from what is tried next.
    Json inspect(uint32_t round) {
        const PatternKey key = target_pattern(seed_, round);
        const auto all = target_->memory.all();
        Checked checked;
        checked.messages = 1;
        checked.bytes = page().size();
        if (const auto wrong = check_pattern(page(), key))
            checked.wrong = {"server", round, false, *wrong};
        else if (const auto hit = check_guards(all, target_layout().in))
            checked.wrong = {
                "server", round, true, {hit->offset, hit->expected, hit->got, "written"}};
        if (checked.wrong) {
            for (size_t i = 0; i < all.size(); ++i)
                all[i] = std::byte{poison(i)};
            fill_pattern(page(), key);
        }
        return message("inspected", to_json(checked));
    }

    Result<Json> listen() {
        // A random key: what another program on this machine uses would prove nothing.
        const uint32_t key = 0x40000000U | (random_psn() << 1U);
        auto& listener = target_->listener;
        listener.reset();
        listener = TRY(Link::create(
            *lent_.device, {.type = IBV_QPT_UD, .receives = kInboxSlots, .queue_key = key}));
        TRY(listener->connect(*lent_.peer, {}));
        for (uint32_t i = 0; i < kInboxSlots; ++i) {
            const ibv_sge place = target_->inbox.piece(size_t{i} * kDatagram, kDatagram);
            TRY(outcome_of(listener->receive(place), "post a receive"));
        }
        return message("listening",
                       to_json(Listening{.endpoint = listener->endpoint(), .queue_key = key}));
    }

    // The immediates of the datagrams that came since the last call, once `until` is among them or
    // a second passes without any.
    Result<Json> hear(uint32_t until) {
        std::vector<uint32_t> heard;
        Waiting waiting = lent_.waiting({});
        waiting.patience = std::min<std::chrono::milliseconds>(waiting.patience, kListenPatience);
        while (target_->listener && heard.size() < kMaxHeard) {
            const auto completion = TRY(target_->listener->next(waiting));
            if (!completion)
                break;
            TRY(outcome_of(*completion));
            if ((completion->wc_flags & IBV_WC_WITH_IMM) == 0)
                continue;  // a stranger's
            heard.push_back(ntohl(completion->imm_data));
            if (heard.back() == until)
                break;
        }
        return message("heard", {{"immediates", heard}});
    }

    Lent lent_;
    std::shared_ptr<void> near_;
    uint64_t seed_ = 0;
    std::optional<Target> target_;
};
}  // namespace

const ServedSuite kServedIsolation = {
    .what = "isolation tests",
    .capability = "isolation",
    .takes_part = [](const SideOptions& options) { return options.allow_isolation_tests; },
    .messages = kMessages,
    .make = [](const Lent& lent) -> std::unique_ptr<ServerHalf> {
        return std::make_unique<IsolationHalf>(lent);
    },
};

}  // namespace perf
