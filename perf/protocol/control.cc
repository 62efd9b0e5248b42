// SPDX-License-Identifier: Apache-2.0
#include "perf/protocol/control.h"

#include <cerrno>

#include <poll.h>
#include <sys/socket.h>

#include "perf/protocol/message.h"
#include "perf/system/tcp.h"

namespace perf {

Result<std::string> encode_frame(const Json& body) {
    const std::string text = base::dump_json(body);
    if (text.size() > kFrameLimit)
        return make_error(Code::Internal, "control message too large");
    std::string frame(kFrameMagic);
    for (int shift = 24; shift >= 0; shift -= 8)
        frame += static_cast<char>((text.size() >> static_cast<unsigned>(shift)) & 0xffU);
    return frame + text;
}

Result<size_t> decode_header(std::string_view header) {
    if (header.size() != kFrameHeader || !header.starts_with(kFrameMagic))
        return make_error(Code::BadInput,
                          "the peer does not speak the control protocol of rdma-perf: got '" +
                              printable(header, kFrameHeader) + "'");
    size_t length = 0;
    for (const char c : header.substr(kFrameMagic.size()))
        length = (length << 8U) | static_cast<unsigned char>(c);
    if (length == 0 || length > kFrameLimit)
        return make_error(Code::BadInput,
                          "control message of " + std::to_string(length) +
                              " bytes: allowed are 1 to " + std::to_string(kFrameLimit));
    return length;
}

Result<> Control::send(const Json& body, const Deadline& deadline) {
    const std::string frame = TRY(encode_frame(body));
    size_t done = 0;
    while (done < frame.size()) {
        const ssize_t n = ::send(
            fd_.get(), frame.data() + done, frame.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0)
            done += static_cast<size_t>(n);
        else if (errno == EAGAIN)
            TRY(wait_ready(fd_.get(), POLLOUT, deadline, *stop_));
        else if (errno != EINTR)
            return socket_error(errno, "send on the control connection");
    }
    return {};
}

Result<std::string> Control::read_exactly(size_t bytes, const Deadline& deadline) {
    std::string out(bytes, '\0');
    size_t done = 0;
    while (done < bytes) {
        const ssize_t n = ::recv(fd_.get(), out.data() + done, bytes - done, MSG_DONTWAIT);
        if (n > 0)
            done += static_cast<size_t>(n);
        else if (n == 0)
            return closed_error();
        else if (errno == EAGAIN)
            TRY(wait_ready(fd_.get(), POLLIN | POLLRDHUP, deadline, *stop_));
        else if (errno != EINTR)
            return socket_error(errno, "receive on the control connection");
    }
    return out;
}

Result<Json> Control::receive(const Deadline& deadline) {
    const std::string header = TRY(read_exactly(kFrameHeader, deadline));
    const size_t length = TRY(decode_header(header));
    const std::string text = TRY(read_exactly(length, deadline));
    Json body = TRY(base::parse_json(text, "control message"));
    if (!body.is_object())
        return make_error(Code::BadInput, "control message is not an object");
    return body;
}

Result<Json> Control::expect(std::string_view type, const Deadline& deadline) {
    Json body = TRY(receive(deadline).context("waiting for '" + std::string(type) + "'"));
    const auto got = TRY(required<std::string>(body, "type"));
    if (got == "error")
        return parse_error_message(body);
    if (got != type)
        return make_error(Code::BadInput,
                          "control message '" + printable(got, 40) + "' where '" +
                              std::string(type) + "' is due");
    return body;
}

Result<Json> Control::ask(const Json& body, std::string_view reply, const Deadline& deadline) {
    // A peer that refuses and closes may make the send fail: its reason is still to be read.
    auto sent = send(body, deadline);
    if (sent)
        return expect(reply, deadline);
    if (sent.error().code != Code::Unavailable)
        return std::move(sent).error();
    auto reason = expect(reply, deadline);
    return reason ? std::move(sent).error() : std::move(reason).error();
}

}  // namespace perf
