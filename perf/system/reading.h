// SPDX-License-Identifier: Apache-2.0
// Reading files that may hold anything, most of them small ones of /proc, /sys and /dev: bounded,
// regular files only (a fifo would block), and text of lines made safe to print.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perf/base/names.h"

namespace perf {

// All of a file that a person names, up to `limit` bytes; `what` names it in errors.
Result<std::string> read_file(const std::string& path, size_t limit, const std::string& what);

// The content, at most 64 KiB: a larger file, a missing one or no file at all is nothing.
std::optional<std::string> read_small(const std::string& path);

// At most the first 4 KiB, of a file of any length.
std::optional<std::string> read_start(const std::string& path);

// The first line, without control characters and cut to what fits on a line.
std::optional<std::string> read_line(const std::string& path);

// The names in a folder, printable ones only, at most 256; nothing if there is no such folder.
std::optional<std::vector<std::string>> read_names(const std::string& path);

// The parts of a text between `separator`s; an empty text has one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);

// What follows "KEY" on the line that begins with it, without the space around it.
std::optional<std::string> value_after(std::string_view text, std::string_view key);

std::vector<std::string_view> words_of(std::string_view text);
std::optional<uint64_t> number_of(std::string_view word);

// "a, b, c" of what text(item) gives for each.
template <class Items, class Text = std::identity>
std::string joined(const Items& items, Text text = {}) {
    std::string out;
    for (const auto& item : items)
        out += (out.empty() ? "" : ", ") + std::string(std::invoke(text, item));
    return out;
}

// Whether /proc/self/status below the root says that the capability is in effect.
bool has_capability(const std::string& root, unsigned number);

// CAP_IPC_LOCK as the kernel asks for it: in the first user namespace, another one's does not
// count.
bool may_lock_anything(const std::string& root);

}  // namespace perf
