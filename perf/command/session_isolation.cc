// SPDX-License-Identifier: Apache-2.0
// The server's half of `isolate`: its one page is exposed until the client releases it.
#include "perf/command/session.h"

namespace perf {

using base::Code;
using base::Json;
using base::make_error;
using base::Result;

Result<> Session::on_isolate(const Json& frame) {
    if (!options_.allow_isolation_tests)
        return make_error(Code::Refused, "this server does not take part in isolation tests")
            .advise("start it with: rdma-perf serve --allow-isolation-tests");
    target_ = TRY(Target::expose(*device_, TRY(base::required<uint64_t>(frame, "seed"))));
    state_ = State::Exposed;
    return reply("isolated", to_json(target_->exposure()));
}

Result<> Session::on_probe(const Json& frame) {
    const Endpoint own = TRY(target_->accept(peer_, TRY(parse_endpoint_of(frame))));
    return reply("probed", {{"endpoint", to_json(own)}});
}

Result<> Session::on_inspect(const Json& frame) {
    const auto round = TRY(base::required<uint32_t>(frame, "round"));
    return reply("inspected", to_json(target_->inspect(round)));
}

Result<> Session::on_listen(const Json&) {
    return reply("listening", to_json(TRY(target_->listen(peer_))));
}

Result<> Session::on_hear(const Json& frame) {
    const auto until = TRY(base::required<uint32_t>(frame, "until"));
    const Waiting waiting{
        .control = &control_, .device = &*device_, .patience = options_.timeout, .poll = {}};
    return reply("heard", {{"immediates", TRY(target_->hear(until, waiting))}});
}

Result<> Session::on_release(const Json&) {
    target_.reset();
    state_ = State::Ready;
    return reply("released");
}

}  // namespace perf
