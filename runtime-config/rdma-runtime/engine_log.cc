// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/rdma-runtime/engine_log.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "netns/base/clock.h"
#include "netns/base/files.h"
#include "netns/base/json.h"
#include "netns/base/unique_fd.h"

namespace shim {

std::string log_entry(std::string_view format, std::string_view time, std::string_view line) {
    const std::string quoted = base::dump_json(base::Json(line));
    if (format == "json")
        return base::dump_json(base::Json{{"level", "error"}, {"msg", line}, {"time", time}}) +
               "\n";
    return fmt::format("time=\"{}\" level=error msg={}\n", time, quoted);
}

void tell_engine(const std::string& log, std::string_view format, std::string_view line) {
    constexpr std::string_view kFile = "file:";
    std::string path = log;
    if (path.starts_with(kFile))
        path.erase(0, kFile.size());
    else if (path.starts_with("journald:") || path.starts_with("syslog:"))
        path.clear();
    if (path.empty())
        return;
    // Opens it as the runtimes do; a pipe without a reader must not block.
    const base::UniqueFd fd{::open(
        path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0644)};
    if (fd)
        (void)base::write_all(fd.get(), log_entry(format, base::rfc3339_now(), line), path);
}

}  // namespace shim
