// SPDX-License-Identifier: Apache-2.0
// Names: the engine that made a container, and its name there. It reads the engines' own files,
// starts no program and asks no daemon. A file that is missing, broken or too large gives no name.
// Neither does one with a name that no engine accepts.
//
// - Podman: containers.json of its storage, and volatile-containers.json for `--rm`
//   (containers/storage, containers.go: containerStore). Both are beside the bundles.
// - Docker: containers/ID/config.v2.json below its data root (moby, daemon/container/container.go).
// - containerd and CRI-O: annotations in the bundle's config.json, made by nerdctl and for pods.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "netns/base/files.h"

namespace hook::ctl {

struct CalledAs {
    std::string engine;  // "docker", "podman", "containerd" or "crio"; empty: none of them
    std::string name;    // empty: none, or not readable; of a pod's container "POD/CONTAINER"
};

// Returns whether the word may stand in ENGINE:NAME.
bool is_engine(std::string_view word);

class Names {
  public:
    // `root` is a prefix of the engines' paths, for tests.
    explicit Names(base::Files& files, std::string root = {})
        : files_(files), root_(std::move(root)) {}

    // Returns what the engine calls a container of this bundle. `id` may be empty.
    CalledAs of(const std::string& id, const std::string& bundle);

  private:
    // Returns the names by id in a folder of Podman's storage; reads each folder once.
    const std::map<std::string, std::string>& of_storage(const std::string& folder);
    std::string of_docker(const std::string& id);
    // Returns the name that the bundle's config.json has. Sets `engine` to "crio" if that made it.
    std::string of_annotations(const std::string& bundle, std::string& engine);

    base::Files& files_;
    std::string root_;
    std::map<std::string, std::map<std::string, std::string>> storages_;
    std::optional<std::string> docker_;  // its data root, once it is known
};

}  // namespace hook::ctl
