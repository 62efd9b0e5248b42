// SPDX-License-Identifier: Apache-2.0
// Request: what a container asks for, made from its annotations and the configuration. Pure: only
// valid values can exist in it. The grammar of every annotation is the table in annotations.cc,
// described for people in hook/README.md and as JSON Schema in runtime-config/install/schema/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hook/request/config.h"
#include "netns/base/json.h"
#include "netns/base/result.h"
#include "netns/sriov.h"
#include "netns/values/address.h"
#include "netns/values/child_type.h"

namespace hook {

using base::Json;
using base::Result;

using Annotations = std::map<std::string, std::string>;

enum class Placement { Container, Host };  // where an rxe lives
enum class IpSource { None, Static, Auto };

// Where to send what is for a network.
struct RouteWish {
    netns::Address network;
    std::optional<netns::Address> gateway;  // nothing: the attachment's of this family, else none
    bool operator==(const RouteWish&) const = default;
};

// Of a VF's RDMA: its own device, or a software one over its netdev.
enum class Provider { Auto, Device, Rxe, Siw };

// One device for one container: `rdma.<index>.*`.
struct Attachment {
    unsigned index = 0;  // 0-15
    std::string mode;    // a name in hook/modes/modes.cc
    std::string pool;    // name of the pool whose defaults and range apply, or empty
    std::string parent;  // host netdev or RDMA device; "container"; empty: the default route's.
                         // Named by annotation or pool if the configuration has a policy.
    Placement placement = Placement::Container;
    std::string ifname;  // "rdma0"; of the interface that we make in the container. Empty where we
                         // make none: placement Host, parent "container"
    IpSource ip_source = IpSource::None;
    std::vector<netns::Address> addresses;  // for Static; each a host's, none twice
    std::vector<netns::Address> gateways;   // at most one a family, in a network of the addresses
    std::vector<RouteWish> routes;          // none twice
    std::optional<netns::Mac> mac;          // unicast
    std::optional<uint32_t> mtu;            // bytes; at least 1280 with IPv6
    std::optional<DeviceSpec> device;       // vf: one of it; empty: one of the pool's
    Provider provider = Provider::Auto;
    netns::VfSettings vf;         // what is to be set through the PF; never a MAC: that is `mac`
    std::string bridge;           // asap2: of Open vSwitch
    std::vector<uint16_t> trunk;  // asap2: VLANs that pass tagged, ascending; never beside vf.vlan
    bool offload_required = false;  // asap2: no attach to a host that forwards in software
    netns::ChildType child;         // shared: what the interface is of the HCA's netdev
    bool operator==(const Attachment&) const = default;
};

inline constexpr std::string_view kContainerParent = "container";
inline constexpr uint64_t kMemlockUnlimited = UINT64_MAX;

struct Request {
    std::vector<Attachment> attachments;  // by index, none twice; empty: nothing of ours asked for
    std::optional<uint64_t> memlock;      // bytes or kMemlockUnlimited; rdma.memlock
    // What is given where neither the annotation nor the engine's user says: as much as the policy
    // allows; 0: the engine's own limit is left alone.
    uint64_t memlock_default = kMemlockUnlimited;
    bool optional = false;  // rdma.optional
    // rdma.max_hca_*, by index of the attachment; where there are any. No part of Attachment: who
    // shares one has limits of its own.
    std::map<unsigned, Limits> limits;
};

// Whether any key is ours (^rdma\.([0-9]+\.)?[^/]*$): decides, before anything else is looked at or
// loaded, whether the container is any business of ours.
bool mentions_rdma(const Annotations& annotations);

// BadInput names key, value, what is allowed and, for an unknown key, the closest known one;
// Refused: a parent that is not one of its pool.
Result<Request> parse_request(const Annotations& annotations, const Config& config);

// The canonical form in journals; two attachments are equal if these are.
Json to_json(const Attachment& attachment);
Result<Attachment> attachment_from_json(const Json& json);

}  // namespace hook
