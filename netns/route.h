// SPDX-License-Identifier: Apache-2.0
// Routes adds and removes routes of a link, and rules that choose a table by a packet's source:
// rtnetlink(7), ip-rule(8). Two links of one namespace on one network share a route in the main
// table. Packets from the second link's address then leave by the first. A table for each source
// keeps them apart. A route goes with its link. A rule stays until it is removed or the namespace
// ends.
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
    std::optional<Address> destination{};  // a network; nothing: the default route
    std::optional<Address> gateway{};      // nothing: neighbours on the link
    std::optional<Address> source{};       // the source address, if the sender chose none
    uint32_t link = 0;                     // index in the namespace
    uint32_t table = kMainTable;
    bool operator==(const Route&) const = default;
};

// Packets from `source` look into `table`.
struct SourceRule {
    Address source;         // prefix of full length
    uint32_t table = 0;     // a table of rdma-hook's routes
    uint32_t priority = 0;  // smaller numbers first; the main table has 32766
    bool operator==(const SourceRule&) const = default;
};

class Routes {
  public:
    virtual ~Routes() = default;

    // Adds a route. Busy (EEXIST): the table has a route to that destination. BadInput: the gateway
    // is on no network of the link. Unavailable: the link is down or gone.
    virtual Result<> add(const Netns& ns, const Route& route) = 0;
    // Removes a route; one that is not there is no error.
    virtual Result<> remove(const Netns& ns, const Route& route) = 0;
    // Adds a rule. Busy (EEXIST): the same rule is there.
    virtual Result<> add_rule(const Netns& ns, const SourceRule& rule) = 0;
    // Removes a rule; one that is not there is no error.
    virtual Result<> remove_rule(const Netns& ns, const SourceRule& rule) = 0;
};

std::unique_ptr<Routes> make_kernel_routes();

}  // namespace netns
