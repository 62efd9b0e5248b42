// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <arpa/inet.h>

#include "perf/suites/isolate/isolate.h"

namespace perf {

namespace {
constexpr uint32_t kPageSize = 4096;
constexpr uint32_t kDatagram = 256;  // more than a datagram of the tests with its GRH
constexpr uint32_t kInboxSlots = 32;
constexpr auto kListenPatience = std::chrono::seconds(1);
constexpr int kOpen = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
}  // namespace

Layout target_layout() {
    return layout_of({.verb = Verb::Write, .size = kPageSize, .slots = 1}, Side::Server);
}

PatternKey target_pattern(uint64_t seed, uint32_t round) {
    return {.seed = seed, .qp = 0, .seq = round};
}

namespace {
// One page that a client may try to reach in ways that must fail, with a guard page before it and
// one behind it. Nothing else of the server is registered for remote access meanwhile.
class Target {
  public:
    // The device must live longer. The page holds the pattern of round 0.
    static Result<std::unique_ptr<Target>> expose(const Device& device, uint64_t seed) {
        const Layout layout = target_layout();
        Memory page = TRY(Memory::map(layout));
        Region inbox =
            TRY(Region::create(device, size_t{kInboxSlots} * kDatagram, IBV_ACCESS_LOCAL_WRITE));
        fill_pattern(page.slot(layout.in, 0), target_pattern(seed, 0));
        std::unique_ptr<Target> target(new Target(device, seed, std::move(page), std::move(inbox)));
        TRY(target->register_page());
        return target;
    }

    [[nodiscard]] Exposure exposure() const {
        const Area area = target_layout().in;
        return {.address = page_.address(area.first),
                .length = area.size,
                .rkey = open_->rkey,
                .read_only_rkey = read_only_->rkey,
                .stale_rkey = stale_rkey_,
                .other_domain_rkey = other_->rkey};
    }

    // A fresh queue pair, connected to the client's, in place of the one before.
    Result<Endpoint> accept(const DeviceInfo& peer, const Endpoint& remote) {
        probe_.reset();
        probe_ = TRY(Link::create(*device_, {.access = kProbeAccess}));
        TRY(probe_->connect(peer, remote));
        return probe_->endpoint();
    }

    // `wrong` if the page does not hold the round's pattern, or anything around it was written.
    // Then all is put right again, so that what is seen next comes from what is tried next.
    Checked inspect(uint32_t round) {
        const Area area = target_layout().in;
        Checked checked;
        checked.messages = 1;
        checked.bytes = area.size;
        const auto wrong = check_pattern(page_.slot(area, 0), target_pattern(seed_, round));
        if (wrong)
            checked.wrong = {"server", round, false, *wrong};
        else if (const auto hit = check_guards(page_.all(), area))
            checked.wrong = {
                "server", round, true, {hit->offset, hit->expected, hit->got, "written"}};
        if (checked.wrong)
            put_right(round);
        return checked;
    }

    Result<Listening> listen(const DeviceInfo& peer) {
        // A random key: what another program on this machine uses would prove nothing.
        const uint32_t key = 0x40000000U | (random_psn() << 1U);
        listener_.reset();
        listener_ = TRY(Link::create(
            *device_, {.type = IBV_QPT_UD, .receives = kInboxSlots, .queue_key = key}));
        TRY(listener_->connect(peer, {}));
        for (uint32_t i = 0; i < kInboxSlots; ++i) {
            const int rc = listener_->receive(inbox_.piece(size_t{i} * kDatagram, kDatagram));
            if (rc != 0)
                return sys_error(rc, "post a receive");
        }
        return Listening{.endpoint = listener_->endpoint(), .queue_key = key};
    }

    // The immediates of the datagrams that came since the last call, once `until` is among them or
    // a second passes without any.
    Result<std::vector<uint32_t>> hear(uint32_t until, Waiting waiting) {
        std::vector<uint32_t> heard;
        waiting.patience = std::min<std::chrono::milliseconds>(waiting.patience, kListenPatience);
        while (listener_ && heard.size() < kMaxHeard) {
            const auto completion = TRY(listener_->next(waiting));
            if (!completion)
                break;
            if (completion->status != IBV_WC_SUCCESS)
                return completion_error(*completion);
            if ((completion->wc_flags & IBV_WC_WITH_IMM) == 0)
                continue;  // a stranger's
            heard.push_back(ntohl(completion->imm_data));
            if (heard.back() == until)
                break;
        }
        return heard;
    }

  private:
    Target(const Device& device, uint64_t seed, Memory page, Region inbox)
        : device_(&device), seed_(seed), page_(std::move(page)), inbox_(std::move(inbox)) {}

    // Where keys are handed out one after the other, the ones beside the open one are those that
    // let nobody in: a guess that is off by one must not hit a door that is rightly open.
    Result<> register_page() {
        Verbs& verbs = *device_->verbs;
        ibv_pd* domain = device_->pd.get();
        const auto page = page_.slot(target_layout().in, 0);
        other_domain_ = TRY(alloc_pd(verbs, device_->context.get()));
        other_ = TRY(register_memory(verbs, other_domain_.get(), page, kOpen));
        open_ = TRY(register_memory(verbs, domain, page, kOpen));
        Owned<ibv_mr> stale = TRY(register_memory(verbs, domain, page, kOpen));
        read_only_ = TRY(register_memory(verbs, domain, page, IBV_ACCESS_REMOTE_READ));
        stale_rkey_ = stale->rkey;
        return {};
    }

    void put_right(uint32_t round) {
        const auto all = page_.all();
        for (size_t i = 0; i < all.size(); ++i)
            all[i] = std::byte{poison(i)};
        fill_pattern(page_.slot(target_layout().in, 0), target_pattern(seed_, round));
    }

    const Device* device_;
    uint64_t seed_;
    // From here on each member needs the ones before it, and goes before them.
    Memory page_;
    Region inbox_;
    Owned<ibv_pd> other_domain_;
    Owned<ibv_mr> other_;
    Owned<ibv_mr> open_;
    uint32_t stale_rkey_ = 0;
    Owned<ibv_mr> read_only_;
    std::optional<Link> probe_;
    std::optional<Link> listener_;
};

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
        return message("released");
    }

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
