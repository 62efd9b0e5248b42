// SPDX-License-Identifier: Apache-2.0
#include "netns/sys_class.h"

#include <cerrno>
#include <climits>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns/base/files.h"
#include "netns/base/unique_fd.h"

namespace netns {

namespace {
constexpr size_t kAttributeLimit = 4096;  // no attribute of sysfs is larger
constexpr std::string_view kIntoDevices = "../../devices/";

Result<std::string> read_link(int folder, const std::string& name) {
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(folder, name.c_str(), target, sizeof target);
    if (size < 0)
        return base::path_error("read link " + printable(name) + " of sysfs");
    std::string text(target, static_cast<size_t>(size));
    // Any other link would lead elsewhere from a folder that is mounted in a container.
    if (!text.starts_with(kIntoDevices))
        return make_error(
            Code::Internal,
            printable(name) + " leads to " + printable(text) + " and not to /sys/devices");
    return text;
}

// Reads the attributes of the class itself. Unreadable ones (write-only) are left out.
Result<std::map<std::string, std::string>> read_attributes(DIR* stream, const std::string& path) {
    std::map<std::string, std::string> files;
    for (errno = 0; const dirent* entry = ::readdir(stream); errno = 0) {
        if (entry->d_type != DT_REG)
            continue;
        const UniqueFd fd{
            ::openat(::dirfd(stream), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
        if (fd)
            files[entry->d_name] = TRY(base::read_file(fd.get(), kAttributeLimit, entry->d_name));
    }
    if (errno != 0)
        return sys_error("read folder " + path);
    return files;
}
}  // namespace

Result<std::optional<ClassFolder>> KernelSysClasses::look(const std::string& name,
                                                          const std::vector<std::string>& devices) {
    const std::string path = root_ + "/" + name;
    const std::unique_ptr<DIR, int (*)(DIR*)> stream{::opendir(path.c_str()), ::closedir};
    if (!stream && errno == ENOENT)
        return std::optional<ClassFolder>{};
    if (!stream)
        return sys_error("open folder " + path);
    ClassFolder found;
    for (const std::string& device : devices)
        found.links[device] = TRY(read_link(::dirfd(stream.get()), device));
    found.files = TRY(read_attributes(stream.get(), path));
    return std::optional{std::move(found)};
}

}  // namespace netns
