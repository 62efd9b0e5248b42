// SPDX-License-Identifier: Apache-2.0
// Generic netlink: families that the kernel numbers when they are registered, and that are found by
// name (nlctrl, include/uapi/linux/genetlink.h). A registered family has one number in all
// namespaces. Private to netns/kernel/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <linux/netlink.h>

#include "netns/kernel/netlink/message.h"
#include "netns/kernel/netlink/socket.h"

namespace netns::netlink {

// The family of a request, and its version.
struct GenlFamily {
    uint16_t id = 0;
    uint8_t version = 1;
};

// Makes a command of a family; attributes follow.
Request genl_request(const GenlFamily& family, uint8_t command);
// Returns the attributes of an answer; nothing if it is malformed.
std::optional<Attributes> parse_genl(const Reply& reply);

// CTRL_CMD_GETFAMILY, and the number in its answer.
Request family_request(const std::string& name);
std::optional<uint16_t> parse_family(const Reply& reply);

// The sockets of a room that speaks to one family.
class GenlSockets {
  public:
    GenlSockets(std::string name, uint8_t version) : name_(std::move(name)), version_(version) {}

    // Unsupported: the kernel has no such family. (It loads the module itself, if one declares the
    // family.)
    Result<GenlFamily> family(const Netns& ns);
    // Valid until the next call.
    Result<Socket*> get(const Netns& ns);

  private:
    std::string name_;
    uint8_t version_;
    std::optional<uint16_t> id_;
    Sockets sockets_{NETLINK_GENERIC};
};

}  // namespace netns::netlink
