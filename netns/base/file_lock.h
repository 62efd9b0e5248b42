// SPDX-License-Identifier: Apache-2.0
// FileLock: an exclusive flock(2) on a file of its own, held until destroyed. The file stays while
// what the lock guards is there, so that nothing has to be made in order to undo that, and goes
// with it: names that come and go leave none behind. A process that waited for a file that is gone
// takes the new one: after each flock the file is asked whether it still has a name. Only a holder
// removes the file; of one that was killed it stays.
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
    // Waits for the lock until the deadline; Code::Timeout names the file if somebody keeps it. A
    // deadline that has passed already (Deadline::now()): the lock at once, or Code::Busy.
    // `guarded`: as long as one of these paths is there the lock's file stays.
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

// flock(2), exclusive, of something that stays: the same deadline and the same errors.
Result<> lock_until(int fd, const std::string& path, Deadline deadline);

}  // namespace base
