// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/engines/marked.h"

#include <string_view>

#include <fmt/format.h>

#include "netns/base/ids.h"

namespace engines {

namespace {
constexpr std::string_view kBegin = "# rdma-hook begin ";
constexpr std::string_view kEnd = "# rdma-hook end\n";
constexpr size_t kChecksum = 16;

std::string checksum(std::string_view lines) {
    return base::sha256_hex(lines).substr(0, kChecksum);
}

// Finds the line at the start of a line.
size_t find_line(const std::string& text, std::string_view line, size_t from) {
    for (size_t at = text.find(line, from); at != std::string::npos; at = text.find(line, at + 1)) {
        if (at == 0 || text[at - 1] == '\n')
            return at;
    }
    return std::string::npos;
}

// Returns the lines with their marks.
std::string mark_lines(const std::string& lines) {
    return fmt::format(
        "{}{} (by `rdmactl runtime configure`, which takes it out with --unset)\n{}{}",
        kBegin,
        checksum(lines),
        lines,
        kEnd);
}
}  // namespace

Result<std::optional<MarkedLines>> find_marked(const std::string& path, const std::string& text) {
    const size_t begin = find_line(text, kBegin, 0);
    if (begin == std::string::npos)
        return std::optional<MarkedLines>{};
    const size_t body = text.find('\n', begin);
    const size_t end = body == std::string::npos ? body : find_line(text, kEnd, body);
    if (end == std::string::npos || find_line(text, kBegin, begin + 1) != std::string::npos)
        return make_error(Code::BadInput,
                          path + ": `# rdma-hook begin` and `# rdma-hook end` do not go in pairs")
            .advise("take those lines, and what is between them, out by hand");
    const std::string_view lines = std::string_view(text).substr(body + 1, end - body - 1);
    const std::string_view noted = std::string_view(text).substr(begin + kBegin.size(), kChecksum);
    return std::optional(
        MarkedLines{.begin = begin, .end = end + kEnd.size(), .changed = noted != checksum(lines)});
}

Result<std::string> put_marked(const EngineEdit& edit, const std::optional<std::string>& lines) {
    std::string text = edit.before.value_or("");
    const auto there = TRY(find_marked(edit.path, text));
    if (there && there->changed) {
        const std::string now = text.substr(there->begin, there->end - there->begin);
        if (lines && now.find(*lines) != std::string::npos)
            return text;  // all lines are there, with additions
        return make_error(Code::Busy, edit.path + ": rdmactl's lines have been changed since")
            .advise("take out by hand what is from `# rdma-hook begin` to `# rdma-hook end`");
    }
    const std::string marked = lines ? mark_lines(*lines) : "";
    if (there)
        return text.replace(there->begin, there->end - there->begin, marked);
    if (!marked.empty() && !text.empty() && text.back() != '\n')
        text += '\n';
    return text + marked;
}

}  // namespace engines
