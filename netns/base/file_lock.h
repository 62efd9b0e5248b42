// SPDX-License-Identifier: Apache-2.0
// FileLock is an exclusive flock(2) on a file of its own, held until destroyed. The lock file stays
// while the objects that it guards exist, so that undoing them never has to create a file. It goes
// with them, so names that come and go leave no files behind. A process that waited for a removed
// file takes the new one: after each flock it checks that the file still has a name. Only a holder
// removes the file; the file of a killed holder stays.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "netns/base/clock.h"
#include "netns/base/result.h"
#include "netns/base/unique_fd.h"

namespace base {

class FileLock {
  public:
    // Waits for the lock until the deadline; Code::Timeout names the file if another process keeps
    // it. With a passed deadline (Deadline::now()) it takes the lock at once, or returns
    // Code::Busy. `guarded`: the lock's file stays as long as one of these paths exists.
    static Result<FileLock> acquire(const std::string& path,
                                    Deadline deadline,
                                    std::vector<std::string> guarded = {});

    FileLock(FileLock&&) noexcept = default;

    FileLock& operator=(FileLock&& other) noexcept {
        std::swap(fd_, other.fd_);
        std::swap(path_, other.path_);
        std::swap(guarded_, other.guarded_);
        return *this;
    }

    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;
    ~FileLock();

  private:
    FileLock(UniqueFd fd, std::string path, std::vector<std::string> guarded)
        : fd_(std::move(fd)), path_(std::move(path)), guarded_(std::move(guarded)) {}

    UniqueFd fd_;
    std::string path_;
    std::vector<std::string> guarded_;
};

// Takes an exclusive flock(2) on an open file that stays: the same deadline and the same errors.
Result<> lock_until(int fd, const std::string& path, Deadline deadline);

}  // namespace base
