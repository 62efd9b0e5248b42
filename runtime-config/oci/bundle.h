// SPDX-License-Identifier: Apache-2.0
// Bundle is the folder with a container's config.json, held by a descriptor. All work is done on
// the folder that was opened. No symbolic link is followed at its files.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "netns/base/result.h"
#include "netns/base/unique_fd.h"

namespace oci {

using base::Result;

class Bundle {
  public:
    // Opens the folder; an empty path is the working directory.
    static Result<Bundle> open(const std::string& path);

    // Absolute, without symbolic links.
    [[nodiscard]] const std::string& path() const { return path_; }

    // Reads a file of the folder, at most `limit` bytes. `name` is config.json, or another name
    // that crun was given.
    [[nodiscard]] Result<std::string> read(const std::string& name, size_t limit) const;

    // Refused unless folder and config.json belong to the caller and others cannot write them.
    // Otherwise another user could change, between check and start, what the runtime mounts and
    // runs as root.
    [[nodiscard]] Result<> check_owner() const;

    // Replaces config.json atomically, keeping its mode and owner.
    [[nodiscard]] Result<> replace(std::string_view text) const;

  private:
    Bundle(base::UniqueFd dir, std::string path) : dir_(std::move(dir)), path_(std::move(path)) {}

    base::UniqueFd dir_;
    std::string path_;
};

inline constexpr char kSpecFile[] = "config.json";

}  // namespace oci
