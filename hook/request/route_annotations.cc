// SPDX-License-Identifier: Apache-2.0
#include "hook/request/route_annotations.h"

#include <algorithm>

#include <fmt/format.h>

namespace hook {

using base::Code;
using base::Error;
using base::make_error;
using base::printable;
using netns::Address;

namespace {
Error unfit(std::string reason) {
    return make_error(Code::BadInput, std::move(reason));
}

// Calls `each` with what stands between the commas.
Result<> split(std::string_view value, Result<> (*each)(Wish&, std::string_view), Wish& wish) {
    for (;;) {
        const auto comma = value.find(',');
        TRY(each(wish, value.substr(0, comma)));
        if (comma == std::string_view::npos)
            return {};
        value.remove_prefix(comma + 1);
    }
}

std::optional<Address> parse_gateway(std::string_view text) {
    const auto address = netns::parse_ip(text);
    return address && netns::is_host_address(*address) ? address : std::nullopt;
}

Result<> add_gateway(Wish& wish, std::string_view text) {
    const auto address = parse_gateway(text);
    if (!address)
        return unfit(fmt::format("'{}' is not the address of a gateway", printable(text)));
    for (const Address& other : *wish.gateways) {
        if (other.family == address->family)
            return unfit("there are two of one family");
    }
    wish.gateways->push_back(*address);
    return {};
}

Result<> add_route(Wish& wish, std::string_view text) {
    const auto at = text.find('@');
    const auto network = netns::parse_cidr(text.substr(0, at));
    if (!network || !netns::is_network(*network))
        return unfit(fmt::format("'{}' is not a network", printable(text.substr(0, at))));
    RouteWish route{.network = *network, .gateway = {}};
    if (at != std::string_view::npos) {
        route.gateway = parse_gateway(text.substr(at + 1));
        if (!route.gateway || route.gateway->family != network->family)
            return unfit(fmt::format("'{}' is no gateway for it", printable(text.substr(at + 1))));
    }
    for (const RouteWish& other : *wish.routes) {
        if (other.network == route.network)
            return unfit(fmt::format("'{}' is there twice", to_string(route.network)));
    }
    if (wish.routes->size() == kMaxRoutes)
        return unfit(fmt::format("more than {} routes", kMaxRoutes));
    wish.routes->push_back(route);
    return {};
}

// The networks in which the attachment will have an address.
std::vector<Address> networks_of(const Choice& choice, const Attachment& attachment) {
    if (attachment.ip_source != IpSource::Auto)
        return attachment.addresses;
    std::vector<Address> networks;
    for (const AddressRange& range : choice.pool()->ranges)
        networks.push_back(range.first);
    return networks;
}

Result<> check_gateway(const Choice& choice,
                       const Attachment& attachment,
                       std::string_view key,
                       const Address& gateway) {
    const std::string what =
        fmt::format("{}: gateway {}", choice.draft().name(key), ip_string(gateway));
    bool inside = netns::is_link_local(gateway);
    for (const Address& own : networks_of(choice, attachment)) {
        inside = inside || (own.family == gateway.family && netns::contains(own, gateway));
        if (attachment.ip_source == IpSource::Static && own.family == gateway.family &&
            own.bytes == gateway.bytes)
            return make_error(Code::BadInput, what + " is the container's own address")
                .advise("name the router's");
    }
    if (inside)
        return {};
    return make_error(Code::BadInput, what + " is in no network of the interface")
        .advise(fmt::format("choose one in the network of {}", choice.draft().name("ip")));
}
}  // namespace

Result<> set_gateway(Wish& wish, std::string_view value) {
    wish.gateways.emplace();
    return split(value, add_gateway, wish);
}

Result<> set_routes(Wish& wish, std::string_view value) {
    wish.routes.emplace();
    return split(value, add_route, wish);
}

std::string gateway_text(const std::vector<Address>& gateways) {
    std::string text;
    for (const Address& gateway : gateways)
        text += (text.empty() ? "" : ",") + ip_string(gateway);
    return text;
}

std::string routes_text(const std::vector<RouteWish>& routes) {
    std::string text;
    for (const RouteWish& route : routes) {
        text += (text.empty() ? "" : ",") + to_string(route.network);
        if (route.gateway)
            text += "@" + ip_string(*route.gateway);
    }
    return text;
}

Result<> choose_routes(const Choice& choice, Attachment& attachment) {
    attachment.gateways = choice.find(&Wish::gateways).value_or(std::vector<Address>{});
    attachment.routes = choice.find(&Wish::routes).value_or(std::vector<RouteWish>{});
    // A pool's defaults are left out where they make no sense.
    const auto is_wrong = [&](const Address& gateway) {
        return !check_gateway(choice, attachment, "gateway", gateway);
    };
    if (choice.draft().has("gateway")) {
        for (const Address& gateway : attachment.gateways)
            TRY(check_gateway(choice, attachment, "gateway", gateway));
    } else {
        std::erase_if(attachment.gateways, is_wrong);
    }
    for (RouteWish& route : attachment.routes) {
        const auto same =
            std::ranges::find(attachment.gateways, route.network.family, &Address::family);
        if (!route.gateway && same != attachment.gateways.end())
            route.gateway = *same;
        if (route.gateway && choice.draft().has("routes"))
            TRY(check_gateway(choice, attachment, "routes", *route.gateway));
    }
    std::erase_if(attachment.routes, [&](const RouteWish& route) {
        return route.gateway && is_wrong(*route.gateway);
    });
    return {};
}

}  // namespace hook
