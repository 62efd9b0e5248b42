// SPDX-License-Identifier: Apache-2.0
#include "netns/base/folder.h"

#include <algorithm>
#include <cerrno>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "netns/base/unique_fd.h"

namespace base {

namespace {
constexpr int kMostNested = 16;

Result<> remove_below(int folder, const std::string& name, int depth) {
    UniqueFd inner{::openat(
        folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    if (!inner && errno == ENOENT)
        return {};
    if (!inner)
        return sys_error("open folder " + name);
    if (depth == kMostNested)
        return make_error(Code::BadInput, "too many folders within each other: " + name);
    for (const std::string& entry : TRY(names_in(inner.get(), name))) {
        if (::unlinkat(inner.get(), entry.c_str(), 0) == 0 || errno == ENOENT)
            continue;
        if (errno != EISDIR)
            return sys_error("remove " + entry);
        TRY(remove_below(inner.get(), entry, depth + 1));
    }
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
        return sys_error("remove folder " + name);
    return {};
}
}  // namespace

Result<std::vector<std::string>> names_in(int folder, std::string_view what) {
    std::vector<std::string> names;
    alignas(dirent64) char buffer[8192];
    for (;;) {
        const ssize_t got = ::getdents64(folder, buffer, sizeof buffer);
        if (got < 0)
            return sys_error("list " + std::string(what));
        if (got == 0)
            break;
        for (ssize_t at = 0; at < got;) {
            const auto* entry = reinterpret_cast<const dirent64*>(&buffer[at]);
            const std::string_view name = entry->d_name;
            if (name != "." && name != "..")
                names.emplace_back(name);
            at += entry->d_reclen;
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

Result<> remove_tree_in(int folder, const std::string& name) {
    if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT)
        return {};
    if (errno != EISDIR)
        return sys_error("remove " + name);
    return remove_below(folder, name, 0);
}

}  // namespace base
