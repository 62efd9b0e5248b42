// SPDX-License-Identifier: Apache-2.0
// What a peer of rdma-perf sends: frames from a socket, and every parser over each message,
// whatever its type says. What was accepted must be accepted again when it is sent on, and numbers
// stay.
#include <string_view>

#include <sys/socket.h>
#include <unistd.h>

#include "perf/measure/result.h"
#include "perf/protocol/control.h"
#include "perf/protocol/message.h"
#include "tests/fuzz/expect.h"

namespace {
using base::Json;

enum class Texts { None, Escaped };  // foreign text is escaped and cut, each time it is read

template <class T>
void round_trip(base::Result<T> (*parse)(const Json&), const Json& body, Texts texts) {
    const auto value = parse(body);
    if (!value)
        return;
    const Json sent = perf::to_json(*value);
    const auto again = parse(sent);
    fuzz::expect(again.has_value(), "what was accepted is accepted again");
    fuzz::expect(texts == Texts::Escaped || perf::to_json(*again) == sent, "numbers stay");
}

void parse_object(const Json& object) {
    round_trip(perf::parse<perf::Hello>, object, Texts::Escaped);
    round_trip(perf::parse<perf::DeviceInfo>, object, Texts::Escaped);
    round_trip(perf::parse<perf::Point>, object, Texts::None);
    round_trip(perf::parse<perf::Endpoint>, object, Texts::None);
    (void)perf::parse_endpoints(object);
    (void)perf::parse_counts(object, "messages", 2);
    (void)perf::parse_posted(object, 2);
    (void)perf::parse_round(object, perf::Point{.qps = 2});
    round_trip(perf::parse<perf::Opened>, object, Texts::None);
    round_trip(perf::parse<perf::Checked>, object, Texts::Escaped);
    round_trip(perf::parse_usage, object, Texts::Escaped);
    (void)perf::parse_error_message(object).message();
}

// Some messages carry others: "open" has a point and an endpoint.
void parse_all(const Json& body) {
    parse_object(body);
    for (const Json& member : body) {
        if (member.is_object())
            parse_object(member);
    }
}

// At most what a socket takes at once; then the peer is gone, so that nothing waits.
void receive_all(std::string_view bytes) {
    int pair[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return;
    (void)::send(pair[0], bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)::close(pair[0]);
    const perf::Stop stop;
    perf::Control control(base::UniqueFd(pair[1]), stop);
    for (;;) {
        const auto body = control.receive(base::Deadline::in(std::chrono::seconds(1)));
        if (!body)
            return;
        parse_all(*body);
    }
}
}  // namespace

FUZZ_TARGET(control_frame) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    receive_all(bytes);
    // The same bytes as a body, so that the fuzzer need not get the length right.
    if (const auto body = base::parse_json(bytes, "body"); body && body->is_object())
        parse_all(*body);
}
