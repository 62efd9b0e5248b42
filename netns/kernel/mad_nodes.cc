// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/mad_nodes.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "netns/char_nodes.h"

namespace netns {

namespace {
constexpr char kClass[] = "class/infiniband_mad";

// Reads "231:64".
std::optional<DeviceNumber> parse_dev(std::string_view text) {
    DeviceNumber number;
    const char* end = text.data() + text.size();
    const auto [colon, bad] = std::from_chars(text.data(), end, number.major);
    if (bad != std::errc{} || colon == end || *colon != ':')
        return std::nullopt;
    const auto [stop, bad_minor] = std::from_chars(colon + 1, end, number.minor);
    if (bad_minor != std::errc{} || stop != end)
        return std::nullopt;
    return number;
}
}  // namespace

Result<std::vector<CharDevice>> mad_nodes_in(const SysTree& sys, const std::string& device) {
    std::vector<CharDevice> nodes;
    for (const std::string& name : TRY(sys.list(kClass))) {
        if (!name.starts_with("umad") && !name.starts_with("issm"))
            continue;  // abi_version
        const auto folder = TRY(sys.enter(kClass + ("/" + name)));
        if (!folder || TRY(folder->read("ibdev")) != device)
            continue;
        if (const auto number = parse_dev(TRY(folder->read("dev")).value_or("")))
            nodes.push_back({name, number->major, number->minor});
    }
    return nodes;
}

}  // namespace netns
