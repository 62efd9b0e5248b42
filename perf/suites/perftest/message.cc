// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/perftest/message.h"

#include <fmt/format.h>

#include "perf/suites/perftest/output.h"

namespace perf::perftest {

using base::Code;
using base::Json;
using base::make_error;
using base::required;
using base::Result;

namespace {
constexpr size_t kTextLimit = 255;

Result<Settings> parse_settings(const Json& json) {
    Settings settings;
    settings.mtu = TRY(required<uint32_t>(json, "mtu_bytes"));
    settings.depth = TRY(required<uint32_t>(json, "depth"));
    settings.batch = TRY(required<uint32_t>(json, "batch"));
    settings.inline_bytes = TRY(required<uint32_t>(json, "inline_bytes"));
    settings.reads = TRY(required<uint32_t>(json, "reads"));
    settings.immediate = TRY(required<bool>(json, "immediate"));
    return settings;
}
}  // namespace

Json to_json(const Version& version) {
    return {{"version", version.version}, {"immediate", version.immediate}};
}

Result<Version> parse_probed(const Json& frame) {
    Version version;
    version.version = base::printable(TRY(required<std::string>(frame, "version")), kTextLimit);
    version.immediate = TRY(required<bool>(frame, "immediate"));
    return version;
}

Json to_json(const Settings& settings) {
    return {{"mtu_bytes", settings.mtu},
            {"depth", settings.depth},
            {"batch", settings.batch},
            {"inline_bytes", settings.inline_bytes},
            {"reads", settings.reads},
            {"immediate", settings.immediate}};
}

Json to_json(const Trial& trial) {
    return {{"verb", name_of(trial.verb)},
            {"mode", name_of(trial.mode)},
            {"size_bytes", trial.size},
            {"seconds", trial.seconds},
            {"iterations", trial.iterations},
            {"settings", trial.settings ? to_json(*trial.settings) : Json()}};
}

Result<Trial> parse_trial(const Json& frame) {
    Trial trial;
    trial.verb = TRY(parse_verb(TRY(required<std::string>(frame, "verb"))));
    trial.mode = TRY(parse_mode(TRY(required<std::string>(frame, "mode"))));
    trial.size = TRY(required<uint32_t>(frame, "size_bytes"));
    trial.seconds = TRY(required<uint32_t>(frame, "seconds"));
    trial.iterations = TRY(required<uint32_t>(frame, "iterations"));
    if (const auto settings = frame.find("settings");
        settings != frame.end() && !settings->is_null())
        trial.settings = TRY(parse_settings(*settings));
    TRY(check_limits(trial));
    return trial;
}

Result<uint16_t> parse_started(const Json& frame) {
    const auto port = TRY(required<uint16_t>(frame, "port"));
    if (port < kFirstPort || port > kLastPort)
        return make_error(
            Code::BadInput,
            fmt::format("'port' is {}, not from {} to {}", port, kFirstPort, kLastPort));
    return port;
}

Json to_json(const Ended& ended) {
    return {{"status", ended.status}, {"last_line", ended.last_line}};
}

Result<Ended> parse_ended(const Json& frame) {
    Ended ended;
    ended.status = TRY(required<uint8_t>(frame, "status"));
    ended.last_line = base::printable(TRY(required<std::string>(frame, "last_line")), kTextLimit);
    return ended;
}

}  // namespace perf::perftest
