// SPDX-License-Identifier: Apache-2.0
#include "perf/output.h"

#include <fcntl.h>

#include "netns/base/files.h"
#include "netns/base/unique_fd.h"

namespace perf {

void print(std::FILE* to, const std::string& text) {
    (void)std::fputs(text.c_str(), to);
    (void)std::fflush(to);
}

base::Result<> write_document(const base::Json& document,
                              const std::string& where,
                              std::FILE* out) {
    const std::string text =
        document.dump(2, ' ', false, base::Json::error_handler_t::replace) + "\n";
    if (where == "-") {
        print(out, text);
        return {};
    }
    const base::UniqueFd fd(::open(where.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd)
        return base::sys_error("open " + where);
    return base::write_all(fd.get(), text, where);
}

}  // namespace perf
