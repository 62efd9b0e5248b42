// SPDX-License-Identifier: Apache-2.0
// JSON-RPC 1.0 as OVSDB speaks it (RFC 7047, section 4): one object after the other on a stream,
// with only white space between them. Pure: no socket. Private to netns/kernel/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "netns/base/json.h"
#include "netns/names.h"

namespace netns::ovsdb {

using base::Json;

// Finds where a message ends, wherever reads cut the stream. A found message has balanced brackets;
// read_message() checks that it is JSON.
class Splitter {
  public:
    static constexpr size_t kMaxMessage = size_t{4} << 20;
    static constexpr size_t kMaxDepth = 64;  // the limit of base::parse_json()

    void append(std::string_view bytes);

    // Returns the next whole message; nothing until it is complete. Internal: the stream has
    // something that is no object, too long or too deep; the rest of it is then useless.
    Result<std::optional<std::string>> next();

  private:
    // Takes one byte; returns whether it is a string's, or its closing quote.
    bool in_string(char byte);
    // Takes another byte; returns whether the message ends with it.
    Result<bool> step(char byte);

    std::string buffer_;
    size_t begin_ = 0;  // of the message
    size_t at_ = 0;     // position that was looked at
    size_t depth_ = 0;
    bool in_string_ = false;
    bool escaped_ = false;
};

enum class Kind {
    Reply,    // body: the result
    Failure,  // body: the error, a string or an object; instead of a result
    Echo,     // a request for its own parameters; body: these
    Other,    // a request or notification that is not used here
};

struct Message {
    Kind kind = Kind::Other;
    Json id;
    Json body;
};

// Internal: the text is no JSON, or no message.
Result<Message> read_message(std::string_view text);

std::string encode_request(std::string_view method, Json params, int64_t id);
std::string encode_echo(const Message& echo);

}  // namespace netns::ovsdb
