// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/rdma-runtime/low_level.h"

#include <array>
#include <climits>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns/base/stand_in.h"
#include "netns/base/unique_fd.h"

namespace shim {

using base::Code;
using base::make_error;
using base::printable;
using base::Result;
using base::sys_error;

namespace {
constexpr std::array kDefaults = {"/usr/bin/runc", "/usr/sbin/runc"};

Result<> check_only_root_changes(const std::string& place) {
    struct stat st {};

    if (::lstat(place.c_str(), &st) != 0)
        return sys_error("examine " + printable(place));
    // In a folder with the sticky bit others cannot rename root's files.
    const bool sticky = S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0;
    if (st.st_uid == 0 && ((st.st_mode & (S_IWGRP | S_IWOTH)) == 0 || sticky))
        return {};
    return make_error(Code::Refused, printable(place) + " can be changed by others than root")
        .advise("run: chown root " + printable(place) + " && chmod go-w " + printable(place));
}

bool is_ourselves(const struct stat& st) {
    struct stat self {};

    return ::stat("/proc/self/exe", &self) == 0 && self.st_dev == st.st_dev &&
           self.st_ino == st.st_ino;
}

base::Error itself(const std::string& path) {
    return make_error(Code::BadConfig, printable(path) + " is rdma-runtime itself")
        .advise(
            "set \"runtime\" in /etc/rdma-hook/config.json to the path of the real runc or crun");
}

// Checks the default, too: if runc's usual place leads to rdma-runtime, it would call itself
// without end.
Result<> check_other(const std::string& path) {
    struct stat st {};

    return ::stat(path.c_str(), &st) == 0 && is_ourselves(st) ? Result<>{itself(path)} : Result<>{};
}

// Returns the path as the kernel has it.
Result<std::string> check_runtime(const std::string& place) {
    const base::UniqueFd fd{::open(place.c_str(), O_PATH | O_CLOEXEC)};

    struct stat st {};

    if (!fd || ::fstat(fd.get(), &st) != 0)
        return sys_error("open the runtime " + printable(place));
    if (!S_ISREG(st.st_mode) || (st.st_mode & S_IXUSR) == 0)
        return make_error(Code::BadConfig, printable(place) + " is not a program");
    if (is_ourselves(st))
        return itself(place);
    std::array<char, PATH_MAX> real{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
    const ssize_t size = ::readlink(link.c_str(), real.data(), real.size());
    if (size <= 0)
        return sys_error("read " + link);
    const std::string path(real.data(), static_cast<size_t>(size));
    for (size_t slash = 0; slash != std::string::npos; slash = path.find('/', slash + 1))
        TRY(check_only_root_changes(slash == 0 ? "/" : path.substr(0, slash)));
    TRY(check_only_root_changes(path));
    return path;
}
}  // namespace

Result<std::string> find_runtime(const std::string& configured) {
    const std::string place = configured.empty() ? default_runtime() : configured;
    // If there is none, the call that starts it reports that.
    if (place == default_runtime() && ::access(place.c_str(), F_OK) != 0)
        return place;
    return check_runtime(place);
}

std::string default_runtime() {
    for (const char* path : kDefaults) {
        if (::access(path, X_OK) == 0)
            return path;
    }
    return kDefaults[0];
}

base::Error RealLowLevel::become(const std::string& path, const std::vector<std::string>& argv) {
    if (auto other = check_other(path); !other)
        return std::move(other).error();
    return base::become(path, argv);
}

Result<int> RealLowLevel::run(const std::string& path, const std::vector<std::string>& argv) {
    TRY(check_other(path));
    return base::run_in_our_place(path, argv);
}

}  // namespace shim
