// SPDX-License-Identifier: Apache-2.0
#include "netns/placement.h"

#include <array>
#include <cerrno>
#include <climits>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "netns/base/unique_fd.h"
#include "netns/kernel/openat2.h"
#include "netns/namespace.h"

namespace netns {

namespace {
constexpr unsigned kNoLinks = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

Error refused(std::string text) {
    return make_error(Code::Refused, std::move(text))
        .advise("change the image, or its mounts: this path must stay free for rdma-hook");
}

// Opens a folder without following a link on the way.
Result<UniqueFd> open_below(const UniqueFd& from,
                            const std::string& path,
                            unsigned resolve,
                            unsigned flags = O_DIRECTORY) {
    UniqueFd fd = look_up(from.get(), path, O_NOFOLLOW | flags, kNoLinks | resolve);
    if (fd)
        return fd;
    if (errno == ELOOP || errno == EXDEV || errno == ENOTDIR)
        return refused(fmt::format("{} of the container is a symbolic link, or not a directory",
                                   printable(path)));
    return path_error("open " + printable(path) + " of the container");
}

Result<struct stat> look_at(const UniqueFd& fd, const std::string& name) {
    struct stat st {};

    if (::fstat(fd.get(), &st) != 0)
        return sys_error("examine " + printable(name));
    return st;
}

bool same_file(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool same_thing(const struct stat& a, const struct stat& b) {
    return same_file(a, b) || (S_ISCHR(a.st_mode) && S_ISCHR(b.st_mode) && a.st_rdev == b.st_rdev);
}

// Returns the kernel's path of the folder, without symbolic links.
Result<std::string> real_path(const UniqueFd& fd) {
    std::array<char, PATH_MAX> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
    const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
    if (size <= 0)
        return sys_error("read " + link);
    return std::string(path.data(), static_cast<size_t>(size));
}

// The container, as far as descriptors reach it.
struct Reached {
    UniqueFd mounts;  // its mount namespace
    UniqueFd mount;   // its tmpfs

    struct stat st {};  // the tmpfs

    bool hosts = false;  // the tmpfs is the host's
};

Result<UniqueFd> open_plain(const std::string& path, int flags) {
    UniqueFd fd{::open(path.c_str(), flags | O_CLOEXEC)};
    if (fd)
        return fd;
    return path_error("open " + printable(path));
}

// Opens the container's root in its mount namespace. It is at its path until the runtime makes it
// the root, after these hooks. crun from 1.29 on does that before, if the kernel can
// (OPEN_TREE_NAMESPACE).
Result<UniqueFd> open_root(const ContainerRoot& root, const std::string& process) {
    const UniqueFd ours = TRY(open_plain(root.path, O_PATH | O_DIRECTORY));
    const auto wanted = TRY(look_at(ours, root.path));
    UniqueFd top = TRY(open_plain(process + "/root", O_PATH | O_DIRECTORY));
    if (same_file(wanted, TRY(look_at(top, root.path))))
        return top;
    UniqueFd theirs = TRY(open_below(top, TRY(real_path(ours)), RESOLVE_IN_ROOT));
    if (!same_file(wanted, TRY(look_at(theirs, root.path))))
        return refused("the container's root is not " + printable(root.path));
    return theirs;
}

Result<> check_tmpfs(Reached& reached, const UniqueFd& root, const std::string& name) {
    struct statfs fs {};

    if (::fstatfs(reached.mount.get(), &fs) != 0)
        return sys_error("examine " + name);
    reached.st = TRY(look_at(reached.mount, name));
    const UniqueFd host = TRY(open_plain("/" + name, O_PATH | O_DIRECTORY));
    reached.hosts = TRY(look_at(host, name)).st_dev == reached.st.st_dev;
    if (fs.f_type != TMPFS_MAGIC || TRY(look_at(root, "/")).st_dev == reached.st.st_dev)
        return make_error(Code::Unsupported,
                          "/" + name + " of the container is no tmpfs of its own")
            .advise("have config.json mount a tmpfs there");
    return {};
}

Result<Reached> reach(const ContainerRoot& root, const Placement& what) {
    const std::string process = "/proc/" + std::to_string(root.init.pid);
    Reached reached;
    reached.mounts = TRY(open_plain(process + "/ns/mnt", O_RDONLY));
    const UniqueFd own = TRY(open_plain("/proc/thread-self/ns/mnt", O_RDONLY));
    if (same_file(TRY(look_at(own, "mnt")), TRY(look_at(reached.mounts, "mnt"))))
        return make_error(Code::Refused, "the container has no mount namespace of its own")
            .advise("create it with one, or give it the devices by --device");
    const UniqueFd top = TRY(open_root(root, process));
    reached.mount = TRY(open_below(top, what.mount, RESOLVE_BENEATH));
    TRY(check_tmpfs(reached, top, what.mount));
    // This check proves that all of this belongs to the container's init.
    if (TRY(KernelProcesses{}.token(root.init.pid)) != root.init)
        return make_error(Code::Unavailable,
                          fmt::format("the container's init {} is gone", root.init.pid))
            .advise("start the container again");
    return reached;
}

// Returns a detached copy of the host's file, to be mounted.
Result<UniqueFd> copy_of(const std::string& source) {
    UniqueFd tree{::open_tree(
        AT_FDCWD, source.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW)};
    if (!tree)
        return path_error("take " + source);
    const auto st = TRY(look_at(tree, source));
    if (S_ISCHR(st.st_mode))
        return tree;
    if (!S_ISREG(st.st_mode))
        return make_error(Code::Refused, source + " is neither a device node nor a file")
            .advise("remove it, then load the driver of the adapter again");
    mount_attr attr{};
    attr.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH, &attr, sizeof attr) != 0)
        return sys_error("make the copy of " + source + " read-only");
    return tree;
}

Result<UniqueFd> open_folder(const Reached& reached, const Placement& what) {
    return open_below(reached.mount, what.folder, RESOLVE_BENEATH | RESOLVE_NO_XDEV);
}

// Returns the file under the name, with whatever is mounted on it; nothing if there is none.
Result<std::optional<struct stat>> look_for(const UniqueFd& folder, const std::string& name) {
    const auto there = open_below(folder, name, 0, 0);
    if (!there && there.error().code == Code::Unavailable)
        return std::optional<struct stat>{};
    if (!there)
        return there.error();
    return std::optional{TRY(look_at(*there, name))};
}

// Mounts in the container's mount namespace, on a thread of its own. It acts as the owner of the
// tmpfs: in a user namespace only that one can make files there.
Result<> mount_there(const Reached& reached, const UniqueFd& tree, const Placement& what) {
    ::setfsgid(reached.st.st_gid);
    ::setfsuid(reached.st.st_uid);
    if (::mkdirat(reached.mount.get(), what.folder.c_str(), 0755) != 0 && errno != EEXIST)
        return sys_error("make folder " + what.folder + " in the container");
    const UniqueFd folder = TRY(open_folder(reached, what));
    const auto source = TRY(look_at(tree, what.source));
    const auto there = TRY(look_for(folder, what.name));
    if (there && same_thing(*there, source))
        return {};
    const UniqueFd point{::openat(folder.get(),
                                  what.name.c_str(),
                                  O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                  0000)};
    if (!point && errno == EEXIST)
        return refused(what.name + " exists already in the container, and is another file");
    if (!point)
        return sys_error("make " + what.name + " in the container");
    if (::move_mount(
            tree.get(), "", point.get(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) !=
        0)
        return sys_error("mount " + what.source + " in the container");
    // Another folder may have the name by now.
    const auto seen = TRY(look_for(TRY(open_folder(reached, what)), what.name));
    if (!seen || !same_thing(*seen, source))
        return refused(what.name + " was removed in the container meanwhile");
    return {};
}

// The object was never placed, or a process in the container has moved it away, and it goes with
// the container.
bool is_out_of_reach(const Error& error) {
    return error.code == Code::Unavailable || error.code == Code::Unsupported ||
           error.code == Code::Refused;
}

Result<> unmount_there(const Reached& reached, const Placement& what) {
    ::setfsgid(reached.st.st_gid);
    ::setfsuid(reached.st.st_uid);
    const auto folder = open_folder(reached, what);
    if (!folder)
        return is_out_of_reach(folder.error()) ? Result<>{} : folder.error();
    const auto there = TRY(look_for(*folder, what.name));
    if (there) {
        const bool mounted = there->st_dev != reached.st.st_dev;
        const bool unused = S_ISREG(there->st_mode) && (there->st_mode & 0777U) == 0;
        if (!mounted && !unused)
            return {};  // the runtime made the node
        // Uses a name in the working directory, which belongs to this thread: no path leads through
        // folders that could have been changed.
        if (::fchdir(folder->get()) != 0)
            return sys_error("enter folder " + what.folder);
        if (mounted && ::umount2(what.name.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0)
            return sys_error("unmount " + what.name + " in the container");
        if (::unlinkat(folder->get(), what.name.c_str(), 0) != 0 && errno != ENOENT)
            return sys_error("remove " + what.name + " in the container");
    }
    // Fails if the folder has other files, which then stay.
    (void)::unlinkat(reached.mount.get(), what.folder.c_str(), AT_REMOVEDIR);
    return {};
}

class KernelPlacements : public Placements {
  public:
    Result<> place(const ContainerRoot& root, const Placement& what) override {
        const Reached reached = TRY(reach(root, what));
        if (reached.hosts)
            return {};  // the same as on the host
        const UniqueFd tree = TRY(copy_of(what.source));
        return inside_mounts(reached.mounts.get(),
                             [&] { return mount_there(reached, tree, what); });
    }

    Result<> remove(const ContainerRoot& root, const Placement& what) override {
        const auto reached = reach(root, what);
        if (!reached) {
            return is_out_of_reach(reached.error()) ? Result<>{} : reached.error();
        }
        if (reached->hosts)
            return {};
        return inside_mounts(reached->mounts.get(), [&] { return unmount_there(*reached, what); });
    }
};
}  // namespace

std::unique_ptr<Placements> make_kernel_placements() {
    return std::make_unique<KernelPlacements>();
}

}  // namespace netns
