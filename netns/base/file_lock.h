// SPDX-License-Identifier: Apache-2.0
// FileLock: an exclusive flock(2), held until destroyed. The lock's file is never deleted (a second
// process could hold the old inode while a third locks the new one).
#pragma once

#include <string>

#include "netns/base/clock.h"
#include "netns/base/result.h"
#include "netns/base/unique_fd.h"

namespace base {

class FileLock {
  public:
    // Waits for the lock until the deadline; Code::Timeout names the file if somebody keeps it.
    static Result<FileLock> acquire(const std::string& path, Deadline deadline);

    // The lock at once, or Code::Busy.
    static Result<FileLock> try_acquire(const std::string& path);

  private:
    explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}

    UniqueFd fd_;
};

}  // namespace base
