// SPDX-License-Identifier: Apache-2.0
// FolderWatch waits until something changes in folders: a file that comes, goes or is written.
// Relies on inotify(7). A change on another machine's file system, or of a file that is mapped, is
// not seen.
#pragma once

#include <string>
#include <vector>

#include "netns/base/clock.h"
#include "netns/base/result.h"
#include "netns/base/unique_fd.h"

namespace base {

class FolderWatch {
  public:
    // Begins to watch. A folder that does not exist is an error.
    static Result<FolderWatch> open(const std::vector<std::string>& folders);

    // Returns true once something has changed since the last call, false if the deadline passes
    // before. Takes changes that come close together for one.
    Result<bool> wait(Deadline deadline);

  private:
    explicit FolderWatch(UniqueFd fd) : fd_(std::move(fd)) {}

    // Forgets the changes that have come. Returns whether there were any.
    Result<bool> drain();

    UniqueFd fd_;
};

}  // namespace base
