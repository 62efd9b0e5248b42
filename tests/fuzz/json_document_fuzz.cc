// SPDX-License-Identifier: Apache-2.0
// Documents that programs of ours read and others may have written: any JSON, and attach.json.
#include <string_view>

#include "netns/base/json.h"
#include "perf/address/attach.h"
#include "tests/fuzz/expect.h"

FUZZ_TARGET(json_document) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto json = base::parse_json(text, "document");
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
