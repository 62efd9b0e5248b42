// SPDX-License-Identifier: Apache-2.0
#include "netns/namespace.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "netns/base/confine.h"
#include "netns/base/file_lock.h"
#include "netns/base/files.h"
#include "netns/base/nsfs.h"

namespace netns {

namespace {
constexpr char kOwnNetns[] = "/proc/thread-self/ns/net";
// A pin with more mounts than this is not rdma-hook's.
constexpr int kMaxStackedMounts = 64;
// A process that has locked the pins' folder makes only two mounts.
constexpr std::chrono::seconds kShareTimeout{5};

std::string fd_path(const UniqueFd& fd) {
    return "/proc/self/fd/" + std::to_string(fd.get());
}

// A missing object is Unavailable; any other error is the kernel's refusal.
Error open_error(const std::string& what) {
    Error error = base::path_error(what);
    if (error.sys == ENOTDIR)
        error.code = Code::Unavailable;
    if (error.sys == EPERM || error.sys == EACCES)
        error.fix = "run as root";
    return error;
}

Result<NetnsId> id_of(int fd, const std::string& name) {
    struct stat st {};

    if (::fstat(fd, &st) != 0)
        return sys_error("examine " + name);
    return NetnsId{st.st_dev, st.st_ino};
}

// Opens the file behind an O_PATH descriptor, only if it is on nsfs: opening a foreign fifo or
// device could block or have an effect.
Result<Netns> adopt(const UniqueFd& place, const std::string& name) {
    struct statfs fs {};

    if (::fstatfs(place.get(), &fs) != 0)
        return sys_error("examine " + name);
    if (fs.f_type != NSFS_MAGIC)
        return make_error(Code::BadInput, name + " is not a network namespace")
            .advise("name one that `ip netns` lists, or /proc/PID/ns/net");
    UniqueFd fd{::open(fd_path(place).c_str(), O_RDONLY | O_CLOEXEC)};
    if (!fd)
        return open_error("open network namespace " + name);
    if (::ioctl(fd.get(), NS_GET_NSTYPE) != CLONE_NEWNET)
        return make_error(Code::BadInput, name + " is a namespace, but not a network namespace")
            .advise("name one that `ip netns` lists, or /proc/PID/ns/net");
    const NetnsId id = TRY(id_of(fd.get(), name));
    return Netns{id, std::move(fd)};
}

// The namespace that this thread is in. It is asked of the kernel once; only inside() and make()
// leave it for a time.
const Netns*& present() {
    thread_local const Netns* here = nullptr;
    return here;
}

Result<const Netns*> find_present() {
    if (present() == nullptr) {
        thread_local std::optional<Netns> own;
        own = TRY(KernelNetnses::open_own());
        present() = &*own;
    }
    return present();
}

// The way back into the previous namespace. The process cannot continue without it.
class Return {
  public:
    explicit Return(const Netns& home) : home_(home) {}

    ~Return() {
        present() = &home_;
        if (::setns(home_.fd(), CLONE_NEWNET) == 0)
            return;
        std::perror("rdma-hook: return to the network namespace");
        std::abort();
    }

    Return(const Return&) = delete;
    Return& operator=(const Return&) = delete;
    Return(Return&&) = delete;
    Return& operator=(Return&&) = delete;

  private:
    const Netns& home_;
};

Result<> raise_loopback() {
    const UniqueFd fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (!fd)
        return sys_error("open a socket to raise lo");
    ifreq request{.ifr_ifrn = {"lo"}, .ifr_ifru = {}};
    request.ifr_flags = IFF_UP;
    if (::ioctl(fd.get(), SIOCSIFFLAGS, &request) != 0)
        return sys_error("raise lo");
    return {};
}

// Decodes a mount's path in mountinfo: space, tab, newline and backslash are octal there (proc(5)).
std::string unescaped(std::string_view text) {
    std::string plain;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 3 >= text.size()) {
            plain += text[i];
            continue;
        }
        plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                   (text[i + 3] - '0'));
        i += 3;
    }
    return plain;
}

// Returns the places where a mountinfo has namespaces mounted: lines whose fourth word is
// "net:[4026532000]".
std::vector<std::string> places_of_netns(std::string_view mountinfo) {
    std::vector<std::string> places;
    while (!mountinfo.empty()) {
        const std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
        mountinfo.remove_prefix(std::min(mountinfo.size(), line.size() + 1));
        const auto root = line.find(" net:[");
        const auto place = root == std::string_view::npos ? root : line.find(' ', root + 1);
        if (place == std::string_view::npos)
            continue;
        const std::string_view rest = line.substr(place + 1);
        places.push_back(unescaped(rest.substr(0, rest.find(' '))));
    }
    return places;
}

// Asks once about each namespace. It skips those that end meanwhile, and those that may not be
// opened.
class Search {
  public:
    using Found = Result<std::optional<Netns>>;

    explicit Search(const std::function<Result<bool>(const Netns&)>& is_wanted)
        : is_wanted_(is_wanted) {}

    Found in_process(const std::string& pid) { return at("/proc/" + pid + "/ns/net"); }

    // Searches the mounts that the process sees, unless another process saw the same.
    Found in_mounts(const std::string& pid) {
        constexpr size_t kMostMounts = 16U << 20U;

        struct stat st {};

        const std::string folder = "/proc/" + pid;
        if (::stat((folder + "/ns/mnt").c_str(), &st) != 0 || !mounts_.insert(st.st_ino).second)
            return std::optional<Netns>{};
        const UniqueFd file{::open((folder + "/mountinfo").c_str(), O_RDONLY | O_CLOEXEC)};
        const auto text = file ? base::read_all(file.get(), kMostMounts, folder + "/mountinfo")
                               : Result<std::string>(std::string{});
        for (const std::string& place : places_of_netns(text ? *text : std::string{})) {
            if (auto found = TRY(at(folder + "/root" + place)))
                return found;
        }
        return std::optional<Netns>{};
    }

  private:
    Found at(const std::string& path) {
        const UniqueFd place{::open(path.c_str(), O_PATH | O_CLOEXEC)};

        struct stat st {};

        if (!place || ::fstat(place.get(), &st) != 0 || !namespaces_.insert(st.st_ino).second)
            return std::optional<Netns>{};
        const auto ns = adopt(place, path);
        if (!ns || !TRY(is_wanted_(*ns)))
            return std::optional<Netns>{};
        return std::optional<Netns>{*ns};
    }

    const std::function<Result<bool>(const Netns&)>& is_wanted_;
    std::set<ino_t> namespaces_, mounts_;
};

std::string folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Makes the pins' folder a shared mount of its own, as `ip netns add` does. Removing a pin then
// reaches the copies of it in other mount namespaces; a copy that stays would keep the namespace.
// It works under a lock: a second bind mount would hide the first one's pins.
Result<> share_folder(const std::string& folder) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return sys_error("create folder " + folder);
    const UniqueFd lock{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!lock)
        return sys_error("open folder " + folder);
    TRY(base::lock_until(lock.get(), folder, base::Deadline::in(kShareTimeout)));
    const char* dir = folder.c_str();
    if (::mount("", dir, "none", MS_SHARED | MS_REC, nullptr) == 0)
        return {};
    if (errno != EINVAL)  // EINVAL: it is no mount yet
        return open_error("make " + folder + " a shared mount");
    if (::mount(dir, dir, "none", MS_BIND | MS_REC, nullptr) != 0)
        return open_error("mount " + folder + " on itself");
    if (::mount("", dir, "none", MS_SHARED | MS_REC, nullptr) != 0)
        return sys_error("make " + folder + " a shared mount");
    return {};
}

// Opens, with O_PATH, the file of a pin whose run died before it mounted.
Result<UniqueFd> left_pin_file(const std::string& path) {
    UniqueFd file{::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    if (!file)
        return sys_error("open " + path);

    struct stat st {};

    struct statfs fs {};

    if (::fstat(file.get(), &st) != 0 || ::fstatfs(file.get(), &fs) != 0)
        return sys_error("examine " + path);
    if (S_ISREG(st.st_mode) && fs.f_type != NSFS_MAGIC)
        return file;
    return sys_error(EEXIST, "pin network namespace at " + path).as(Code::Busy);
}
}  // namespace

Result<Netns> KernelNetnses::open_own() {
    UniqueFd fd{::open(kOwnNetns, O_RDONLY | O_CLOEXEC)};
    if (!fd)
        return open_error(std::string("open ") + kOwnNetns);
    const NetnsId id = TRY(id_of(fd.get(), kOwnNetns));
    return Netns{id, std::move(fd)};
}

Result<Netns> KernelNetnses::current() {
    return *TRY(find_present());
}

Result<Netns> KernelNetnses::open(const std::string& path) {
    const UniqueFd place{::open(path.c_str(), O_PATH | O_CLOEXEC)};
    if (!place)
        return open_error("open network namespace " + base::printable(path));
    return adopt(place, base::printable(path));
}

Result<Netns> KernelNetnses::open_process(pid_t pid) {
    const std::string name = "network namespace of process " + std::to_string(pid);
    const UniqueFd place{
        ::open(("/proc/" + std::to_string(pid) + "/ns/net").c_str(), O_PATH | O_CLOEXEC)};
    if (!place)
        return open_error("open " + name);
    return adopt(place, name);
}

Result<std::optional<Netns>> KernelNetnses::open_pin(const std::string& path, NetnsId id) {
    const UniqueFd place{::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    if (!place && errno == ENOENT)
        return std::optional<Netns>{};
    if (!place)
        return open_error("open pin " + path);
    auto found = adopt(place, path);
    if (!found && found.error().code == Code::BadInput)  // the mount is gone, its file is left
        return std::optional<Netns>{};
    if (!found)
        return std::move(found).error();
    if (!(found->id() == id))
        return std::optional<Netns>{};
    return std::optional<Netns>{std::move(found).value()};
}

Result<uint64_t> KernelNetnses::cookie(const Netns& ns) {
    uint64_t cookie = 0;
    if (::ioctl(ns.fd(), base::kNamespaceId, &cookie) == 0)
        return cookie;
    TRY(inside(ns, [&]() -> Result<> {
        const UniqueFd socket{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
        socklen_t size = sizeof cookie;
        if (!socket || ::getsockopt(socket.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) != 0)
            return sys_error("read the cookie of a network namespace");
        return {};
    }));
    return cookie;
}

Result<std::optional<Netns>> KernelNetnses::search(
    const std::function<Result<bool>(const Netns&)>& is_wanted) {
    Search search{is_wanted};
    const UniqueFd proc{::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!proc)
        return sys_error("open /proc");
    std::vector<std::string> pids = TRY(base::names_in(proc.get(), "/proc"));
    std::erase_if(pids, [](const std::string& name) {
        return name.find_first_not_of("0123456789") != std::string::npos;
    });
    for (const std::string& pid : pids) {
        if (auto found = TRY(search.in_process(pid)))
            return found;
    }
    for (const std::string& pid : pids) {
        if (auto found = TRY(search.in_mounts(pid)))
            return found;
    }
    return std::optional<Netns>{};
}

Result<Netns> KernelNetnses::make() {
    const Netns& home = *TRY(find_present());
    if (::unshare(CLONE_NEWNET) != 0)
        return open_error("make a network namespace");
    const Return way_back{home};
    TRY(raise_loopback());
    return open_own();
}

Result<> KernelNetnses::pin(const Netns& ns, const std::string& path) {
    TRY(share_folder(folder_of(path)));
    UniqueFd file{::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0000)};
    if (!file && errno != EEXIST)
        return sys_error("create " + path);
    if (!file && TRY(open_pin(path, ns.id())))
        return {};
    if (!file)
        file = TRY(left_pin_file(path));
    const std::string source = "/proc/self/fd/" + std::to_string(ns.fd());
    if (::mount(source.c_str(), fd_path(file).c_str(), "none", MS_BIND, nullptr) != 0) {
        Error error = open_error("pin network namespace at " + path);
        (void)::unlink(path.c_str());  // the error to report is the mount's
        return error;
    }
    return {};
}

Result<> KernelNetnses::unpin(const std::string& path) {
    for (int i = 0; i < kMaxStackedMounts; ++i) {
        if (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
            continue;
        if (errno == ENOENT)
            return {};
        if (errno != EINVAL)  // EINVAL: it is no mount (any more)
            return open_error("unmount pin " + path);
        break;
    }
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        return sys_error("remove pin " + path);
    return {};
}

Result<> inside(const Netns& ns, const std::function<Result<>()>& body) {
    const Netns& home = *TRY(find_present());
    if (home.id() == ns.id())
        return body();
    if (::setns(ns.fd(), CLONE_NEWNET) != 0)
        return open_error("enter a network namespace");
    const Return way_back{home};
    present() = &ns;
    return body();
}

Result<> inside_mounts(int mount_namespace, const std::function<Result<>()>& body) {
    Result<> done;
    TRY(base::expect_threads());
    std::thread([&] {
        if (::unshare(CLONE_FS) != 0 || ::setns(mount_namespace, CLONE_NEWNS) != 0)
            done = open_error("enter a container's mount namespace");
        else
            done = body();
    }).join();
    return done;
}

}  // namespace netns
