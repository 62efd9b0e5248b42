// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/netlink/genl.h"

#include <cerrno>

#include <linux/genetlink.h>

namespace netns::netlink {

namespace {
constexpr uint8_t kControlVersion = 2;
}  // namespace

Request genl_request(const GenlFamily& family, uint8_t command) {
    Request request{family.id, 0};
    genlmsghdr header{};
    header.cmd = command;
    header.version = family.version;
    request.header(header);
    return request;
}

std::optional<Attributes> parse_genl(const Reply& reply) {
    const auto header = read_header<genlmsghdr>(reply.payload);
    if (!header)
        return std::nullopt;
    return Attributes::parse(after_header(reply.payload, sizeof *header));
}

Request family_request(const std::string& name) {
    Request request =
        genl_request({.id = GENL_ID_CTRL, .version = kControlVersion}, CTRL_CMD_GETFAMILY);
    request.put(CTRL_ATTR_FAMILY_NAME, name);
    return request;
}

std::optional<uint16_t> parse_family(const Reply& reply) {
    const auto attributes = parse_genl(reply);
    return attributes ? attributes->u16(CTRL_ATTR_FAMILY_ID) : std::nullopt;
}

Result<GenlFamily> GenlSockets::family(const Netns& ns) {
    if (!id_) {
        const std::string what = "look up the netlink family " + name_;
        Request request = family_request(name_);
        auto reply = TRY(sockets_.get(ns))->get(request, what);
        if (!reply && reply.error().sys == ENOENT)
            return std::move(reply).error().as(Code::Unsupported,
                                               "boot a kernel that is built with it");
        id_ = parse_family(TRY(std::move(reply)));
        if (!id_)
            return make_error(Code::Internal, what + ": the kernel's answer is malformed");
    }
    return GenlFamily{.id = *id_, .version = version_};
}

Result<Socket*> GenlSockets::get(const Netns& ns) {
    return sockets_.get(ns);
}

}  // namespace netns::netlink
