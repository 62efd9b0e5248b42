// SPDX-License-Identifier: Apache-2.0
// Device: the opened device, port and GID of one side, and the choice by the rule in gid.h.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "perf/address/gid.h"
#include "perf/protocol/message.h"
#include "perf/system/cpu.h"
#include "perf/verbs/memory.h"
#include "perf/verbs/verbs.h"

namespace perf {

struct CmDevice;

// What the person said about device and GID, and where rdma-hook's word is found.
struct DeviceWish {
    std::string device;
    std::optional<uint32_t> gid_index;
    std::string attach_file;
    std::string env_device;        // RDMA_DEVICE
    std::string env_gid;           // RDMA_GID
    bool link_local_peer = false;  // the peer has told its GID, and it is
};

// ---- the choice ---------------------------------------------------------------------------------
// The tables that choose_gid() judges: the GID tables of all devices that can be opened, and the
// addresses of this network namespace. The names of the netdevs come from sysfs
// (/sys/class/infiniband/DEV/ports/P/gid_attrs/ndevs/N) and may be missing in a container. Of an
// IPoIB interface (type 32) sysfs has the device below NETDEV/device/infiniband, and its port, from
// 0, in NETDEV/dev_port.
struct Survey {
    GidTable rows;
    LocalAddresses addresses;
    std::vector<std::string> remarks;  // devices that could not be read, and why

    // Whether an interface here has the address.
    [[nodiscard]] bool holds(const Address& address) const;
};

// `only`: this device alone; empty: all.
Result<Survey> survey(Verbs& verbs, const std::string& only, const std::string& sysfs = "/sys");

// The candidates for device and GID with the choice among them: for those who open the chosen one
// and for those who only look (gids, doctor).
struct Candidates {
    Survey tables;
    GidQuery query;
    GidChoice choice;  // its remarks include those of the survey and of attach.json

    // Null if none is usable.
    [[nodiscard]] const GidRow* chosen() const {
        return choice.chosen ? &tables.rows[*choice.chosen] : nullptr;
    }

    // The table of --explain-gid.
    [[nodiscard]] std::string explanation() const { return explain(tables.rows, choice, query); }

    // What to do if none is usable.
    [[nodiscard]] std::string way_out() const;
};

Result<Candidates> find_candidates(Verbs& verbs,
                                   const DeviceWish& wish,
                                   const Sources& sources,
                                   const std::string& sysfs = "/sys");

// ---- the device ---------------------------------------------------------------------------------
struct Device {
    Verbs* verbs = nullptr;
    Buffers memory = host_memory();  // where this side has what the device reads and writes
    Owned<ibv_context> context;
    Owned<ibv_pd> pd;
    ibv_device_attr attr{};
    ibv_port_attr port{};
    DeviceInfo info;
    bool software = false;               // rxe or siw: our own CPU does the device's work
    bool signals_all = false;            // EFA: refuses a work request that asks for no completion
    std::optional<cpu_set_t> near = {};  // near_processors()
    std::string explanation;             // the table of candidates, for --explain-gid
    std::string note;                    // for the user, in any case: the GID is a guess
};

// The side has its buffers there.
inline void place_buffers(Device& device, const Buffers& memory) {
    device.memory = memory;
    device.info.memory = memory->kind.word;
}

// Where loops of this process wait for the device's completions.
PollPlace poll_place(const Device& device);

// Software devices report these vendor ids.
inline constexpr uint32_t kRxeVendor = 0xffffff;
inline constexpr uint32_t kSiwVendor = 0x626d74;

inline bool is_software(const ibv_device_attr& attr) {
    return attr.vendor_id == kRxeVendor || attr.vendor_id == kSiwVendor;
}

// The processors of the adapter's NUMA node that the calling thread may run on. Nothing where these
// are all that it may run on, or none, or where sysfs does not say.
std::optional<cpu_set_t> near_processors(const std::string& device,
                                         const std::string& sysfs = "/sys");

// What the driver said of the device, and what sysfs says of its slot.
Identity identity_of(const std::string& device,
                     const ibv_device_attr& attr,
                     const std::string& sysfs = "/sys");

// The device that rdma_cm has for an address: of iWARP, whose GIDs are no addresses.
Result<Device> open_cm_device(Verbs& verbs, const CmDevice& found);

// Chooses and opens. Without a usable GID: Code::Unavailable whose text holds the table and the way
// out.
Result<Device> open_best_device(Verbs& verbs, const DeviceWish& wish, const Sources& sources);

// Whether the kernel has taken the device away: its link, netdev or network namespace was removed.
// Nothing completes any more then. Takes all asynchronous events. A refused call may be a moment
// before the event that explains it: waits for that as long as `grace`.
bool is_gone(const Device& device, std::chrono::milliseconds grace = {}) noexcept;
Error gone_error(const Device& device);

// The partition key at an index of the device's port, and the index that a port has a key at: full
// and limited members of a partition have the same 15 bits. Code::Unsupported if there is none.
Result<uint16_t> partition_key(const Device& device, uint32_t index);
Result<uint32_t> partition_index(const Device& device, uint16_t key);

// Why the port cannot carry traffic now; nothing if it can.
std::optional<Error> port_error(const Device& device);

}  // namespace perf
