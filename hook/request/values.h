// SPDX-License-Identifier: Apache-2.0
// Values: how annotations and the configuration spell names, numbers, devices, CPUs and GUIDs, and
// the types that they are read into. Pure. All input is hostile: every parser takes one spelling and
// gives nothing for any other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/json.h"
#include "netns/sriov.h"
#include "netns/values/address.h"

namespace hook {

using base::Json;
using base::Result;

inline constexpr unsigned kMaxIndex = 15;        // of rdma.<index>.*
inline constexpr uint32_t kMaxVf = 65535;        // sriov_totalvfs is 16 bits wide
inline constexpr uint16_t kMaxVlan = 4094;       // 0 and 4095 are reserved (IEEE 802.1Q)
inline constexpr uint32_t kMaxRate = 1'000'000;  // Mbit/s, of min_tx_rate and max_tx_rate
// The kernel counts to 2^31 - 2; nine digits are plenty and easier to say.
inline constexpr uint32_t kMaxLimit = 999999999;
inline constexpr uint64_t kMemlockUnlimited = UINT64_MAX;

// Names.
bool is_device_name(std::string_view text);  // a netdev or RDMA device of the host
bool is_interface_name(std::string_view text);
bool is_pool_name(std::string_view text);

// A decimal number without sign or leading zeros.
std::optional<uint64_t> parse_number(std::string_view text);
// The first and the last of "FIRST-LAST"; twice the same of "FIRST".
std::pair<std::string_view, std::string_view> split_range(std::string_view text);
// The parts between the commas: at least one, each may be empty.
std::vector<std::string_view> split_list(std::string_view text);
// Whether a list of words with single spaces has the word.
bool has_word(std::string_view words, std::string_view word);
// The nearest of some known words to a mistyped one, by edit distance; the first of equals; empty
// if there are no words.
std::string_view nearest(std::string_view typed, const std::vector<std::string_view>& words);

// A device, or some of its VFs: the spelling of rdma.device and of the configuration's lists.
//
//   0000:3b:00.0      a PF, or a VF, by its PCI address
//   auxiliary/mlx5_core.sf.4   a function of another bus, as devlink names it
//   enp1s0, mlx5_0    the same by the name of its netdev or RDMA device
//   enp1s0#0-3,5      of a PF: these VFs only; numbers ascend
struct VfRange {
    uint32_t first = 0;
    uint32_t last = 0;  // included
    bool operator==(const VfRange&) const = default;
};

struct DeviceSpec {
    std::string device;        // PCI address or name
    std::vector<VfRange> vfs;  // ascending, apart; empty: all of a PF, or the VF itself
    bool operator==(const DeviceSpec&) const = default;
};

// One spelling in, the same out.
std::optional<DeviceSpec> parse_device_spec(std::string_view text);
std::string to_string(const DeviceSpec& spec);
// Whether the spec speaks of this VF number.
bool has_number(const DeviceSpec& spec, uint32_t number);
// Whether all that `inner` names is named by one of `outer`. By spelling: what a name means on the
// host is not looked at.
bool lies_inside(const DeviceSpec& inner, const std::vector<DeviceSpec>& outer);

// Lists of CPUs as cpuset(7) and sysfs write them: "0-3,8". Whether the two have one in common;
// false if one is empty or malformed.
bool share_a_cpu(std::string_view a, std::string_view b);

// A word and what it means.
template <class T>
struct Word {
    std::string_view text;
    T value;
};

enum class Placement { Container, Host };  // where an rxe lives
enum class IpSource { None, Static, Auto };
enum class Provider {
    Auto,
    Device,
    Rxe,
    Siw
};  // of a VF's RDMA: its own device, or a software one

inline constexpr Word<Placement> kPlacements[] = {{"container", Placement::Container},
                                                  {"host", Placement::Host}};
inline constexpr Word<Provider> kProviders[] = {{"auto", Provider::Auto},
                                                {"device", Provider::Device},
                                                {"rxe", Provider::Rxe},
                                                {"siw", Provider::Siw}};
inline constexpr Word<netns::VlanProtocol> kVlanProtocols[] = {
    {"802.1q", netns::VlanProtocol::Dot1q}, {"802.1ad", netns::VlanProtocol::Dot1ad}};
inline constexpr Word<netns::VfLinkState> kLinkStates[] = {{"auto", netns::VfLinkState::Auto},
                                                           {"on", netns::VfLinkState::On},
                                                           {"off", netns::VfLinkState::Off}};
inline constexpr Word<bool> kSwitch[] = {{"on", true}, {"off", false}};

template <class T, size_t N>
constexpr std::optional<T> parse_word(const Word<T> (&words)[N], std::string_view text) {
    for (const auto& word : words) {
        if (word.text == text)
            return word.value;
    }
    return std::nullopt;
}

template <class T, size_t N>
constexpr std::string_view word_of(const Word<T> (&words)[N], T value) {
    for (const auto& word : words) {
        if (word.value == value)
            return word.text;
    }
    return {};
}

// Eight bytes as `ip link set PF vf N node_guid` takes them: "00:11:22:33:44:55:66:77".
std::optional<uint64_t> parse_guid(std::string_view text);
std::string guid_text(uint64_t guid);

// A network to send to, and by which router.
struct RouteRequest {
    netns::Address network;
    std::optional<netns::Address> gateway;  // nothing: the attachment's of this family, else none
    bool operator==(const RouteRequest&) const = default;
};

// "10.9.0.254,fd00::fe"; "10.8.0.0/16,fd01::/48@fd00::fe".
std::string gateway_text(const std::vector<netns::Address>& gateways);
std::string routes_text(const std::vector<RouteRequest>& routes);

// How much of an RDMA device one container may open and make, by the rdma cgroup.
struct Limits {
    std::optional<uint32_t> handles;  // rdma.max_hca_handles
    std::optional<uint32_t> objects;  // rdma.max_hca_objects

    [[nodiscard]] bool any() const { return handles || objects; }

    bool operator==(const Limits&) const = default;
};

inline constexpr char kHandlesKey[] = "max_hca_handles";
inline constexpr char kObjectsKey[] = "max_hca_objects";

// The smaller of both, member by member; what is not said does not limit.
Limits tightest(const Limits& a, const Limits& b);
// An object with members of those names, each a whole number from 1 to kMaxLimit; BadConfig names
// the member ("limits.max_hca_objects").
Result<Limits> limits_from_json(const Json& object, const std::string& place);
Json to_json(const Limits& limits);

}  // namespace hook
