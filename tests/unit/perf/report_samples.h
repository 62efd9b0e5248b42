// SPDX-License-Identifier: Apache-2.0
// Reports as runs make them, without the run.
#pragma once

#include "perf/report/report.h"

namespace test {

inline const perf::Means kMeans = {.calls = "ibv_wr", .polling = "lazy", .domain = "parent"};

inline perf::PointResult bandwidth_result(uint32_t rep, uint64_t messages) {
    perf::PointResult result;
    result.point = {.verb = perf::Verb::Write,
                    .mode = perf::Mode::Bandwidth,
                    .size = 4096,
                    .depth = 128,
                    .batch = 16,
                    .slots = 128,
                    .time_ms = 1000,
                    .poll = {.mode = perf::PollMode::Yield}};
    result.rep = rep;
    result.mtu = 1024;
    result.means = result.server_means = kMeans;
    result.checked = {
        .messages = 256, .bytes = uint64_t{256} * 4096, .lost = 0, .wrong = std::nullopt};
    result.bandwidth = {
        .messages = messages, .elapsed_ns = 1'000'000'000, .warmup_messages = 10, .lost = 0};
    result.usage.client.counters = {{"hw_counters/sent_pkts", 1000},
                                    {"hw_counters/completer_retry_err", 1}};
    result.usage.client.cpu = result.usage.server.cpu = perf::CpuUse{};
    return result;
}

inline perf::PointResult latency_result(uint32_t rep, uint64_t p50_ns, uint64_t samples = 20'000) {
    perf::PointResult result;
    result.point = {.verb = perf::Verb::Send,
                    .mode = perf::Mode::Latency,
                    .size = 64,
                    .time_ms = 1000,
                    .poll = {.mode = perf::PollMode::Yield}};
    result.rep = rep;
    result.mtu = 1024;
    result.means = result.server_means = kMeans;
    result.latency = perf::LatencySummary{.samples = samples,
                                          .min_ns = p50_ns / 2,
                                          .mean_ns = static_cast<double>(p50_ns),
                                          .p50_ns = p50_ns,
                                          .p90_ns = p50_ns * 2,
                                          .p99_ns = p50_ns * 3,
                                          .p999_ns = p50_ns * 4,
                                          .p9999_ns = p50_ns * 5,
                                          .max_ns = p50_ns * 6};
    return result;
}

inline perf::PointResult wrong_result(uint32_t rep) {
    perf::PointResult result = bandwidth_result(rep, 0);
    result.bandwidth.reset();
    result.checked.wrong = {
        .side = "server",
        .message = 5,
        .guard = false,
        .mismatch = {.offset = 32, .expected = 1, .got = 2, .kind = "bit flip"}};
    return result;
}

// Two points, six repetitions; `factor` scales bandwidth and latency.
inline perf::Report sample_report(double factor = 1) {
    perf::Report report;
    report.plan = {.verbs = {perf::Verb::Write, perf::Verb::Send},
                   .modes = {perf::Mode::Bandwidth, perf::Mode::Latency},
                   .sizes = {64, 4096},
                   .time_ms = 1000,
                   .seed = 7,
                   .reps = 6};
    perf::Pairing& pair = report.pairs.front();
    report.client =
        pair.server = {.version = "0.1", .host = "h", .kernel = "6.1.0", .capabilities = {}};
    pair.client_device = pair.server_device = perf::DeviceInfo{.device = "rxe0",
                                                               .netdev = "eth0",
                                                               .gid = {},
                                                               .active_mtu = 1024,
                                                               .link_bps = 100'000'000'000};
    for (uint32_t rep = 1; rep <= 6; ++rep) {
        const double scatter = factor * (1 + 0.001 * rep);
        report.results.push_back(bandwidth_result(rep, static_cast<uint64_t>(100'000 * scatter)));
        report.results.push_back(latency_result(rep, static_cast<uint64_t>(20'000 * scatter)));
    }
    return report;
}

// As --json writes it.
inline base::Json document_of(const perf::Report& report,
                              const base::Result<>& done = base::Result<>()) {
    perf::Stop stop;
    const perf::Surroundings around{perf::system_verbs(), stop, stdout, stderr};
    base::Json out =
        perf::Document{
            .kind = "run", .json = {}, .around = around, .started = "2026-01-02T03:04:05Z"}
            .head();
    out.update(perf::to_json(report));
    out["errors"] = perf::errors_json(done);
    return out;
}

}  // namespace test
