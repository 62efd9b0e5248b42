// SPDX-License-Identifier: Apache-2.0
#include "perf/conduct.h"

#include <algorithm>
#include <set>

#include "perf/metrics.h"

namespace perf {

using base::Result;

namespace {
using Step = Result<> (Client::*)();

class Conductor {
  public:
    Conductor(std::span<Client> clients, const Point& point) : clients_(clients), point_(point) {}

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
        TRY(until([](const Crew& crew) { return crew.all_drained(); }));
        TRY(each(&Client::stop));
        TRY(until([](const Crew& crew) { return crew.all_ended(); }));
        return each(&Client::settle);
    }

    Result<> window() {
        TRY(pass(warmup_ns(point_)));
        TRY(each(&Client::open_window));
        TRY(pass(uint64_t{point_.time_ms} * 1'000'000));
        TRY(each(&Client::close_window));
        for (Client& client : clients_)
            client.watched().crew->close();
        return {};
    }

    // Lets the threads work for some time.
    Result<> pass(uint64_t time_ns) {
        return attend_all(now_ns() + time_ns, [] { return false; });
    }

    template <class Reached>
    Result<> until(Reached reached) {
        return attend_all(UINT64_MAX, [&] {
            return std::ranges::all_of(clients_,
                                       [&](Client& c) { return reached(*c.watched().crew); });
        });
    }

    Result<> attend_all(uint64_t until_ns, const std::function<bool()>& done) {
        std::vector<Watched> watched;
        for (Client& client : clients_)
            watched.push_back(client.watched());
        const Attention attention = TRY(attend(watched, until_ns, done));
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
        if (point_.mode == Mode::Latency)
            all.latency = summarize(latencies());
        else
            all.bandwidth = sum_of(parts());
        sum_counters(all.usage);
        if (clients_.size() == 1 && all.bandwidth && all.bandwidth->elapsed_ns != 0)
            all.percent_of_limit = clients_.front().share_of_limit(*all.bandwidth);
        return all;
    }

    static void merge(PointResult& all, const PointResult& more) {
        add(all.checked, more.checked);
        all.mtu = std::min(all.mtu, more.mtu);
        all.usage.payload_bytes += more.usage.payload_bytes;
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

    // A device's counters see all of its clients: each device once.
    void sum_counters(PointUsage& usage) const {
        std::set<std::string> own = {own_key(clients_.front())};
        std::set<std::string> servers = {server_key(clients_.front())};
        for (const Client& client : clients_.subspan(1)) {
            if (own.insert(own_key(client)).second)
                add_up(usage.client.counters, client.result().usage.client.counters);
            if (servers.insert(server_key(client)).second)
                add_up(usage.server.counters, client.result().usage.server.counters);
        }
    }

    static std::string own_key(const Client& client) {
        return client.has_device() ? client.device().info.device : "";
    }

    static std::string server_key(const Client& client) {
        return client.server().host + "/" +
               (client.has_device() ? client.server_device().device : "");
    }

    static void add_up(Counters& sum, const Counters& more) {
        for (const auto& [name, value] : more)
            sum[name] += value;
    }

    std::span<Client> clients_;
    const Point& point_;
};
}  // namespace

Result<PointResult> conduct(std::span<Client> clients, const Point& point) {
    return Conductor(clients, point).run();
}

}  // namespace perf
