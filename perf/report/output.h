// SPDX-License-Identifier: Apache-2.0
// Where results go: text to a stream, a JSON document to a file or to standard output.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "perf/base/names.h"

namespace perf {

// Flushed at once. Nobody reads: nothing to be done about it.
void print(std::FILE* to, const std::string& text);

// One place that text goes to: a file, standard output, or nowhere.
class Sink {
  public:
    Sink() = default;

    // `where` is a file, made or emptied at once; "-" for `out`; or empty.
    static Result<Sink> open(const std::string& where, std::FILE* out);

    [[nodiscard]] bool wanted() const { return out_ != nullptr || fd_; }

    // All of it has left this process when it returns.
    Result<> write(std::string_view text) const;

  private:
    std::string where_;
    UniqueFd fd_;
    std::FILE* out_ = nullptr;
};

// `where`: a file's path, or "-" for `out`.
Result<> write_document(const Json& document, const std::string& where, std::FILE* out);

}  // namespace perf
