// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/sysfs.h"

#include <cerrno>
#include <climits>
#include <string_view>

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "netns/base/files.h"

namespace netns {

namespace {
constexpr size_t kPage = 4096;  // no attribute of sysfs is larger

// Mounts sysfs, which shows the calling thread's namespace.
Result<> mount_sysfs(UniqueFd& root) {
    const UniqueFd context{::fsopen("sysfs", FSOPEN_CLOEXEC)};
    if (!context)
        return sys_error("open a sysfs of a network namespace");
    if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        return sys_error("create a sysfs of a network namespace");
    root = UniqueFd{
        ::fsmount(context.get(),
                  FSMOUNT_CLOEXEC,
                  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)};
    if (!root)
        return sys_error("mount a sysfs of a network namespace");
    return {};
}
}  // namespace

Result<SysTree> SysTree::at(const std::string& path) {
    UniqueFd root{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (!root)
        return sys_error("open " + path);
    return SysTree{std::move(root)};
}

Result<SysTree> SysTree::host() {
    return at("/sys");
}

Result<SysTree> SysTree::of(const Netns& ns) {
    UniqueFd root;
    TRY(inside(ns, [&] { return mount_sysfs(root); }));
    return SysTree{std::move(root)};
}

Result<std::optional<SysTree>> SysTree::enter(const std::string& path) const {
    UniqueFd folder{::openat(root_.get(), path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (!folder && errno == ENOENT)
        return std::optional<SysTree>{};
    if (!folder)
        return sys_error("open " + path + " of sysfs");
    return std::optional<SysTree>{SysTree{std::move(folder)}};
}

Result<std::optional<std::string>> SysTree::read(const std::string& path) const {
    const UniqueFd fd{::openat(root_.get(), path.c_str(), O_RDONLY | O_CLOEXEC)};
    // ENODEV: its device went between look-up and opening.
    if (!fd && (errno == ENOENT || errno == ENODEV))
        return std::optional<std::string>{};
    if (!fd)
        return sys_error("open " + path + " of sysfs");
    char page[kPage];
    const ssize_t got = ::read(fd.get(), page, sizeof page);
    if (got < 0 && (errno == EINVAL || errno == ENODEV || errno == EOPNOTSUPP))
        return std::optional<std::string>{""};
    if (got < 0)
        return sys_error("read " + path + " of sysfs");
    std::string_view text{page, static_cast<size_t>(got)};
    while (!text.empty() && text.back() == '\n')
        text.remove_suffix(1);
    return std::optional<std::string>{text};
}

Result<std::optional<std::string>> SysTree::target(const std::string& path) const {
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(root_.get(), path.c_str(), target, sizeof target);
    if (size < 0 && (errno == ENOENT || errno == ENOTDIR))
        return std::optional<std::string>{};
    if (size < 0)
        return sys_error("read the link " + path + " of sysfs");
    return std::optional<std::string>{{target, static_cast<size_t>(size)}};
}

Result<std::optional<std::string>> SysTree::link(const std::string& path) const {
    auto text = TRY(target(path));
    if (text)
        text->erase(0, text->rfind('/') + 1);
    return text;
}

Result<std::vector<std::string>> SysTree::list(const std::string& path) const {
    const UniqueFd folder{::openat(root_.get(), path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!folder && (errno == ENOENT || errno == ENOTDIR))
        return std::vector<std::string>{};
    if (!folder)
        return sys_error("open " + path + " of sysfs");
    auto names = TRY(base::names_in(folder.get(), path + " of sysfs"));
    std::erase_if(names, [](const std::string& name) { return name.front() == '.'; });
    return names;
}

Result<> SysTree::write(const std::string& path, const std::string& text) const {
    const UniqueFd fd{::openat(root_.get(), path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC)};
    if (!fd)
        return sys_error("open " + path + " of sysfs for writing");
    // One write(2) is one order; the kernel takes it whole or not at all.
    const ssize_t done = ::write(fd.get(), text.data(), text.size());
    if (done < 0)
        return sys_error("write " + base::printable(text) + " to " + path + " of sysfs");
    if (static_cast<size_t>(done) != text.size())
        return base::sys_error(EIO, "write " + base::printable(text) + " to " + path + " of sysfs");
    return {};
}

}  // namespace netns
