// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "perf/engine/engine.h"
#include "perf/suites/kv/kv.h"

namespace perf::kv {

// Drawn before anything is timed, and asked for over and over.
constexpr size_t kDrawnKeys = 65536;
constexpr uint64_t kAwaited = 1;  // wr_id of what a GET waits for
constexpr uint64_t kMsToNs = 1'000'000;
constexpr uint32_t kLongestWarmUpMs = 300;

template <class C>
class Exercise::Getter {
  public:
    Getter(Exercise& exercise, uint32_t version, C& completer, Worker& worker, Trial& out)
        : e_(exercise), version_(version), completer_(completer), worker_(worker), out_(out) {}

    Ending run() noexcept {
        const uint64_t warm =
            now_ns() + std::min(e_.plan_.time_ms / 10, kLongestWarmUpMs) * kMsToNs;
        const uint64_t until = warm + e_.plan_.time_ms * kMsToNs;
        uint64_t end = 0;
        for (size_t at = 0; end < until || out_.gets == 0; at = (at + 1) % e_.keys_.size()) {
            const uint32_t key = e_.keys_[at];
            const bool asks = out_.method == Method::Send;
            forget();
            if (asks && !expect_answer())
                return end_;
            const uint64_t begin = now_ns();
            reads_ = 0;
            if (!(asks ? ask(key) : look(key)))
                return end_;
            end = now_ns();
            ++out_.all;
            if (auto what = check_slot(slot(), e_.plan_.shape, key, version_)) {
                out_.wrong = Wrong{key, version_, std::move(*what)};
                return end_;
            }
            if (begin < warm)
                continue;
            if (out_.gets++ == 0)
                begin_ns_ = begin;
            out_.elapsed_ns = end - begin_ns_;
            out_.reads += reads_;
            e_.latencies_.record(end - begin);
        }
        return end_;
    }

  private:
    [[nodiscard]] std::span<std::byte> slot() const {
        return e_.buffer_.bytes().first(e_.plan_.shape.slot_bytes());
    }

    [[nodiscard]] ibv_sge slot_piece() const {
        return e_.buffer_.piece(0, e_.plan_.shape.slot_bytes());
    }

    // What is seen afterwards has come with this GET.
    void forget() noexcept { std::ranges::fill(slot(), std::byte{0xa5}); }

    // Before the clock begins, as a program that asks often would.
    bool expect_answer() noexcept {
        end_.post_error = e_.link_.receive(slot_piece(), kAwaited);
        return end_.post_error == 0;
    }

    bool ask(uint64_t key) noexcept {
        const size_t at = e_.plan_.shape.slot_bytes();
        std::memcpy(&e_.buffer_.bytes()[at], &key, sizeof key);
        end_.post_error = send_message(e_.link_, e_.buffer_.piece(at, sizeof key), out_.all);
        return end_.post_error == 0 && await();
    }

    bool look(uint64_t key) noexcept {
        for (uint32_t probe = 0; probe < kMaxProbes; ++probe) {
            // A slot of another key is forgotten within the latency: the next must not look like
            // it.
            if (probe != 0)
                forget();
            ibv_send_wr request{};
            request.wr_id = kAwaited;
            request.opcode = IBV_WR_RDMA_READ;
            request.send_flags = IBV_SEND_SIGNALED;
            request.wr.rdma.remote_addr = e_.table_.address + e_.plan_.shape.place(key, probe);
            request.wr.rdma.rkey = e_.table_.rkey;
            end_.post_error = e_.link_.send(request, slot_piece());
            if (end_.post_error != 0 || !await())
                return false;
            ++reads_;
            if (const uint64_t seen = key_of(slot()); seen == key || seen == kNoKey)
                return true;
        }
        return true;
    }

    bool await() noexcept {
        CompletionArray wc;
        int got = 0;
        do {
            if (!take_completions(completer_, worker_, wc, got, end_))
                return false;
        } while (std::none_of(
            wc.begin(), wc.begin() + got, [](const ibv_wc& one) { return one.wr_id == kAwaited; }));
        return true;
    }

    Exercise& e_;
    uint32_t version_;
    C& completer_;
    Worker& worker_;
    Trial& out_;
    uint64_t begin_ns_ = 0;  // of the first GET that is measured
    uint64_t reads_ = 0;
    Ending end_;
};

Result<std::unique_ptr<Exercise>> Exercise::open(perf::Client& client,
                                                 const Plan& plan,
                                                 std::chrono::milliseconds timeout) {
    if (!can(client.server(), kServedExercise.capability))
        return make_error(Code::Unsupported,
                          "the server (version {}) has no key-value exercise",
                          client.server().version)
            .advise("upgrade rdma-perf on the peer");
    const Device& device = client.device();
    const Waiting waiting{.control = &client.control(),
                          .device = &device,
                          .patience = timeout,
                          .poll = resolve_poll({.poll = plan.poll}, poll_place(device))};
    auto buffer = TRY(
        Region::create(device, plan.shape.slot_bytes() + sizeof(uint64_t), IBV_ACCESS_LOCAL_WRITE));
    auto link = TRY(Link::create(device, link_options(device, sizeof(uint64_t), 0)));
    std::unique_ptr<Exercise> exercise(
        new Exercise(client, plan, waiting, std::move(buffer), std::move(link)));
    exercise->keys_ = draw_keys(plan.shape.keys, plan.skew, plan.shape.seed, kDrawnKeys);
    TRY(exercise->connect());
    return exercise;
}

Result<> Exercise::connect() {
    const DeviceInfo& own = client_.device().info;
    const DeviceInfo& peer = client_.server_device();
    if (std::min(own.initiator_depth, peer.responder_depth) == 0)
        return make_error(Code::Unsupported, "one of the devices cannot do RDMA READ");
    const Json opening = {{"keys", plan_.shape.keys},
                          {"value_bytes", plan_.shape.value},
                          {"seed", plan_.shape.seed},
                          {"poll", perf::name_of(plan_.poll)},
                          {"endpoints", perf::to_json(std::vector{link_.endpoint()})}};
    const Opened opened = TRY(parse<Opened>(
        TRY(client_.control().ask(message("kv_open", opening), "kv_opened", step()))));
    table_ = TRY(the_endpoint(opened.endpoints));
    if (table_.length < plan_.shape.table_bytes())
        return make_error(Code::BadInput, "the server's table is smaller than it must be");
    if (opened.mtu > own.active_mtu)
        return make_error(Code::BadInput, "the server chose a path MTU that our port cannot do");
    agreed_ = {{"mtu_bytes", opened.mtu},
               {"poll", perf::name_of(waiting_.poll)},
               {"server_poll", perf::name_of(opened.poll)}};
    return link_.connect(peer, table_, opened.mtu);
}

Result<Trial> Exercise::run(Method method, uint32_t rep, uint32_t version) {
    const Json start = {{"method", name_of(method)}, {"version", version}};
    TRY(client_.control().ask(message("kv_start", start), "kv_started", step()));
    Trial trial;
    trial.method = method;
    trial.rep = rep;
    client_.account().begin(client_.device().info);
    TRY(get_all(version, trial));
    trial.usage.client = client_.account().end();
    trial.usage.payload_bytes = trial.all * plan_.shape.value;
    const Json stopped = TRY(client_.control().ask(message("kv_stop"), "kv_stopped", step()));
    trial.usage.server = TRY(parse_usage(stopped));
    const auto answers = TRY(base::required<uint64_t>(stopped, "answers"));
    const uint64_t asked = method == Method::Send ? trial.all : 0;
    if (answers != asked)
        return make_error(Code::Internal, "the server answered {} GETs of {}", answers, asked);
    return trial;
}

Result<> Exercise::get_all(uint32_t version, Trial& trial) {
    latencies_ = {};
    // After what it works on: destroyed before it.
    auto crew = TRY(Crew::create());
    TRY(crew->hire(false, [&](Crew::Hand& hand) {
        Waiting waiting = waiting_;
        waiting.word = hand.worker.word_fd();
        return with_completer(link_.completions(), waiting, [&](auto& completer) {
            using C = std::remove_reference_t<decltype(completer)>;
            return Getter<C>(*this, version, completer, hand.worker, trial).run();
        });
    }));
    TRY(crew->start());
    const Watched watched{.control = waiting_.control, .crew = crew.get()};
    const Attention attention =
        TRY(attend({&watched, 1}, UINT64_MAX, [&] { return crew->all_ended(); }));
    if (attention.cause == Attention::Cause::Failed)
        return ending_error(*crew->failure(), waiting_);
    if (attention.cause == Attention::Cause::Spoken)
        return wake_error(Wake::Gone, waiting_);
    crew.reset();
    trial.latency = summarize(latencies_);
    return {};
}

Result<> Exercise::close() {
    TRY(client_.control().ask(message("kv_close"), "kv_closed", step()));
    return {};
}

}  // namespace perf::kv
