// SPDX-License-Identifier: Apache-2.0
// Which GID, and with it which device: a pure function over tables, so that every table that was
// ever seen to go wrong can be a test. The rule: the GID that attach.json names, if the table has
// it; else the GID whose bytes are the source address that the kernel routes from towards the peer,
// in this network namespace; of InfiniBand, whose GIDs are no addresses, the port of the IPoIB
// interface that has it; else an address of this namespace in another network than the route's;
// else a link-local one; else none, with a reason for each candidate. The last two are guesses: a
// note says so. A device shared by several containers shows the GIDs of all of them, so a score
// alone would sooner or later pick somebody else's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perf/address/address.h"
#include "perf/base/words.h"

namespace perf {

enum class GidType { InfiniBand, RoceV1, RoceV2 };

template <>
inline constexpr WordList kWords<GidType>{"GID type", {"IB", "RoCE v1", "RoCE v2"}};

// One entry of a device's GID table.
struct GidRow {
    std::string device;
    uint8_t port = 1;
    uint32_t index = 0;
    Address gid;
    GidType type = GidType::RoceV2;
    std::string netdev;           // the name in the netdev's own namespace; empty: not told
    bool netdev_present = false;  // this namespace has an interface of that name
    bool port_active = true;
};

using GidTable = std::vector<GidRow>;

// An address of an interface of this network namespace.
struct LocalAddress {
    std::string netdev;
    Address address;
    std::string device = {};  // of an IPoIB interface: its InfiniBand device and port
    uint8_t port = 0;
};

using LocalAddresses = std::vector<LocalAddress>;

// What rdma-hook says it attached.
struct AttachedGid {
    std::string device;
    Address gid;
};

// Where the kernel routes from towards the peer, best first.
using Sources = std::vector<Address>;

struct GidQuery {
    Sources sources;
    std::vector<AttachedGid> attached;
    std::string device;             // only this one; empty: any
    std::optional<uint32_t> index;  // only this one, on the caller's responsibility
    std::string preferred_device;   // RDMA_DEVICE: wins among equals
    bool link_local_peer = false;   // the peer's GID is: an own one comes before other networks
};

struct GidVerdict {
    size_t row = 0;
    int rank = 0;        // 0: cannot be used; the highest wins
    std::string reason;  // for --explain-gid
};

struct GidChoice {
    std::optional<size_t> chosen;  // index into the rows
    std::vector<GidVerdict> verdicts;
    std::vector<std::string> remarks;
    std::string note = {};  // for the user, in any case: the choice is a guess, and which
};

GidChoice choose_gid(const GidTable& rows, const LocalAddresses& addresses, const GidQuery& query);

// The table that --explain-gid prints and that an error without a choice carries.
std::string explain(const GidTable& rows, const GidChoice& choice, const GidQuery& query);

// ---- what rdma-hook tells a container about its RDMA device -------------------------------------
// /run/rdma/attach.json and the environment variables RDMA_DEVICE and RDMA_GID. Input from outside:
// bounded, strict, and never believed beyond a value that the kernel's GID table confirms (indexes
// move, values do not).
inline constexpr std::string_view kAttachFile = "/run/rdma/attach.json";

struct Attachment {
    std::vector<AttachedGid> gids;     // by attachment index
    std::string preferred_device;      // RDMA_DEVICE
    std::vector<std::string> remarks;  // what was not believed, for --explain-gid
};

// The content of attach.json, format 1. Code::BadInput if it is not that.
Result<std::vector<AttachedGid>> parse_attach_file(std::string_view text);

// File and environment together; a missing file is usual, a broken one a remark. `device` and `gid`
// are the values of RDMA_DEVICE and RDMA_GID, empty if unset.
Attachment load_attachment(const std::string& file, std::string_view device, std::string_view gid);

}  // namespace perf
