// SPDX-License-Identifier: Apache-2.0
// Runtimes: the low-level runtime to which rdma-runtime gave each container, with rdma.* or
// without. No other runtime can stop, enter or delete the container. So it is remembered here as
// long as the container exists, whatever happens to the configuration. The folder is not below
// `state_dir`, which is a member of the configuration.
//
//   KEY.json    of a container: KEY = SHA-256 of the runtime's --root and the container's id
//   last.json   the runtime of the latest container to which the configuration gave one: for the
//               next such container, if the configuration is broken
//
// A file that cannot be read counts as missing: the configuration decides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/request/names.h"
#include "netns/host.h"
#include "netns/process.h"

namespace hook {

inline constexpr char kRuntimesFolder[] = "/run/rdma-hook/runtimes";

// A container and its runtime.
struct Served {
    std::string root;  // --root of the runtime; empty: its usual one
    std::string id;
    std::string runtime;            // the program's path
    netns::ProcessToken creator{};  // rdma-runtime's, which becomes the runtime
};

class Runtimes {
  public:
    explicit Runtimes(netns::Host& host, std::string dir = kRuntimesFolder)
        : host_(host), dir_(std::move(dir)) {}

    [[nodiscard]] std::optional<Served> find(const std::string& root, const std::string& id) const;
    // Returns the runtime's path of the latest container to which the configuration gave one.
    [[nodiscard]] std::optional<std::string> last() const;
    // Stores the container; called before it is created. `configured`: the configuration gave it
    // its runtime.
    Result<> remember(const Served& served, bool configured) const;
    // Returns whether the container is gone: its creator has ended, and the runtime's folder of it
    // does not exist.
    [[nodiscard]] bool is_gone(const Served& served) const;
    // Returns the containers that are not gone.
    [[nodiscard]] Result<std::vector<Served>> living() const;
    // Returns the paths of the records of containers that are gone.
    Result<std::vector<std::string>> find_gone() const;
    // Removes the records of containers that are gone. Returns their paths.
    Result<std::vector<std::string>> forget_gone() const;

  private:
    [[nodiscard]] std::string path_of(const std::string& key) const;
    // Returns the keys of the containers.
    [[nodiscard]] Result<std::vector<std::string>> keys() const;
    [[nodiscard]] Result<Served> load(const std::string& key) const;

    netns::Host& host_;
    std::string dir_;
};

}  // namespace hook
