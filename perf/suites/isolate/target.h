// SPDX-License-Identifier: Apache-2.0
// Target: the server's side of negative tests: one page that a client may try to reach in ways that
// must fail, with a guard page before it and one behind it. Nothing else of the server is
// registered for remote access meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "perf/engine/link.h"

namespace perf {

class Target {
  public:
    // The device must live longer. The page holds the pattern of round 0.
    static Result<std::unique_ptr<Target>> expose(const Device& device, uint64_t seed);

    [[nodiscard]] Exposure exposure() const;

    // A fresh queue pair, connected to the client's, in place of the one before.
    Result<Endpoint> accept(const DeviceInfo& peer, const Endpoint& remote);

    // `wrong` if the page does not hold the round's pattern, or anything around it was written.
    // Then all is put right again, so that what is seen next comes from what is tried next.
    Checked inspect(uint32_t round);

    Result<Listening> listen(const DeviceInfo& peer);

    // The immediates of the datagrams that came since the last call, once `until` is among them or
    // a second passes without any.
    Result<std::vector<uint32_t>> hear(uint32_t until, Waiting waiting);

  private:
    Target(const Device& device, uint64_t seed, Memory page, Region inbox)
        : device_(&device), seed_(seed), page_(std::move(page)), inbox_(std::move(inbox)) {}

    Result<> register_page();
    void put_right(uint32_t round);

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

// What the queue pairs of both sides let the other side do.
inline constexpr int kProbeAccess = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

// The layout of the page: slot 0 of `in`.
Layout target_layout();

// The pattern of a round, which the client knows as well.
PatternKey target_pattern(uint64_t seed, uint32_t round);

}  // namespace perf
