// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/isolate/isolate.h"

#include <algorithm>
#include <set>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "perf/protocol/fields.h"
#include "perf/system/reading.h"

namespace perf {

// ---- the arena ----------------------------------------------------------------------------------
constexpr size_t kMaxForeign = 32;
constexpr uint16_t kAttemptStream = 1;  // of patterns: never that of a control run

Result<Arena> Arena::enter(Client client, const SideOptions& options, const std::string& root) {
    if (!can(client.server(), kServedIsolation.capability))
        return make_error(Code::BadInput, "the server does not take part in isolation tests")
            .advise("start it with: rdma-perf serve --allow-isolation-tests --bind ADDRESS");
    Region region =
        TRY(Region::create(client.device(), target_layout().in.size, IBV_ACCESS_LOCAL_WRITE));
    Arena arena(std::move(client), std::move(region), root);
    arena.timeout_ = options.timeout;
    arena.seed_ = random_seed();
    TRY(arena.look_around(options.wish));
    const Json frame = TRY(arena.ask("isolate", {{"seed", arena.seed_}}, "isolated"));
    arena.exposure_ = TRY(parse<Exposure>(frame));
    if (arena.exposure_.length != arena.page().size())
        return protocol_error("the server exposes a page of another size");
    return arena;
}

Result<> Arena::look_around(const DeviceWish& wish) {
    const Attachment attachment = load_attachment(wish.attach_file, wish.env_device, wish.env_gid);
    const Survey tables = TRY(survey(verbs(), "", root_ + "/sys"));
    std::set<std::string> ours = {device().info.device, attachment.preferred_device};
    for (const AttachedGid& gid : attachment.gids)
        ours.insert(gid.device);
    for (const GidRow& row : tables.rows) {
        if (row.gid.is_zero())
            continue;
        // The GID of a netdev's MAC address, which the interface need not hold: it can make its
        // link-local address in another way.
        const bool is_default_here = row.gid.is_link_local() && row.netdev_present;
        if (tables.holds(row.gid))
            ours.insert(row.device);
        else if (!is_default_here && row.type != GidType::InfiniBand)
            foreign_gids_.push_back(row);
    }
    std::set<std::string> visible;  // RDMA devices, whosever they are
    if (const auto listed = verbs().device_names())
        visible.insert(listed->begin(), listed->end());
    if (const auto shown = read_names(root_ + "/sys/class/infiniband"))
        visible.insert(shown->begin(), shown->end());
    for (const std::string& name : visible) {
        if (!ours.contains(name) && foreign_.size() < kMaxForeign)
            foreign_.push_back(name);
    }
    return {};
}

Waiting Arena::waiting() {
    return {.control = &client_.control(),
            .device = &client_.device(),
            .patience = timeout_,
            .poll = {}};
}

Result<Json> Arena::ask(std::string_view type,
                        Json body,
                        std::string_view answer,
                        std::chrono::milliseconds more) {
    return client_.control().ask(
        message(type, std::move(body)), answer, Deadline::in(timeout_ + more));
}

Result<ibv_wc> Arena::carry_out(const Aim& aim, uint32_t length) {
    Link probe = TRY(Link::create(device(), {.access = kProbeAccess}));
    const Json frame = TRY(ask("probe", {{"endpoint", to_json(probe.endpoint())}}, "probed"));
    TRY(probe.connect(peer(), TRY(parse_endpoint_of(frame))));
    ibv_send_wr request{};
    request.opcode = aim.opcode;
    request.wr.rdma.remote_addr = aim.address;
    request.wr.rdma.rkey = aim.rkey;
    return probe.carry_out(request, region_.piece(0, length), waiting());
}

Result<> Arena::complete_control(ibv_wr_opcode opcode) {
    const Aim aim{.opcode = opcode, .rkey = exposure_.rkey, .address = exposure_.address};
    return outcome_of(TRY(carry_out(aim, static_cast<uint32_t>(exposure_.length))));
}

Result<> Arena::control_run() {
    const PatternKey key = target_pattern(seed_, ++round_);
    fill_pattern(page(), key);
    TRY(complete_control(IBV_WR_RDMA_WRITE).context("a write with the right key"));
    std::ranges::fill(page(), std::byte{0});
    TRY(complete_control(IBV_WR_RDMA_READ).context("a read with the right key"));
    const auto wrong = check_pattern(page(), key);
    if (wrong || TRY(damage()))
        return make_error(Code::Unsupported, "data written with the right key is not there")
            .advise("see first whether data is right at all: rdma-perf run");
    return {};
}

Result<ibv_wc_status> Arena::attempt(const Aim& aim) {
    fill_pattern(page(), {.seed = seed_, .qp = kAttemptStream, .seq = ++attempts_});
    return TRY(carry_out(aim, kAimLength)).status;
}

bool Arena::leaked() const {
    return check_pattern(page(), {.seed = seed_, .qp = kAttemptStream, .seq = attempts_})
        .has_value();
}

Result<std::optional<Mismatch>> Arena::damage() {
    const Json frame = TRY(ask("inspect", {{"round", round_}}, "inspected"));
    const Checked checked = TRY(parse<Checked>(frame));
    return checked.wrong ? std::optional(checked.wrong->mismatch) : std::nullopt;
}

Result<> Arena::say(
    Link& speaker, ibv_ah* to, const Listening& there, uint32_t queue_key, uint32_t number) {
    ibv_send_wr request{};
    request.opcode = IBV_WR_SEND_WITH_IMM;
    request.imm_data = htonl(number);
    request.wr.ud = {to, there.endpoint.qpn, queue_key};
    return outcome_of(TRY(speaker.carry_out(request, region_.piece(0, kAimLength), waiting())));
}

Result<std::vector<uint32_t>> Arena::hear(uint32_t until) {
    const Json frame = TRY(ask("hear", {{"until", until}}, "heard", std::chrono::seconds(1)));
    return read_member<std::vector<uint32_t>>(frame, "immediates", 0, kMaxHeard);
}

// ---- the command --------------------------------------------------------------------------------
namespace {
ptrdiff_t count(const Trials& trials, IsolationVerdict verdict) {
    return std::ranges::count(
        trials, verdict, [](const Trial& trial) { return trial.outcome.verdict; });
}

std::string counts_text(const Trials& trials) {
    return fmt::format("{} failed, {} findings, {} passed, {} not applicable\n",
                       count(trials, IsolationVerdict::Fail),
                       count(trials, IsolationVerdict::Finding),
                       count(trials, IsolationVerdict::Pass),
                       count(trials, IsolationVerdict::NotApplicable));
}
}  // namespace

Result<> try_isolation(Arena& arena, const std::function<void(Trial)>& take) {
    for (const IsolationCheck& check : kIsolationChecks)
        take({&check, TRY(check.run(arena).context("check " + std::string(check.id)))});
    TRY(arena.ask("release", Json::object(), "released"));
    return {};
}

bool any_violation(const Trials& trials) {
    return count(trials, IsolationVerdict::Fail) != 0;
}

std::string to_text(const Trial& trial) {
    const auto& [check, outcome] = trial;
    std::string out =
        fmt::format("{:<14} {:<16} {}\n", name_of(outcome.verdict), check->id, outcome.observed);
    if (outcome.verdict == IsolationVerdict::Fail)
        out += fmt::format("{:<14} {:<16} expected: {}\n", "", "", check->expected);
    if (!outcome.fix.empty())
        out += fmt::format("{:<14} {:<16} -> {}\n", "", "", outcome.fix);
    return out;
}

Json to_json(const Trials& trials, const std::string& peer) {
    Json out = {{"peer", peer}, {"violated", any_violation(trials)}, {"checks", Json::array()}};
    for (const auto& [check, outcome] : trials)
        out["checks"].push_back({{"id", check->id},
                                 {"expected", check->expected},
                                 {"observed", outcome.observed},
                                 {"verdict", name_of(outcome.verdict)},
                                 {"fix", outcome.fix}});
    return out;
}

extern const Suite kIsolate = {
    .name = "isolate",
    .help = "try what isolation must prevent, against a server that agreed to it",
    .host = "address or name of the server",
    .port = "TCP port",
    .run = [](const LookOptions& look, Document& document) -> Result<> {
        Trials trials;
        const auto done = [&]() -> Result<> {
            auto clients =
                TRY(connect_clients({&look.peer, 1}, look.port, look.side, document.around));
            Client& client = clients.front();
            const auto near = stay_on(client.device().near);
            document.say(sides_text(own_hello(), pairing_of(client)));
            Arena arena = TRY(Arena::enter(std::move(client), look.side));
            return try_isolation(arena, [&](Trial trial) {
                document.say(to_text(trial));
                trials.push_back(std::move(trial));
            });
        }();
        if (!trials.empty())
            document.say(counts_text(trials));
        document.members = to_json(trials, look.peer);
        document.exit = any_violation(trials) ? Exit::Isolation : Exit::Ok;
        return done;
    },
    .served = &kServedIsolation,
};

}  // namespace perf
