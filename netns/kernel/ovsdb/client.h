// SPDX-License-Identifier: Apache-2.0
// A client of ovsdb-server (RFC 7047) over its Unix socket. Private to netns/kernel/.
//
// The connection is made when it is first needed, and kept. After an error it is closed, and the
// next begin() makes another. A broken or hostile peer costs at most a deadline: all waits end with
// it. A message is at most 4 MiB long, and all that is read for one call at most 16 MiB.
#pragma once

#include <cstdint>
#include <string>

#include "netns/base/clock.h"
#include "netns/base/unique_fd.h"
#include "netns/kernel/ovsdb/json_rpc.h"
#include "netns/kernel/ovsdb/results.h"

namespace netns::ovsdb {

class Client {
  public:
    explicit Client(std::string socket) : socket_(std::move(socket)) {}

    // Begins a call: everything until the next begin() has this deadline, and one limit of bytes.
    // Unavailable: there is no database at the socket.
    Result<> begin(base::Deadline deadline);

    // Sends a transaction and waits for its outcome. A transaction that the database refuses is no
    // error here. Internal: a malformed answer. Unavailable: the connection was closed. Timeout: no
    // answer by the deadline.
    Result<Outcome> transact(Json operations);

  private:
    static constexpr size_t kMaxBytes = size_t{16} << 20;

    Result<> connect();
    // Drops a kept connection that the server has closed, as a restarted one has.
    void drop_if_closed();
    void close();
    // Closes the connection if `done` is an error.
    template <class T>
    Result<T> checked(Result<T> done);

    Result<Outcome> exchange(Json operations);
    // Returns the result of a transaction; or, in its place, an error of the database.
    Result<Json> await_reply(int64_t id);
    // Handles a message that is no reply: answers an echo.
    Result<> attend(const Message& message);
    Result<Message> next_message();
    Result<> read_some();
    Result<> write(std::string_view bytes);
    // Waits until the socket is ready for these poll(2) events.
    Result<> wait_for(short events, const std::string& what);

    std::string socket_;
    base::UniqueFd fd_;
    Splitter splitter_;
    base::Deadline deadline_ = base::Deadline::in({});
    size_t bytes_left_ = 0;
    int64_t last_id_ = 0;
};

}  // namespace netns::ovsdb
