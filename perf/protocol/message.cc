// SPDX-License-Identifier: Apache-2.0
#include "perf/protocol/message.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <endian.h>
#include <sys/utsname.h>

#include "perf/protocol/fields.h"
#include "perf/system/reading.h"

namespace perf {

namespace {
constexpr size_t kErrorTextLimit = 2000;
constexpr size_t kMaxCapabilities = 256;
constexpr uint64_t k24Bits = 0xffffff;
constexpr uint64_t kMaxDepthOfReads = 65535;
constexpr uint64_t kMaxPort = 65535;
// More messages than any measurement has, and no sum of them overflows.
constexpr uint64_t kMaxCount = uint64_t{1} << 50U;
constexpr uint64_t kMaxLength = uint64_t{1} << 40U;  // of an endpoint's memory
constexpr uint64_t kMinExposed = 4096;
constexpr uint64_t kMaxExposed = 1U << 20U;
// The top bit of a datagram's queue key means "the sender's own" (ibv_post_send(3)).
constexpr uint64_t kMaxQueueKey = 0x7fffffff;

Result<> check_path_mtu(std::string_view key, uint32_t mtu) {
    constexpr uint32_t kMtus[] = {256, 512, 1024, 2048, 4096};
    if (std::ranges::find(kMtus, mtu) == std::end(kMtus))
        return make_error(Code::BadInput, "'{}' is {}, no path MTU", key, mtu);
    return {};
}

// For advice that is shown at either side.
std::string_view role(Side side) {
    return side == Side::Client ? "client" : "server";
}

Result<> check_wrap(uint64_t address, uint64_t length) {
    if (address + length < address)
        return make_error(Code::BadInput, "'address' and 'length' wrap around");
    return {};
}
}  // namespace

template <>
struct Form<Address> {
    static Json save(const Address& gid) { return gid.gid_text(); }

    static Result<Address> load(const Json& json, std::string_view name) {
        const auto gid = parse_address(TRY(base::as<std::string>(json, name)));
        if (!gid || gid->is_zero())
            return make_error(Code::BadInput, "'{}' is no GID", name);
        return *gid;
    }
};

template <>
Result<> check_fields(const DeviceInfo& info) {
    return check_path_mtu("active_mtu_bytes", info.active_mtu);
}

template <>
Result<> check_fields(const Opened& opened) {
    return check_path_mtu("mtu_bytes", opened.mtu);
}

template <>
Result<> check_fields(const Endpoint& endpoint) {
    return check_wrap(endpoint.address, endpoint.length);
}

template <>
Result<> check_fields(const Exposure& exposure) {
    return check_wrap(exposure.address, exposure.length);
}

template <>
Result<> check_fields(const Point& point) {
    return check_limits(point);
}

template <>
inline constexpr auto kFields<Platform> =
    std::array{field<&Platform::cpu>("cpu_model", Told::IfAny),
               field<&Platform::governor>("governor", Told::IfAny),
               field<&Platform::rdma_core>("rdma_core", Told::IfAny),
               field<&Platform::command_line>("command_line", Told::IfAny)};
template <>
inline constexpr auto kFields<Hello> =
    std::array{field<&Hello::protocol>("protocol", Told::Always, 0, 1'000'000),
               field<&Hello::version>("version"),
               field<&Hello::host>("host"),
               field<&Hello::kernel>("kernel"),
               field<&Hello::capabilities>("capabilities", Told::Always, 0, kMaxCapabilities),
               field<&Hello::machine>("machine", Told::IfAny),
               field<&Hello::platform, &Platform::cpu>("cpu_model", Told::IfAny),
               field<&Hello::platform, &Platform::governor>("governor", Told::IfAny),
               field<&Hello::platform, &Platform::rdma_core>("rdma_core", Told::IfAny),
               field<&Hello::platform, &Platform::command_line>("command_line", Told::IfAny)};
template <>
inline constexpr auto kFields<DeviceInfo> = std::array{
    field<&DeviceInfo::device>("device"),
    field<&DeviceInfo::netdev>("netdev"),
    field<&DeviceInfo::port>("port", Told::Always, 1, 255),
    field<&DeviceInfo::gid_index>("gid_index"),
    field<&DeviceInfo::gid>("gid"),
    field<&DeviceInfo::gid_type>("gid_type"),
    field<&DeviceInfo::active_mtu>("active_mtu_bytes"),
    field<&DeviceInfo::lid>("lid"),
    field<&DeviceInfo::initiator_depth>("initiator_depth", Told::Always, 0, kMaxDepthOfReads),
    field<&DeviceInfo::responder_depth>("responder_depth", Told::Always, 0, kMaxDepthOfReads),
    field<&DeviceInfo::memory>("memory", Told::Later),
    field<&DeviceInfo::link_bps>("link_bits_per_s", Told::IfAny),
    field<&DeviceInfo::iwarp>("iwarp", Told::IfAny),
    field<&DeviceInfo::grh>("grh", Told::IfAny),
    field<&DeviceInfo::near_processors>("near_processors", Told::IfAny),
    field<&DeviceInfo::identity, &Identity::part>("part", Told::IfAny),
    field<&DeviceInfo::identity, &Identity::board>("board", Told::IfAny),
    field<&DeviceInfo::identity, &Identity::firmware>("firmware", Told::IfAny),
    field<&DeviceInfo::identity, &Identity::pcie>("pcie", Told::IfAny),
    field<&DeviceInfo::identity, &Identity::numa_node>("numa_node", Told::IfAny)};
template <>
inline constexpr auto kFields<Point> =
    std::array{field<&Point::verb>("verb"),
               field<&Point::transport>("transport"),
               field<&Point::connect>("connect"),
               field<&Point::mode>("mode"),
               field<&Point::size>("size_bytes"),
               field<&Point::qps>("qps"),
               field<&Point::threads>("threads"),
               field<&Point::direction>("direction"),
               field<&Point::rate>("rate_per_s"),
               field<&Point::depth>("depth"),
               field<&Point::batch>("batch"),
               field<&Point::slots>("slots"),
               field<&Point::iterations>("iterations"),
               field<&Point::time_ms>("time_ms", Told::Always, 0, kMaxTimeMs),
               field<&Point::mtu>("mtu_bytes"),
               field<&Point::poll>("poll"),
               field<&Point::verify>("verify"),
               field<&Point::seed>("seed"),
               field<&Point::ordering>("ordering", Told::Later),
               field<&Point::marks, &Marks::traffic_class>("traffic_class", Told::Later),
               field<&Point::marks, &Marks::service_level>("service_level", Told::Later),
               field<&Point::marks, &Marks::flow_label>("flow_label", Told::Later),
               field<&Point::marks, &Marks::pkey_index>("pkey_index", Told::Later),
               field<&Point::reads>("reads", Told::Later),
               field<&Point::inline_bytes>("inline_bytes", Told::Later),
               field<&Point::signal>("signal", Told::Later),
               field<&Point::credit>("credit", Told::Later)};
template <>
inline constexpr auto kFields<Endpoint> =
    std::array{field<&Endpoint::qpn>("qpn", Told::Always, 0, k24Bits),
               field<&Endpoint::psn>("psn", Told::Always, 0, k24Bits),
               field<&Endpoint::address>("address"),
               field<&Endpoint::length>("length", Told::Always, 0, kMaxLength),
               field<&Endpoint::rkey>("rkey")};
template <>
inline constexpr auto kFields<CmTicket> =
    std::array{field<&CmTicket::port>("port", Told::Always, 1, kMaxPort),
               field<&CmTicket::nonce>("nonce"),
               field<&CmTicket::confirm>("confirm", Told::Later)};
template <>
inline constexpr auto kFields<Means> = std::array{field<&Means::calls>("calls", Told::IfAny),
                                                  field<&Means::polling>("polling", Told::IfAny),
                                                  field<&Means::domain>("domain", Told::IfAny)};
template <>
inline constexpr auto kFields<Opened> =
    std::array{field<&Opened::endpoints>("endpoints", Told::Always, 1, kMaxQps),
               field<&Opened::mtu>("mtu_bytes"),
               field<&Opened::poll>("poll"),
               field<&Opened::inline_bytes>("inline_bytes"),
               field<&Opened::ordering>("ordering", Told::Later),
               field<&Opened::reads>("reads", Told::Later),
               field<&Opened::ticket>("cm", Told::IfAny),
               field<&Opened::means, &Means::calls>("calls", Told::IfAny),
               field<&Opened::means, &Means::polling>("polling", Told::IfAny),
               field<&Opened::means, &Means::domain>("domain", Told::IfAny)};
template <>
inline constexpr auto kFields<StreamOffer> =
    std::array{field<&StreamOffer::port>("port", Told::Always, 1, kMaxPort),
               field<&StreamOffer::secret>("secret"),
               field<&StreamOffer::poll>("poll")};
template <>
inline constexpr auto kFields<Checked::Wrong> =
    std::array{field<&Checked::Wrong::side>("side"),
               field<&Checked::Wrong::message>("message"),
               field<&Checked::Wrong::guard>("guard"),
               field<&Checked::Wrong::mismatch, &Mismatch::offset>("offset_bytes"),
               field<&Checked::Wrong::mismatch, &Mismatch::expected>("expected"),
               field<&Checked::Wrong::mismatch, &Mismatch::got>("got"),
               field<&Checked::Wrong::mismatch, &Mismatch::kind>("kind")};
template <>
inline constexpr auto kFields<Checked> =
    std::array{field<&Checked::messages>("messages"),
               field<&Checked::bytes>("bytes"),
               field<&Checked::lost>("lost", Told::Later),
               field<&Checked::sampled>("sampled", Told::Later),
               field<&Checked::wrong>("wrong", Told::IfAny)};
template <>
inline constexpr auto kFields<Exposure> =
    std::array{field<&Exposure::address>("address"),
               field<&Exposure::length>("length", Told::Always, kMinExposed, kMaxExposed),
               field<&Exposure::rkey>("rkey"),
               field<&Exposure::read_only_rkey>("read_only_rkey"),
               field<&Exposure::stale_rkey>("stale_rkey"),
               field<&Exposure::other_domain_rkey>("other_domain_rkey")};
template <>
inline constexpr auto kFields<Listening> =
    std::array{field<&Listening::endpoint>("endpoint"),
               field<&Listening::queue_key>("queue_key", Told::Always, 0, kMaxQueueKey)};

template <Message T>
Json to_json(const T& value) {
    return encode(value);
}

template <Message T>
Result<T> parse(const Json& json) {
    T value;
    // A side that does not know of it registers its memory without.
    if constexpr (std::is_same_v<T, Point>)
        value.ordering = Ordering::Strict;
    TRY(read_fields(json, value));
    return value;
}

#define INSTANTIATE(Type)               \
    template Json to_json(const Type&); \
    template Result<Type> parse(const Json&)
INSTANTIATE(Hello);
INSTANTIATE(Platform);
INSTANTIATE(DeviceInfo);
INSTANTIATE(Means);
INSTANTIATE(Point);
INSTANTIATE(Endpoint);
INSTANTIATE(Opened);
INSTANTIATE(StreamOffer);
INSTANTIATE(Checked);
INSTANTIATE(Exposure);
INSTANTIATE(Listening);

Hello own_hello() {
    utsname names{};
    const bool known = ::uname(&names) == 0;
    return {.protocol = kProtocol,
            .version = RDMA_VERSION,
            .host = known ? names.nodename : "?",
            .kernel = known ? names.release : "?",
            .capabilities = {"rc",   "uc",        "ud",       "tcp",       "write",    "read",
                             "send", "write_imm", "send_imm", "fetch_add", "cmp_swap", "bw",
                             "lat",  "verify",    "qps",      "reverse",   "both",     "rate",
                             "cm",   "marks",     "reads",    "inline",    "signal",   "load",
                             "srd",  "credit"},
            .machine = read_line("/proc/sys/kernel/random/boot_id").value_or(""),
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

Result<> check_compatible(const Hello& peer, Side side) {
    if (peer.protocol >= kProtocol - 1)
        return {};
    return make_error(Code::BadInput,
                      "protocol {} here (version {}), {} at the peer (version {})",
                      kProtocol,
                      RDMA_VERSION,
                      peer.protocol,
                      peer.version)
        .advise(fmt::format("upgrade rdma-perf on the {}", role(side)));
}

Result<> check_meaning(const Point& point, const Hello& peer, Side side) {
    // In version 1 its measurement carried no immediates, and took no receives.
    const bool has_changed = point.verb == Verb::Write && point.mode == Mode::Bandwidth &&
                             point.transport == Transport::Uc;
    if (!has_changed || peer.protocol >= 2)
        return {};
    return make_error(Code::Unsupported,
                      "{} needs protocol 2, and the {} (version {}) speaks {}",
                      describe(point),
                      role(side),
                      peer.version,
                      peer.protocol)
        .advise(fmt::format("upgrade rdma-perf on the {}", role(side)));
}

Json to_json(const std::vector<Endpoint>& endpoints) {
    return encode(endpoints);
}

Result<std::vector<Endpoint>> parse_endpoints(const Json& frame) {
    return read_member<std::vector<Endpoint>>(frame, "endpoints", 1, kMaxQps);
}

Result<Endpoint> parse_endpoint_of(const Json& frame) {
    return read_member<Endpoint>(frame, "endpoint");
}

Result<std::vector<uint64_t>> parse_counts(const Json& json, const char* key, uint32_t lanes) {
    auto counts = TRY(read_member<std::vector<uint64_t>>(json, key, lanes, lanes));
    uint64_t sum = 0;
    for (const uint64_t count : counts) {
        sum += std::min(count, kMaxCount + 1);
        if (sum > kMaxCount)
            return make_error(Code::BadInput, "'{}' is out of range", key);
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
    posted.warmup_messages = TRY(base::required<uint64_t>(json, "warmup_messages"));
    posted.elapsed_ns = TRY(base::required<uint64_t>(json, "elapsed_ns"));
    if (posted.warmup_messages > total_of(posted.by_lane))
        return make_error(Code::BadInput, "'warmup_messages' is more than was sent");
    return posted;
}

Json to_json(const Round& round) {
    Json out = {{"lane", round.lane}, {"round", round.number}};
    if (round.left != 0)
        out["left"] = round.left;
    return out;
}

Result<Round> parse_round(const Json& json, const Point& point) {
    Round round{.lane = TRY(read_member<uint32_t>(json, "lane", 0, point.qps - 1)),
                .number = TRY(base::required<uint32_t>(json, "round"))};
    if (json.contains("left"))
        round.left = TRY(read_member<uint32_t>(json, "left", 1, point.slots));
    return round;
}

std::string without_fix(Error error) {
    error.fix.clear();
    return error.message();
}

Json error_message(const Error& error) {
    // A side that is stopped is, for the other one, a lost peer and no bug.
    const Code code = error.sys == ECANCELED ? Code::Unavailable : error.code;
    return message(
        "error",
        {{"code", base::code_name(code)}, {"text", without_fix(error)}, {"fix", error.fix}});
}

Error explain_input(Error error) {
    if (error.code != Code::BadInput)
        return error;
    return std::move(error).advise("run the same version on both sides: rdma-perf --version");
}

Error protocol_error(const std::string& what) {
    return explain_input(make_error(Code::BadInput, "protocol error: " + what));
}

Error parse_error_message(const Json& json) {
    using enum Code;
    const auto text = [&](const char* key) {
        auto value = base::optional_member<std::string>(json, key, "");
        return value ? printable(*value, kErrorTextLimit) : std::string("?");
    };
    Error error = make_error(Internal, "the peer says: " + text("text"));
    const std::string name = text("code");
    for (const Code code :
         {Usage, BadInput, BadConfig, Refused, Unsupported, Busy, Unavailable, Timeout, Kernel}) {
        if (name == base::code_name(code))
            error.code = code;
    }
    error.fix = text("fix");
    return error;
}

// ---- rdma_cm ------------------------------------------------------------------------------------
namespace {
constexpr std::array<char, 4> kTagMagic = {'R', 'P', 'C', 'M'};
constexpr uint16_t kTagVersion = 1;

struct TagWire {
    std::array<char, 4> magic;
    uint16_t version;
    uint16_t lane;
    uint64_t nonce;
};
}  // namespace

std::array<std::byte, kCmTagSize> encode(const CmTag& tag) {
    const TagWire wire = {kTagMagic, htobe16(kTagVersion), htobe16(tag.lane), htobe64(tag.nonce)};
    return std::bit_cast<std::array<std::byte, kCmTagSize>>(wire);
}

std::optional<CmTag> decode_tag(std::span<const std::byte> data) {
    TagWire wire{};
    if (data.size() < sizeof wire)
        return std::nullopt;
    std::memcpy(&wire, data.data(), sizeof wire);
    if (wire.magic != kTagMagic || be16toh(wire.version) != kTagVersion)
        return std::nullopt;
    return CmTag{.nonce = be64toh(wire.nonce), .lane = be16toh(wire.lane)};
}

}  // namespace perf
