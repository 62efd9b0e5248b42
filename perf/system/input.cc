// SPDX-License-Identifier: Apache-2.0
#include "perf/system/input.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "netns/base/files.h"
#include "perf/base/names.h"

namespace perf {

Result<std::string> read_file(const std::string& path, size_t limit, const std::string& what) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd)
        return sys_error("open");
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0)
        return sys_error("stat");
    if (!S_ISREG(info.st_mode))
        return make_error(Code::BadInput, "it is no regular file");
    return base::read_all(fd.get(), limit, what);
}

}  // namespace perf
