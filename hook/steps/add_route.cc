// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/add_route.h"

#include <fmt/format.h>

namespace hook {

using base::Code;
using base::make_error;
using netns::Address;

namespace {
Result<std::optional<Address>> find_address(const Json& json, const char* key) {
    if (!json.contains(key))
        return std::optional<Address>{};
    const auto address = netns::parse_cidr(TRY(base::required<std::string>(json, key)));
    if (!address)
        return make_error(Code::Internal, fmt::format("add_route: broken {}", key));
    return address;
}

void put(Json& json, const char* key, const std::optional<Address>& address) {
    if (address)
        json[key] = netns::to_string(*address);
}
}  // namespace

Result<std::unique_ptr<Step>> AddRoute::load(const Json& json) {
    Args args;
    args.family = TRY(base::required<bool>(json, "v6")) ? netns::Family::V6 : netns::Family::V4;
    args.destination = TRY(find_address(json, "destination"));
    args.gateway = TRY(find_address(json, "gateway"));
    args.source = TRY(find_address(json, "source"));
    args.link = TRY(base::required<uint32_t>(json, "link"));
    args.table = TRY(base::required<uint32_t>(json, "table"));
    return make_step<AddRoute>(args);
}

std::string AddRoute::describe() const {
    std::string text =
        "add route to " + (args_.destination ? netns::to_string(*args_.destination) : "everything");
    if (args_.gateway)
        text += " by " + netns::ip_string(*args_.gateway);
    return args_.table == netns::kMainTable ? text
                                            : text + fmt::format(" in table {}", args_.table);
}

Result<> AddRoute::apply(Site& site) const {
    return site.host.routes.add(*site.container, args_);
}

Json AddRoute::save() const {
    Json json{
        {"v6", args_.family == netns::Family::V6}, {"link", args_.link}, {"table", args_.table}};
    put(json, "destination", args_.destination);
    put(json, "gateway", args_.gateway);
    put(json, "source", args_.source);
    return json;
}

}  // namespace hook
