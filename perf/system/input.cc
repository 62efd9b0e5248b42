// SPDX-License-Identifier: Apache-2.0
#include "perf/system/input.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "netns/base/files.h"
#include "netns/base/unique_fd.h"

namespace perf {

base::Result<std::string> read_file(const std::string& path,
                                    size_t limit,
                                    const std::string& what) {
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd)
        return base::sys_error("open");
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0)
        return base::sys_error("stat");
    if (!S_ISREG(info.st_mode))
        return base::make_error(base::Code::BadInput, "it is no regular file");
    return base::read_all(fd.get(), limit, what);
}

}  // namespace perf
