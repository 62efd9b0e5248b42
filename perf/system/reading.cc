// SPDX-License-Identifier: Apache-2.0
#include "perf/system/reading.h"

#include <algorithm>
#include <charconv>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns/base/files.h"

namespace perf {

namespace {
constexpr size_t kReadLimit = 64 * 1024;
constexpr size_t kNamesLimit = 256;
constexpr size_t kLineLimit = 200;
constexpr std::string_view kSpace = " \t\r\n";

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

Result<UniqueFd> open_regular(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd)
        return sys_error("open");
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0)
        return sys_error("stat");
    if (!S_ISREG(info.st_mode))
        return make_error(Code::BadInput, "it is no regular file");
    return fd;
}
}  // namespace

Result<std::string> read_file(const std::string& path, size_t limit, const std::string& what) {
    const UniqueFd fd = TRY(open_regular(path));
    return base::read_all(fd.get(), limit, what);
}

std::optional<std::string> read_start(const std::string& path) {
    const auto fd = open_regular(path);
    std::string text(4096, '\0');
    const ssize_t size = fd ? ::read(fd->get(), text.data(), text.size()) : -1;
    if (size < 0)
        return std::nullopt;
    text.resize(static_cast<size_t>(size));
    return text;
}

std::optional<std::string> read_small(const std::string& path) {
    auto text = read_file(path, kReadLimit, path);
    return text ? std::optional(std::move(text).value()) : std::nullopt;
}

std::optional<std::string> read_line(const std::string& path) {
    const auto text = read_small(path);
    if (!text)
        return std::nullopt;
    return printable(trimmed(text->substr(0, text->find('\n'))), kLineLimit);
}

std::optional<std::vector<std::string>> read_names(const std::string& path) {
    auto names = base::RealFiles().list(path);
    if (!names)
        return std::nullopt;
    std::erase_if(*names, [](const std::string& name) {
        return !std::ranges::all_of(name, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
    });
    if (names->size() > kNamesLimit)
        names->resize(kNamesLimit);
    return std::move(names).value();
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos)
            return parts;
        text.remove_prefix(at + 1);
    }
}

std::optional<std::string> value_after(std::string_view text, std::string_view key) {
    for (const std::string_view line : split(text, '\n')) {
        if (line.starts_with(key))
            return printable(trimmed(line.substr(key.size())), kLineLimit);
    }
    return std::nullopt;
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (size_t at = text.find_first_not_of(kSpace); at != std::string_view::npos;) {
        const size_t end = std::min(text.find_first_of(kSpace, at), text.size());
        words.push_back(text.substr(at, end - at));
        at = text.find_first_not_of(kSpace, end);
    }
    return words;
}

std::optional<uint64_t> number_of(std::string_view word) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
        return std::nullopt;
    return value;
}

bool has_capability(const std::string& root, unsigned number) {
    const auto status = read_small(root + "/proc/self/status");
    const auto text = status ? value_after(*status, "CapEff:") : std::nullopt;
    uint64_t mask = 0;
    return text &&
           std::from_chars(text->data(), text->data() + text->size(), mask, 16).ec == std::errc() &&
           ((mask >> number) & 1U) != 0;
}

bool may_lock_anything(const std::string& root) {
    constexpr unsigned kCapIpcLock = 14;
    const auto map = read_line(root + "/proc/self/uid_map").value_or("");
    const auto words = words_of(map);
    const bool first_namespace = words.size() == 3 && words[0] == "0" && words[1] == "0" &&
                                 number_of(words[2]).value_or(0) > UINT32_MAX / 2;
    return first_namespace && has_capability(root, kCapIpcLock);
}

}  // namespace perf
