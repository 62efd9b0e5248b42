// SPDX-License-Identifier: Apache-2.0
// Reports of run and loop: a table for people, and a document of kind "run".
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perf/measure/client.h"
#include "perf/measure/schedule.h"
#include "perf/report/document.h"

namespace perf {

// Both ends of one client.
struct Pairing {
    std::optional<DeviceInfo> client_device;  // nothing if no point needs one
    Hello server;
    std::optional<DeviceInfo> server_device;
};

struct Report {
    Plan plan;
    Hello client;
    std::vector<Pairing> pairs = std::vector<Pairing>(1);  // of each client; at least one
    std::vector<PointResult> results;
};

Json to_json(const Report& report);  // members of its document
Json to_json(const PointResult& result);
Json to_json(const Interim& interim, const Point& point);

// ---- the sides, of every command that has some --------------------------------------------------
Pairing pairing_of(const Client& client);

// "client rxe1 (rdma0, GID 1 10.9.0.1 RoCE v2, MTU 1024) on HOST", and what is known of its adapter
// and processor.
std::string side_text(std::string_view role,
                      const Hello& hello,
                      const std::optional<DeviceInfo>& device);
std::string sides_text(const Hello& client, const Pairing& pair);

// Members "client" and "server" of an "env".
Json sides_json(const Hello& client, const Pairing& pair);

std::string table_head(const Report& report);

// One line, with the line about wrong data behind it if there is one.
std::string table_row(const PointResult& result);

std::string interim_row(const Point& point, const Interim& interim);

// "4 KiB", "64 B".
std::string human_size(uint64_t bytes);

// ---- plans as JSON (plan_file.cc) ---------------------------------------------------------------
// As a report carries its own, or by themselves. A file is input from outside: bounded, and every
// value checked. What is missing has the command line's default; a member that is not known is an
// error.
Json to_json(const Plan& plan);

// Of a plan or point: a number, or "forever".
inline Json time_json(uint32_t time_ms) {
    return time_ms == kForever ? Json("forever") : Json(time_ms);
}

// Code::BadInput that names the member. The caller checks its limits (schedule.h).
Result<Plan> parse_plan(const Json& json);

// Of a report ("plan" beside "schema"), or of a file that is a plan. Code::Usage that names it.
Result<Plan> read_plan(const std::string& path);

// ---- what the repetitions of each point say together (summary.cc) -------------------------------
struct SummaryRow {
    const PointResult* first = nullptr;  // of the point's results; of the caller's vector
    const Metric* metric = nullptr;
    MedianEstimate estimate;
};

// In the order in which points first appear; metrics that a point does not have are left out.
std::vector<SummaryRow> summarize(const std::vector<PointResult>& results);

Json to_json(const std::optional<Interval>& interval);

std::string summary_table(const std::vector<SummaryRow>& rows, uint32_t reps);

// ---- what RDMA gains over plain TCP, where a plan had both --------------------------------------
// Median over median of the TCP row of equal verb, mode, size, queue pairs, threads, direction and
// rate; nothing for a row of TCP itself, or without its like.
std::optional<double> ratio_to_tcp(const SummaryRow& row, const std::vector<SummaryRow>& rows);

// The lines behind the table; empty without any ratio.
std::string tcp_table(const std::vector<SummaryRow>& rows);

// ---- expectations: what a script demands of what was measured -----------------------------------
// "bw>=90Gb/s,p99<=60us": all of them, of each point that has the metric (summary.cc). With
// repetitions the median counts.
struct ExpectedMetric;

struct Expectation {
    const ExpectedMetric* metric = nullptr;  // of a table
    bool at_least = true;                    // else at most
    double limit = 0;                        // bytes/s, messages/s or ns
    std::string text;                        // as it was given
};

// Code::Usage that names what is wrong and what is allowed. An empty text is no expectation.
Result<std::vector<Expectation>> parse_expectations(std::string_view text);

// A line for each expectation that a point does not meet, or that no point could.
std::vector<std::string> unmet(const std::vector<Expectation>& expectations,
                               const std::vector<PointResult>& results);

// ---- outputs: where results go besides the table ------------------------------------------------
// CSV (RFC 4180) and JSONL are opened before anything is measured, and get each result as its point
// completes. docs/rdma-perf/reference.md says what they have.

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

    Result<> begin(const Document& document, const Report& report) const;  // both sides are known
    Result<> add(const Turn& turn, const Interim& interim) const;
    Result<> add(const PointResult& result) const;  // a point is complete
    Result<> conclude(const Report& report, const Result<>& done) const;

  private:
    Sink csv_;
    Sink jsonl_;
};

bool data_on_stdout(const MeasureOptions& options);

// Code::Usage if more than one of them wants standard output.
Result<> check_outputs(const MeasureOptions& options);

}  // namespace perf
