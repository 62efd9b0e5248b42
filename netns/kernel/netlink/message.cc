// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/netlink/message.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <linux/netlink.h>

namespace netns::netlink {

namespace {
template <class Number>
std::optional<Number> number(std::optional<Bytes> bytes) {
    if (!bytes || bytes->size() != sizeof(Number))
        return std::nullopt;
    Number value = 0;
    std::memcpy(&value, bytes->data(), sizeof value);
    return value;
}

std::string extack_of(Bytes bytes) {
    const auto attributes = Attributes::parse(bytes);
    return attributes ? attributes->text(NLMSGERR_ATTR_MSG).value_or("") : "";
}

// 0, or a negative errno; MAX_ERRNO is the largest.
bool is_outcome(int32_t error) {
    return error <= 0 && error >= -4095;
}

// Requests here have few attributes. The library's default is a page, cleared each time.
constexpr size_t kMaxRequest = 1024;
}  // namespace

Request::Request(int type, int flags) : message_(nlmsg_alloc_size(kMaxRequest)) {
    if (!message_)
        throw std::bad_alloc();
    raw()->nlmsg_type = static_cast<uint16_t>(type);
    raw()->nlmsg_flags = static_cast<uint16_t>(flags | NLM_F_REQUEST);
}

Request& Request::put(int attribute, uint32_t value) {
    note(nla_put_u32(message_.get(), attribute, value));
    return *this;
}

Request& Request::put16(int attribute, uint16_t value) {
    note(nla_put_u16(message_.get(), attribute, value));
    return *this;
}

Request& Request::put8(int attribute, uint8_t value) {
    note(nla_put_u8(message_.get(), attribute, value));
    return *this;
}

Request& Request::put(int attribute, const std::string& text) {
    note(nla_put_string(message_.get(), attribute, text.c_str()));
    return *this;
}

Request& Request::put(int attribute, Bytes bytes) {
    note(nla_put(message_.get(), attribute, static_cast<int>(bytes.size()), bytes.data()));
    return *this;
}

Request& Request::begin(int attribute) {
    nlattr* nest = nla_nest_start(message_.get(), attribute);
    note(nest == nullptr ? -1 : 0);
    open_.push_back(nest);
    return *this;
}

Request& Request::end() {
    nlattr* nest = open_.back();
    open_.pop_back();
    if (nest != nullptr)
        note(nla_nest_end(message_.get(), nest));
    return *this;
}

std::optional<std::vector<MessageView>> split_datagram(Bytes datagram) {
    std::vector<MessageView> messages;
    while (!datagram.empty()) {
        const auto header = read_header<nlmsghdr>(datagram);
        if (!header || header->nlmsg_len < sizeof *header || header->nlmsg_len > datagram.size())
            return std::nullopt;
        messages.push_back({header->nlmsg_type,
                            header->nlmsg_flags,
                            header->nlmsg_seq,
                            datagram.subspan(NLMSG_HDRLEN, header->nlmsg_len - NLMSG_HDRLEN)});
        const size_t aligned = NLMSG_ALIGN(static_cast<size_t>(header->nlmsg_len));
        datagram = datagram.subspan(std::min(aligned, datagram.size()));
    }
    return messages;
}

std::optional<Attributes> Attributes::parse(Bytes bytes) {
    // Reserves for as many attributes as fit, up to what a link has: growing costs more than the
    // rest of this function.
    constexpr size_t kMany = 64;
    constexpr size_t kUsualSize = NLA_HDRLEN + sizeof(uint32_t);
    Attributes parsed;
    parsed.all_.reserve(std::min(bytes.size() / kUsualSize, kMany));
    while (!bytes.empty()) {
        const auto header = read_header<nlattr>(bytes);
        if (!header || header->nla_len < sizeof *header || header->nla_len > bytes.size())
            return std::nullopt;
        parsed.all_.emplace_back(header->nla_type & NLA_TYPE_MASK,
                                 bytes.subspan(NLA_HDRLEN, header->nla_len - NLA_HDRLEN));
        const size_t aligned = NLA_ALIGN(static_cast<size_t>(header->nla_len));
        bytes = bytes.subspan(std::min(aligned, bytes.size()));
    }
    return parsed;
}

std::optional<Bytes> Attributes::find(int attribute) const {
    for (const auto& [type, bytes] : all_) {
        if (type == attribute)
            return bytes;
    }
    return std::nullopt;
}

std::optional<uint8_t> Attributes::u8(int attribute) const {
    return number<uint8_t>(find(attribute));
}

std::optional<uint16_t> Attributes::u16(int attribute) const {
    return number<uint16_t>(find(attribute));
}

std::optional<uint32_t> Attributes::u32(int attribute) const {
    return number<uint32_t>(find(attribute));
}

std::optional<uint64_t> Attributes::u64(int attribute) const {
    return number<uint64_t>(find(attribute));
}

std::optional<std::string> Attributes::text(int attribute) const {
    const auto bytes = find(attribute);
    if (!bytes)
        return std::nullopt;
    const auto end = std::find(bytes->begin(), bytes->end(), uint8_t{0});
    return std::string(bytes->begin(), end);
}

Attributes Attributes::nested(int attribute) const {
    const auto bytes = find(attribute);
    if (!bytes)
        return {};
    return parse(*bytes).value_or(Attributes{});
}

std::optional<Outcome> parse_ack(const MessageView& message) {
    const auto header = read_header<nlmsgerr>(message.payload);
    if (!header || !is_outcome(header->error))
        return std::nullopt;
    Outcome outcome{.error = -header->error, .extack = {}};
    if ((message.flags & NLM_F_ACK_TLVS) == 0)
        return outcome;
    // The request's payload precedes the attributes, unless the kernel was asked to cap it.
    size_t skip = sizeof *header;
    if ((message.flags & NLM_F_CAPPED) == 0)
        skip += std::max<size_t>(header->msg.nlmsg_len, NLMSG_HDRLEN) - NLMSG_HDRLEN;
    outcome.extack = extack_of(after_header(message.payload, skip));
    return outcome;
}

std::optional<Outcome> parse_done(const MessageView& message) {
    // Some protocols end a dump without a number, which means success.
    const auto error = read_header<int32_t>(message.payload);
    if (!error)
        return Outcome{};
    if (!is_outcome(*error))
        return std::nullopt;
    Outcome outcome{.error = -*error, .extack = {}};
    if ((message.flags & NLM_F_ACK_TLVS) != 0)
        outcome.extack = extack_of(after_header(message.payload, sizeof *error));
    return outcome;
}

}  // namespace netns::netlink
