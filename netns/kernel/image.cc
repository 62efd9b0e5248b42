// SPDX-License-Identifier: Apache-2.0
#include "netns/image.h"

#include <cerrno>
#include <climits>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "netns/base/files.h"
#include "netns/kernel/openat2.h"

namespace netns {

namespace {
constexpr uint64_t kInside = RESOLVE_IN_ROOT | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS;

// Returns an empty descriptor if nothing is there.
Result<UniqueFd> find_inside(const UniqueFd& root, const std::string& path, uint64_t flags) {
    UniqueFd fd = look_up(root.get(), path, flags, kInside);
    if (fd || errno == ENOENT)
        return fd;
    Error error = sys_error("look at " + printable(path) + " of the image");
    const bool refused = error.sys == EXDEV || error.sys == ELOOP || error.sys == ENOTDIR;
    return refused ? std::move(error).as(Code::Refused) : error;
}
}  // namespace

Result<ImageRoot> ImageRoot::open(const std::string& path) {
    UniqueFd root{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (!root)
        return sys_error("open " + printable(path));
    return ImageRoot{std::move(root)};
}

Result<ImageEntry> ImageRoot::look(const std::string& path) const {
    const UniqueFd fd = TRY(find_inside(root_, path, 0));
    if (!fd)
        return ImageEntry::Missing;

    struct stat st {};

    if (::fstat(fd.get(), &st) != 0)
        return sys_error("examine " + printable(path) + " of the image");
    if (S_ISDIR(st.st_mode))
        return ImageEntry::Folder;
    if (!S_ISREG(st.st_mode))
        return ImageEntry::Other;
    return st.st_size == 0 ? ImageEntry::EmptyFile : ImageEntry::File;
}

Result<std::optional<std::string>> ImageRoot::link(const std::string& path) const {
    const UniqueFd fd = TRY(find_inside(root_, path, O_NOFOLLOW));
    if (!fd)
        return std::optional<std::string>{};
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(fd.get(), "", target, sizeof target);
    if (size < 0 && (errno == EINVAL || errno == ENOENT))  // ENOENT: of a descriptor, no link
        return std::optional<std::string>{};
    if (size < 0)
        return sys_error("read the link " + printable(path) + " of the image");
    return std::optional{std::string(target, static_cast<size_t>(size))};
}

Result<std::vector<std::string>> ImageRoot::names(const std::string& path, size_t most) const {
    const UniqueFd place = TRY(find_inside(root_, path, O_DIRECTORY));
    if (!place)
        return std::vector<std::string>{};
    const UniqueFd folder{::openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!folder)
        return sys_error("open " + printable(path) + " of the image");
    return base::names_in(folder.get(), printable(path) + " of the image", most);
}

Result<bool> ImageRoot::is_read_only() const {
    struct statvfs fs {};

    if (::fstatvfs(root_.get(), &fs) != 0)
        return sys_error("examine the file system of the image");
    return (fs.f_flag & ST_RDONLY) != 0;
}

}  // namespace netns
