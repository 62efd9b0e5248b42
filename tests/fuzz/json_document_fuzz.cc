// SPDX-License-Identifier: Apache-2.0
// Documents that programs of ours read and others may have written: any JSON, and attach.json.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "netns/base/json.h"
#include "perf/attach.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto json = base::parse_json(text, "document");
    if (json) {
        // What was read can be written and read again, and stays the same from then on.
        const std::string written = base::dump_json(*json);
        const auto again = base::parse_json(written, "document");
        if (!again || base::dump_json(*again) != written)
            std::abort();
    } else if (json.error().message().empty()) {
        std::abort();
    }
    const auto gids = perf::parse_attach_file(text);
    if (gids && !json)
        std::abort();
    for (const perf::AttachedGid& named : gids ? *gids : std::vector<perf::AttachedGid>()) {
        if (named.gid.is_zero() || named.device.empty())
            std::abort();
    }
    return 0;
}
