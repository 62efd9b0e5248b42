// SPDX-License-Identifier: Apache-2.0
// Request: the things that a container asks for, made from its annotations and the configuration.
// Pure: it holds only valid values. The table of keys in keys.cc is the grammar.
// docs/reference/annotations.md describes it for people, and runtime-config/install/schema/ as JSON
// Schema.
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
    // The memlock where neither the annotation nor the engine's user sets one: as much as the
    // policy allows. 0: the engine's own limit stays.
    uint64_t memlock_default = kMemlockUnlimited;
    bool optional = false;  // rdma.optional
    // The limits rdma.max_hca_*, by index of the attachment, where there are any.
    std::map<unsigned, Limits> limits;
};

// Returns whether any key matches ^rdma\.([0-9]+\.)?[^/]*$. This decides, before anything else is
// read or loaded, whether the container is rdma-hook's business.
bool mentions_rdma(const Annotations& annotations);

// Returns the request. BadInput names key, value, the allowed values and, for an unknown key, the
// closest known one. Refused: a parent that is not one of its pool.
Result<Request> parse_request(const Annotations& annotations, const Config& config);

// A key as the user wrote it and its value, for messages.
struct Given {
    std::string annotation;
    std::string value;

    [[nodiscard]] std::string text() const;  // "rdma.2.mtu='9000'"
};

// The annotations of one attachment, or those that are given once for a container, each checked by
// itself.
struct ParsedKeys {
    KeyValues values;
    std::map<std::string_view, Given> given;  // by the key's name in the table

    [[nodiscard]] bool has(std::string_view key) const { return given.contains(key); }

    [[nodiscard]] std::string text(std::string_view key) const { return given.at(key).text(); }

    // Returns the annotation as the user wrote it, or as it would be written.
    [[nodiscard]] std::string name(std::string_view key) const;
};

struct ParsedAnnotations {
    std::map<unsigned, ParsedKeys> attachments;  // by index
    ParsedKeys container;                        // memlock, optional
};

// Parses the annotations. BadInput: unknown keys, bad indexes, bad values and keys that are there
// twice.
Result<ParsedAnnotations> parse_annotations(const Annotations& annotations);

}  // namespace hook
