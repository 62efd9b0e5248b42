// SPDX-License-Identifier: Apache-2.0
// Netlink messages (RFC 3549, netlink(7)). Requests are built with libnl. Replies are read by one
// parser, which checks every length before use. Private to netns/kernel/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <netlink/attr.h>
#include <netlink/msg.h>

namespace netns::netlink {

using Bytes = std::span<const uint8_t>;

// A request under construction. If an attribute does not fit, the request is refused when it is
// sent.
class Request {
  public:
    Request(int type, int flags);

    // The protocol's own header (ifinfomsg, ...), before any attribute.
    template <class Header>
    Request& header(const Header& value) {
        note(
            nlmsg_append(message_.get(), const_cast<Header*>(&value), sizeof value, NLMSG_ALIGNTO));
        return *this;
    }

    Request& put(int attribute, uint32_t value);
    Request& put16(int attribute, uint16_t value);
    Request& put8(int attribute, uint8_t value);
    Request& put(int attribute, const std::string& text);  // NUL terminated
    Request& put(int attribute, Bytes bytes);
    Request& begin(int attribute);  // attributes until end() are nested in this one
    Request& end();

    [[nodiscard]] bool complete() const { return complete_ && open_.empty(); }

    [[nodiscard]] nlmsghdr* raw() { return nlmsg_hdr(message_.get()); }

  private:
    void note(int status) { complete_ = complete_ && status >= 0; }

    struct Free {
        void operator()(nl_msg* message) const { nlmsg_free(message); }
    };

    std::unique_ptr<nl_msg, Free> message_;
    std::vector<nlattr*> open_;
    bool complete_ = true;
};

// One message of a datagram, a view of its bytes.
struct MessageView {
    uint16_t type = 0;
    uint16_t flags = 0;
    uint32_t sequence = 0;
    Bytes payload;
};

// Returns the messages of a datagram; nothing if a length is wrong.
std::optional<std::vector<MessageView>> split_datagram(Bytes datagram);

// The attributes of a message or of a nested attribute, views of its bytes.
class Attributes {
  public:
    // Returns nothing if a length is wrong.
    static std::optional<Attributes> parse(Bytes bytes);

    [[nodiscard]] std::optional<Bytes> find(int attribute) const;
    // Each returns a number of exactly the width that the kernel sends; nothing for a wider or
    // narrower attribute.
    [[nodiscard]] std::optional<uint8_t> u8(int attribute) const;
    [[nodiscard]] std::optional<uint16_t> u16(int attribute) const;
    [[nodiscard]] std::optional<uint32_t> u32(int attribute) const;
    [[nodiscard]] std::optional<uint64_t> u64(int attribute) const;
    // Returns the text up to its NUL.
    [[nodiscard]] std::optional<std::string> text(int attribute) const;
    // Returns the attributes within an attribute; none if it is missing or malformed.
    [[nodiscard]] Attributes nested(int attribute) const;

    // Returns all attributes in order: lists repeat one type.
    [[nodiscard]] const std::vector<std::pair<int, Bytes>>& all() const { return all_; }

  private:
    std::vector<std::pair<int, Bytes>> all_;
};

// The outcome of a request: the payload of NLMSG_ERROR (or of NLMSG_DONE, which is shorter), with
// the sentence of the extended acknowledgement.
struct Outcome {
    int error = 0;  // an errno, 0: done
    std::string extack;
};

std::optional<Outcome> parse_ack(const MessageView& message);
std::optional<Outcome> parse_done(const MessageView& message);

// Returns the protocol header at the start of a payload; nothing if the payload is too short.
template <class Header>
std::optional<Header> read_header(Bytes payload) {
    if (payload.size() < sizeof(Header))
        return std::nullopt;
    Header header{};
    __builtin_memcpy(&header, payload.data(), sizeof header);
    return header;
}

// Returns the payload behind a header of `size` bytes.
inline Bytes after_header(Bytes payload, size_t size) {
    return payload.subspan(std::min(static_cast<size_t>(NLMSG_ALIGN(size)), payload.size()));
}

}  // namespace netns::netlink
