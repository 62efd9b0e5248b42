// SPDX-License-Identifier: Apache-2.0
#include "netns/base/findings.h"

#include <algorithm>

#include <fmt/format.h>

#include "netns/base/json.h"
#include "netns/base/text.h"

namespace base {

namespace {
constexpr size_t kWhy = 22;  // the column where the text of a finding begins

Colour colour_of(Status status) {
    switch (status) {
        case Status::Ok:
            return Colour::Good;
        case Status::Warning:
            return Colour::Doubtful;
        case Status::Fail:
            return Colour::Bad;
        case Status::Skipped:
            return Colour::Plain;
    }
    return Colour::Plain;
}

// Returns the findings in the order in which people read them: failures, then warnings, then all
// others in the order of the checks.
std::vector<Diagnosis> worst_first(std::vector<Diagnosis> diagnoses) {
    const auto rank = [](const Diagnosis& d) {
        const Status status = d.finding.status;
        return status == Status::Fail ? 0 : status == Status::Warning ? 1 : 2;
    };
    std::ranges::stable_sort(diagnoses, {}, rank);
    return diagnoses;
}

ptrdiff_t count(const std::vector<Diagnosis>& diagnoses, Status status) {
    return std::ranges::count_if(diagnoses,
                                 [&](const Diagnosis& d) { return d.finding.status == status; });
}
}  // namespace

std::string_view name_of(Status status) {
    switch (status) {
        case Status::Ok:
            return "ok";
        case Status::Warning:
            return "warning";
        case Status::Fail:
            return "fail";
        case Status::Skipped:
            return "skipped";
    }
    return "?";
}

bool any_failed(const std::vector<Diagnosis>& diagnoses) {
    return count(diagnoses, Status::Fail) != 0;
}

std::string to_text(const std::vector<Diagnosis>& diagnoses, bool colours, size_t columns) {
    std::string out;
    for (const Diagnosis& d : worst_first(diagnoses)) {
        const std::string status = fmt::format("{:<8}", name_of(d.finding.status));
        out += fmt::format("{} {:<12} {}\n",
                           paint(status, colour_of(d.finding.status), colours),
                           d.id,
                           columns == 0 ? d.finding.why : wrap(d.finding.why, kWhy, columns));
        if (!d.finding.fix.empty())
            out += fmt::format("{:<8} {:<12} -> {}\n", "", "", d.finding.fix);
    }
    return out +
           fmt::format("{} failed, {}, {} ok, {} skipped\n",
                       count(diagnoses, Status::Fail),
                       number_of(static_cast<size_t>(count(diagnoses, Status::Warning)), "warning"),
                       count(diagnoses, Status::Ok),
                       count(diagnoses, Status::Skipped));
}

Json to_json(const std::vector<Diagnosis>& diagnoses) {
    Json checks = Json::array();
    for (const Diagnosis& d : diagnoses)
        checks.push_back({{"id", d.id},
                          {"status", name_of(d.finding.status)},
                          {"why", d.finding.why},
                          {"fix", d.finding.fix}});
    return checks;
}

}  // namespace base
