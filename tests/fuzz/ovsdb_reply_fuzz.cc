// SPDX-License-Identifier: Apache-2.0
// What the server of Open vSwitch's database sends: messages in a stream, and everything that is
// read out of them.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "netns/kernel/ovsdb/json_rpc.h"
#include "netns/kernel/ovsdb/results.h"
#include "netns/kernel/ovsdb/transaction.h"
#include "tests/fuzz/expect.h"

namespace {
namespace ovsdb = netns::ovsdb;
using base::Json;

struct Stream {
    std::vector<std::string> messages;
    bool lost = false;  // the rest is worth nothing
    bool operator==(const Stream&) const = default;
};

Stream split(std::string_view bytes, size_t step) {
    ovsdb::Splitter splitter;
    Stream stream;
    for (size_t at = 0; at < bytes.size() && !stream.lost; at += step) {
        splitter.append(bytes.substr(at, step));
        for (;;) {
            const auto next = splitter.next();
            stream.lost = !next;
            if (!next || !*next)
                break;
            stream.messages.push_back(**next);
        }
    }
    return stream;
}

template <class T>
void expect_answer(const base::Result<T>& read) {
    fuzz::expect(read || read.error().code == base::Code::Internal ||
                     read.error().code == base::Code::Unavailable,
                 "what cannot be read is the database's fault");
    fuzz::expect(read || !read.error().message().empty(), "a refusal says why");
}

void read_rows(const Json& result) {
    const auto ports = ovsdb::read_ports(result);
    expect_answer(ports);
    for (const auto& row : ports ? *ports : std::vector<ovsdb::PortRow>()) {
        fuzz::expect(std::ranges::is_sorted(row.port.trunks), "VLANs are sorted");
        // What was read can be asked for, and written.
        (void)base::dump_json(ovsdb::select_port(row.port.name));
        const auto removal = ovsdb::to_remove_ports({row.uuid}, row.port.marks);
        fuzz::expect(removal.guards.size() == 1, "what is removed is guarded");
        (void)base::dump_json(removal.operations);
    }
    expect_answer(ovsdb::read_bridges(result));
    expect_answer(ovsdb::read_interfaces(result));
    expect_answer(ovsdb::read_names(result));
    expect_answer(ovsdb::read_uuids(result));
    expect_answer(ovsdb::read_settings(result));
    expect_answer(ovsdb::read_progress(result));
}

void read_results(const Json& body) {
    const size_t count = body.is_array() ? body.size() : 1;
    for (const size_t operations : {count, count - 1}) {
        const auto outcome = ovsdb::read_outcome(body, operations);
        expect_answer(outcome);
        if (outcome && outcome->refusal)
            fuzz::expect(!ovsdb::explain(*outcome->refusal, "it").text.empty(), "it has words");
        else if (outcome)
            fuzz::expect(outcome->results.size() == operations, "each operation has a result");
    }
}
}  // namespace

FUZZ_TARGET(ovsdb_reply) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const Stream stream = split(bytes, size == 0 ? 1 : size);
    fuzz::expect(split(bytes, 1) == stream, "messages end wherever the reads do");
    for (const std::string& text : stream.messages) {
        const auto message = ovsdb::read_message(text);
        expect_answer(message);
        if (!message)
            continue;
        if (message->kind == ovsdb::Kind::Echo)
            fuzz::expect(ovsdb::read_message(ovsdb::encode_echo(*message)).has_value(),
                         "an answer is a message");
        if (message->kind == ovsdb::Kind::Failure)
            (void)ovsdb::explain(ovsdb::read_refusal(message->body, 0), "it").message();
        if (message->kind != ovsdb::Kind::Reply)
            continue;
        read_results(message->body);
        for (const Json& result : message->body)
            read_rows(result);
    }
}
