// SPDX-License-Identifier: Apache-2.0
#include "hook/request/device_spec.h"

#include <algorithm>

#include <fmt/format.h>

#include "hook/request/annotations.h"
#include "netns/sriov.h"

namespace hook {

namespace {
std::optional<uint32_t> parse_vf(std::string_view text) {
    const auto number = parse_number(text);
    if (!number || *number > kMaxVf)
        return std::nullopt;
    return static_cast<uint32_t>(*number);
}

// "3" or "0-3".
std::optional<VfRange> parse_vf_range(std::string_view text) {
    const auto dash = text.find('-');
    const auto first = parse_vf(text.substr(0, dash));
    if (dash == std::string_view::npos)
        return first ? std::optional(VfRange{*first, *first}) : std::nullopt;
    const auto last = parse_vf(text.substr(dash + 1));
    if (!first || !last || *first >= *last)
        return std::nullopt;
    return VfRange{*first, *last};
}

std::optional<std::vector<VfRange>> parse_vf_ranges(std::string_view text) {
    std::vector<VfRange> ranges;
    for (;;) {
        const auto comma = text.find(',');
        const auto range = parse_vf_range(text.substr(0, comma));
        if (!range || (!ranges.empty() && range->first <= ranges.back().last))
            return std::nullopt;
        ranges.push_back(*range);
        if (comma == std::string_view::npos)
            return ranges;
        text.remove_prefix(comma + 1);
    }
}

bool covers(const DeviceSpec& outer, const VfRange& range) {
    return outer.vfs.empty() || std::any_of(outer.vfs.begin(), outer.vfs.end(), [&](const auto& r) {
               return r.first <= range.first && range.last <= r.last;
           });
}
}  // namespace

std::optional<DeviceSpec> parse_device_spec(std::string_view text) {
    const auto hash = text.find('#');
    DeviceSpec spec;
    spec.device = text.substr(0, hash);
    if (!netns::is_function_name(spec.device) && !is_device_name(spec.device))
        return std::nullopt;
    if (hash == std::string_view::npos)
        return spec;
    auto ranges = parse_vf_ranges(text.substr(hash + 1));
    if (!ranges)
        return std::nullopt;
    spec.vfs = *std::move(ranges);
    return spec;
}

std::string to_string(const DeviceSpec& spec) {
    std::string text = spec.device;
    for (const VfRange& range : spec.vfs) {
        text += text.size() == spec.device.size() ? '#' : ',';
        text += range.first == range.last ? std::to_string(range.first)
                                          : fmt::format("{}-{}", range.first, range.last);
    }
    return text;
}

bool has_number(const DeviceSpec& spec, uint32_t number) {
    return covers(spec, {number, number});
}

bool lies_inside(const DeviceSpec& inner, const std::vector<DeviceSpec>& outer) {
    return std::any_of(outer.begin(), outer.end(), [&](const DeviceSpec& one) {
        if (one.device != inner.device)
            return false;
        if (inner.vfs.empty())
            return one.vfs.empty();
        return std::all_of(inner.vfs.begin(), inner.vfs.end(), [&](const VfRange& range) {
            return covers(one, range);
        });
    });
}

}  // namespace hook
