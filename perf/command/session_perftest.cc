// SPDX-License-Identifier: Apache-2.0
// The server's half of `compare perftest`: at most one program of perftest runs for a client, and
// it ends with the session.
#include "perf/command/session.h"

namespace perf {

using base::Code;
using base::Json;
using base::make_error;
using base::Result;

Result<> Session::on_perftest_probe(const Json&) {
    if (!options_.allow_perftest)
        return make_error(Code::Refused, "this server does not start perftest for clients")
            .advise("start it with: rdma-perf serve --allow-perftest");
    perftest_.emplace(options_.perftest_folders, device_->info, control_, options_.timeout);
    return reply("perftest_probed", to_json(TRY(perftest_->probe())));
}

Result<> Session::on_perftest_start(const Json& frame) {
    if (!perftest_)
        return protocol_error(
            "control message 'perftest_start' is not due before 'perftest_probe'");
    const perftest::Trial trial = TRY(perftest::parse_trial(frame));
    const uint16_t port = TRY(perftest_->start(trial));
    state_ = State::Beside;
    return reply("perftest_started", {{"port", port}});
}

Result<> Session::on_perftest_end(const Json&) {
    const perftest::Ended ended = TRY(perftest_->end());
    state_ = State::Ready;
    return reply("perftest_ended", to_json(ended));
}

}  // namespace perf
