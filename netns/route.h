// SPDX-License-Identifier: Apache-2.0
// Routes of a link, and the rules that choose a table by a packet's source: rtnetlink(7),
// ip-rule(8). Two links of one namespace on one network share a route in the main table, so that
// what is sent from the second one's address leaves by the first; a table for each source keeps
// them apart. A route goes with its link; a rule stays until it is removed or the namespace ends.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "netns/namespace.h"
#include "netns/values/address.h"

namespace netns {

inline constexpr uint32_t kMainTable = 254;

struct Route {
    Family family = Family::V4;
    std::optional<Address> destination;  // a network; nothing: everything (default)
    std::optional<Address> gateway;      // nothing: neighbours on the link
    std::optional<Address> source;       // the address to send from, where the sender chose none
    uint32_t link = 0;                   // index
    uint32_t table = kMainTable;
    bool operator==(const Route&) const = default;
};

// What is sent from `source` looks into `table` first.
struct SourceRule {
    Address source;         // of full length
    uint32_t table = 0;     // with routes of our own
    uint32_t priority = 0;  // smaller first; the main table has 32766
    bool operator==(const SourceRule&) const = default;
};

class Routes {
  public:
    virtual ~Routes() = default;

    // Busy (EEXIST): the table has a route to that destination. BadInput: the gateway is on no
    // network of the link. Unavailable: the link is down or gone.
    virtual Result<> add(const Netns& ns, const Route& route) = 0;
    // One that is not there is no error.
    virtual Result<> remove(const Netns& ns, const Route& route) = 0;
    // Busy (EEXIST): the same rule is there.
    virtual Result<> add_rule(const Netns& ns, const SourceRule& rule) = 0;
    virtual Result<> remove_rule(const Netns& ns, const SourceRule& rule) = 0;
};

std::unique_ptr<Routes> make_kernel_routes();

}  // namespace netns
