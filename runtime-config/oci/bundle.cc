// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/oci/bundle.h"

#include <array>
#include <climits>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns/base/files.h"
#include "netns/base/owned_file.h"

namespace oci {

using base::Code;
using base::make_error;
using base::printable;
using base::sys_error;
using base::UniqueFd;

namespace {
// Returns the kernel's path of the folder, whatever spelling the caller used.
Result<std::string> path_of(int fd) {
    std::array<char, PATH_MAX> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
    if (size <= 0)
        return sys_error("read " + link);
    return std::string(path.data(), static_cast<size_t>(size));
}

Result<> check_only_we_write(const struct stat& st, const std::string& place) {
    if (st.st_uid == ::geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return {};
    return make_error(Code::Refused, printable(place) + " can be written by others")
        .advise(base::advise_to_own(place, "go-w"));
}

Result<struct stat> look_at(int dir, const std::string& place) {
    struct stat st {};

    if (::fstatat(dir, kSpecFile, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return sys_error("examine " + place);
    if (!S_ISREG(st.st_mode))
        return make_error(Code::Refused, printable(place) + " is not a regular file")
            .advise("put a plain file there: the runtime writes no other");
    return st;
}

Result<> fill(int fd, std::string_view text, const struct stat& like, const std::string& place) {
    TRY(base::write_all(fd, text, place));
    if (::fchown(fd, like.st_uid, like.st_gid) != 0 || ::fchmod(fd, like.st_mode & 07777U) != 0)
        return sys_error("set the owner and mode of " + place);
    return {};
}
}  // namespace

Result<Bundle> Bundle::open(const std::string& path) {
    UniqueFd dir{::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!dir)
        return sys_error("open the bundle " + printable(path));
    std::string real = TRY(path_of(dir.get()));
    return Bundle{std::move(dir), std::move(real)};
}

Result<std::string> Bundle::read(const std::string& name, size_t limit) const {
    const std::string place = path_ + "/" + name;
    const UniqueFd fd{::openat(
        dir_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
    if (!fd)
        return sys_error("open " + printable(place));

    struct stat st {};

    if (::fstat(fd.get(), &st) != 0)
        return sys_error("examine " + printable(place));
    if (!S_ISREG(st.st_mode))
        return make_error(Code::BadInput, printable(place) + " is not a regular file")
            .advise("put a plain file there: the runtime writes no other");
    return base::read_all(fd.get(), limit, place);
}

Result<> Bundle::check_owner() const {
    struct stat st {};

    if (::fstat(dir_.get(), &st) != 0)
        return sys_error("examine " + printable(path_));
    TRY(check_only_we_write(st, path_));
    const std::string place = path_ + "/" + kSpecFile;
    return check_only_we_write(TRY(look_at(dir_.get(), place)), place);
}

Result<> Bundle::replace(std::string_view text) const {
    const std::string place = path_ + "/" + kSpecFile;
    const auto like = TRY(look_at(dir_.get(), place));
    const std::string temp = fmt::format(".{}.rdma-{}", kSpecFile, ::getpid());
    // A file of this name was left by a dead process with the same pid.
    (void)::unlinkat(dir_.get(), temp.c_str(), 0);
    const UniqueFd fd{::openat(
        dir_.get(), temp.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!fd)
        return sys_error("create " + printable(path_ + "/" + temp));
    auto done = fill(fd.get(), text, like, printable(place));
    if (done && ::renameat(dir_.get(), temp.c_str(), dir_.get(), kSpecFile) != 0)
        done = sys_error("replace " + printable(place));
    if (!done)
        (void)::unlinkat(dir_.get(), temp.c_str(), 0);  // the error to report is the first one
    return done;
}

}  // namespace oci
