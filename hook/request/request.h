// SPDX-License-Identifier: Apache-2.0
// Request: what a container asks for, made from its annotations and the configuration. Pure: only
// valid values can exist in it. The table of keys in keys.cc is the grammar, described for people in
// hook/README.md and as JSON Schema in runtime-config/install/schema/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hook/request/config.h"
#include "hook/request/keys.h"

namespace hook {

using Annotations = std::map<std::string, std::string>;

struct Request {
    std::vector<Attachment> attachments;  // by index, none twice; empty: no RDMA is asked for
    std::optional<uint64_t> memlock;      // bytes or kMemlockUnlimited; rdma.memlock
    // What is given where neither the annotation nor the engine's user says: as much as the policy
    // allows; 0: the engine's own limit is left alone.
    uint64_t memlock_default = kMemlockUnlimited;
    bool optional = false;  // rdma.optional
    // rdma.max_hca_*, by index of the attachment; where there are any.
    std::map<unsigned, Limits> limits;
};

// Whether any key matches ^rdma\.([0-9]+\.)?[^/]*$: decides, before anything else is looked at or
// loaded, whether the container is any business of rdma-hook.
bool mentions_rdma(const Annotations& annotations);

// BadInput names key, value, what is allowed and, for an unknown key, the closest known one;
// Refused: a parent that is not one of its pool.
Result<Request> parse_request(const Annotations& annotations, const Config& config);

// A key as the user wrote it and its value, for messages.
struct Given {
    std::string annotation;
    std::string value;

    [[nodiscard]] std::string text() const;  // "rdma.2.mtu='9000'"
};

// The annotations of one attachment, or those that are said once a container, each checked by
// itself.
struct ParsedKeys {
    KeyValues values;
    std::map<std::string_view, Given> given;  // by the key's name in the table

    [[nodiscard]] bool has(std::string_view key) const { return given.contains(key); }

    [[nodiscard]] std::string text(std::string_view key) const { return given.at(key).text(); }

    // The annotation as the user wrote it, or as it would be written.
    [[nodiscard]] std::string name(std::string_view key) const;
};

struct ParsedAnnotations {
    std::map<unsigned, ParsedKeys> attachments;  // by index
    ParsedKeys container;                        // memlock, optional
};

// BadInput for unknown keys, bad indexes, bad values and keys that are there twice.
Result<ParsedAnnotations> parse_annotations(const Annotations& annotations);

}  // namespace hook
