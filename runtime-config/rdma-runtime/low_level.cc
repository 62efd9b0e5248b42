// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/rdma-runtime/low_level.h"

#include <array>

#include <sys/stat.h>
#include <unistd.h>

#include "netns/base/owned_file.h"
#include "netns/base/stand_in.h"

namespace shim {

using base::Code;
using base::make_error;
using base::Result;

namespace {
constexpr std::array kDefaults = {"/usr/bin/runc", "/usr/sbin/runc"};

base::Error itself(const std::string& path) {
    return make_error(Code::BadConfig, base::printable(path) + " is rdma-runtime itself")
        .advise(
            "set \"runtime\" in /etc/rdma-hook/config.json to the path of the real runc or crun");
}

// Checks the default, too: if runc's usual place leads to rdma-runtime, it would call itself
// without end.
Result<> check_other(const std::string& path) {
    struct stat st {};
    struct stat self {};

    const bool same = ::stat(path.c_str(), &st) == 0 && ::stat("/proc/self/exe", &self) == 0 &&
                      self.st_dev == st.st_dev && self.st_ino == st.st_ino;
    return same ? Result<>{itself(path)} : Result<>{};
}
}  // namespace

Result<std::string> find_runtime(const std::string& configured) {
    const std::string place = configured.empty() ? default_runtime() : configured;
    // If there is none, the call that starts it reports that.
    if (place == default_runtime() && ::access(place.c_str(), F_OK) != 0)
        return place;
    TRY(check_other(place));
    return base::find_owned_program(place, base::Owned{});
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
