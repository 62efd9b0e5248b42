// SPDX-License-Identifier: Apache-2.0
#include "perf/report/outputs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "perf/report/csv.h"

namespace perf {

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

Result<> Outputs::add(const Turn& turn, const Interim& interim) const {
    if (!jsonl_.wanted())
        return {};
    Json line = {{"rep", turn.rep}, {"of", describe(turn.point)}};
    line.update(to_json(interim, turn.point));
    return jsonl_.write(line_of("interval", line));
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
    return write_document(to_json(report), json_, out_);
}

bool data_on_stdout(const MeasureOptions& options) {
    return std::ranges::count(places(options), "-") > 0;
}

Result<> check_outputs(const MeasureOptions& options) {
    if (std::ranges::count(places(options), "-") <= 1)
        return {};
    return make_error(Code::Usage,
                      "of --json, --csv and --jsonl only one can be standard output ('-')")
        .advise("name a file for the others");
}

}  // namespace perf
