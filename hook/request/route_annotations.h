// SPDX-License-Identifier: Apache-2.0
// The grammar of the annotations that speak of routes, and what they mean beside the addresses. The
// table of all keys is in annotations.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hook/request/choice.h"

namespace hook {

inline constexpr size_t kMaxRoutes = 32;

Result<> set_gateway(Wish& wish, std::string_view value);
Result<> set_routes(Wish& wish, std::string_view value);

// The spellings, for journals.
std::string gateway_text(const std::vector<netns::Address>& gateways);
std::string routes_text(const std::vector<RouteWish>& routes);

// Attachment::gateways and routes; after its addresses are chosen.
Result<> choose_routes(const Choice& choice, Attachment& attachment);

}  // namespace hook
