// SPDX-License-Identifier: Apache-2.0
#include "netns/base/owned_file.h"

#include <array>
#include <cerrno>
#include <climits>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns/base/files.h"
#include "netns/base/unique_fd.h"

namespace base {

namespace {
Result<> check_is_path(const std::string& path) {
    if (path.empty() || path[0] != '/' || path.find('\0') != std::string::npos)
        return make_error(Code::BadConfig, fmt::format("'{}' is not a path", printable(path)))
            .advise("give an absolute path");
    return {};
}

Result<> check_owner(int fd, const std::string& place, uid_t owner) {
    struct stat st {};

    if (::fstat(fd, &st) != 0)
        return sys_error("examine " + place);
    const std::string name = printable(place);
    if (st.st_uid != owner)
        return make_error(Code::BadConfig,
                          fmt::format("{} belongs to uid {}, not to {}", name, st.st_uid, owner))
            .advise("run: chown root " + name);
    // With an ACL the group bits are its mask, so writers that the ACL names are seen, too.
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return make_error(
                   Code::BadConfig,
                   fmt::format(
                       "{} can be written by others (mode {:04o})", name, st.st_mode & 07777U))
            .advise("run: chmod go-w " + name);
    return {};
}

// With O_DIRECTORY Linux answers ENOTDIR for a symbolic link, without it ELOOP.
base::Error cannot_open(const std::string& place) {
    const int number = errno;
    const bool link = number == ELOOP || number == ENOTDIR;
    return sys_error(number, "open " + printable(place))
        .as(Code::BadConfig,
            link ? "put a plain folder or file there: symbolic links are not followed" : "");
}

// Opens an entry of a folder; no descriptor if there is none of that name.
Result<UniqueFd> step(int dir, const std::string& name, int flags, const std::string& place) {
    UniqueFd fd{::openat(
        dir, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags)};
    if (!fd && errno != ENOENT)
        return cannot_open(place);
    return fd;
}

// Checks a path without symbolic links, as the kernel returns it.
Result<> check_only_owner_changes(const std::string& place, uid_t owner) {
    struct stat st {};

    if (::lstat(place.c_str(), &st) != 0)
        return sys_error("examine " + printable(place));
    const bool sticky = S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0;
    if (st.st_uid == owner && ((st.st_mode & (S_IWGRP | S_IWOTH)) == 0 || sticky))
        return {};
    return make_error(Code::Refused, printable(place) + " can be changed by others than root")
        .advise(advise_to_own(place, "go-w", true));
}

Result<std::string> read_regular(int fd, const std::string& place) {
    struct stat st {};

    if (::fstat(fd, &st) != 0)
        return sys_error("examine " + place);
    if (!S_ISREG(st.st_mode))
        return make_error(Code::BadConfig, printable(place) + " is not a regular file");
    auto text = read_file(fd, kMaxConfigBytes, place);
    if (!text)
        text.error().code = Code::BadConfig;
    return text;
}
}  // namespace

bool is_machine_root() {
    // PROC_USER_INIT_INO of <linux/proc_ns.h>: the first user namespace has this number since 3.8.
    constexpr ino_t kFirstUserNamespace = 0xEFFFFFFDU;

    struct stat st {};

    return ::geteuid() == 0 && ::stat("/proc/self/ns/user", &st) == 0 &&
           st.st_ino == kFirstUserNamespace;
}

std::string advise_to_own(const std::string& path, const char* mode, bool is_root) {
    const std::string place = printable(path);
    return fmt::format("run: {} {} && {} {} {}",
                       is_root ? "chown root" : "sudo chown USER",
                       place,
                       is_root ? "chmod" : "sudo chmod",
                       mode,
                       place);
}

Result<std::optional<std::string>> read_owned_file(const std::string& path, const Owned& owned) {
    TRY(check_is_path(path));
    UniqueFd at{::open(owned.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!at)
        return cannot_open(owned.root);
    std::string place = owned.root == "/" ? "" : owned.root;
    TRY(check_owner(at.get(), owned.root, owned.owner));
    for (size_t start = 1; start != 0;) {
        const auto slash = path.find('/', start);
        const bool last = slash == std::string::npos;
        const std::string name = path.substr(start, last ? slash : slash - start);
        place += "/" + name;
        if (name.empty() || name == "." || name == "..")
            return make_error(Code::BadConfig, fmt::format("'{}' is not a plain path", path));
        at = TRY(step(at.get(), name, last ? 0 : O_DIRECTORY, place));
        if (!at)
            return std::optional<std::string>{};
        TRY(check_owner(at.get(), place, owned.owner));
        start = last ? 0 : slash + 1;
    }
    return std::optional(TRY(read_regular(at.get(), place)));
}

Result<std::string> find_owned_program(const std::string& path, const Owned& owned) {
    TRY(check_is_path(path));
    const std::string place = (owned.root == "/" ? "" : owned.root) + path;
    const UniqueFd fd{::open(place.c_str(), O_PATH | O_CLOEXEC)};

    struct stat st {};

    if (!fd || ::fstat(fd.get(), &st) != 0)
        return path_error("open the program " + printable(place));
    if (!S_ISREG(st.st_mode) || (st.st_mode & S_IXUSR) == 0)
        return make_error(Code::BadConfig, printable(place) + " is not a program");
    std::array<char, PATH_MAX> real{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
    const ssize_t size = ::readlink(link.c_str(), real.data(), real.size());
    if (size <= 0)
        return sys_error("read " + link);
    std::string found(real.data(), static_cast<size_t>(size));
    const size_t root = found.starts_with(owned.root + "/") ? owned.root.size() : 0;
    for (size_t slash = root; slash != std::string::npos; slash = found.find('/', slash + 1))
        TRY(check_only_owner_changes(slash == 0 ? "/" : found.substr(0, slash), owned.owner));
    TRY(check_only_owner_changes(found, owned.owner));
    return found;
}

}  // namespace base
