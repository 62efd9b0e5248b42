// SPDX-License-Identifier: Apache-2.0
#include "perf/report/suite.h"
#include "perf/system/tcp.h"
#include "perf/verbs/device.h"

namespace perf {

namespace {
Result<> show_gids(const LookOptions& options, Document& document) {
    std::vector<Address> sources;
    if (!options.peer.empty())
        sources = TRY(sources_towards(options.peer));
    const Candidates found =
        TRY(find_candidates(document.around.verbs, options.side.wish, sources));
    document.say(found.explanation());
    if (options.peer.empty())
        document.say("note: without --peer no route is asked: chosen as for `rdma-perf loop`\n");
    Json& out = document.members;
    out = {{"peer", options.peer.empty() ? Json() : Json(options.peer)},
           {"sources", Json::array()},
           {"gids", Json::array()},
           {"remarks", found.choice.remarks}};
    for (const Address& source : sources)
        out["sources"].push_back(source.text());
    for (const GidVerdict& verdict : found.choice.verdicts) {
        const GidRow& row = found.tables.rows[verdict.row];
        if (row.gid.is_zero())
            continue;
        out["gids"].push_back({{"device", row.device},
                               {"port", row.port},
                               {"index", row.index},
                               {"gid", row.gid.gid_text()},
                               {"address", row.gid.text()},
                               {"type", name_of(row.type)},
                               {"netdev", row.netdev},
                               {"in_this_namespace", row.netdev_present},
                               {"port_active", row.port_active},
                               {"usable", verdict.rank > 0},
                               {"chosen", found.choice.chosen == verdict.row},
                               {"reason", verdict.reason}});
    }
    if (found.chosen() != nullptr)
        return {};
    return make_error(Code::Unsupported, "no GID is usable").advise(found.way_out());
}
}  // namespace

extern const Suite kGids = {
    .name = "gids",
    .help = "list every GID, and which one rdma-perf would use and why",
    .run = show_gids,
};

}  // namespace perf
