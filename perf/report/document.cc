// SPDX-License-Identifier: Apache-2.0
#include "perf/report/document.h"

#include <cerrno>

#include <fcntl.h>

#include "netns/base/files.h"
#include "perf/protocol/message.h"

namespace perf {

Exit exit_of(const Error& error) {
    if (error.sys == ECANCELED)
        return Exit::Interrupted;
    switch (error.code) {
        case Code::Internal:
            return Exit::Internal;
        case Code::Usage:
        case Code::Refused:
            return Exit::Usage;
        case Code::BadInput:  // after the command line is read, only the peer gives input
            return Exit::Version;
        case Code::BadConfig:
        case Code::Kernel:
        case Code::Unsupported:
            return Exit::Environment;
        case Code::Busy:
        case Code::Unavailable:
            return Exit::Peer;
        case Code::Timeout:
            return Exit::Deadline;
    }
    return Exit::Internal;
}

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

Json Document::head() const {
    return {{"schema", kSchema},
            {"kind", kind},
            {"tool", {{"name", "rdma-perf"}, {"version", RDMA_VERSION}}},
            {"started", started}};
}

Json errors_json(const Result<>& done) {
    Json errors = Json::array();
    if (!done) {
        const Error known = explain_input(done.error());
        errors.push_back(
            {{"code", base::code_name(known.code)}, {"text", known.message()}, {"fix", known.fix}});
    }
    return errors;
}

Exit complain(const Error& error, Exit exit, const Surroundings& around) {
    print(around.err, "rdma-perf: " + explain_input(error).message() + "\n");
    return exit == Exit::Ok ? exit_of(error) : exit;
}

Exit Document::conclude(const Result<>& done) const {
    const Exit code = done ? exit : complain(done.error(), exit, around);
    if (json.empty())
        return code;
    Json out = head();
    out.update(members);
    out["errors"] = errors_json(done);
    const auto written = [&]() -> Result<> {
        // Only now: what an earlier run left there is kept until there is something better.
        const Sink sink = TRY(Sink::open(json, around.out));
        return sink.write(out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    }();
    return written ? code : complain(written.error(), code, around);
}

}  // namespace perf
