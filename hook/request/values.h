// SPDX-License-Identifier: Apache-2.0
// Values: the spelling of names, numbers, devices, CPUs and GUIDs in annotations and the
// configuration, and the types that they are read into. Pure. All input is hostile: every parser
// takes one spelling and gives nothing for any other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hook/request/names.h"
#include "netns/base/json_fwd.h"
#include "netns/sriov.h"
#include "netns/values/address.h"

namespace hook {

using base::Json;

inline constexpr unsigned kMaxIndex = 15;        // the highest index of rdma.<index>.*
inline constexpr uint32_t kMaxVf = 65535;        // sriov_totalvfs is 16 bits wide
inline constexpr uint16_t kMaxVlan = 4094;       // 0 and 4095 are reserved (IEEE 802.1Q)
inline constexpr uint32_t kMaxRate = 1'000'000;  // Mbit/s, for min_tx_rate and max_tx_rate
// The kernel counts to 2^31 - 2; nine digits are plenty and easier to say.
inline constexpr uint32_t kMaxLimit = 999999999;
inline constexpr uint64_t kMemlockUnlimited = UINT64_MAX;

// Names.
bool is_device_name(std::string_view text);  // a netdev or RDMA device of the host
bool is_interface_name(std::string_view text);
bool is_pool_name(std::string_view text);

// Reads a decimal number without sign or leading zeros.
std::optional<uint64_t> parse_number(std::string_view text);
// Returns FIRST and LAST of "FIRST-LAST"; FIRST twice for "FIRST".
std::pair<std::string_view, std::string_view> split_range(std::string_view text);
// Returns the parts between the commas: at least one, each may be empty.
std::vector<std::string_view> split_list(std::string_view text);
// Returns whether a list of words with single spaces has the word.
bool has_word(std::string_view words, std::string_view word);
// Returns the known word that is nearest to a mistyped one, by edit distance. The first of equals
// wins; empty if there are no words.
std::string_view nearest(std::string_view typed, const std::vector<std::string_view>& words);

// A device, or some of its VFs: the spelling of rdma.device and of the configuration's lists.
//
//   0000:3b:00.0      a PF, or a VF, by its PCI address
//   auxiliary/mlx5_core.sf.4   a function of another bus, as devlink names it
//   enp1s0, mlx5_0    the same by the name of its netdev or RDMA device
//   enp1s0#0-3,5      only these VFs of a PF; numbers ascend
//   all               see names_all()
//   near:0            see gpu_of(); in rdma.device, not in lists
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

// Reads a spec. Each has one spelling, which to_string() returns.
std::optional<DeviceSpec> parse_device_spec(std::string_view text);
std::string to_string(const DeviceSpec& spec);
// Returns the specs with commas between them.
std::string devices_text(const std::vector<DeviceSpec>& specs);
// Returns whether the spec is "all": every RDMA device of the host, whatever its name.
bool names_all(const DeviceSpec& spec);
// Returns the GPU of a spec "near:GPU": its number ("0") or its PCI address. Empty: the spec is no
// such one. It stands for the device that is nearest to the GPU.
std::string_view gpu_of(const DeviceSpec& spec);
// Returns whether the spec includes this VF number.
bool has_number(const DeviceSpec& spec, uint32_t number);
// Returns whether one of `outer` names everything that `inner` names. "all" names everything. Else
// it compares the spelling: the meaning of a name on the host is not looked at.
bool lies_inside(const DeviceSpec& inner, const std::vector<DeviceSpec>& outer);

// Returns whether two lists of CPUs have one in common. They are written as by cpuset(7) and sysfs:
// "0-3,8". False if one is empty or malformed.
bool share_a_cpu(std::string_view a, std::string_view b);

// A word and its meaning.
template <class T>
struct Word {
    std::string_view text;
    T value;
};

enum class Placement { Container, Host };  // the namespace in which an rxe lives
enum class IpSource { None, Static, Auto };
enum class Provider {
    Auto,
    Device,
    Rxe,
    Siw
};  // the provider of a VF's RDMA: its own device, or a software one

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

// A network to send to, and the router for it.
struct RouteRequest {
    netns::Address network;
    std::optional<netns::Address> gateway;  // nothing: the attachment's of this family, else none
    bool operator==(const RouteRequest&) const = default;
};

// Returns texts such as "10.9.0.254,fd00::fe" and "10.8.0.0/16,fd01::/48@fd00::fe".
std::string gateway_text(const std::vector<netns::Address>& gateways);
std::string routes_text(const std::vector<RouteRequest>& routes);

// The limits of one container on an RDMA device: how much it may open and make, by the rdma cgroup.
struct Limits {
    std::optional<uint32_t> handles;  // rdma.max_hca_handles
    std::optional<uint32_t> objects;  // rdma.max_hca_objects

    [[nodiscard]] bool any() const { return handles || objects; }

    bool operator==(const Limits&) const = default;
};

inline constexpr char kHandlesKey[] = "max_hca_handles";
inline constexpr char kObjectsKey[] = "max_hca_objects";

// Returns the smaller of both, member by member; a missing member does not limit.
Limits tightest(const Limits& a, const Limits& b);
// Reads an object with members of those names, each a whole number from 1 to kMaxLimit. BadConfig
// names the member ("limits.max_hca_objects").
Result<Limits> limits_from_json(const Json& object, const std::string& place);
Json to_json(const Limits& limits);

}  // namespace hook
