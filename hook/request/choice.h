// SPDX-License-Identifier: Apache-2.0
// Choice: what an attachment gets where several speak: its annotations, its pool, ourselves.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "hook/request/draft.h"

namespace hook {

// An annotation, else the pool's default, else the fallback.
class Choice {
  public:
    Choice(const Draft& draft, const Mode& mode, const Pool* pool)
        : draft_(draft), mode_(mode), pool_(pool) {}

    // The pool's defaults as far as this mode takes them. The configuration has checked them;
    // a Config that did not come from a file may still be wrong.
    Result<> load_defaults() {
        if (pool_ == nullptr)
            return {};
        for (const auto& [name, value] : pool_->defaults)
            TRY(set_pool_default(mode_, name, value, defaults_)
                    .context("pools." + pool_->name + ".defaults"));
        return {};
    }

    template <class T>
    T get(std::optional<T> Wish::*member, T fallback) const {
        if (draft_.wish.*member)
            return *(draft_.wish.*member);
        return (defaults_.*member).value_or(std::move(fallback));
    }

    template <class T>
    std::optional<T> find(std::optional<T> Wish::*member) const {
        return draft_.wish.*member ? draft_.wish.*member : defaults_.*member;
    }

    // The pool's default alone.
    template <class T>
    std::optional<T> usual(std::optional<T> Wish::*member) const {
        return defaults_.*member;
    }

    [[nodiscard]] const Draft& draft() const { return draft_; }

    [[nodiscard]] const Mode& mode() const { return mode_; }

    [[nodiscard]] const Pool* pool() const { return pool_; }

  private:
    const Draft& draft_;
    const Mode& mode_;
    const Pool* pool_;
    Wish defaults_;
};

// What is asked of a virtual function, for modes that have one: Attachment::device, provider, vf.
// `most`: what the policy bounds rdma.max_tx_rate to, and gives without it.
Result<> choose_vf(const Choice& choice, Attachment& attachment, std::optional<uint32_t> most);

}  // namespace hook
