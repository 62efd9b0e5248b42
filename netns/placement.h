// SPDX-License-Identifier: Apache-2.0
// Placements: a file or device node of the host, mounted into a container whose runtime is about to
// let it go (hooks prestart and createRuntime: the container's mounts are there; its root is not
// yet its root, or just became it). Everything is reached from descriptors and no symbolic link is
// followed (openat2(2) RESOLVE_NO_SYMLINKS, kernel 5.6; open_tree(2), move_mount(2), 5.2), so that
// what a hostile image or a process beside it puts in the way can make this fail and nothing else.
// Only in tmpfs mounts of the container's own is anything made: nothing of ours is written into a
// root file system.
#pragma once

#include <memory>
#include <string>

#include "netns/process.h"

namespace netns {

struct Placement {
    std::string source;  // absolute path on the host: a device node, or a file (mounted read-only)
    std::string mount;   // "dev", "run": a folder of the container's root with a tmpfs of its own
    std::string folder;  // in there, made if it is missing: "infiniband"
    std::string name;
    bool operator==(const Placement&) const = default;
};

// The container: its init, and on the host the folder that is to become its root.
struct ContainerRoot {
    ProcessToken init;
    std::string path;
    bool operator==(const ContainerRoot&) const = default;
};

class Placements {
  public:
    virtual ~Placements() = default;

    // Mounts it. Done if the same is there already (the host's /dev, a node that config.json
    // lists). Unavailable: process or source is gone. Unsupported: no tmpfs of the container's own
    // is there. Refused: a symbolic link or something else is in the way.
    virtual Result<> place(const ContainerRoot& root, const Placement& what) = 0;

    // Takes away what place() made, also where only a part of it happened. Nothing of it: no error,
    // nor is a container that is gone.
    virtual Result<> remove(const ContainerRoot& root, const Placement& what) = 0;
};

std::unique_ptr<Placements> make_kernel_placements();

}  // namespace netns
