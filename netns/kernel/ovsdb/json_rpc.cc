// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/ovsdb/json_rpc.h"

#include <utility>

namespace netns::ovsdb {

namespace {
base::Error no_message(const std::string& why) {
    return make_error(Code::Internal, "the database of Open vSwitch sent " + why);
}

Json member(Json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() ? Json() : std::move(*found);
}

Message read_call(const std::string& method, Json id, Json params) {
    if (id.is_null() || method != "echo")
        return Message{};
    return Message{Kind::Echo, std::move(id), std::move(params)};
}
}  // namespace

void Splitter::append(std::string_view bytes) {
    buffer_.erase(0, begin_);
    at_ -= begin_;
    begin_ = 0;
    buffer_.append(bytes);
}

Result<std::optional<std::string>> Splitter::next() {
    while (at_ < buffer_.size()) {
        const char byte = buffer_[at_++];
        const bool ends = !in_string(byte) && TRY(step(byte));
        if (depth_ == 0 && !ends) {
            begin_ = at_;  // white space between messages
            continue;
        }
        if (at_ - begin_ > kMaxMessage)
            return no_message("a message of more than " + std::to_string(kMaxMessage) + " bytes");
        if (ends) {
            const size_t begin = std::exchange(begin_, at_);
            return std::optional{buffer_.substr(begin, at_ - begin)};
        }
    }
    return std::optional<std::string>{};
}

bool Splitter::in_string(char byte) {
    if (!in_string_)
        return false;
    if (escaped_)
        escaped_ = false;
    else if (byte == '\\')
        escaped_ = true;
    else if (byte == '"')
        in_string_ = false;
    return true;
}

Result<bool> Splitter::step(char byte) {
    if (depth_ == 0 && byte != '{') {
        if (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t')
            return false;
        return no_message("bytes that are no JSON-RPC");
    }
    if (byte == '"') {
        in_string_ = true;
    } else if (byte == '{' || byte == '[') {
        if (++depth_ > kMaxDepth)
            return no_message("a message nested deeper than " + std::to_string(kMaxDepth));
    } else if (byte == '}' || byte == ']') {
        return --depth_ == 0;
    }
    return false;
}

Result<Message> read_message(std::string_view text) {
    auto parsed = base::parse_json(text, "the message");
    if (!parsed)
        return no_message("a message that is no JSON: " + parsed.error().text);
    Json object = std::move(parsed).value();
    if (!object.is_object())
        return no_message("a message that is no object");
    Json id = member(object, "id");
    if (const auto method = object.find("method"); method != object.end()) {
        if (!method->is_string())
            return no_message("a method without a name");
        return read_call(
            method->get_ref<const std::string&>(), std::move(id), member(object, "params"));
    }
    if (Json error = member(object, "error"); !error.is_null())
        return Message{Kind::Failure, std::move(id), std::move(error)};
    if (!object.contains("result"))
        return no_message("a message without method and result");
    return Message{Kind::Reply, std::move(id), member(object, "result")};
}

std::string encode_request(std::string_view method, Json params, int64_t id) {
    Json request = base::object_for(3);
    request["method"] = method;
    request["params"] = std::move(params);
    request["id"] = id;
    return base::dump_json(request);
}

std::string encode_echo(const Message& echo) {
    Json reply = Json::object();
    reply["result"] = echo.body;
    reply["error"] = nullptr;
    reply["id"] = echo.id;
    return base::dump_json(reply);
}

}  // namespace netns::ovsdb
