// SPDX-License-Identifier: Apache-2.0
// Budget: while one lives, all of the process together has at most so many of something. A server's
// clients say how much each of them needs, and no one of them knows the others.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "netns/base/text.h"
#include "perf/base/names.h"

namespace perf {

// `Of` has kUnit, the noun, and kFix, for who gets none.
template <class Of>
class Budget {
  public:
    // One at a time.
    explicit Budget(size_t most) { most_ = most; }

    ~Budget() { most_ = SIZE_MAX; }

    Budget(const Budget&) = delete;
    Budget& operator=(const Budget&) = delete;

    // A part of it, which goes back as this ends.
    using Share = std::shared_ptr<void>;

    // Busy: less is left.
    static Result<Share> take(size_t count) {
        size_t before = in_use_.load();
        do {
            const size_t most = most_.load();
            if (before > most || count > most - before)
                return make_error(Code::Busy,
                                  "no room for {}: {} of {} are in use",
                                  base::number_of(count, Of::kUnit),
                                  before,
                                  most)
                    .advise(std::string(Of::kFix));
        } while (!in_use_.compare_exchange_weak(before, before + count));
        return Share(nullptr, [count](void*) { in_use_ -= count; });
    }

  private:
    inline static std::atomic<size_t> most_ = SIZE_MAX;
    inline static std::atomic<size_t> in_use_ = 0;
};

}  // namespace perf
