// SPDX-License-Identifier: Apache-2.0
// UniqueFd owns a file descriptor. Every other class that owns descriptors holds these, and needs
// no hand-written move.
#pragma once

#include <utility>

#include <unistd.h>

namespace base {

class UniqueFd {
  public:
    UniqueFd() = default;

    explicit UniqueFd(int fd) : fd_(fd) {}

    ~UniqueFd() { reset(); }

    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;

    UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}

    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other)
            reset(other.release());
        return *this;
    }

    [[nodiscard]] int get() const { return fd_; }

    explicit operator bool() const { return fd_ >= 0; }

    int release() { return std::exchange(fd_, -1); }

    // Linux frees the descriptor even when close reports EINTR. Closing again could hit a
    // descriptor that another thread has just opened.
    void reset(int fd = -1) {
        if (const int old = std::exchange(fd_, fd); old >= 0)
            (void)::close(old);
    }

  private:
    int fd_ = -1;
};

}  // namespace base
