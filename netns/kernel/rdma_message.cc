// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/rdma_message.h"

#include <algorithm>
#include <array>

namespace netns::nldev {

using netlink::Attributes;
using netlink::Reply;

namespace {
// Decodes the kernel's huge_encode_dev, as GET_CHARDEV sends it: 20 bits minor around 12 bits
// major.
CharDevice decode_device(std::string name, uint64_t encoded) {
    return {std::move(name),
            static_cast<uint32_t>((encoded & 0xfff00U) >> 8U),
            static_cast<uint32_t>((encoded & 0xffU) | ((encoded >> 12U) & 0xfff00U))};
}

Attributes attributes_of(const Reply& reply) {
    return Attributes::parse(reply.payload).value_or(Attributes{});
}

// Returns the entries of a table: nested attributes of one type, repeated.
std::vector<Attributes> entries_of(const Reply& reply, int table, int entry) {
    std::vector<Attributes> entries;
    const Attributes nested = attributes_of(reply).nested(table);
    for (const auto& [type, bytes] : nested.all()) {
        if (type == entry)
            entries.push_back(Attributes::parse(bytes).value_or(Attributes{}));
    }
    return entries;
}
}  // namespace

netlink::Request request(int command) {
    return netlink::Request{RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), 0};
}

std::optional<System> parse_system(const Reply& reply) {
    const Attributes attributes = attributes_of(reply);
    const auto shared = attributes.u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE);
    if (!shared)
        return std::nullopt;
    return System{.mode = *shared != 0 ? RdmaNetnsMode::Shared : RdmaNetnsMode::Exclusive,
                  .monitor = attributes.u8(kSysAttrMonitorMode).value_or(0) != 0};
}

std::optional<RdmaDevice> parse_device(const Reply& reply) {
    const Attributes attributes = attributes_of(reply);
    const auto index = attributes.u32(RDMA_NLDEV_ATTR_DEV_INDEX);
    const auto name = attributes.text(RDMA_NLDEV_ATTR_DEV_NAME);
    if (!index || !name)
        return std::nullopt;
    constexpr uint8_t kRnic = 4;  // RDMA_NODE_RNIC
    return RdmaDevice{.index = *index,
                      .name = *name,
                      .node_guid = attributes.u64(RDMA_NLDEV_ATTR_NODE_GUID).value_or(0),
                      .iwarp = attributes.u8(RDMA_NLDEV_ATTR_DEV_NODE_TYPE) == kRnic,
                      .infiniband = attributes.text(RDMA_NLDEV_ATTR_DEV_PROTOCOL) == "ib"};
}

std::optional<uint32_t> parse_port_netdev(const Reply& reply) {
    return attributes_of(reply).u32(RDMA_NLDEV_ATTR_NDEV_INDEX);
}

std::string parse_port_state(const Reply& reply) {
    // The order of enum ib_port_state.
    constexpr std::array<const char*, 6> kStates{
        "NOP", "DOWN", "INIT", "ARMED", kActivePort, "ACTIVE_DEFER"};
    const auto state = attributes_of(reply).u8(RDMA_NLDEV_ATTR_PORT_STATE);
    return state && *state < kStates.size() ? kStates[*state] : "";
}

std::optional<CharDevice> parse_chardev(const Reply& reply) {
    const Attributes attributes = attributes_of(reply);
    auto name = attributes.text(RDMA_NLDEV_ATTR_CHARDEV_NAME);
    const auto encoded = attributes.u64(RDMA_NLDEV_ATTR_CHARDEV);
    if (!name || !encoded)
        return std::nullopt;
    return decode_device(std::move(*name), *encoded);
}

uint32_t count_contexts(const Reply& reply) {
    return static_cast<uint32_t>(
        entries_of(reply, RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY).size());
}

bool lists_gsi_qp(const Reply& reply) {
    const auto entries = entries_of(reply, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY);
    return std::any_of(entries.begin(), entries.end(), [](const Attributes& entry) {
        return entry.u8(RDMA_NLDEV_ATTR_RES_TYPE) == kQueuePairTypeGsi;
    });
}

Error explain_new_link(const RdmaLinkSpec& spec, Error refusal) {
    switch (refusal.sys) {
        case EEXIST:
            return std::move(refusal).as(
                Code::Busy,
                "remove the RDMA link of this type that the interface has: rdma link delete");
        case ENFILE:
            return std::move(refusal).as(
                Code::Busy,
                "try again: another RDMA device has this name, perhaps one that is being removed");
        case ENODEV:
            return std::move(refusal).as(Code::Unavailable);
        case EPERM:
            return std::move(refusal).as(
                Code::Refused,
                "free UDP port 4791 in that network namespace, or use an interface that is no "
                "VLAN, as root of the first user namespace");
        case EINVAL:
            if (spec.name.empty() || spec.name.find('%') != std::string::npos)
                return std::move(refusal).as(Code::BadInput);
            return std::move(refusal).as(Code::Unsupported,
                                         spec.type == "rxe" ? "run: modprobe rdma_rxe"
                                         : spec.type == "siw"
                                             ? "run: modprobe siw (Debian's kernels have none)"
                                             : "choose rxe or siw");
        default:
            return refusal;
    }
}

}  // namespace netns::nldev
