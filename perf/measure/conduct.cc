// SPDX-License-Identifier: Apache-2.0
#include "perf/measure/conduct.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <set>
#include <vector>

#include "perf/measure/metrics.h"

namespace perf {

namespace {
using Step = Result<> (Client::*)();

class Conductor {
  public:
    Conductor(std::span<Client> clients, const Point& point)
        : clients_(clients), point_(point), progress_(clients.size(), Progress::Running) {}

    Result<PointResult> run() {
        const std::string name = describe(point_);
        for (Client& client : clients_)
            TRY(client.open(point_).context("opening " + name));
        TRY(each(&Client::verify_before).context("verifying " + name));
        const bool measured = !anything_wrong();
        if (measured) {
            TRY(measure().context("measuring " + name));
            TRY(each(&Client::verify_after).context("verifying " + name));
        }
        TRY(each(&Client::close).context("closing " + name));
        return gather(measured);
    }

  private:
    enum class Progress : uint8_t { Running, Stopped, Answered };

    Result<> each(Step step) {
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
        if (point_.mode == Mode::Bandwidth && point_.time_ms != 0)
            TRY(window());
        TRY(stop());
        TRY(attend_all(UINT64_MAX, [this] {
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
            const size_t next = next_to_answer();
            const uint64_t due =
                next < clients_.size() ? clients_[next].answer_due_ns() : UINT64_MAX;
            const Attention attention =
                TRY(attend(watched(), due, [this] { return any_to_stop(); }));
            if (attention.cause == Attention::Cause::TimeUp)
                TRY(take_answer(next));
            else if (attention.cause == Attention::Cause::Spoken &&
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
        for (size_t i = 0; i < clients_.size(); ++i) {
            if (is_to_stop(i))
                return true;
        }
        return false;
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

    // Of those that were stopped, whose time is up first; clients_.size() if there is none.
    [[nodiscard]] size_t next_to_answer() const {
        size_t next = clients_.size();
        for (size_t i = 0; i < clients_.size(); ++i) {
            if (progress_[i] == Progress::Stopped &&
                (next == clients_.size() ||
                 clients_[i].answer_due_ns() < clients_[next].answer_due_ns()))
                next = i;
        }
        return next;
    }

    Result<> take_answer(size_t i) {
        TRY(clients_[i].take_stopped());
        progress_[i] = Progress::Answered;
        if (clients_[i].ends_with_server())
            ended_.push_back(i);
        return {};
    }

    Result<> window() {
        TRY(pass(warmup_ns(point_)));
        TRY(each(&Client::open_window));
        TRY(pass_in_slices(uint64_t{point_.time_ms} * 1'000'000));
        TRY(each(&Client::close_window));
        for (Client& client : clients_)
            client.watched().crew->close();
        return {};
    }

    // Lets the threads work for some time.
    Result<> pass(uint64_t time_ns) {
        return attend_all(now_ns() + time_ns, [] { return false; });
    }

    Result<> pass_in_slices(uint64_t time_ns) {
        constexpr uint64_t kSlice = kSliceMs * 1'000'000;
        const uint64_t begin = now_ns();
        readings_ = {read_in_time([this] { return counted(); })};
        for (uint64_t passed = kSlice; passed <= time_ns; passed += kSlice) {
            TRY(attend_all(begin + passed, [] { return false; }));
            const Reading reading = read_in_time([this] { return counted(); });
            // Behind a slice that took too long comes a short one: it is a part of the next.
            if (reading.at_ns - readings_.back().at_ns >= kSlice / 2)
                readings_.push_back(reading);
        }
        return attend_all(begin + time_ns, [] { return false; });
    }

    // Messages that the clients have sent, and seen come.
    uint64_t counted() {
        uint64_t sum = 0;
        for (Client& client : clients_) {
            const Crew& crew = *client.watched().crew;
            sum += crew.sent() + crew.received();
        }
        return sum;
    }

    Result<> attend_all(uint64_t until_ns, const std::function<bool()>& done) {
        return judge(TRY(attend(watched(), until_ns, done)));
    }

    std::vector<Watched> watched() {
        std::vector<Watched> all;
        for (Client& client : clients_)
            all.push_back(client.watched());
        return all;
    }

    Result<> judge(const Attention& attention) {
        if (attention.cause == Attention::Cause::Spoken ||
            attention.cause == Attention::Cause::Failed)
            return clients_[attention.index].explain(attention);
        return {};
    }

    PointResult gather(bool measured) const {
        PointResult all = clients_.front().result();
        all.clients = static_cast<uint32_t>(clients_.size());
        for (const Client& client : clients_.subspan(1))
            merge(all, client.result());
        if (!measured)
            return all;
        all.usage = usage();
        if (point_.mode == Mode::Latency)
            all.latency = summarize(latencies());
        else
            all.bandwidth = bandwidth();
        if (clients_.size() == 1 && all.bandwidth && all.bandwidth->elapsed_ns != 0)
            all.share_of_limit = clients_.front().share_of_limit(*all.bandwidth);
        return all;
    }

    [[nodiscard]] Bandwidth bandwidth() const {
        Bandwidth all = sum_of(parts(), point_.time_ms != 0);
        const uint64_t at_once = std::max(point_.batch, signal_of(point_));
        all.slices = slices_of(readings_, clients_.size() * point_.qps * at_once);
        return all;
    }

    static void merge(PointResult& all, const PointResult& more) {
        add(all.checked, more.checked);
        all.mtu = std::min(all.mtu, more.mtu);
    }

    [[nodiscard]] Histogram latencies() const {
        Histogram all;
        for (const Client& client : clients_)
            all.merge(client.latencies());
        return all;
    }

    [[nodiscard]] std::vector<Part> parts() const {
        std::vector<Part> all;
        for (uint32_t i = 0; i < clients_.size(); ++i) {
            for (Part part : clients_[i].parts()) {
                part.client = i;
                all.push_back(part);
            }
        }
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
            all.payload_bytes += one.payload_bytes;
            if (own.insert(own_key(client)).second && own.size() > 1)
                add_up(all.client.counters, one.client.counters);
            if (servers.insert(server_key(client)).second && servers.size() > 1)
                add_up(all.server.counters, one.server.counters);
            if (machines.insert(machine_key(client)).second && machines.size() > 1)
                add_up(all.server.cpu, one.server.cpu);
        }
        return all;
    }

    static std::string own_key(const Client& client) {
        return client.has_device() ? client.device().info.device : "";
    }

    static std::string server_key(const Client& client) {
        return client.server().host + "/" +
               (client.has_device() ? client.server_device().device : "");
    }

    static std::string machine_key(const Client& client) {
        const Hello& server = client.server();
        return server.machine.empty() ? server.host : server.machine;
    }

    static void add_up(Counters& sum, const Counters& more) {
        for (const auto& [name, value] : more)
            sum[name] += value;
    }

    // All but the window. Without the part of a machine that does not tell there is no sum.
    static void add_up(std::optional<CpuUse>& sum, const std::optional<CpuUse>& more) {
        if (!sum || !more) {
            sum.reset();
            return;
        }
        sum->own_user_s += more->own_user_s;
        sum->own_system_s += more->own_system_s;
        sum->machine_busy_s += more->machine_busy_s;
        sum->softirq_s += more->softirq_s;
        sum->kernel_work_elsewhere_s += more->kernel_work_elsewhere_s;
        sum->steal_s += more->steal_s;
        sum->idle_busy_s += more->idle_busy_s;
    }

    std::span<Client> clients_;
    const Point& point_;
    std::vector<Progress> progress_;  // of each client
    std::vector<size_t> ended_;       // the clients, as their windows ended
    std::vector<Reading> readings_;   // of the window's slices
};
}  // namespace

Result<PointResult> conduct(std::span<Client> clients, const Point& point) {
    return Conductor(clients, point).run();
}

}  // namespace perf
