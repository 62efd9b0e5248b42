// SPDX-License-Identifier: Apache-2.0
#include "netns/base/files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "netns/base/owned_file.h"
#include "netns/base/unique_fd.h"

namespace base {

namespace {
constexpr char kTempMark[] = ".tmp.";
constexpr int kMostNested = 16;

UniqueFd create_private(const std::string& path) {
    return UniqueFd{
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
}

// Writes the content under a temporary name, for the caller to rename or link. The name holds this
// process's pid, so two writers never share one.
Result<std::string> write_temp(const std::string& path, std::string_view content, Access access) {
    std::string temp = path + kTempMark + std::to_string(::getpid());
    UniqueFd fd = create_private(temp);
    if (!fd && errno == EEXIST) {  // left by a dead process with the same pid
        (void)::unlink(temp.c_str());
        fd = create_private(temp);
    }
    if (!fd)
        return sys_error("create " + temp);
    auto done = write_all(fd.get(), content, temp);
    // The umask does not apply here.
    if (done && access == Access::Readable && ::fchmod(fd.get(), 0644) != 0)
        done = sys_error("set the mode of " + temp);
    if (!done) {
        (void)::unlink(temp.c_str());  // the error to report is the write's
        return std::move(done).error();
    }
    return temp;
}

bool is_temp(const std::string& name) {
    return name.find(kTempMark) != std::string::npos;
}

// Returns whether there is a process with the pid in a temporary file's name. If another process
// has got that pid, the file stays until that one ends, too.
bool has_writer(const std::string& name) {
    const std::string_view digits =
        std::string_view(name).substr(name.rfind(kTempMark) + sizeof kTempMark - 1);
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(digits.begin(), digits.end(), pid);
    if (bad != std::errc{} || end != digits.end() || pid <= 0)
        return true;  // not a temporary file of this class
    return ::kill(pid, 0) == 0 || errno != ESRCH;
}

Result<std::vector<std::string>> all_names(const std::string& dir) {
    const UniqueFd folder{::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!folder)
        return path_error("open folder " + dir);
    return names_in(folder.get(), dir);
}

Result<> make_parents(const std::string& path) {
    for (auto slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
        const std::string parent = path.substr(0, slash);
        if (::mkdir(parent.c_str(), 0755) != 0 && errno != EEXIST)
            return sys_error("create folder " + parent);
    }
    return {};
}

Result<> check_own_folder(const std::string& path) {
    struct stat st {};

    if (::lstat(path.c_str(), &st) != 0)
        return sys_error("examine " + path);
    if (!S_ISDIR(st.st_mode) || st.st_uid != ::geteuid() || (st.st_mode & 0022U) != 0)
        return make_error(Code::Refused, path + " is not a folder that only its owner can change")
            .advise(advise_to_own(path, "700"));
    return {};
}

Result<std::string> read_until_end(int fd, size_t limit, std::string_view what, bool file) {
    std::string content;
    char chunk[16384];
    for (;;) {
        const ssize_t got = ::read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sys_error("read " + std::string(what));
        content.append(chunk, static_cast<size_t>(got));
        if (content.size() > limit)
            return make_error(
                Code::BadInput,
                std::string(what) + " is larger than " + std::to_string(limit) + " bytes");
        if (got == 0 || (file && static_cast<size_t>(got) < sizeof chunk))
            return content;
    }
}

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

bool is_missing(const Error& error) {
    return error.sys == ENOENT;
}

Result<std::string> read_all(int fd, size_t limit, std::string_view what) {
    return read_until_end(fd, limit, what, false);
}

Result<std::string> read_file(int fd, size_t limit, std::string_view what) {
    return read_until_end(fd, limit, what, true);
}

Result<std::vector<std::string>> names_in(int folder, std::string_view what, size_t most) {
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
        if (names.size() > most)
            return make_error(Code::BadInput, std::string(what) + " has too many names");
    }
    std::sort(names.begin(), names.end());
    return names;
}

Result<> write_all(int fd, std::string_view content, std::string_view what) {
    while (!content.empty()) {
        const ssize_t put = ::write(fd, content.data(), content.size());
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return sys_error("write " + std::string(what));
        content.remove_prefix(static_cast<size_t>(put));
    }
    return {};
}

Result<std::string> RealFiles::read(const std::string& path, size_t limit) {
    const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
    if (!fd)
        return path_error("open " + path);
    return read_file(fd.get(), limit, path);
}

Result<> RealFiles::write(const std::string& path, std::string_view content, Access access) {
    const std::string temp = TRY(write_temp(path, content, access));
    if (::rename(temp.c_str(), path.c_str()) != 0) {
        Error error = sys_error("rename to " + path);
        (void)::unlink(temp.c_str());  // the error to report is the rename's
        return error;
    }
    return {};
}

Result<> RealFiles::create(const std::string& path, std::string_view content) {
    const std::string temp = TRY(write_temp(path, content, Access::Private));
    const int linked = ::link(temp.c_str(), path.c_str());
    Error error = sys_error("create " + path);
    (void)::unlink(temp.c_str());  // its only use was to be linked
    if (linked == 0)
        return {};
    return error.sys == EEXIST ? std::move(error).as(Code::Busy) : error;
}

Result<> RealFiles::remove(const std::string& path) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        return sys_error("remove " + path);
    return {};
}

Result<> RealFiles::rename(const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) != 0)
        return sys_error("rename " + from + " to " + to);
    return {};
}

Result<std::vector<std::string>> RealFiles::list(const std::string& dir) {
    auto names = TRY(all_names(dir));
    std::erase_if(names, is_temp);
    return names;
}

Result<std::vector<std::string>> RealFiles::sweep(const std::string& dir) {
    std::vector<std::string> swept;
    for (const std::string& name : TRY(all_names(dir))) {
        if (!is_temp(name) || has_writer(name))
            continue;
        const std::string path = dir + "/" + name;
        TRY(remove(path));
        swept.push_back(path);
    }
    return swept;
}

Result<> RealFiles::make_dir(const std::string& path, Access access) {
    // Mostly the folder or its parent is there. The way down from / is needed once after a boot.
    int made = ::mkdir(path.c_str(), 0700);
    if (made != 0 && errno == ENOENT) {
        TRY(make_parents(path));
        made = ::mkdir(path.c_str(), 0700);
    }
    if (made != 0 && errno != EEXIST)
        return sys_error("create folder " + path);
    if (made != 0)
        return check_own_folder(path);
    // The umask does not apply here.
    if (access == Access::Readable && ::chmod(path.c_str(), 0755) != 0)
        return sys_error("set the mode of " + path);
    return {};
}

Result<> RealFiles::make_link(const std::string& path, const std::string& target) {
    if (::symlink(target.c_str(), path.c_str()) == 0)
        return {};
    Error error = sys_error("make link " + path);
    return error.sys == EEXIST ? std::move(error).as(Code::Busy) : error;
}

Result<> RealFiles::set_label(const std::string& path, const std::string& label) {
    // The value includes its NUL, as libselinux writes it.
    if (::lsetxattr(path.c_str(), "security.selinux", label.c_str(), label.size() + 1, 0) == 0)
        return {};
    return sys_error("label " + path + " as " + printable(label));
}

Result<> RealFiles::remove_tree(const std::string& path) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT)
        return {};
    if (errno != EISDIR)
        return sys_error("remove " + path);
    return remove_below(AT_FDCWD, path, 0);
}

}  // namespace base
