// SPDX-License-Identifier: Apache-2.0
#include "hook/request/vf_annotations.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace hook {

using base::Code;
using base::make_error;

namespace {
constexpr uint64_t kMaxQos = 7;

template <class T>
struct Word {
    std::string_view text;
    T value;
};

constexpr std::array<Word<bool>, 2> kSwitch = {{{"on", true}, {"off", false}}};
constexpr std::array<Word<Provider>, 4> kProviders = {{{"auto", Provider::Auto},
                                                       {"device", Provider::Device},
                                                       {"rxe", Provider::Rxe},
                                                       {"siw", Provider::Siw}}};
constexpr std::array<Word<netns::VlanProtocol>, 2> kProtocols = {
    {{"802.1q", netns::VlanProtocol::Dot1q}, {"802.1ad", netns::VlanProtocol::Dot1ad}}};
constexpr std::array<Word<netns::VfLinkState>, 3> kLinkStates = {
    {{"auto", netns::VfLinkState::Auto},
     {"on", netns::VfLinkState::On},
     {"off", netns::VfLinkState::Off}}};

template <class T, size_t N>
Result<> set_word(const std::array<Word<T>, N>& words,
                  std::string_view value,
                  std::optional<T>& into) {
    for (const auto& word : words) {
        if (word.text == value) {
            into = word.value;
            return {};
        }
    }
    return make_error(Code::BadInput, "");
}

template <class T, size_t N>
std::string_view text_of(const std::array<Word<T>, N>& words, T value) {
    for (const auto& word : words) {
        if (word.value == value)
            return word.text;
    }
    return {};
}

struct Bounds {
    uint64_t first = 0;
    uint64_t last = 0;
};

template <class T>
Result<> set_number(std::string_view value, Bounds bounds, std::optional<T>& into) {
    const auto number = parse_number(value);
    if (!number || *number < bounds.first || *number > bounds.last)
        return make_error(Code::BadInput, "");
    into = static_cast<T>(*number);
    return {};
}

// Eight bytes as `ip link set PF vf N node_guid` takes them.
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

Result<> set_guid(std::string_view value, std::optional<uint64_t>& into) {
    const auto guid = parse_guid(value);
    if (!guid)
        return make_error(Code::BadInput, "");
    if (*guid == 0 || *guid == UINT64_MAX)
        return make_error(Code::BadInput, "it names no device");
    into = guid;
    return {};
}
}  // namespace

Result<> set_device(Wish& wish, std::string_view value) {
    auto spec = parse_device_spec(value);
    if (!spec)
        return make_error(Code::BadInput, "");
    wish.device = *std::move(spec);
    return {};
}

Result<> set_provider(Wish& wish, std::string_view value) {
    return set_word(kProviders, value, wish.provider);
}

Result<> set_vlan(Wish& wish, std::string_view value) {
    return set_number(value, {1, kMaxVlan}, wish.vlan);
}

Result<> set_vlan_qos(Wish& wish, std::string_view value) {
    return set_number(value, {0, kMaxQos}, wish.vlan_qos);
}

Result<> set_vlan_proto(Wish& wish, std::string_view value) {
    return set_word(kProtocols, value, wish.vlan_proto);
}

Result<> set_spoofchk(Wish& wish, std::string_view value) {
    return set_word(kSwitch, value, wish.spoofchk);
}

Result<> set_trust(Wish& wish, std::string_view value) {
    return set_word(kSwitch, value, wish.trust);
}

Result<> set_link_state(Wish& wish, std::string_view value) {
    return set_word(kLinkStates, value, wish.link_state);
}

Result<> set_min_tx_rate(Wish& wish, std::string_view value) {
    return set_number(value, {0, kMaxRate}, wish.min_tx_rate);
}

Result<> set_max_tx_rate(Wish& wish, std::string_view value) {
    return set_number(value, {0, kMaxRate}, wish.max_tx_rate);
}

Result<> set_node_guid(Wish& wish, std::string_view value) {
    return set_guid(value, wish.node_guid);
}

Result<> set_port_guid(Wish& wish, std::string_view value) {
    return set_guid(value, wish.port_guid);
}

std::string_view to_string(Provider provider) {
    return text_of(kProviders, provider);
}

std::string_view to_string(netns::VlanProtocol protocol) {
    return text_of(kProtocols, protocol);
}

std::string_view to_string(netns::VfLinkState state) {
    return text_of(kLinkStates, state);
}

std::string guid_text(uint64_t guid) {
    std::string text;
    for (int shift = 56; shift >= 0; shift -= 8)
        text += fmt::format("{}{:02x}", text.empty() ? "" : ":", guid >> shift & 0xffU);
    return text;
}

}  // namespace hook
