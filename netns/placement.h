// SPDX-License-Identifier: Apache-2.0
// Placements mounts a file or device node of the host into a container that exists. It works in the
// hooks prestart and createRuntime: the container's mounts are there, and the runtime has not yet,
// or only just, made the folder its root. It also works while the container runs.
//
// Everything is reached through descriptors, and no symbolic link is followed (openat2(2)
// RESOLVE_NO_SYMLINKS, kernel 5.6; open_tree(2), move_mount(2), 5.2). So a hostile image, or a
// process beside it, can make a call fail and do nothing else. Files and folders are made only in
// tmpfs mounts of the container: rdma-hook writes nothing into a root file system.
#pragma once

#include <memory>
#include <string>

#include "netns/process.h"

namespace netns {

struct Placement {
    std::string source;  // absolute path on the host: a device node, or a file (mounted read-only)
    std::string mount;   // "dev", "run": a folder of the container's root that is a tmpfs
    std::string folder;  // within the mount, made if it is missing: "infiniband"
    std::string name;    // within the folder
    bool operator==(const Placement&) const = default;
};

// The container: its init, and the folder on the host that becomes its root.
struct ContainerRoot {
    ProcessToken init;
    std::string path;
    bool operator==(const ContainerRoot&) const = default;
};

class Placements {
  public:
    virtual ~Placements() = default;

    // Mounts `what`. It is no error if the same is there already (the host's /dev, a node that
    // config.json lists). Unavailable: process or source is gone. Unsupported: the container has no
    // tmpfs there. Refused: a symbolic link or another file is in the way.
    virtual Result<> place(const ContainerRoot& root, const Placement& what) = 0;

    // Removes what place() made, also if place() stopped half-way. It is no error if nothing of it
    // is there, or if the container is gone.
    virtual Result<> remove(const ContainerRoot& root, const Placement& what) = 0;
};

std::unique_ptr<Placements> make_kernel_placements();

}  // namespace netns
