// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/oci/device_rules.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "netns/base/json.h"
#include "runtime-config/oci/spec_check.h"

namespace oci {

using base::Json;

namespace {
constexpr uint32_t kRdmaMajor = 231;  // IB_UVERBS_MAJOR
constexpr uint32_t kFirstDynamicMajor = 234;
constexpr uint32_t kMajors = 1U << 12U;  // mknod(2) drops higher bits

// Returns a member's number. Engines spell "any" as an absent member or as -1.
std::optional<int64_t> number(const Json& rule, const char* key) {
    const Json* value = member(&rule, key);
    if (value == nullptr || value->get<int64_t>() == -1)
        return std::nullopt;
    return value->get<int64_t>();
}

std::string text(const Json& rule, const char* key) {
    const Json* value = member(&rule, key);
    return value != nullptr ? value->get<std::string>() : "";
}

bool speaks_of_character_devices(const Json& rule) {
    const std::string type = text(rule, "type");
    return type.empty() || type == "a" || type == "c" || type == "u";
}

// Returns whether the rule allows reading and writing; nothing if it is only about making nodes. An
// absent access means "all" to crun and "none" to runc: such a rule denies, but never allows.
std::optional<bool> verdict(const Json& rule) {
    const std::string access = text(rule, "access");
    const bool reads = access.find('r') != std::string::npos;
    const bool writes = access.find('w') != std::string::npos;
    if (!rule["allow"].get<bool>())
        return reads || writes || access.empty() ? std::optional(false) : std::nullopt;
    return reads && writes ? std::optional(true) : std::nullopt;
}

constexpr unsigned kRead = 1;
constexpr unsigned kWrite = 2;

// Returns the access for opening. To crun an absent access means all; runc refuses the container.
unsigned opening_access(const Json& rule) {
    const std::string access = text(rule, "access");
    if (access.empty())
        return kRead | kWrite;
    return (access.find('r') != std::string::npos ? kRead : 0) |
           (access.find('w') != std::string::npos ? kWrite : 0);
}

// Returns the numbers of a rule. A rule of type "a" is for all devices; whether it can have numbers
// depends on the runtime. A denial counts only for its numbers, a permission for all that it may
// mean.
DeviceRange range_of(const Json& rule) {
    const std::string type = text(rule, "type");
    const bool all = rule["allow"].get<bool>() && (type.empty() || type == "a");
    const auto part = [&](const char* key) {
        const auto value = number(rule, key);
        return all || !value ? std::optional<uint32_t>{} : static_cast<uint32_t>(*value);
    };
    return {.major = part("major"), .minor = part("minor")};
}

// The RDMA devices that later rules deny, gathered from the last rule to the first. There may be
// many rules, and each is read once.
class Denied {
  public:
    explicit Denied(std::vector<uint32_t> majors) : majors_(std::move(majors)) {
        majors_.push_back(kRdmaMajor);
    }

    void add(const Json& rule) {
        const DeviceRange range = range_of(rule);
        for (const uint32_t major : majors_) {
            if (range.major.value_or(major) == major)
                access_[{.major = major, .minor = range.minor}] |= opening_access(rule);
        }
    }

    // Returns whether the denials leave a part of what the rule allows.
    [[nodiscard]] bool leaves(const Json& rule) const {
        const DeviceRange range = range_of(rule);
        return std::ranges::any_of(majors_, [&](uint32_t major) {
            return range.major.value_or(major) % kMajors == major &&
                   (opening_access(rule) & ~at({.major = major}) &
                    ~at({.major = major, .minor = range.minor})) != 0;
        });
    }

  private:
    [[nodiscard]] unsigned at(const DeviceRange& range) const {
        const auto found = access_.find(range);
        return found == access_.end() ? 0 : found->second;
    }

    std::vector<uint32_t> majors_;
    std::map<DeviceRange, unsigned> access_;
};

bool may_open(const Json& rule) {
    return rule["allow"].get<bool>() && speaks_of_character_devices(rule) &&
           opening_access(rule) != 0;
}
}  // namespace

bool is_dynamic_major(uint32_t major) {
    return major >= kFirstDynamicMajor;
}

bool is_rdma_major(uint32_t major, const std::vector<uint32_t>& more) {
    return major % kMajors == kRdmaMajor || std::ranges::find(more, major % kMajors) != more.end();
}

bool allows_device(const Json* rules, int64_t major, int64_t minor) {
    for (size_t i = rules != nullptr ? rules->size() : 0; i-- > 0;) {
        const Json& rule = (*rules)[i];
        const bool same = number(rule, "major").value_or(major) == major &&
                          number(rule, "minor").value_or(minor) == minor;
        const auto says = verdict(rule);
        if (same && says && speaks_of_character_devices(rule))
            return *says;
    }
    return false;
}

std::set<DeviceRange> opened_rdma(const Json* rules, const std::vector<uint32_t>& majors) {
    std::set<DeviceRange> opened;
    Denied denied(majors);
    for (size_t i = rules != nullptr ? rules->size() : 0; i-- > 0;) {
        const Json& rule = (*rules)[i];
        if (may_open(rule) && denied.leaves(rule))
            opened.insert(range_of(rule));
        else if (!rule["allow"].get<bool>() && speaks_of_character_devices(rule))
            denied.add(rule);
    }
    return opened;
}

bool opens_dynamic_majors(const Json* rules) {
    for (size_t i = 0; rules != nullptr && i < rules->size(); ++i) {
        const auto major = range_of((*rules)[i]).major;
        if (may_open((*rules)[i]) && (!major || is_dynamic_major(*major)))
            return true;
    }
    return false;
}

std::optional<bool> allows_all_devices(const Json* rules) {
    for (size_t i = rules != nullptr ? rules->size() : 0; i-- > 0;) {
        const Json& rule = (*rules)[i];
        const bool all = !number(rule, "major") && !number(rule, "minor");
        const auto says = verdict(rule);
        if (all && says && speaks_of_character_devices(rule))
            return says;
    }
    return std::nullopt;
}

}  // namespace oci
