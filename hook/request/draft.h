// SPDX-License-Identifier: Apache-2.0
// Drafts: our annotations, each checked by itself and sorted by attachment. What they mean
// together, with mode and pool, is decided in request.cc.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hook/modes/mode.h"
#include "hook/request/annotations.h"

namespace hook {

// A key as the user wrote it and its value, for error messages.
struct Given {
    std::string annotation;
    std::string value;

    [[nodiscard]] std::string text() const;  // "rdma.2.mtu='9000'"
};

struct Draft {
    Wish wish;
    std::map<std::string_view, Given> given;  // by the key's name in the table
    unsigned index = 0;                       // the attachment's

    [[nodiscard]] bool has(std::string_view key) const { return given.count(key) != 0; }

    // The annotation as the user wrote it, or as it would be written.
    [[nodiscard]] std::string name(std::string_view key) const;
};

struct Drafts {
    std::map<unsigned, Draft> attachments;  // by index
    Draft container;                        // memlock, optional
};

// BadInput for unknown keys, bad indexes, bad values and keys that are there twice.
Result<Drafts> read_drafts(const Annotations& annotations);

std::vector<std::string_view> mode_names();
bool takes(const Mode& mode, const Key& key);

// Stores a default of a pool. BadConfig unless the mode takes the key and a pool may decide it: an
// address, a MAC or a name of its own is nothing that containers can have in common.
Result<> set_pool_default(const Mode& mode,
                          std::string_view name,
                          std::string_view value,
                          Wish& wish);

}  // namespace hook
