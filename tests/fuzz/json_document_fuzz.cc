// SPDX-License-Identifier: Apache-2.0
// Documents that the programs read and others may have written: any JSON, and attach.json. The
// library, which reads none of them, is asked the same.
#include <string_view>

#include "netns/base/json.h"
#include "perf/address/gid.h"
#include "tests/fuzz/expect.h"

namespace {
// The library takes the last of two equal keys, any depth, and a NUL for the end of the text.
bool is_refused_here_only(std::string_view text, const std::string& why) {
    return text.find('\0') != std::string_view::npos ||
           why.find("twice in one object") != why.npos || why.find("nested deeper") != why.npos;
}

void compare_with_library(std::string_view text, const base::Result<base::Json>& json) {
    const base::Json theirs = base::Json::parse(text, nullptr, false);
    if (json)
        fuzz::expect(theirs == *json, "it is the library's value");
    else
        fuzz::expect(theirs.is_discarded() || is_refused_here_only(text, json.error().text),
                     "the library refuses it, too");
}
}  // namespace

FUZZ_TARGET(json_document) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto json = base::parse_json(text, "document");
    compare_with_library(text, json);
    if (json) {
        const std::string written = base::dump_json(*json);
        const auto again = base::parse_json(written, "document");
        fuzz::expect(again && base::dump_json(*again) == written,
                     "what was read can be written and read again, and stays the same");
    } else {
        fuzz::expect(!json.error().message().empty(), "a refusal says why");
    }
    const auto gids = perf::parse_attach_file(text);
    fuzz::expect(json || !gids, "attach.json is JSON");
    for (const perf::AttachedGid& named : gids ? *gids : std::vector<perf::AttachedGid>())
        fuzz::expect(!named.gid.is_zero() && !named.device.empty(), "an attached GID is one");
}
