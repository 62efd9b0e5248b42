// SPDX-License-Identifier: Apache-2.0
#include "perf/report/output.h"

#include <fcntl.h>

#include "netns/base/files.h"

namespace perf {

void print(std::FILE* to, const std::string& text) {
    (void)std::fputs(text.c_str(), to);
    (void)std::fflush(to);
}

Result<Sink> Sink::open(const std::string& where, std::FILE* out) {
    Sink sink;
    sink.where_ = where;
    if (where == "-")
        sink.out_ = out;
    if (where.empty() || where == "-")
        return sink;
    sink.fd_.reset(::open(where.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!sink.fd_)
        return sys_error("open " + where);
    return sink;
}

Result<> Sink::write(std::string_view text) const {
    if (fd_)
        return base::write_all(fd_.get(), text, where_);
    if (out_ == nullptr)
        return {};
    if (std::fwrite(text.data(), 1, text.size(), out_) != text.size() || std::fflush(out_) != 0)
        return sys_error("write to standard output");
    return {};
}

Result<> write_document(const Json& document, const std::string& where, std::FILE* out) {
    const Sink sink = TRY(Sink::open(where, out));
    return sink.write(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace perf
