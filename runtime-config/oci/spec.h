// SPDX-License-Identifier: Apache-2.0
// config.json of the OCI runtime specification 1.0 to 1.2: the few facts that rdma-hook needs of
// it, and the edits that grant a device. It works on a JSON tree, in which large members that
// nobody reads stay text. So unknown members survive.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/json.h"
#include "netns/base/result.h"
#include "runtime-config/oci/device_rules.h"

namespace oci {

using base::Json;
using base::Result;

inline constexpr size_t kMaxSpecBytes = 4U << 20U;

// The container's network: the host's, an existing namespace (path), or one that the runtime would
// make.
struct Network {
    enum class Kind { Host, Path, Private } kind = Kind::Host;
    std::string path;
};

// Hooks get an environment of their own. Without one runc passes its own, and versions before 1.3
// gave hooks of some stages the container's.
inline constexpr char kHookPath[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
// A runtime waits without limit for a hook that has no timeout.
inline constexpr unsigned kHookTimeoutSeconds = 60;

struct Hook {
    std::string path;
    std::vector<std::string> args;  // with argv[0]
    unsigned timeout_s = 0;         // seconds; 0: none
};

struct DeviceNode {
    std::string path;  // in the container
    uint32_t major = 0;
    uint32_t minor = 0;
};

class Spec {
  public:
    // Parses config.json. BadInput: a member that is read below is not of the specification's type.
    static Result<Spec> parse(std::string_view text);
    // Parses the annotations only; before check() you may call nothing but annotations(). So errors
    // in the config.json of a container without rdma.* are left to the runtime.
    static Result<Spec> parse_annotations(std::string_view text);
    [[nodiscard]] Result<> check() const;

    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::map<std::string, std::string> annotations() const;
    [[nodiscard]] Network network() const;
    [[nodiscard]] bool has_user_namespace() const;
    // Returns whether all devices are allowed and CAP_SYS_ADMIN is bounding, as engines write
    // --privileged.
    [[nodiscard]] bool privileged() const;
    // Returns whether a rule denies all devices that no later rule allows. Without one, the runtime
    // may have no device program at all.
    [[nodiscard]] bool denies_devices() const;
    // Returns the capabilities of all sets, each once: "CAP_NET_RAW".
    [[nodiscard]] std::vector<std::string> capabilities() const;
    // Returns whether a character device, or a rule that lets some be opened, has a dynamic major.
    // Only then the next two functions need the majors of RDMA.
    [[nodiscard]] bool has_dynamic_majors() const;
    // Returns the character devices of RDMA: by number (231, and these majors), wherever they are
    // in the container, or by folder. rdma_cm is left out: it opens nothing by itself. None for a
    // privileged container, whose devices are all its own.
    [[nodiscard]] std::vector<DeviceNode> rdma_nodes(const std::vector<uint32_t>& majors) const;
    // Returns the RDMA devices that the rules let the container open through nodes of its own
    // making (mknod), beside those of linux.devices. None for a privileged container, whose devices
    // are all its own.
    [[nodiscard]] std::set<DeviceRange> rdma_rules(const std::vector<uint32_t>& majors) const;
    // Returns whether a mount brings the host's /dev, /dev/infiniband or something of it, as rootless
    // Podman gives devices.
    [[nodiscard]] bool binds_rdma_nodes() const;
    // Returns linux.resources.cpu.cpus: "0-3,8"; empty: all. Not checked.
    [[nodiscard]] std::string cpus() const;
    // Returns whether /sys is a sysfs that the runtime mounts, without another mount at or below
    // /sys/class or /sys/devices. False for a privileged container, which sees the machine.
    // `rootless`: also the host's /sys, which a rootless engine binds where it may not mount one.
    [[nodiscard]] bool has_own_sysfs(bool rootless = false) const;
    // Returns root.path, which may be relative to the bundle, as an absolute path; empty: none.
    [[nodiscard]] std::string root(const std::string& bundle) const;
    // Returns whether a mount is at the path, at a folder above it (but the root), or below it. Then
    // what the image has there is not what the container sees.
    [[nodiscard]] bool mounts_near(const std::string& path) const;
    [[nodiscard]] std::string mount_label() const;
    // Returns "containerd" or "crio" if that made the container for a pod; empty for a container
    // without Kubernetes.
    [[nodiscard]] std::string_view pods_engine() const;
    // Returns whether annotations of crun would redirect the output of hooks.
    [[nodiscard]] bool redirects_hook_output() const;

    void set_network_path(const std::string& path);
    // Adds a node and the cgroup rule `c MAJ:MIN rw`. A node that is at that path already is kept
    // if it is the same device; else Refused.
    Result<> add_device(const DeviceNode& node);
    // Sets soft and hard RLIMIT_MEMLOCK; replaces an existing one only if `replace`.
    void set_memlock(uint64_t bytes, bool replace);
    [[nodiscard]] bool has_memlock() const;
    // Adds "NAME=value" unless NAME is set.
    void add_env(const std::string& name, const std::string& value);
    // Adds a read-only bind mount of a host file or folder (nosuid, nodev, noexec), after all other
    // mounts. The runtime makes its parent folder in the container.
    void add_file_mount(const std::string& host_path, const std::string& container_path);
    // `stage` as in the specification: "createRuntime", "poststop".
    void add_hook(const std::string& stage, const Hook& hook);
    void set_annotation(const std::string& key, const std::string& value);

  private:
    explicit Spec(Json tree) : tree_(std::move(tree)) {}

    Json tree_;
};

}  // namespace oci
