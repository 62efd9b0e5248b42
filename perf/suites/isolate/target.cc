// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/isolate/target.h"

#include <algorithm>

#include <arpa/inet.h>

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

Result<std::unique_ptr<Target>> Target::expose(const Device& device, uint64_t seed) {
    const Layout layout = target_layout();
    Memory page = TRY(Memory::map(layout));
    Region inbox =
        TRY(Region::create(device, size_t{kInboxSlots} * kDatagram, IBV_ACCESS_LOCAL_WRITE));
    fill_pattern(page.slot(layout.in, 0), target_pattern(seed, 0));
    std::unique_ptr<Target> target(new Target(device, seed, std::move(page), std::move(inbox)));
    TRY(target->register_page());
    return target;
}

// Where keys are handed out one after the other, the ones beside the open one are those that let
// nobody in: a guess that is off by one must not hit a door that is rightly open.
Result<> Target::register_page() {
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

Exposure Target::exposure() const {
    const Area area = target_layout().in;
    return {.address = page_.address(area.first),
            .length = area.size,
            .rkey = open_->rkey,
            .read_only_rkey = read_only_->rkey,
            .stale_rkey = stale_rkey_,
            .other_domain_rkey = other_->rkey};
}

Result<Endpoint> Target::accept(const DeviceInfo& peer, const Endpoint& remote) {
    probe_.reset();
    probe_ = TRY(Link::create(*device_, {.access = kProbeAccess}));
    TRY(probe_->connect(peer, remote));
    return probe_->endpoint();
}

Checked Target::inspect(uint32_t round) {
    const Area area = target_layout().in;
    Checked checked;
    checked.messages = 1;
    checked.bytes = area.size;
    const auto wrong = check_pattern(page_.slot(area, 0), target_pattern(seed_, round));
    if (wrong)
        checked.wrong = {"server", round, false, *wrong};
    else if (const auto hit = check_guards(page_.all(), area))
        checked.wrong = {"server", round, true, {hit->offset, hit->expected, hit->got, "written"}};
    if (checked.wrong)
        put_right(round);
    return checked;
}

void Target::put_right(uint32_t round) {
    const auto all = page_.all();
    for (size_t i = 0; i < all.size(); ++i)
        all[i] = std::byte{poison(i)};
    fill_pattern(page_.slot(target_layout().in, 0), target_pattern(seed_, round));
}

Result<Listening> Target::listen(const DeviceInfo& peer) {
    // A random key: what another program on this machine uses would prove nothing.
    const uint32_t key = 0x40000000U | (random_psn() << 1U);
    listener_.reset();
    listener_ = TRY(
        Link::create(*device_, {.type = IBV_QPT_UD, .receives = kInboxSlots, .queue_key = key}));
    TRY(listener_->connect(peer, {}));
    for (uint32_t i = 0; i < kInboxSlots; ++i) {
        const int rc = listener_->receive(inbox_.piece(size_t{i} * kDatagram, kDatagram));
        if (rc != 0)
            return sys_error(rc, "post a receive");
    }
    return Listening{.endpoint = listener_->endpoint(), .queue_key = key};
}

Result<std::vector<uint32_t>> Target::hear(uint32_t until, Waiting waiting) {
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

}  // namespace perf
