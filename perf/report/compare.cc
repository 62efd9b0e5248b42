// SPDX-License-Identifier: Apache-2.0
#include "perf/report/compare.h"

#include <algorithm>

#include <fmt/format.h>

#include "netns/base/text.h"
#include "perf/report/report.h"

namespace perf {

namespace {
struct Pairs {
    std::vector<std::pair<const Series*, const Series*>> pairs;
    std::vector<const Series*> only_a;
    std::vector<const Series*> only_b;
};

using Key = std::pair<std::string, std::vector<std::string>>;

// Moves to `pairs` what belongs together by the key, and is unmistakable on both sides.
void pair_up(Pairs& out, Key (*key_of)(const Series&)) {
    std::map<Key, std::pair<std::vector<const Series*>, std::vector<const Series*>>> places;
    for (const Series* series : out.only_a)
        places[key_of(*series)].first.push_back(series);
    for (const Series* series : out.only_b)
        places[key_of(*series)].second.push_back(series);
    const auto paired = [&](const Series* series) {
        const auto& [a, b] = places[key_of(*series)];
        return a.size() == 1 && b.size() == 1;
    };
    for (const Series* series : out.only_a) {
        if (paired(series))
            out.pairs.emplace_back(series, places[key_of(*series)].second.front());
    }
    std::erase_if(out.only_a, paired);
    std::erase_if(out.only_b, paired);
}

// Adds what differs, once for each pair of values.
void note(std::vector<Difference>& list, Difference seen) {
    const auto same = std::ranges::find_if(list, [&](const Difference& known) {
        return known.setting == seen.setting && known.whose == seen.whose && known.a == seen.a &&
               known.b == seen.b;
    });
    if (same == list.end())
        list.push_back(std::move(seen));
    else
        same->points += seen.points;
}

std::vector<Difference> differences_of(const ReportFile& a,
                                       const ReportFile& b,
                                       const Pairs& matched) {
    std::vector<Difference> out;
    constexpr std::string_view kWhose[] = {"client's ", "server's "};
    for (size_t i = 0; i < a.settings.size(); ++i) {
        // What one of the reports does not tell is no difference.
        if (a.settings[i] != b.settings[i] && !a.settings[i].empty() && !b.settings[i].empty())
            note(out,
                 {&kSideSettings[i / 2], kWhose[i % 2], a.settings[i], b.settings[i], 0, false});
    }
    for (const auto& [x, y] : matched.pairs) {
        for (size_t i = 0; i < std::size(kPointSettings); ++i) {
            if (x->settings[i] != y->settings[i] && x->settings[i] != kUnknown &&
                y->settings[i] != kUnknown)
                note(out, {&kPointSettings[i], "", x->settings[i], y->settings[i], 1, false});
        }
    }
    return out;
}

void note_wrong(const ReportFile& file, std::vector<std::string>& out) {
    for (const Series& series : file.series) {
        if (series.wrong != 0)
            out.push_back(fmt::format("{}: {} of {} repetitions in {}",
                                      series.label,
                                      series.wrong,
                                      series.repetitions,
                                      printable(file.name)));
    }
}

std::string line_of(const Difference& difference, const ReportFile& a, const ReportFile& b) {
    std::string line = fmt::format("{}{}: {} in {}, {} in {}",
                                   difference.whose,
                                   difference.setting->text,
                                   printable(difference.a),
                                   printable(a.name),
                                   printable(difference.b),
                                   printable(b.name));
    if (difference.points != 0)
        line += " (" + base::number_of(difference.points, "point") + ")";
    return line;
}

std::string list_text(std::string_view title, const std::vector<std::string>& list) {
    std::string out;
    for (const std::string& entry : list)
        out += fmt::format("{}: {}\n", title, entry);
    return out;
}
}  // namespace

bool Comparison::fair() const {
    return std::ranges::all_of(differences, &Difference::allowed);
}

// What was not compared is not known to be as demanded. Points that only b has are its own affair.
bool Comparison::meets(std::optional<Expect> expect) const {
    if (!expect)
        return true;
    const auto good = [&](const Compared& row) {
        return (row.verdict == Verdict::Equal && expect != Expect::Faster) ||
               (row.verdict == Verdict::Faster && expect != Expect::Equal);
    };
    return !rows.empty() && only_a.empty() && wrong.empty() && std::ranges::all_of(rows, good);
}

Comparison compare_reports(const ReportFile& a,
                           const ReportFile& b,
                           const std::vector<std::string>& allow) {
    Pairs matched;
    for (const Series& series : a.series)
        matched.only_a.push_back(&series);
    for (const Series& series : b.series)
        matched.only_b.push_back(&series);
    // Equal in everything first: a report may hold the same point with several settings on purpose.
    // What is left and has one counterpart is the same point under other settings.
    pair_up(matched, [](const Series& s) { return Key{s.identity, s.settings}; });
    pair_up(matched, [](const Series& s) { return Key{s.identity, {}}; });
    Comparison out;
    out.differences = differences_of(a, b, matched);
    for (Difference& difference : out.differences)
        difference.allowed = std::ranges::find(allow, difference.setting->allow) != allow.end();
    for (const auto& [of_a, of_b] : matched.pairs) {
        for (const Metric& metric : all_metrics()) {
            const auto& sample_a = of_a->samples.at(metric.name);
            const auto& sample_b = of_b->samples.at(metric.name);
            if (sample_a.empty() && sample_b.empty())
                continue;
            Compared& row =
                out.rows.emplace_back(Compared{.label = of_b->label,
                                               .point = of_b->point,
                                               .metric = &metric,
                                               .n_a = sample_a.size(),
                                               .n_b = sample_b.size(),
                                               .median_a = median(sample_a),
                                               .median_b = median(sample_b),
                                               .ratio = ratio_of_groups(sample_a, sample_b)});
            row.verdict = judge(row.ratio, metric.better);
        }
    }
    for (const Series* series : matched.only_a)
        out.only_a.push_back(series->label);
    for (const Series* series : matched.only_b)
        out.only_b.push_back(series->label);
    note_wrong(a, out.wrong);
    note_wrong(b, out.wrong);
    return out;
}

std::string refusal_text(const Comparison& comparison, const ReportFile& a, const ReportFile& b) {
    std::string out;
    for (const Difference& difference : comparison.differences) {
        if (!difference.allowed)
            out += fmt::format("rdma-perf: {}; --allow {} compares nevertheless\n",
                               line_of(difference, a, b),
                               difference.setting->allow);
    }
    return out;
}

std::string table_of(const Comparison& comparison, const ReportFile& a, const ReportFile& b) {
    std::string out = fmt::format("A {} of {}\nB {} of {}\n",
                                  printable(a.name),
                                  printable(a.started),
                                  printable(b.name),
                                  printable(b.started));
    for (const Difference& difference : comparison.differences)
        out += fmt::format("not equal, allowed: {}\n", line_of(difference, a, b));
    out +=
        "point                     metric                "
        "             A             B      B/A  95 % interval           n verdict\n";
    for (const Compared& row : comparison.rows) {
        const auto& interval = row.ratio.interval;
        out += fmt::format(
            "{:<26}{:<22}{:>14}{:>14}  {:>7}  {:<16}{:>4}/{:<4} {}\n",
            row.label,
            row.metric->name,
            row.n_a == 0 ? "-" : human_value(*row.metric, row.median_a),
            row.n_b == 0 ? "-" : human_value(*row.metric, row.median_b),
            row.ratio.ratio == 0 ? "-" : fmt::format("{:.3g}", row.ratio.ratio),
            interval ? fmt::format("{:.3g} to {:.3g}", interval->low, interval->high) : "-",
            row.n_a,
            row.n_b,
            name_of(row.verdict));
    }
    return out + list_text("only in A", comparison.only_a) +
           list_text("only in B", comparison.only_b) + list_text("wrong data", comparison.wrong);
}

Json json_of(const Comparison& comparison, const ReportFile& a, const ReportFile& b) {
    Json out = {{"a", {{"file", a.name}, {"started", a.started}}},
                {"b", {{"file", b.name}, {"started", b.started}}},
                {"allowed", Json::array()},
                {"rows", Json::array()},
                {"only_in_a", comparison.only_a},
                {"only_in_b", comparison.only_b},
                {"wrong_data", comparison.wrong}};
    for (const Difference& difference : comparison.differences)
        out["allowed"].push_back(
            {{"setting", fmt::format("{}{}", difference.whose, difference.setting->text)},
             {"a", difference.a},
             {"b", difference.b},
             {"points", difference.points}});
    for (const Compared& row : comparison.rows)
        out["rows"].push_back(
            {{"point", row.point},
             {"metric", row.metric->name},
             {"a", {{"median", row.n_a == 0 ? Json() : Json(row.median_a)}, {"n", row.n_a}}},
             {"b", {{"median", row.n_b == 0 ? Json() : Json(row.median_b)}, {"n", row.n_b}}},
             {"ratio", row.ratio.ratio == 0 ? Json() : Json(row.ratio.ratio)},
             {"ci95", to_json(row.ratio.interval)},
             {"verdict", name_of(row.verdict)}});
    return out;
}

}  // namespace perf
