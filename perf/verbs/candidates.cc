// SPDX-License-Identifier: Apache-2.0
#include "perf/verbs/candidates.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "perf/address/attach.h"

namespace perf {

std::string Candidates::way_out() const {
    if (tables.rows.empty())
        return "no RDMA device is usable here: is this container attached (rdma.mode), and its "
               "/dev/infiniband node there?";
    if (query.sources.empty())
        return "pass --device and --gid to choose by hand";
    return fmt::format(
        "run against an address of the RDMA network, or assign {} to the device's netdev, or pass "
        "--device and --gid",
        query.sources.front().text());
}

Result<Candidates> find_candidates(Verbs& verbs,
                                   const DeviceWish& wish,
                                   const std::vector<Address>& sources,
                                   const std::string& sysfs) {
    const Attachment attachment = load_attachment(wish.attach_file, wish.env_device, wish.env_gid);
    Candidates out;
    out.tables = TRY(survey(verbs, wish.device, sysfs));
    out.query = {.sources = sources,
                 .attached = attachment.gids,
                 .device = wish.device,
                 .index = wish.gid_index,
                 .preferred_device = attachment.preferred_device,
                 .link_local_peer = wish.link_local_peer};
    out.choice = choose_gid(out.tables.rows, out.tables.addresses, out.query);
    std::ranges::copy(attachment.remarks, std::back_inserter(out.choice.remarks));
    std::ranges::copy(out.tables.remarks, std::back_inserter(out.choice.remarks));
    return out;
}

}  // namespace perf
