// SPDX-License-Identifier: Apache-2.0
#include "perf/outputs.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fcntl.h>

#include "netns/base/files.h"
#include "perf/csv.h"

namespace perf {

using base::Json;
using base::Result;

namespace {
std::string line_of(std::string_view type, const Json& members) {
    Json line = {{"type", type}};
    line.update(members);
    return base::dump_json(line) + "\n";
}

std::array<std::string_view, 3> places(const MeasureOptions& options) {
    return {options.json, options.csv, options.jsonl};
}
}  // namespace

Result<Sink> Sink::open(const std::string& where, std::FILE* out) {
    Sink sink;
    sink.where_ = where;
    if (where == "-")
        sink.out_ = out;
    if (where.empty() || where == "-")
        return sink;
    sink.fd_.reset(::open(where.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!sink.fd_)
        return base::sys_error("open " + where);
    return sink;
}

Result<> Sink::write(std::string_view text) const {
    if (fd_)
        return base::write_all(fd_.get(), text, where_);
    if (out_ == nullptr)
        return {};
    if (std::fwrite(text.data(), 1, text.size(), out_) != text.size() || std::fflush(out_) != 0)
        return base::sys_error("write to standard output");
    return {};
}

Result<Outputs> Outputs::open(const MeasureOptions& options, std::FILE* out) {
    Outputs outputs;
    outputs.json_ = options.json;
    outputs.out_ = out;
    outputs.csv_ = TRY(Sink::open(options.csv, out));
    outputs.jsonl_ = TRY(Sink::open(options.jsonl, out));
    return outputs;
}

Result<> Outputs::begin(const Report& report) const {
    TRY(csv_.write(csv_header()));
    return jsonl_.wanted() ? jsonl_.write(line_of("run", json_head(report))) : Result<>();
}

Result<> Outputs::add(const PointResult& result) const {
    if (csv_.wanted())
        TRY(csv_.write(csv_row(result)));
    return jsonl_.wanted() ? jsonl_.write(line_of("result", to_json(result))) : Result<>();
}

Result<> Outputs::conclude(const Report& report) const {
    if (jsonl_.wanted())
        TRY(jsonl_.write(line_of("end", json_tail(report))));
    if (json_.empty())
        return {};
    // Only now: what an earlier run left there is kept until there is something better.
    const Sink sink = TRY(Sink::open(json_, out_));
    return sink.write(to_json(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

bool data_on_stdout(const MeasureOptions& options) {
    return std::ranges::count(places(options), "-") > 0;
}

Result<> check_outputs(const MeasureOptions& options) {
    if (std::ranges::count(places(options), "-") <= 1)
        return {};
    return base::make_error(base::Code::Usage,
                            "of --json, --csv and --jsonl only one can be standard output ('-')")
        .advise("name a file for the others");
}

}  // namespace perf
