// SPDX-License-Identifier: Apache-2.0
// Outputs: where results go besides the table. CSV and JSONL are opened before anything is measured
// and get each result as its point completes, so that a run that is killed keeps what it measured.
// The JSON report is written at the end.
//
// CSV is that of RFC 4180: a header line, one line for each result, lines end with CR LF. What a
// result does not have is an empty field.
//
// Lines of JSONL are objects with "type": one "run" (schema, tool, plan, both sides), a "result"
// for each point and repetition, and "end" (summary, errors): a file without "end" was cut short.
// "interval" lines come before the result that they belong to.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "perf/measure/options.h"
#include "perf/measure/schedule.h"
#include "perf/report/document.h"
#include "perf/report/report.h"

namespace perf {

// What run and loop have in common.
struct MeasureOptions {
    Plan plan;
    SideOptions side;
    // Each a file, "-" for standard output (at most one of them), empty: none.
    std::string json;
    std::string csv;
    std::string jsonl;
    std::vector<Expectation> expectations;
    bool explain_gid = false;
};

std::string csv_header();
std::string csv_row(const PointResult& result);

// Quoted if it holds what separates fields or lines.
std::string csv_field(std::string_view text);

class Outputs {
  public:
    static Result<Outputs> open(const MeasureOptions& options, std::FILE* out);

    Result<> begin(const Report& report) const;  // both sides are known
    Result<> add(const Turn& turn, const Interim& interim) const;
    Result<> add(const PointResult& result) const;  // a point is complete
    Result<> conclude(const Report& report) const;  // nothing more will come

  private:
    std::string json_;
    std::FILE* out_ = nullptr;
    Sink csv_;
    Sink jsonl_;
};

// Where the table goes: not where data goes.
bool data_on_stdout(const MeasureOptions& options);

// Code::Usage if more than one of them wants standard output.
Result<> check_outputs(const MeasureOptions& options);

}  // namespace perf
