// SPDX-License-Identifier: Apache-2.0
#include "perf/protocol/message.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <sys/utsname.h>

#include "perf/system/input.h"

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

// A side that does not know of it registers its memory without.
Result<Ordering> ordering_member(const Json& json) {
    return parse_ordering(TRY(optional_member<std::string>(json, "ordering", "strict")));
}

// More messages than any measurement has, and no sum of them overflows.
constexpr uint64_t kMaxCount = uint64_t{1} << 50U;

constexpr uint64_t kMinExposed = 4096;
constexpr uint64_t kMaxExposed = 1U << 20U;
// The top bit of a datagram's queue key means "the sender's own" (ibv_post_send(3)).
constexpr uint32_t kMaxQueueKey = 0x7fffffff;

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

// Of a kernel since its boot.
std::string machine_name() {
    auto id = read_file("/proc/sys/kernel/random/boot_id", kTextLimit, "the boot's id");
    if (!id)
        return "";
    std::erase(*id, '\n');
    return std::move(*id);
}
}  // namespace

namespace {
template <class T>
using Text = std::pair<std::string_view, std::string T::*>;

constexpr Text<Platform> kPlatform[] = {{"cpu_model", &Platform::cpu},
                                        {"governor", &Platform::governor},
                                        {"rdma_core", &Platform::rdma_core}};
constexpr Text<Identity> kIdentity[] = {{"part", &Identity::part},
                                        {"board", &Identity::board},
                                        {"firmware", &Identity::firmware},
                                        {"pcie", &Identity::pcie},
                                        {"numa_node", &Identity::numa_node}};

// What a side does not tell is no member.
template <class T, size_t N>
void write_texts(Json& out, const Text<T> (&members)[N], const T& texts) {
    for (const auto& [name, value] : members) {
        if (!(texts.*value).empty())
            out[std::string(name)] = texts.*value;
    }
}

template <class T, size_t N>
Result<> read_texts(const Json& json, const Text<T> (&members)[N], T& texts) {
    for (const auto& [name, value] : members) {
        if (json.contains(name))
            texts.*value = TRY(text_member(json, name));
    }
    return {};
}
}  // namespace

Hello own_hello() {
    return {.protocol = kProtocol,
            .version = RDMA_VERSION,
            .host = host_name(),
            .kernel = kernel_release(),
            .capabilities = {"rc",   "uc",        "ud",       "tcp",       "write",    "read",
                             "send", "write_imm", "send_imm", "fetch_add", "cmp_swap", "bw",
                             "lat",  "verify",    "qps",      "reverse",   "both",     "rate",
                             "cm",   "marks",     "reads",    "inline",    "signal",   "load"},
            .machine = machine_name(),
            .platform = own_platform()};
}

bool can(const Hello& hello, std::string_view capability) {
    return std::ranges::find(hello.capabilities, capability) != hello.capabilities.end();
}

Json message(std::string_view type, Json body) {
    Json out = Json::object();
    out["type"] = type;
    out.update(body);
    return out;
}

Json to_json(const Hello& hello) {
    Json out = {{"protocol", hello.protocol},
                {"version", hello.version},
                {"host", hello.host},
                {"kernel", hello.kernel},
                {"capabilities", hello.capabilities}};
    if (!hello.machine.empty())
        out["machine"] = hello.machine;
    out.update(to_json(hello.platform));
    return out;
}

Json to_json(const Platform& platform) {
    Json out = Json::object();
    write_texts(out, kPlatform, platform);
    return out;
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
    if (json.contains("machine"))
        hello.machine = TRY(text_member(json, "machine"));
    TRY(read_texts(json, kPlatform, hello.platform));
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
    if (info.iwarp)
        out["iwarp"] = true;
    if (info.grh)
        out["grh"] = true;
    write_texts(out, kIdentity, info.identity);
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
    info.iwarp = TRY(optional_member<bool>(json, "iwarp", false));
    info.grh = TRY(optional_member<bool>(json, "grh", false));
    TRY(read_texts(json, kIdentity, info.identity));
    return info;
}

Json to_json(const Point& point) {
    return {{"verb", name_of(point.verb)},
            {"transport", name_of(point.transport)},
            {"connect", name_of(point.connect)},
            {"mode", name_of(point.mode)},
            {"size_bytes", point.size},
            {"qps", point.qps},
            {"threads", point.threads},
            {"direction", name_of(point.direction)},
            {"rate_per_s", point.rate},
            {"depth", point.depth},
            {"batch", point.batch},
            {"slots", point.slots},
            {"iterations", point.iterations},
            {"time_ms", point.time_ms},
            {"mtu_bytes", point.mtu},
            {"poll", name_of(point.poll)},
            {"verify", name_of(point.verify)},
            {"seed", point.seed},
            {"ordering", name_of(point.ordering)},
            {"traffic_class", point.marks.traffic_class},
            {"service_level", point.marks.service_level},
            {"flow_label", point.marks.flow_label},
            {"pkey_index", point.marks.pkey_index},
            {"reads", point.reads},
            {"inline_bytes", point.inline_bytes ? Json(*point.inline_bytes) : Json("auto")},
            {"signal", point.signal}};
}

Result<Point> parse_point(const Json& json) {
    Point point;
    point.verb = TRY(parse_verb(TRY(required<std::string>(json, "verb"))));
    point.transport = TRY(parse_transport(TRY(required<std::string>(json, "transport"))));
    point.connect = TRY(parse_connect(TRY(required<std::string>(json, "connect"))));
    point.mode = TRY(parse_mode(TRY(required<std::string>(json, "mode"))));
    point.size = TRY(required<uint32_t>(json, "size_bytes"));
    point.qps = TRY(required<uint32_t>(json, "qps"));
    point.threads = TRY(required<uint32_t>(json, "threads"));
    point.direction = TRY(parse_direction(TRY(required<std::string>(json, "direction"))));
    point.rate = TRY(required<uint32_t>(json, "rate_per_s"));
    point.depth = TRY(required<uint32_t>(json, "depth"));
    point.batch = TRY(required<uint32_t>(json, "batch"));
    point.slots = TRY(required<uint32_t>(json, "slots"));
    point.iterations = TRY(required<uint64_t>(json, "iterations"));
    point.time_ms = TRY(required<uint32_t>(json, "time_ms"));
    point.mtu = TRY(required<uint32_t>(json, "mtu_bytes"));
    point.poll = TRY(parse_poll(TRY(required<std::string>(json, "poll"))));
    point.verify = TRY(parse_verify(TRY(required<std::string>(json, "verify"))));
    point.seed = TRY(required<uint64_t>(json, "seed"));
    point.ordering = TRY(ordering_member(json));
    point.marks = {.traffic_class = TRY(optional_member<uint32_t>(json, "traffic_class", 0)),
                   .service_level = TRY(optional_member<uint32_t>(json, "service_level", 0)),
                   .flow_label = TRY(optional_member<uint32_t>(json, "flow_label", 0)),
                   .pkey_index = TRY(optional_member<uint32_t>(json, "pkey_index", 0))};
    point.reads = TRY(optional_member<uint32_t>(json, "reads", 0));
    const auto bytes = json.find("inline_bytes");
    if (bytes != json.end() && !bytes->is_null() && *bytes != "auto")
        point.inline_bytes = TRY(required<uint32_t>(json, "inline_bytes"));
    point.signal = TRY(optional_member<uint32_t>(json, "signal", 0));
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

Json to_json(const std::vector<Endpoint>& endpoints) {
    Json out = Json::array();
    for (const Endpoint& endpoint : endpoints)
        out.push_back(to_json(endpoint));
    return out;
}

Result<std::vector<Endpoint>> parse_endpoints(const Json& frame) {
    const auto list = frame.find("endpoints");
    if (list == frame.end() || !list->is_array() || list->empty() || list->size() > kMaxQps)
        return make_error(Code::BadInput,
                          fmt::format("'endpoints' must be a list of 1 to {}", kMaxQps));
    std::vector<Endpoint> endpoints;
    for (const Json& entry : *list)
        endpoints.push_back(TRY(parse_endpoint(entry)));
    return endpoints;
}

Json to_json(const Opened& opened) {
    Json out = {{"endpoints", to_json(opened.endpoints)},
                {"mtu_bytes", opened.mtu},
                {"poll", name_of(opened.poll)},
                {"inline_bytes", opened.inline_bytes},
                {"ordering", name_of(opened.ordering)},
                {"reads", opened.reads}};
    if (opened.ticket)
        out["cm"] = {{"port", opened.ticket->port},
                     {"nonce", opened.ticket->nonce},
                     {"confirm", opened.ticket->confirm}};
    return out;
}

Result<Opened> parse_opened(const Json& json) {
    Opened opened;
    opened.endpoints = TRY(parse_endpoints(json));
    opened.mtu = TRY(mtu_member(json, "mtu_bytes"));
    opened.poll = TRY(parse_poll(TRY(required<std::string>(json, "poll"))));
    opened.inline_bytes = TRY(required<uint32_t>(json, "inline_bytes"));
    opened.ordering = TRY(ordering_member(json));
    opened.reads = TRY(optional_member<uint32_t>(json, "reads", 0));
    if (json.contains("cm")) {
        const Json& cm = *TRY(object_member(json, "cm"));
        opened.ticket = CmTicket{.port = TRY(bounded<uint16_t>(cm, "port", 1, 65535)),
                                 .nonce = TRY(required<uint64_t>(cm, "nonce")),
                                 .confirm = TRY(base::optional_member(cm, "confirm", false))};
    }
    return opened;
}

Json to_json(const StreamOffer& offer) {
    return {{"port", offer.port}, {"secret", offer.secret}, {"poll", name_of(offer.poll)}};
}

Result<StreamOffer> parse_stream_offer(const Json& json) {
    StreamOffer offer;
    offer.port = TRY(bounded<uint16_t>(json, "port", 1, 65535));
    offer.secret = TRY(required<uint64_t>(json, "secret"));
    offer.poll = TRY(parse_poll(TRY(required<std::string>(json, "poll"))));
    return offer;
}

Result<std::vector<uint64_t>> parse_counts(const Json& json, const char* key, uint32_t lanes) {
    const auto list = json.find(key);
    if (list == json.end() || !list->is_array() || list->size() != lanes)
        return make_error(Code::BadInput, fmt::format("'{}' must be a list of {}", key, lanes));
    std::vector<uint64_t> counts;
    uint64_t sum = 0;
    for (const Json& entry : *list) {
        counts.push_back(TRY(base::as<uint64_t>(entry, key)));
        sum += counts.back();
        if (sum > kMaxCount || counts.back() > kMaxCount)
            return make_error(Code::BadInput, fmt::format("'{}' is out of range", key));
    }
    return counts;
}

Json to_json(const Posted& posted) {
    return {{"sent", posted.by_lane},
            {"warmup_messages", posted.warmup_messages},
            {"elapsed_ns", posted.elapsed_ns}};
}

Result<Posted> parse_posted(const Json& json, uint32_t lanes) {
    Posted posted;
    posted.by_lane = TRY(parse_counts(json, "sent", lanes));
    posted.warmup_messages = TRY(required<uint64_t>(json, "warmup_messages"));
    posted.elapsed_ns = TRY(required<uint64_t>(json, "elapsed_ns"));
    uint64_t sum = 0;
    for (const uint64_t count : posted.by_lane)
        sum += count;
    if (posted.warmup_messages > sum)
        return make_error(Code::BadInput, "'warmup_messages' is more than was sent");
    return posted;
}

Json to_json(const RoundOf& round) {
    Json out = {{"lane", round.lane}, {"round", round.number}};
    if (round.left != 0)
        out["left"] = round.left;
    return out;
}

Result<RoundOf> parse_round(const Json& json, const Point& point) {
    RoundOf round{.lane = TRY(bounded<uint32_t>(json, "lane", 0, point.qps - 1)),
                  .number = TRY(required<uint32_t>(json, "round"))};
    if (json.contains("left"))
        round.left = TRY(bounded<uint32_t>(json, "left", 1, point.slots));
    return round;
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

Json to_json(const Exposure& exposure) {
    return {{"address", exposure.address},
            {"length", exposure.length},
            {"rkey", exposure.rkey},
            {"read_only_rkey", exposure.read_only_rkey},
            {"stale_rkey", exposure.stale_rkey},
            {"other_domain_rkey", exposure.other_domain_rkey}};
}

Result<Exposure> parse_exposure(const Json& json) {
    Exposure exposure;
    exposure.address = TRY(required<uint64_t>(json, "address"));
    exposure.length = TRY(bounded<uint64_t>(json, "length", kMinExposed, kMaxExposed));
    if (exposure.address + exposure.length < exposure.address)
        return make_error(Code::BadInput, "'address' and 'length' wrap around");
    exposure.rkey = TRY(required<uint32_t>(json, "rkey"));
    exposure.read_only_rkey = TRY(required<uint32_t>(json, "read_only_rkey"));
    exposure.stale_rkey = TRY(required<uint32_t>(json, "stale_rkey"));
    exposure.other_domain_rkey = TRY(required<uint32_t>(json, "other_domain_rkey"));
    return exposure;
}

Result<Endpoint> parse_endpoint_of(const Json& frame) {
    return parse_endpoint(*TRY(object_member(frame, "endpoint")));
}

Json to_json(const Listening& listening) {
    return {{"endpoint", to_json(listening.endpoint)}, {"queue_key", listening.queue_key}};
}

Result<Listening> parse_listening(const Json& json) {
    return Listening{.endpoint = TRY(parse_endpoint_of(json)),
                     .queue_key = TRY(bounded<uint32_t>(json, "queue_key", 0, kMaxQueueKey))};
}

Result<std::vector<uint32_t>> parse_heard(const Json& json) {
    const auto list = json.find("immediates");
    if (list == json.end() || !list->is_array() || list->size() > kMaxHeard)
        return make_error(Code::BadInput,
                          fmt::format("'immediates' must be a list of at most {}", kMaxHeard));
    std::vector<uint32_t> heard;
    for (const Json& entry : *list)
        heard.push_back(TRY(base::as<uint32_t>(entry, "immediates")));
    return heard;
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

base::Error explain_input(base::Error error) {
    if (error.code != Code::BadInput)
        return error;
    return std::move(error).advise("run the same version on both sides: rdma-perf --version");
}

base::Error protocol_error(const std::string& what) {
    return explain_input(make_error(Code::BadInput, "protocol error: " + what));
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
