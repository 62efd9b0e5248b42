// SPDX-License-Identifier: Apache-2.0
// config.json of the OCI runtime specification 1.0 to 1.2: the few facts we need of it, and the
// edits that grant a device. Works on the JSON tree, so that what we do not know survives.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

// Where the container's network is: the host's, a namespace somebody made (path), or one that the
// runtime would make.
struct Network {
    enum class Kind { Host, Path, Private } kind = Kind::Host;
    std::string path;
};

// Hooks get an environment of their own: without one runc hands on its own, and versions before
// 1.3 gave hooks of some stages the container's.
inline constexpr char kHookPath[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
// Without one a runtime waits for ever.
inline constexpr unsigned kHookTimeoutSeconds = 60;

struct Hook {
    std::string path;
    std::vector<std::string> args;  // with argv[0]
    unsigned timeout_s = 0;         // 0: none
};

struct DeviceNode {
    std::string path;  // in the container
    uint32_t major = 0;
    uint32_t minor = 0;
};

class Spec {
  public:
    // BadInput if the members that are read below are not of the specification's types.
    static Result<Spec> parse(std::string_view text);
    // The same without looking at more than the annotations: nothing else may be asked of it before
    // check(). What is wrong elsewhere in a container of no concern is none of our business.
    static Result<Spec> parse_annotations(std::string_view text);
    [[nodiscard]] Result<> check() const;

    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::map<std::string, std::string> annotations() const;
    [[nodiscard]] Network network() const;
    [[nodiscard]] bool has_user_namespace() const;
    // All devices allowed and CAP_SYS_ADMIN bounding: what engines make of --privileged.
    [[nodiscard]] bool privileged() const;
    // A rule denies all devices that no later one allows. Without, the runtime may have no device
    // program at all.
    [[nodiscard]] bool denies_devices() const;
    // "CAP_NET_RAW": what any of its sets has, each once.
    [[nodiscard]] std::vector<std::string> capabilities() const;
    // Whether a character device, or a rule that lets some be opened, has a major that the kernel
    // gives out as it likes: only then the two below need to be told those of RDMA's.
    [[nodiscard]] bool has_dynamic_majors() const;
    // The character devices that are RDMA's: by number (231, and these majors), wherever they are
    // in the container, or by folder; not rdma_cm, which opens nothing by itself. All of a
    // privileged container's are its own.
    [[nodiscard]] std::vector<DeviceNode> rdma_nodes(const std::vector<uint32_t>& majors) const;
    // What of RDMA's devices its rules let a node of its own making open (mknod), beside those of
    // linux.devices. All of a privileged container's are its own.
    [[nodiscard]] std::set<DeviceRange> rdma_rules(const std::vector<uint32_t>& majors) const;
    // linux.resources.cpu.cpus: "0-3,8"; empty: all. Not checked.
    [[nodiscard]] std::string cpus() const;
    // /sys is a sysfs that the runtime mounts, and nobody mounts anything of his at or below
    // /sys/class or /sys/devices; false for a privileged container, which sees the machine.
    [[nodiscard]] bool has_own_sysfs() const;
    // root.path as it is spelt: absolute, or below the bundle; empty: none.
    [[nodiscard]] std::string root() const;
    [[nodiscard]] std::string mount_label() const;
    // "containerd" or "crio" if it made the container for a pod; empty: nobody of Kubernetes did.
    [[nodiscard]] std::string_view pods_engine() const;
    // crun's annotations that would redirect our hooks' output.
    [[nodiscard]] bool redirects_hook_output() const;

    void set_network_path(const std::string& path);
    // Node and cgroup rule `c MAJ:MIN rw`. A node of that path that is there already is kept if it
    // is the same device; else Refused.
    Result<> add_device(const DeviceNode& node);
    // Soft and hard RLIMIT_MEMLOCK, replacing an existing one only if `replace`.
    void set_memlock(uint64_t bytes, bool replace);
    [[nodiscard]] bool has_memlock() const;
    // Adds "NAME=value" unless NAME is set.
    void add_env(const std::string& name, const std::string& value);
    // A read-only bind mount of a host file or folder (nosuid, nodev, noexec), after all other
    // mounts. Its parent folder in the container is made by the runtime.
    void add_file_mount(const std::string& host_path, const std::string& container_path);
    // `stage` as in the specification: "createRuntime", "poststop".
    void add_hook(const std::string& stage, const Hook& hook);
    void set_annotation(const std::string& key, const std::string& value);

  private:
    explicit Spec(Json tree) : tree_(std::move(tree)) {}

    Json tree_;
};

}  // namespace oci
