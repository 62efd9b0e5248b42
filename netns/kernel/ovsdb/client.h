// SPDX-License-Identifier: Apache-2.0
// A client of ovsdb-server (RFC 7047) over its Unix socket. Private to netns/.
//
// The connection is made when it is first needed, and kept; after an error it is closed, and the
// next begin() makes another. A peer that is broken or hostile costs a deadline at most: all waits
// end with it, a message is at most 4 MiB long, and all that is read for one call 16 MiB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "netns/base/clock.h"
#include "netns/base/unique_fd.h"
#include "netns/kernel/ovsdb/json_rpc.h"
#include "netns/kernel/ovsdb/results.h"

namespace netns::ovsdb {

class Client {
  public:
    explicit Client(std::string socket) : socket_(std::move(socket)) {}

    // A call begins: everything until the next begin() has this deadline, and one bound of bytes.
    // Unavailable: there is no database at the socket.
    Result<> begin(base::Deadline deadline);

    // Internal: an answer that is none; Unavailable: the connection was closed; Timeout. That the
    // database refuses the transaction is no error here.
    Result<Outcome> transact(Json operations);

  private:
    static constexpr size_t kMaxBytes = size_t{16} << 20;

    Result<> connect();
    // A server that was started anew has closed what we kept.
    void drop_if_closed();
    void close();
    // Closes the connection if it is an error.
    template <class T>
    Result<T> checked(Result<T> done);

    Result<Outcome> exchange(Json operations);
    // The result of a transaction; an error of the database's instead of it.
    Result<Json> await_reply(int64_t id);
    // Sees to what is no reply: answers an echo.
    Result<> attend(const Message& message);
    Result<Message> next_message();
    Result<> read_some();
    Result<> write(std::string_view bytes);
    // Waits until the socket is ready for it.
    Result<> wait_for(short events, const std::string& what);

    std::string socket_;
    base::UniqueFd fd_;
    Splitter splitter_;
    base::Deadline deadline_ = base::Deadline::in({});
    size_t bytes_left_ = 0;
    int64_t last_id_ = 0;
};

}  // namespace netns::ovsdb
