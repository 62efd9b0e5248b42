// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/rdma-runtime/low_level.h"

#include <array>
#include <cstdlib>

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

// In the low-level runtime's environment: the number of the process that called it.
constexpr char kCaller[] = "RDMA_RUNTIME_CALLER";

// Checks that no low-level runtime is the caller. One that calls another (NVIDIA's) may be
// configured to call rdma-runtime; the two would call each other without end.
Result<> check_caller() {
    const char* caller = std::getenv(kCaller);
    if (caller == nullptr ||
        (caller != std::to_string(::getpid()) && caller != std::to_string(::getppid())))
        return {};
    return make_error(Code::BadConfig, "the low-level runtime of rdma-runtime calls rdma-runtime")
        .advise("name runc or crun in that runtime's own configuration");
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
    return find_named(place);
}

Result<std::string> find_named(const std::string& path) {
    TRY(check_caller());
    TRY(check_other(path));
    return base::find_owned_program(path, base::Owned{});
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
    (void)::setenv(kCaller, std::to_string(::getpid()).c_str(), 1);
    return base::become(path, argv);
}

Result<int> RealLowLevel::run(const std::string& path, const std::vector<std::string>& argv) {
    TRY(check_other(path));
    (void)::setenv(kCaller, std::to_string(::getpid()).c_str(), 1);
    auto status = base::run_in_our_place(path, argv);
    (void)::unsetenv(kCaller);
    return status;
}

}  // namespace shim
