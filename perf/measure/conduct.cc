// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>
#include <set>

#include "perf/measure/client.h"

namespace perf {

namespace {
class Conductor {
  public:
    Conductor(std::span<Client> clients,
              const Point& point,
              const Onlooker& onlooker,
              Conductor* load)
        : clients_(clients),
          point_(point),
          onlooker_(onlooker),
          load_(load),
          by_window_(point.mode == Mode::Bandwidth && point.time_ms != 0),
          progress_(clients.size(), Progress::Running) {
        for (Client& client : clients)
            all_.push_back(&client);
        if (load != nullptr)
            all_.insert(all_.end(), load->all_.begin(), load->all_.end());
    }

    Result<PointResult> run() {
        const bool measured = TRY(prepare());
        const std::string name = describe(point_);
        if (measured) {
            TRY(measure().context("measuring " + name));
            if (load_ != nullptr)
                TRY(load_->end_load().context("the load of " + name));
            TRY(each(&Client::verify_after).context("verifying " + name));
        }
        TRY(each(&Client::close).context("closing " + name));
        return gather(measured);
    }

  private:
    // False: data was wrong, and there is nothing to measure.
    Result<bool> prepare() {
        const std::string name = describe(point_);
        for (Client& client : clients_)
            TRY(client.open(point_).context("opening " + name));
        TRY(each(&Client::verify_before).context("verifying " + name));
        if (anything_wrong() || load_ == nullptr)
            return !anything_wrong();
        return load_->begin_load();
    }

    // ---- of a load -------------------------------------------------------------------------------
    Result<bool> begin_load() {
        const bool good = TRY(prepare());
        if (!good) {
            TRY(each(&Client::close));
            return false;
        }
        TRY(each(&Client::begin));
        TRY(pass_until(now_ns() + warmup_ns(point_)));
        TRY(each(&Client::open_window));
        return true;
    }

    Result<> end_load() {
        TRY(close_window());
        TRY(end_streams());
        TRY(each(&Client::verify_after));
        return each(&Client::close);
    }

    // ----------------------------------------------------------------------------------------------
    enum class Progress : uint8_t { Running, Stopped, Answered };

    Result<> each(Result<> (Client::*step)()) {
        for (Client& client : clients_)
            TRY((client.*step)());
        return {};
    }

    [[nodiscard]] bool anything_wrong() const {
        return std::ranges::any_of(
            clients_, [](const Client& c) { return c.result().checked.wrong.has_value(); });
    }

    Result<> measure() {
        TRY(each(&Client::begin));
        if (point_.time_ms != 0)
            TRY(pass_until(now_ns() + warmup_ns(point_)));
        TRY(by_window_ ? window() : pass_in_intervals());
        return end_streams();
    }

    Result<> end_streams() {
        TRY(stop());
        TRY(pass_until(UINT64_MAX, [this] {
            return std::ranges::all_of(clients_,
                                       [](Client& c) { return c.watched().crew->all_ended(); });
        }));
        return each(&Client::settle);
    }

    // Each server hears at once that its client is done, and each client what its server did: who
    // receives waits only so long for a next message, and other clients may take longer.
    Result<> stop() {
        for (;;) {
            TRY(stop_drained());
            if (std::ranges::all_of(progress_, [](Progress p) { return p == Progress::Answered; }))
                return {};
            const auto next = std::ranges::min_element(clients_, {}, &Client::answer_due_ns);
            const Attention attention =
                TRY(look(next->answer_due_ns(), [this] { return any_to_stop(); }));
            if (attention.cause == Attention::Cause::TimeUp)
                TRY(take_answer(static_cast<size_t>(next - clients_.begin())));
            else if (attention.cause == Attention::Cause::Spoken &&
                     attention.index < clients_.size() &&
                     progress_[attention.index] == Progress::Stopped)
                TRY(take_answer(attention.index));
            else
                TRY(judge(attention));
        }
    }

    [[nodiscard]] bool is_to_stop(size_t i) {
        return progress_[i] == Progress::Running && clients_[i].watched().crew->all_drained();
    }

    [[nodiscard]] bool any_to_stop() {
        return std::ranges::any_of(std::views::iota(size_t{0}, clients_.size()),
                                   [this](size_t i) { return is_to_stop(i); });
    }

    Result<> stop_drained() {
        for (size_t i = 0; i < clients_.size(); ++i) {
            if (!is_to_stop(i))
                continue;
            TRY(clients_[i].stop());
            progress_[i] = Progress::Stopped;
            if (!clients_[i].ends_with_server())
                ended_.push_back(i);
        }
        return {};
    }

    Result<> take_answer(size_t i) {
        TRY(clients_[i].take_stopped());
        progress_[i] = Progress::Answered;
        if (clients_[i].ends_with_server())
            ended_.push_back(i);
        return {};
    }

    Result<> window() {
        constexpr uint64_t kSlice = kSliceMs * 1'000'000;
        const uint64_t time_ns = uint64_t{point_.time_ms} * 1'000'000;
        TRY(each(&Client::open_window));
        begin_result();
        readings_ = {read_in_time([this] { return counted(); })};
        for (uint64_t passed = kSlice; passed <= time_ns && !cut_; passed += kSlice) {
            TRY(pass_until(begin_ns_ + passed));
            take(read_in_time([this] { return counted(); }));
            std::ranges::for_each(clients_, &Client::look);
            if (!cut_ && now_ns() >= interval_end_ns_)
                TRY(end_interval());
        }
        if (!cut_)
            TRY(pass_until(begin_ns_ + time_ns));
        TRY(end_last_interval());
        return close_window();
    }

    Result<> close_window() {
        window_is_over_ = true;
        TRY(each(&Client::close_window));
        for (Client& client : clients_)
            client.watched().crew->close();
        return {};
    }

    void take(const Reading& reading) {
        // Behind a slice that took too long comes a short one: it is a part of the next.
        if (reading.at_ns - readings_.back().at_ns < kSliceMs * 1'000'000 / 2)
            return;
        readings_.push_back(reading);
        ++slices_in_interval_;
        // A window without an end has the slices of its last half an hour, or more.
        constexpr ptrdiff_t kMost = kMaxTimeMs / kSliceMs + 1;
        if (std::ssize(readings_) > kMost)
            readings_.erase(readings_.begin(), readings_.begin() + kMost / 2);
    }

    // From here on an interrupt leaves a result, and intervals begin.
    void begin_result() {
        // By iterations a server would go on.
        if (!clients_.front().ends_with_server())
            heed_ = clients_.front().control().stop().heed();
        begin_ns_ = interval_begin_ns_ = now_ns();
        if (onlooker_.interval_ms != 0 && point_.time_ms != 0)
            interval_end_ns_ = begin_ns_ + interval_ns();
    }

    [[nodiscard]] uint64_t interval_ns() const {
        return uint64_t{onlooker_.interval_ms} * 1'000'000;
    }

    // Of latency by time: until the first client is done. Without intervals there is nothing to wait
    // for here.
    Result<> pass_in_intervals() {
        begin_result();
        while (interval_end_ns_ != UINT64_MAX && !cut_ && !any_to_stop()) {
            TRY(pass_until(interval_end_ns_, [this] { return any_to_stop(); }));
            if (!cut_ && now_ns() >= interval_end_ns_)
                TRY(end_interval());
        }
        return end_last_interval();
    }

    // What is left may be short: then it is none.
    Result<> end_last_interval() {
        const bool is_short = now_ns() < interval_begin_ns_ + interval_ns() / 2;
        return interval_end_ns_ == UINT64_MAX || is_short ? Result<>() : end_interval();
    }

    Result<> end_interval() {
        const uint64_t now = now_ns();
        Interim interim{.begin_ns = interval_begin_ns_ - begin_ns_, .end_ns = now - begin_ns_};
        Stretch stretch = TRY(take_stretch());
        if (point_.mode == Mode::Latency) {
            interim.latency = summarize(stretch.latencies);
        } else {
            interim.bandwidth = sum_of(std::move(stretch.parts));
            const size_t last = std::min(readings_.size(), slices_in_interval_ + 1);
            interim.bandwidth->slices = slices_of(std::span(readings_).last(last));
        }
        if (load_ != nullptr)
            interim.load = sum_of(TRY(load_->take_stretch()).parts);
        slices_in_interval_ = 0;
        interval_begin_ns_ = now;
        while (interval_end_ns_ <= now)
            interval_end_ns_ += interval_ns();
        // More than a point with an end can have; of one without the latest.
        constexpr ptrdiff_t kMost = 50'000;
        intervals_.push_back(interim);
        if (std::ssize(intervals_) > kMost)
            intervals_.erase(intervals_.begin(), intervals_.begin() + kMost / 2);
        return onlooker_.show ? onlooker_.show(interim) : Result<>();
    }

    Result<Stretch> take_stretch() {
        Stretch all;
        for (uint32_t i = 0; i < clients_.size(); ++i)
            add_up(all, TRY(clients_[i].end_interval()), i);
        return all;
    }

    [[nodiscard]] Stretch all_measured() const {
        Stretch all;
        for (uint32_t i = 0; i < clients_.size(); ++i)
            add_up(all, clients_[i].measured(), i);
        return all;
    }

    static void add_up(Stretch& all, const Stretch& one, uint32_t client) {
        all.latencies.merge(one.latencies);
        for (Part part : one.parts) {
            part.client = client;
            all.parts.push_back(part);
        }
    }

    [[nodiscard]] std::optional<Slices> slices_of(std::span<const Reading> readings) const {
        const uint64_t at_once = std::max(point_.batch, signal_of(point_));
        return perf::slices_of(readings, clients_.size() * point_.qps * at_once);
    }

    uint64_t counted() {
        uint64_t sum = 0;
        for (Client& client : clients_) {
            const Crew& crew = *client.watched().crew;
            sum += crew.sent() + crew.received();
        }
        return sum;
    }

    Result<> pass_until(
        uint64_t until_ns, const std::function<bool()>& done = [] { return false; }) {
        return judge(TRY(look(until_ns, done)));
    }

    // As attend(), and a first interrupt ends what is measured.
    Result<Attention> look(uint64_t until_ns, const std::function<bool()>& done) {
        const Stop& stop = clients_.front().control().stop();
        // It may be too late to end anything early.
        const bool is_measured =
            by_window_ ? window_is_over_ : std::ranges::count(progress_, Progress::Running) == 0;
        const bool heeds = heed_ && !cut_ && !is_measured;
        const auto is_over = [&] { return (heeds && stop.interrupted()) || done(); };
        std::vector<Watched> watched;
        for (Client* client : all_)
            watched.push_back(client->watched());
        const Attention attention =
            TRY(attend(watched, until_ns, is_over, heeds ? stop.interrupt_fd() : -1));
        if (heeds && stop.interrupted()) {
            cut_ = true;
            if (!by_window_)
                std::ranges::for_each(clients_, &Client::cut_short);
        }
        return attention;
    }

    Result<> judge(const Attention& attention) {
        if (attention.cause == Attention::Cause::Spoken ||
            attention.cause == Attention::Cause::Failed)
            return all_[attention.index]->explain(attention);
        return {};
    }

    Result<PointResult> gather(bool measured) const {
        PointResult all = clients_.front().result();
        all.clients = static_cast<uint32_t>(clients_.size());
        for (const Client& client : clients_)
            all.mtu = std::min(all.mtu, client.result().mtu);
        for (const Client* client : std::span(all_).subspan(1))
            add(all.checked, client->result().checked);
        if (!measured)
            return all;
        all.usage = usage();
        if (point_.mode == Mode::Latency)
            all.latency = summarize(all_measured().latencies);
        else
            all.bandwidth = bandwidth();
        if (load_ != nullptr)
            all.load = load_->bandwidth();
        all.intervals = intervals_;
        all.complete = !cut_;
        const uint64_t counted = all.latency ? all.latency->samples : all.bandwidth->messages;
        if (cut_ && counted == 0)
            return stopped_error();
        if (clients_.size() == 1 && all.bandwidth && all.bandwidth->elapsed_ns != 0)
            all.share_of_limit = clients_.front().share_of_limit(*all.bandwidth);
        return all;
    }

    [[nodiscard]] Bandwidth bandwidth() const {
        Bandwidth all = sum_of(all_measured().parts, point_.time_ms != 0);
        all.slices = slices_of(readings_);
        return all;
    }

    // What a machine uses and a device counts has all of its clients in it: each once, by the
    // client whose window ended last, and so is the longest. All clients run on this machine,
    // their servers may be on several.
    [[nodiscard]] PointUsage usage() const {
        PointUsage all = clients_[ended_.back()].result().usage;
        all.payload_bytes = 0;
        std::set<std::string> own;
        std::set<std::string> servers;
        std::set<std::string> machines;
        for (const size_t i : ended_ | std::views::reverse) {
            const Client& client = clients_[i];
            const PointUsage& one = client.result().usage;
            const Hello& server = client.server();
            const bool has_device = client.has_device();
            const std::string device = has_device ? client.device().info.device : "";
            const std::string far = has_device ? client.server_device().device : "";
            all.payload_bytes += one.payload_bytes;
            if (own.insert(device).second && own.size() > 1)
                add_up(all.client.counters, one.client.counters);
            if (servers.insert(server.host + "/" + far).second && servers.size() > 1)
                add_up(all.server.counters, one.server.counters);
            const std::string& machine = server.machine.empty() ? server.host : server.machine;
            if (machines.insert(machine).second && machines.size() > 1)
                add_up(all.server.cpu, one.server.cpu);
        }
        return all;
    }

    static void add_up(Counters& sum, const Counters& more) {
        for (const auto& [name, value] : more)
            sum[name] += value;
    }

    // Without the part of a machine that does not tell there is no sum.
    static void add_up(std::optional<CpuUse>& sum, const std::optional<CpuUse>& more) {
        if (sum && more)
            add(*sum, *more);
        else
            sum.reset();
    }

    std::span<Client> clients_;
    std::vector<Client*> all_;  // the clients, and behind them those of the load
    const Point& point_;
    const Onlooker& onlooker_;
    Conductor* const load_;  // nullptr: there is none
    const bool by_window_;
    std::vector<Progress> progress_;  // of each client
    std::vector<size_t> ended_;       // the clients, as their windows ended
    std::shared_ptr<void> heed_;      // of interrupts
    bool window_is_over_ = false;
    bool cut_ = false;               // it was interrupted
    std::vector<Reading> readings_;  // of the window's slices
    size_t slices_in_interval_ = 0;
    uint64_t begin_ns_ = 0;  // of the first interval
    uint64_t interval_begin_ns_ = 0;
    uint64_t interval_end_ns_ = UINT64_MAX;  // UINT64_MAX: there are no intervals
    std::vector<Interim> intervals_;
};
}  // namespace

Result<PointResult> conduct(std::span<Client> clients,
                            const Point& point,
                            const Onlooker& onlooker,
                            std::span<Client> loads) {
    if (loads.empty())
        return Conductor(clients, point, onlooker, nullptr).run();
    const Point beside = load_point(point);
    const Onlooker nobody{};
    Conductor load(loads, beside, nobody, nullptr);
    return Conductor(clients, point, onlooker, &load).run();
}

}  // namespace perf
