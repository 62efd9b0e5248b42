// SPDX-License-Identifier: Apache-2.0
// Store: the state on disk, one folder (/run/rdma-hook, gone with the boot).
//
//   containers/KEY.json   a committed container; pending/KEY.json one whose create is under way
//   journals/AKEY.json    an attachment: request, steps, holders (container keys)
//   netns/AKEY            the pin of the container's namespace
//   leases/LINK[.VLAN]-IP an address held on the network of a netdev, or in a VLAN there; content:
//                         AKEY
//   leases/vf-ADDRESS     a VF held, by PCI address (of another bus BUS_NAME); content: AKEY
//   leases/adapter-HANDLE adapter on which rdmactl is at work, by devlink handle; content: rdmactl
//   nodes/MAJOR:MINOR:GUID:INDEX-KEY
//                         the RDMA device whose verbs node the container may open; granted_nodes.h
//   attach/KEY.json       the file that the container sees as /run/rdma/attach.json
//   view/KEY/             the container's view of /sys/class, its nccl.conf and ucx.conf
//   eswitches/DEVICE.json the state of an e-switch before rdmactl asap2 enable
//   autoprobe/PF          its sriov_drivers_autoprobe before rdmactl changed it; autoprobe.h
//   errors/KEY.json       the last failure of a container, for `rdmactl list --failed`
//   locks/                the locks of things that exist or are being worked on, a file each
//
// KEY = SHA-256 of the bundle path. AKEY = <namespace inode>-<interface> in hex and safe letters.
// Each container and each attachment has a lock of its own. The order of locks is container,
// attachment, leases. Journals name their holders, and containers name their attachments. A
// container's file is written first and removed last, so a holder without a file is a dead one.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hook/request/values.h"
#include "netns/base/clock.h"
#include "netns/base/file_lock.h"
#include "netns/base/files.h"
#include "netns/base/json_view.h"
#include "netns/namespace.h"
#include "netns/process.h"

namespace hook {

// A container that holds attachments.
struct Container {
    std::string key;  // SHA-256 of the bundle path
    std::string bundle;
    std::string id;      // empty until known
    std::string uuid{};  // this attach's; another start of the same container has another
    bool committed = false;
    netns::ProcessToken token;              // until the commit the creator, then its init
    std::string netns_path{};               // path in config.json; empty: it has none
    std::optional<netns::NetnsId> netns{};  // nothing: rdma-hook did not touch the namespace
    std::vector<std::string> attachments;
    std::map<std::string, Limits> limits{};  // by attachment, where there are any
    int64_t created = 0;                     // seconds since 1970, for people
    std::chrono::seconds created_uptime{};   // Processes::uptime() at that time
    // rdmactl attach: the container's init, which ran before the attach, and so outlives a detach.
    // Nothing: the container has its RDMA from its start.
    std::optional<netns::ProcessToken> running_init = {};
    // The steps that granted the container things while it existed (hook/container/into_running.h),
    // in the order of application. Empty where config.json declares them.
    base::Json grants = base::Json::array();
    bool operator==(const Container&) const = default;
};

class Store {
  public:
    Store(base::Files& files, std::string dir) : files_(files), dir_(std::move(dir)) {}

    // Makes the folders.
    Result<> open() const;

    [[nodiscard]] std::string journal_path(const std::string& akey) const;
    [[nodiscard]] std::string pin_path(const std::string& akey) const;
    [[nodiscard]] std::string lease_path(const std::string& name) const;
    [[nodiscard]] std::string attach_path(const std::string& key) const;
    [[nodiscard]] std::string view_path(const std::string& key) const;
    [[nodiscard]] std::string error_path(const std::string& key) const;

    [[nodiscard]] std::string folder(const char* name) const { return dir_ + "/" + name; }

    [[nodiscard]] base::Files& files() const { return files_; }

    // Returns the content of a file of the state.
    [[nodiscard]] Result<base::Json> read_json(const std::string& path) const;

    // The functions below take a lock. Deadline::now(): at once, or Code::Busy.
    Result<base::FileLock> lock_container(const std::string& key, base::Deadline deadline) const;
    Result<base::FileLock> lock_attachment(const std::string& akey, base::Deadline deadline) const;
    Result<base::FileLock> lock_leases(base::Deadline deadline) const;

    // Returns the container's record, committed before pending; nothing if there is none.
    Result<std::optional<Container>> load_container(const std::string& key) const;
    // The same for a holder of the container's lock, during which nobody commits.
    Result<std::optional<Container>> load_container(const std::string& key,
                                                    const base::FileLock& held) const;
    // Returns the records of containers with this id: two engines may each have one. Those that
    // cannot be read are left to gc.
    Result<std::vector<Container>> load_by_id(const std::string& id) const;
    // Writes to containers/ or pending/ as `committed` says; a committed container leaves pending/.
    Result<> save_container(const Container& container) const;
    // Makes a committed record pending again. Its token names the process that undoes the
    // container. If that process dies, gc and the next attach undo the rest.
    Result<> reopen_container(const Container& container) const;
    Result<> remove_container(const std::string& key) const;

    Result<std::vector<std::string>> pending_keys() const;
    Result<std::vector<std::string>> container_keys() const;  // pending ones too
    Result<std::vector<std::string>> journal_keys() const;

    // Removes files that writers left half written when they died, and returns their paths. Also
    // removes the locks of things that are gone, which killed processes have left.
    Result<std::vector<std::string>> sweep() const;

  private:
    [[nodiscard]] Result<std::optional<Container>> find_container(
        const std::string& key, std::initializer_list<const char*> folders) const;
    [[nodiscard]] Result<base::FileLock> lock(const char* kind,
                                              const std::string& name,
                                              base::Deadline deadline,
                                              std::vector<std::string> guarded) const;

    base::Files& files_;
    std::string dir_;
};

// Returns the KEY of a bundle.
std::string container_key(const std::string& bundle);
// Returns whether foreign text could be a KEY.
bool is_container_key(std::string_view text);
// Returns the id that Podman put into the bundle's path, or empty.
std::string id_from_bundle(const std::string& bundle);
// Returns the AKEY of an interface in a namespace.
std::string attachment_key(netns::NetnsId ns, const std::string& interface);
// Returns a name of a file, or a part of one, for a devlink handle or a device of any bus.
std::string file_name(std::string device);
// Returns whether foreign text could be an AKEY, and so may become part of a path.
bool is_attachment_key(std::string_view text);

// The only version of rdma-hook's files that this program knows. hook/STATE.md has their form. A
// change that an older program would misread needs another version.
inline constexpr int kFormat = 1;
// Checks the version of a file. Any other version is an error: such a file is left as it is.
Result<> check_same_format(int format);

template <class Object>  // Json or JsonView
Result<> check_format(const Object& json) {
    return check_same_format(TRY(base::required<int>(json, "format")));
}

// Checks that the members are arrays, as far as they exist.
Result<> check_arrays(const base::Json& json, std::initializer_list<const char*> members);
// Checks that the file is about its name: its member "key" leads to other files.
Result<> check_same_key(std::string_view found, std::string_view key);

template <class Object>
Result<> check_key(const Object& json, std::string_view key) {
    return check_same_key(TRY(base::required<std::string>(json, "key")), key);
}

// Returns the record of a container.
base::Json to_json(const Container& container);

// The time to wait for any of the locks: longer than an attach that holds it takes.
inline constexpr std::chrono::seconds kLockTimeout{20};
inline constexpr size_t kMaxStateFile = 1U << 20U;

}  // namespace hook
