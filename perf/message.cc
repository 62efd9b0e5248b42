// SPDX-License-Identifier: Apache-2.0
#include "perf/message.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <sys/utsname.h>

namespace perf {

using base::Code;
using base::Json;
using base::make_error;
using base::optional_member;
using base::required;
using base::Result;

namespace {
constexpr size_t kTextLimit = 255;
constexpr size_t kErrorTextLimit = 2000;

// Text of the peer ends on terminals and in reports: bounded, and nothing but printable ASCII.
Result<std::string> text_member(const Json& json, std::string_view key) {
    return base::printable(TRY(required<std::string>(json, key)), kTextLimit);
}

template <class T>
Result<T> bounded(const Json& json, std::string_view key, T low, T high) {
    const T value = TRY(required<T>(json, key));
    if (value < low || value > high)
        return make_error(Code::BadInput,
                          fmt::format("'{}' is {}, not from {} to {}", key, value, low, high));
    return value;
}

Result<uint32_t> mtu_member(const Json& json, std::string_view key) {
    const auto mtu = TRY(required<uint32_t>(json, key));
    constexpr uint32_t kMtus[] = {256, 512, 1024, 2048, 4096};
    if (std::ranges::find(kMtus, mtu) == std::end(kMtus))
        return make_error(Code::BadInput, fmt::format("'{}' is {}, no path MTU", key, mtu));
    return mtu;
}

Result<GidType> parse_gid_type(const std::string& name) {
    for (const GidType type : {GidType::InfiniBand, GidType::RoceV1, GidType::RoceV2}) {
        if (name == name_of(type))
            return type;
    }
    return make_error(Code::BadInput, "GID type '" + base::printable(name, 40) + "' is not known");
}

Result<const Json*> object_member(const Json& json, const char* key) {
    const auto it = json.find(key);
    if (it == json.end() || !it->is_object())
        return make_error(Code::BadInput, fmt::format("'{}' must be an object", key));
    return &*it;
}

std::string kernel_release() {
    utsname names{};
    return ::uname(&names) == 0 ? names.release : "?";
}

std::string host_name() {
    utsname names{};
    return ::uname(&names) == 0 ? names.nodename : "?";
}
}  // namespace

Hello own_hello() {
    return {.protocol = kProtocol,
            .version = RDMA_VERSION,
            .host = host_name(),
            .kernel = kernel_release(),
            .capabilities = {"rc",
                             "uc",
                             "ud",
                             "write",
                             "read",
                             "send",
                             "write_imm",
                             "send_imm",
                             "fetch_add",
                             "cmp_swap",
                             "bw",
                             "lat",
                             "verify"}};
}

Json message(std::string_view type, Json body) {
    Json out = Json::object();
    out["type"] = type;
    out.update(body);
    return out;
}

Json to_json(const Hello& hello) {
    return {{"protocol", hello.protocol},
            {"version", hello.version},
            {"host", hello.host},
            {"kernel", hello.kernel},
            {"capabilities", hello.capabilities}};
}

Result<Hello> parse_hello(const Json& json) {
    Hello hello;
    hello.protocol = TRY(bounded<int>(json, "protocol", 0, 1'000'000));
    hello.version = TRY(text_member(json, "version"));
    hello.host = TRY(text_member(json, "host"));
    hello.kernel = TRY(text_member(json, "kernel"));
    const auto list = json.find("capabilities");
    if (list == json.end() || !list->is_array() || list->size() > 256)
        return make_error(Code::BadInput, "'capabilities' must be a list");
    for (const Json& entry : *list)
        hello.capabilities.push_back(TRY(base::as<std::string>(entry, "capabilities")));
    return hello;
}

Result<> check_compatible(const Hello& own, const Hello& peer) {
    if (own.protocol == peer.protocol)
        return {};
    return make_error(Code::BadInput,
                      fmt::format("protocol {} here (version {}), {} at the peer (version {})",
                                  own.protocol,
                                  own.version,
                                  peer.protocol,
                                  peer.version))
        .advise(own.protocol < peer.protocol ? "upgrade rdma-perf on this side"
                                             : "upgrade rdma-perf on the peer");
}

Json to_json(const DeviceInfo& info) {
    Json out = {{"device", info.device},
                {"netdev", info.netdev},
                {"port", info.port},
                {"gid_index", info.gid_index},
                {"gid", info.gid.gid_text()},
                {"gid_type", name_of(info.gid_type)},
                {"active_mtu_bytes", info.active_mtu},
                {"lid", info.lid},
                {"initiator_depth", info.initiator_depth},
                {"responder_depth", info.responder_depth}};
    if (info.link_bps != 0)
        out["link_bits_per_s"] = info.link_bps;
    return out;
}

Result<DeviceInfo> parse_device_info(const Json& json) {
    DeviceInfo info;
    info.device = TRY(text_member(json, "device"));
    info.netdev = TRY(text_member(json, "netdev"));
    info.port = TRY(bounded<uint8_t>(json, "port", 1, 255));
    info.gid_index = TRY(required<uint32_t>(json, "gid_index"));
    const auto gid = parse_address(TRY(required<std::string>(json, "gid")));
    if (!gid || gid->is_zero())
        return make_error(Code::BadInput, "'gid' is no GID");
    info.gid = *gid;
    info.gid_type = TRY(parse_gid_type(TRY(required<std::string>(json, "gid_type"))));
    info.active_mtu = TRY(mtu_member(json, "active_mtu_bytes"));
    info.lid = TRY(required<uint16_t>(json, "lid"));
    info.initiator_depth = TRY(bounded<uint32_t>(json, "initiator_depth", 0, 65535));
    info.responder_depth = TRY(bounded<uint32_t>(json, "responder_depth", 0, 65535));
    info.link_bps = TRY(optional_member<uint64_t>(json, "link_bits_per_s", 0));
    return info;
}

Json to_json(const Point& point) {
    return {{"verb", name_of(point.verb)},
            {"transport", name_of(point.transport)},
            {"mode", name_of(point.mode)},
            {"size_bytes", point.size},
            {"depth", point.depth},
            {"batch", point.batch},
            {"slots", point.slots},
            {"iterations", point.iterations},
            {"time_ms", point.time_ms},
            {"mtu_bytes", point.mtu},
            {"poll", name_of(point.poll)},
            {"verify", name_of(point.verify)},
            {"seed", point.seed}};
}

Result<Point> parse_point(const Json& json) {
    Point point;
    point.verb = TRY(parse_verb(TRY(required<std::string>(json, "verb"))));
    point.transport = TRY(parse_transport(TRY(required<std::string>(json, "transport"))));
    point.mode = TRY(parse_mode(TRY(required<std::string>(json, "mode"))));
    point.size = TRY(required<uint32_t>(json, "size_bytes"));
    point.depth = TRY(required<uint32_t>(json, "depth"));
    point.batch = TRY(required<uint32_t>(json, "batch"));
    point.slots = TRY(required<uint32_t>(json, "slots"));
    point.iterations = TRY(required<uint64_t>(json, "iterations"));
    point.time_ms = TRY(required<uint32_t>(json, "time_ms"));
    point.mtu = TRY(required<uint32_t>(json, "mtu_bytes"));
    point.poll = TRY(parse_poll(TRY(required<std::string>(json, "poll"))));
    point.verify = TRY(parse_verify(TRY(required<std::string>(json, "verify"))));
    point.seed = TRY(required<uint64_t>(json, "seed"));
    TRY(check_limits(point));
    return point;
}

Json to_json(const Endpoint& endpoint) {
    return {{"qpn", endpoint.qpn},
            {"psn", endpoint.psn},
            {"address", endpoint.address},
            {"length", endpoint.length},
            {"rkey", endpoint.rkey}};
}

Result<Endpoint> parse_endpoint(const Json& json) {
    constexpr uint32_t k24Bits = 0xffffff;
    Endpoint endpoint;
    endpoint.qpn = TRY(bounded<uint32_t>(json, "qpn", 0, k24Bits));
    endpoint.psn = TRY(bounded<uint32_t>(json, "psn", 0, k24Bits));
    endpoint.address = TRY(required<uint64_t>(json, "address"));
    endpoint.length = TRY(bounded<uint64_t>(json, "length", 0, uint64_t{1} << 40U));
    if (endpoint.address + endpoint.length < endpoint.address)
        return make_error(Code::BadInput, "'address' and 'length' wrap around");
    endpoint.rkey = TRY(required<uint32_t>(json, "rkey"));
    return endpoint;
}

Json to_json(const Opened& opened) {
    return {{"endpoint", to_json(opened.endpoint)},
            {"mtu_bytes", opened.mtu},
            {"poll", name_of(opened.poll)},
            {"inline_bytes", opened.inline_bytes}};
}

Result<Opened> parse_opened(const Json& json) {
    Opened opened;
    opened.endpoint = TRY(parse_endpoint(*TRY(object_member(json, "endpoint"))));
    opened.mtu = TRY(mtu_member(json, "mtu_bytes"));
    opened.poll = TRY(parse_poll(TRY(required<std::string>(json, "poll"))));
    opened.inline_bytes = TRY(required<uint32_t>(json, "inline_bytes"));
    return opened;
}

Json to_json(const Checked& checked) {
    Json out = {{"messages", checked.messages}, {"bytes", checked.bytes}, {"lost", checked.lost}};
    if (checked.wrong) {
        const auto& wrong = *checked.wrong;
        out["wrong"] = {{"side", wrong.side},
                        {"message", wrong.message},
                        {"guard", wrong.guard},
                        {"offset_bytes", wrong.mismatch.offset},
                        {"expected", wrong.mismatch.expected},
                        {"got", wrong.mismatch.got},
                        {"kind", wrong.mismatch.kind}};
    }
    return out;
}

Result<Checked> parse_checked(const Json& json) {
    Checked checked;
    checked.messages = TRY(required<uint64_t>(json, "messages"));
    checked.bytes = TRY(required<uint64_t>(json, "bytes"));
    checked.lost = TRY(optional_member<uint64_t>(json, "lost", 0));
    if (!json.contains("wrong"))
        return checked;
    const Json& body = *TRY(object_member(json, "wrong"));
    Checked::Wrong wrong;
    wrong.side = TRY(text_member(body, "side"));
    wrong.message = TRY(required<uint64_t>(body, "message"));
    wrong.guard = TRY(required<bool>(body, "guard"));
    wrong.mismatch.offset = TRY(required<uint64_t>(body, "offset_bytes"));
    wrong.mismatch.expected = TRY(required<uint8_t>(body, "expected"));
    wrong.mismatch.got = TRY(required<uint8_t>(body, "got"));
    wrong.mismatch.kind = TRY(text_member(body, "kind"));
    checked.wrong = wrong;
    return checked;
}

Json error_message(const base::Error& error) {
    base::Error without_fix = error;
    without_fix.fix.clear();
    // A side that is stopped is, for the other one, a lost peer and no bug.
    const Code code = error.sys == ECANCELED ? Code::Unavailable : error.code;
    return message(
        "error",
        {{"code", base::code_name(code)}, {"text", without_fix.message()}, {"fix", error.fix}});
}

base::Error parse_error_message(const Json& json) {
    using enum Code;
    const auto text = [&](const char* key) {
        auto value = optional_member<std::string>(json, key, "");
        return value ? base::printable(*value, kErrorTextLimit) : std::string("?");
    };
    base::Error error = make_error(Internal, "the peer says: " + text("text"));
    const std::string name = text("code");
    for (const Code code :
         {Usage, BadInput, BadConfig, Refused, Unsupported, Busy, Unavailable, Timeout, Kernel}) {
        if (name == base::code_name(code))
            error.code = code;
    }
    error.fix = text("fix");
    return error;
}

}  // namespace perf
