// SPDX-License-Identifier: Apache-2.0
// Runtimes: which low-level runtime rdma-runtime gave a container to, with rdma.* or without. No
// other one can stop, enter or delete it, so it is remembered here for as long as the container is
// there, whatever becomes of the configuration. Not below `state_dir`, which is a member of it.
//
//   KEY.json    of a container: KEY = SHA-256 of the runtime's --root and the container's id
//   last.json   the one that the latest container got: for the next, if the configuration is broken
//
// One that cannot be read is as one that is not there: the configuration decides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "netns/base/result.h"
#include "netns/host.h"
#include "netns/process.h"

namespace hook {

using base::Result;

inline constexpr char kRuntimesFolder[] = "/run/rdma-hook/runtimes";

// A container, and who has it.
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
    // The path that was given out last.
    [[nodiscard]] std::optional<std::string> last() const;
    // Before the container is created.
    Result<> remember(const Served& served) const;
    // Whether the container is no more: its creator has ended, and the runtime's folder of it is
    // not there.
    [[nodiscard]] bool is_gone(const Served& served) const;
    // Removes what is kept of containers that are gone; the paths.
    Result<std::vector<std::string>> forget_gone() const;

  private:
    [[nodiscard]] std::string path_of(const std::string& key) const;
    [[nodiscard]] Result<Served> load(const std::string& key) const;

    netns::Host& host_;
    std::string dir_;
};

}  // namespace hook
