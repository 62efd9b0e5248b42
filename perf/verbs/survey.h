// SPDX-License-Identifier: Apache-2.0
// The tables that choose_gid() judges, and what comes of them: the GID tables of all devices that
// can be opened, and the addresses of this network namespace. Relies on: QUERY_GID_TABLE (5.10),
// else the entries one by one with their types from sysfs. The names of the netdevs come from sysfs
// too (/sys/class/infiniband/DEV/ports/P/gid_attrs/ndevs/N) and may be missing in a container. Of
// an IPoIB interface (type 32) sysfs has the device below NETDEV/device/infiniband, and its port,
// from 0, in NETDEV/dev_port.
#pragma once

#include <string>
#include <vector>

#include "perf/address/gid.h"
#include "perf/verbs/device.h"
#include "perf/verbs/verbs.h"

namespace perf {

struct Survey {
    std::vector<GidRow> rows;
    std::vector<LocalAddress> addresses;
    std::vector<std::string> remarks;  // devices that could not be read, and why

    // Whether an interface here has the address.
    [[nodiscard]] bool holds(const Address& address) const;
};

// `only`: this device alone; empty: all.
Result<Survey> survey(Verbs& verbs, const std::string& only, const std::string& sysfs = "/sys");

// The candidates for device and GID with the choice among them: for those who open the chosen one
// (device.cc) and for those who only look (gids, doctor).
struct Candidates {
    Survey tables;
    GidQuery query;
    GidChoice choice;  // its remarks include those of the survey and of attach.json

    // Null if none is usable.
    [[nodiscard]] const GidRow* chosen() const {
        return choice.chosen ? &tables.rows[*choice.chosen] : nullptr;
    }

    // The table of --explain-gid.
    [[nodiscard]] std::string explanation() const { return explain(tables.rows, choice, query); }

    // What to do if none is usable.
    [[nodiscard]] std::string way_out() const;
};

// `sources`: where the kernel routes from towards the peer, best first.
Result<Candidates> find_candidates(Verbs& verbs,
                                   const DeviceWish& wish,
                                   const std::vector<Address>& sources,
                                   const std::string& sysfs = "/sys");

}  // namespace perf
