// SPDX-License-Identifier: Apache-2.0
// The verdicts on one attachment, a question at a time. Private to policy.cc.
#pragma once

#include <fmt/format.h>

#include "hook/request/annotations.h"
#include "hook/request/policy.h"
#include "hook/request/request.h"

namespace hook {

inline constexpr char kDefaultPolicy[] = "default policy";

// Who speaks of a member, and what is said: nothing if a policy leaves it out, or there is none.
template <class T>
struct Ruling {
    const T* said = nullptr;
    std::string rule;
    bool by_default = false;

    // What a list allows is allowed; where there is no policy, anything is.
    template <class Allows>
    [[nodiscard]] bool allows(Allows in) const {
        return said != nullptr ? in(*said) : by_default;
    }
};

class Bench {
  public:
    Bench(const Config& config, const Pool* pool) : config_(config), pool_(pool) {}

    template <class T>
    Ruling<T> ruling(std::optional<T> Rules::*member, std::string_view name) const {
        return decide<T>([](const Rules& rules) -> const Rules& { return rules; }, member, name);
    }

    [[nodiscard]] Ruling<uint32_t> limit(std::optional<uint32_t> Limits::*member,
                                         std::string_view name) const {
        return decide<uint32_t>(
            [](const Rules& rules) -> const Limits& { return rules.limits; }, member, name);
    }

    [[nodiscard]] const Config& config() const { return config_; }

    [[nodiscard]] const Pool* pool() const { return pool_; }

  private:
    // By the first that speaks of it; `part`: which part of its rules has the member.
    template <class T, class Part, class Member>
    Ruling<T> decide(Part part, Member member, std::string_view name) const {
        if (pool_ != nullptr && part(pool_->rules).*member)
            return {&*(part(pool_->rules).*member),
                    fmt::format("pools.{}.policy.{}", pool_->name, name)};
        if (!config_.policy)
            return {nullptr, kDefaultPolicy, true};
        const auto& own = part(*config_.policy).*member;
        return {own ? &*own : nullptr, fmt::format("policy.{}", name)};
    }

    const Config& config_;
    const Pool* pool_;
};

// The verdicts on one attachment.
class Judge {
  public:
    Judge(const Attachment& attachment, const Bench& bench, std::vector<Verdict>& verdicts)
        : attachment_(attachment), bench_(bench), verdicts_(verdicts) {}

    void mode();
    void pool();
    void device();
    void parent();
    void bridge();
    void addresses();
    void vlans();
    void rates();
    void identity();
    void placement();
    void limits(const Limits& asked);
    void powers(const Powers& powers);

  private:
    // "rdma.2.mtu" for a key of the attachment.
    [[nodiscard]] std::string key_of(std::string_view key) const {
        return annotation_key(attachment_.index, key);
    }

    // On a value of an annotation.
    void pass(std::string_view key,
              std::string_view value,
              std::string rule,
              bool allowed,
              std::string fix = "remove the annotation") {
        const std::string name = key_of(key);
        verdicts_.push_back({.key = name,
                             .asked = fmt::format("{}='{}'", name, base::printable(value)),
                             .rule = std::move(rule),
                             .allowed = allowed,
                             .fix = std::move(fix)});
    }

    // On something that has to be allowed by name; `otherwise` if there is no policy.
    void leave(std::string_view key,
               std::string_view value,
               std::optional<bool> Rules::*member,
               std::string_view name,
               bool otherwise = true);

    // On a number that must not be above the rule's; `without`: where the policy has no such rule.
    void bound(std::string_view key, uint32_t value, const Ruling<uint32_t>& most, bool without);

    void vlan(std::string_view key, uint16_t vlan);

    const Attachment& attachment_;
    const Bench& bench_;
    std::vector<Verdict>& verdicts_;
};

}  // namespace hook
