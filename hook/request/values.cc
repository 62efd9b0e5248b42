// SPDX-License-Identifier: Apache-2.0
#include "hook/request/values.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

#include "netns/base/ascii.h"
#include "netns/base/json.h"

namespace hook {

using netns::Address;

namespace {
// IB_DEVICE_NAME_MAX and IFNAMSIZ (kernel uapi), less the terminating zero.
constexpr size_t kMaxDeviceName = 63;
constexpr size_t kMaxInterfaceName = 15;
// No known word is longer: further letters add the same to every distance.
constexpr size_t kCompared = 64;
constexpr std::string_view kNear = "near:";
constexpr uint64_t kMaxGpu = 999;

// Returns whether the kernel's dev_valid_name() takes the name, in printable ASCII, without '%':
// the kernel would take "rdma%d" for a template and choose another name.
bool is_name(std::string_view text, size_t limit) {
    const auto fits = [](char c) {
        return c > ' ' && c < 0x7f && c != '/' && c != ':' && c != '%';
    };
    return !text.empty() && text.size() <= limit && text != "." && text != ".." && text != "lo" &&
           std::ranges::all_of(text, fits);
}

size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
        }
    }
    return row[b.size()];
}

struct NumberRange {
    uint64_t first = 0;
    uint64_t last = 0;  // included
};

std::optional<NumberRange> parse_number_range(std::string_view text) {
    const auto [first_text, last_text] = split_range(text);
    const auto first = parse_number(first_text);
    const auto last = parse_number(last_text);
    if (!first || !last || *last < *first)
        return std::nullopt;
    return NumberRange{*first, *last};
}

// Reads "3" or "0-3", but not "3-3".
std::optional<VfRange> parse_vf_range(std::string_view text) {
    const auto range = parse_number_range(text);
    const bool has_dash = text.find('-') != std::string_view::npos;
    if (!range || range->last > kMaxVf || (has_dash && range->first == range->last))
        return std::nullopt;
    return VfRange{static_cast<uint32_t>(range->first), static_cast<uint32_t>(range->last)};
}

bool covers(const DeviceSpec& outer, const VfRange& range) {
    return outer.vfs.empty() || std::ranges::any_of(outer.vfs, [&](const VfRange& r) {
               return r.first <= range.first && range.last <= r.last;
           });
}

// Returns the ranges of the list; empty if it is malformed.
std::vector<NumberRange> parse_cpu_list(std::string_view text) {
    std::vector<NumberRange> ranges;
    for (const auto part : split_list(text)) {
        const auto range = parse_number_range(part);
        if (!range)
            return {};
        ranges.push_back(*range);
    }
    return ranges;
}

std::optional<uint32_t> smaller(std::optional<uint32_t> a, std::optional<uint32_t> b) {
    return a && b ? std::min(a, b) : a ? a : b;
}

Result<std::optional<uint32_t>> limit_in(const Json& object,
                                         const char* key,
                                         const std::string& place) {
    const auto value = object.find(key);
    if (value == object.end())
        return std::optional<uint32_t>{};
    if (base::detail::fits<uint32_t>(*value) && *value >= 1 && *value <= kMaxLimit)
        return std::optional{value->get<uint32_t>()};
    return base::make_error(Code::BadConfig,
                            fmt::format("'{}.{}' must be a whole number from 1 to {}, not {}",
                                        place,
                                        key,
                                        kMaxLimit,
                                        base::printable(base::dump_json(*value), 40)));
}
}  // namespace

bool is_device_name(std::string_view text) {
    return is_name(text, kMaxDeviceName);
}

bool is_interface_name(std::string_view text) {
    return is_name(text, kMaxInterfaceName);
}

bool is_pool_name(std::string_view text) {
    return !text.empty() && text.size() <= kMaxDeviceName && base::is_alnum(text[0]) &&
           base::is_made_of(text, "_.-");
}

std::optional<uint64_t> parse_number(std::string_view text) {
    uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    // from_chars takes no sign for unsigned types, but it takes leading zeros.
    if (text.empty() || error != std::errc{} || stop != end || (text.size() > 1 && text[0] == '0'))
        return std::nullopt;
    return value;
}

std::pair<std::string_view, std::string_view> split_range(std::string_view text) {
    const auto dash = text.find('-');
    return {text.substr(0, dash), dash == std::string_view::npos ? text : text.substr(dash + 1)};
}

std::vector<std::string_view> split_list(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto comma = text.find(',');
        parts.push_back(text.substr(0, comma));
        if (comma == std::string_view::npos)
            return parts;
        text.remove_prefix(comma + 1);
    }
}

bool has_word(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const size_t space = std::min(words.find(' '), words.size());
        if (words.substr(0, space) == word)
            return true;
        words.remove_prefix(std::min(space + 1, words.size()));
    }
    return false;
}

std::string_view nearest(std::string_view typed, const std::vector<std::string_view>& words) {
    typed = typed.substr(0, kCompared);
    const auto best = std::ranges::min_element(
        words, {}, [&](std::string_view word) { return distance(typed, word); });
    return best == words.end() ? std::string_view{} : *best;
}

std::optional<DeviceSpec> parse_device_spec(std::string_view text) {
    const auto hash = text.find('#');
    DeviceSpec spec;
    spec.device = text.substr(0, hash);
    if (!netns::is_function_name(spec.device) && !is_device_name(spec.device))
        return std::nullopt;
    if (hash == std::string_view::npos)
        return spec;
    for (const auto part : split_list(text.substr(hash + 1))) {
        const auto range = parse_vf_range(part);
        if (!range || (!spec.vfs.empty() && range->first <= spec.vfs.back().last))
            return std::nullopt;
        spec.vfs.push_back(*range);
    }
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

std::string devices_text(const std::vector<DeviceSpec>& specs) {
    std::string text;
    for (const DeviceSpec& spec : specs)
        text += (text.empty() ? "" : ",") + to_string(spec);
    return text;
}

bool names_all(const DeviceSpec& spec) {
    return spec.device == "all" && spec.vfs.empty();
}

std::string_view gpu_of(const DeviceSpec& spec) {
    std::string_view gpu = spec.device;
    if (!spec.vfs.empty() || !gpu.starts_with(kNear))
        return {};
    gpu.remove_prefix(kNear.size());
    const auto number = parse_number(gpu);
    return (number && *number <= kMaxGpu) || netns::is_pci_address(gpu) ? gpu : std::string_view{};
}

bool has_number(const DeviceSpec& spec, uint32_t number) {
    return covers(spec, {number, number});
}

bool lies_inside(const DeviceSpec& inner, const std::vector<DeviceSpec>& outer) {
    return std::ranges::any_of(outer, [&](const DeviceSpec& one) {
        if (names_all(one) || one.device != inner.device)
            return names_all(one);
        if (inner.vfs.empty())
            return one.vfs.empty();
        return std::ranges::all_of(inner.vfs,
                                   [&](const VfRange& range) { return covers(one, range); });
    });
}

bool share_a_cpu(std::string_view a, std::string_view b) {
    const auto ours = parse_cpu_list(a);
    const auto theirs = parse_cpu_list(b);
    return std::ranges::any_of(ours, [&](const NumberRange& mine) {
        return std::ranges::any_of(theirs, [&](const NumberRange& other) {
            return mine.first <= other.last && other.first <= mine.last;
        });
    });
}

std::optional<uint64_t> parse_guid(std::string_view text) {
    constexpr size_t kBytes = 8;
    if (text.size() != kBytes * 3 - 1)
        return std::nullopt;
    uint64_t guid = 0;
    for (size_t i = 0; i < kBytes; ++i) {
        const char* digits = text.data() + i * 3;
        uint8_t byte = 0;
        const auto [stop, error] = std::from_chars(digits, digits + 2, byte, 16);
        const bool closed = i + 1 == kBytes || digits[2] == ':';
        if (error != std::errc{} || stop != digits + 2 || !closed)
            return std::nullopt;
        guid = guid << 8U | byte;
    }
    return guid;
}

std::string guid_text(uint64_t guid) {
    std::string text;
    for (int shift = 56; shift >= 0; shift -= 8)
        text += fmt::format("{}{:02x}", text.empty() ? "" : ":", guid >> shift & 0xffU);
    return text;
}

std::string gateway_text(const std::vector<Address>& gateways) {
    std::string text;
    for (const Address& gateway : gateways)
        text += (text.empty() ? "" : ",") + ip_string(gateway);
    return text;
}

std::string routes_text(const std::vector<RouteRequest>& routes) {
    std::string text;
    for (const RouteRequest& route : routes) {
        text += (text.empty() ? "" : ",") + to_string(route.network);
        if (route.gateway)
            text += "@" + ip_string(*route.gateway);
    }
    return text;
}

Limits tightest(const Limits& a, const Limits& b) {
    return {.handles = smaller(a.handles, b.handles), .objects = smaller(a.objects, b.objects)};
}

Result<Limits> limits_from_json(const Json& object, const std::string& place) {
    return Limits{.handles = TRY(limit_in(object, kHandlesKey, place)),
                  .objects = TRY(limit_in(object, kObjectsKey, place))};
}

Json to_json(const Limits& limits) {
    Json json = Json::object();
    if (limits.handles)
        json[kHandlesKey] = *limits.handles;
    if (limits.objects)
        json[kObjectsKey] = *limits.objects;
    return json;
}

}  // namespace hook
