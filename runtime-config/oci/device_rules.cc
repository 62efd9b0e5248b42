// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/oci/device_rules.h"

#include <algorithm>
#include <optional>
#include <string>

#include "runtime-config/oci/spec_check.h"

namespace oci {

using base::Json;

namespace {
constexpr uint32_t kRdmaMajor = 231;  // IB_UVERBS_MAJOR
constexpr uint32_t kFirstDynamicMajor = 234;
constexpr uint32_t kMajors = 1U << 12U;  // mknod(2) drops what is above

// A member's number; absent and -1 are both spelled "any" by engines.
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

// What the rule says of reading and writing: nothing if it is about making nodes only. An absent
// access means "all" to crun and "none" to runc: such a rule denies, but never allows.
std::optional<bool> verdict(const Json& rule) {
    const std::string access = text(rule, "access");
    const bool reads = access.find('r') != std::string::npos;
    const bool writes = access.find('w') != std::string::npos;
    if (!rule["allow"].get<bool>())
        return reads || writes || access.empty() ? std::optional(false) : std::nullopt;
    return reads && writes ? std::optional(true) : std::nullopt;
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

bool allows_all_devices(const Json* rules) {
    for (size_t i = rules != nullptr ? rules->size() : 0; i-- > 0;) {
        const Json& rule = (*rules)[i];
        const bool all = !number(rule, "major") && !number(rule, "minor");
        const auto says = verdict(rule);
        if (all && says && speaks_of_character_devices(rule))
            return *says;
    }
    return false;
}

}  // namespace oci
