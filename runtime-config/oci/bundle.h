// SPDX-License-Identifier: Apache-2.0
// The bundle: the folder with a container's config.json, held by a descriptor, so that everything
// is done to the folder that was opened. No symbolic link is followed at its files.
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
    // Empty: the working directory.
    static Result<Bundle> open(const std::string& path);

    // Absolute, without symbolic links.
    [[nodiscard]] const std::string& path() const { return path_; }

    // A file of the folder; `name` is config.json, or what crun was told instead.
    [[nodiscard]] Result<std::string> read(const std::string& name, size_t limit) const;

    // Refused unless folder and config.json belong to us and nobody else can write them: whoever
    // can, could change between our look and the runtime's what is mounted and run as root.
    [[nodiscard]] Result<> check_owner() const;

    // Replaces config.json atomically; it keeps its mode and owner.
    [[nodiscard]] Result<> replace(std::string_view text) const;

  private:
    Bundle(base::UniqueFd dir, std::string path) : dir_(std::move(dir)), path_(std::move(path)) {}

    base::UniqueFd dir_;
    std::string path_;
};

inline constexpr char kSpecFile[] = "config.json";

}  // namespace oci
