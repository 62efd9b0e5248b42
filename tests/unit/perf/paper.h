// SPDX-License-Identifier: Apache-2.0
// What a command prints, for tests.
#pragma once

#include <cstdio>
#include <string>

#include <unistd.h>

namespace test {

// Collects what a command prints; readable while it runs.
class Paper {
  public:
    Paper() : file_(std::tmpfile()) {}

    ~Paper() { (void)std::fclose(file_); }

    Paper(const Paper&) = delete;
    Paper& operator=(const Paper&) = delete;
    Paper(Paper&&) = delete;
    Paper& operator=(Paper&&) = delete;

    [[nodiscard]] std::FILE* file() const { return file_; }

    [[nodiscard]] std::string text() const {
        std::string out(1 << 20, '\0');
        const ssize_t n = ::pread(::fileno(file_), out.data(), out.size(), 0);
        out.resize(n < 0 ? 0 : static_cast<size_t>(n));
        return out;
    }

  private:
    std::FILE* file_;
};

}  // namespace test
