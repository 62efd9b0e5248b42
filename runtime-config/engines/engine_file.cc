// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/engines/engine_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns/base/files.h"
#include "netns/base/unique_fd.h"

namespace engines {

using base::sys_error;
using base::UniqueFd;

namespace {
constexpr char kBackup[] = ".before-rdma-hook";

// Returns the path for the kernel: the tests' root is not "/".
std::string place_of(const std::string& path, const base::Owned& owned) {
    return owned.root == "/" ? path : owned.root + path;
}

std::string folder_of(const std::string& place) {
    return place.substr(0, place.rfind('/'));
}

struct Looks {
    mode_t mode = 0644;
    uid_t uid = 0;
    gid_t gid = 0;
};

Result<Looks> looks_of(const std::string& place, mode_t mode) {
    struct stat st {};

    if (::lstat(place.c_str(), &st) == 0)
        return Looks{.mode = st.st_mode & 07777U, .uid = st.st_uid, .gid = st.st_gid};
    if (errno != ENOENT)
        return sys_error("examine " + place);
    return Looks{.mode = mode, .uid = ::geteuid(), .gid = ::getegid()};
}

Result<> sync_folder(const std::string& place) {
    const UniqueFd dir{::open(folder_of(place).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!dir || ::fsync(dir.get()) != 0)
        return sys_error("sync folder " + folder_of(place));
    return {};
}

Result<> fill(const std::string& temp, const std::string& text, const Looks& looks) {
    const UniqueFd fd{
        ::open(temp.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!fd)
        return sys_error("create " + temp);
    TRY(base::write_all(fd.get(), text, temp));
    if (::fchown(fd.get(), looks.uid, looks.gid) != 0 || ::fchmod(fd.get(), looks.mode) != 0)
        return sys_error("set owner and mode of " + temp);
    if (::fsync(fd.get()) != 0)
        return sys_error("sync " + temp);
    return {};
}

// If two processes write at once, only one finds the temporary name free.
Result<> put(const std::string& place, const std::string& text, const Looks& looks) {
    const std::string temp = place + ".rdma-hook-new";
    auto done = fill(temp, text, looks);
    if (!done && done.error().sys == EEXIST)
        return std::move(done).advise("remove it, if no other rdmactl runs: rm " + temp);
    if (done && ::rename(temp.c_str(), place.c_str()) != 0)
        done = sys_error("rename to " + place);
    if (!done) {
        (void)::unlink(temp.c_str());  // the error to report is the earlier one
        return done;
    }
    return sync_folder(place);
}

Result<> make_folder(const std::string& place) {
    const std::string folder = folder_of(place);
    if (::access(folder.c_str(), F_OK) == 0)
        return {};
    base::RealFiles files;
    return files.make_dir(folder, base::Access::Readable);
}
}  // namespace

Result<std::string> replace_engine_file(const EngineTarget& target,
                                        const FileText& before,
                                        const FileText& text,
                                        const base::Owned& owned) {
    const std::string& path = target.path;
    const std::string place = place_of(path, owned);
    std::string backup;
    TRY(make_folder(place));
    const Looks looks = TRY(looks_of(place, target.program ? 0755 : 0644));
    if (TRY(base::read_owned_file(path, owned)) != before)
        return make_error(Code::Busy, path + " was changed at this moment").advise("try it again");
    if (before && target.keep_copy) {
        TRY(put(place + kBackup, *before, looks));
        backup = path + kBackup;
    }
    if (text) {
        TRY(put(place, *text, looks));
    } else {
        if (::unlink(place.c_str()) != 0 && errno != ENOENT)
            return sys_error("remove " + place);
        TRY(sync_folder(place));
    }
    if (TRY(base::read_owned_file(path, owned)) != text)
        return make_error(Code::Busy, path + " was changed at this moment").advise("look at it");
    return backup;
}

}  // namespace engines
