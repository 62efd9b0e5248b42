// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "perf/command/commands.h"
#include "perf/command/thesis.h"
#include "perf/measure/conduct.h"
#include "perf/measure/hosts.h"
#include "perf/report/document.h"
#include "perf/report/output.h"
#include "perf/report/report.h"

namespace perf {

using base::Json;
using base::Result;

namespace {
class ThesisRun {
  public:
    ThesisRun(const ThesisOptions& options, const Surroundings& around)
        : options_(options), around_(around) {}

    Result<> suite(Suite suite) {
        std::vector<PointResult> results;
        auto done = all_repetitions(suite, results);
        // What was measured before an error is worth having.
        const auto rows = rows_of(suite, results, options_.plan.seed);
        print(options_.json == "-" ? around_.err : around_.out, thesis_table(suite, rows));
        suites_.push_back(json_of(suite, rows));
        suites_.back()["results"] = Json::array();
        for (const PointResult& result : results)
            suites_.back()["results"].push_back(to_json(result));
        return done;
    }

    [[nodiscard]] bool corrupt() const { return corrupt_; }

    [[nodiscard]] Json members() const {
        return {{"reps", options_.plan.reps},
                {"time_ms", options_.plan.time_ms},
                {"plan", to_json(options_.plan)},
                {"env", met_ == 0 ? Json() : env_json(sides_)},
                {"suites", suites_}};
    }

  private:
    static Report with_client() {
        Report report;
        report.client = own_hello();
        return report;
    }

    // Every second repetition backwards: what drifts with time drifts away.
    Result<> all_repetitions(Suite suite, std::vector<PointResult>& results) {
        auto trials = trials_of(suite, options_.plan);
        for (uint32_t rep = 1; rep <= options_.plan.reps; ++rep) {
            for (const ThesisTrial& trial : trials)
                TRY(run(trial, rep, results));
            std::ranges::reverse(trials);
            for (ThesisTrial& trial : trials)
                std::ranges::reverse(trial.points);
        }
        return {};
    }

    // The connections are made anew: a server does not wait long for a client that is silent.
    Result<> run(const ThesisTrial& trial, uint32_t rep, std::vector<PointResult>& results) {
        auto clients = TRY(connect_clients(
            std::span(options_.hosts).first(trial.clients), options_.port, options_.side, around_));
        if (clients.size() > met_) {
            introduce(clients, sides_);
            met_ = clients.size();
        }
        for (Client& client : clients)
            TRY(client.watch_idle());
        for (const Point& point : trial.points) {
            PointResult result = TRY(conduct(clients, point));
            result.rep = rep;
            corrupt_ = corrupt_ || result.checked.wrong;
            print(around_.err, table_row(result));
            results.push_back(std::move(result));
        }
        return {};
    }

    const ThesisOptions& options_;
    const Surroundings& around_;
    Json suites_ = Json::array();
    Report sides_ = with_client();  // of the trial with the most clients so far
    size_t met_ = 0;                // so many clients
    bool corrupt_ = false;
};
}  // namespace

Exit thesis(const ThesisOptions& options, const Surroundings& around) {
    Document document{.kind = "thesis"};
    ThesisRun run(options, around);
    const auto done = [&]() -> Result<> {
        for (const Suite suite : options.plan.suites)
            TRY(run.suite(suite));
        return {};
    }();
    document.members = run.members();
    return conclude(
        document, done, run.corrupt() ? Exit::Corruption : Exit::Ok, options.json, around);
}

}  // namespace perf
