// SPDX-License-Identifier: Apache-2.0
// Client: one control connection and device of the side that owns the plan. start() agrees with the
// server on versions and devices, greet() on versions only, which is enough for points over TCP;
// then each point goes through the phases below. conduct() takes one or more clients through them
// together.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perf/engine/team.h"
#include "perf/measure/options.h"
#include "perf/measure/result.h"
#include "perf/protocol/control.h"
#include "perf/verbs/device.h"

namespace perf {

// What a client has measured, of a point or since the interval before.
struct Stretch {
    std::vector<Part> parts;
    Histogram latencies;
};

// Messages forward and in reverse, by the clock of the side that counts them. The sender counts what
// has completed. What a TCP socket took is on its way yet, and what an unreliable transport took may
// be lost: there the receiver counts.
using Mark = std::array<Reading, 2>;

class Client {
  public:
    static Result<Client> start(Verbs& verbs, Control control, const SideOptions& options);
    static Result<Client> greet(Control control, const SideOptions& options);

    // Watches for 100 ms what this machine does without us, once, before the first point: the
    // server does the same meanwhile. Ends at once on a Stop and when the server goes.
    Result<> watch_idle();

    // The phases of a point, in this order. After an error the client cannot be used any more.
    Result<> open(const Point& point);
    Result<> verify_before();
    Result<> begin();                // both sides' threads run
    Result<> open_window();          // by time only, where data is counted from
    Result<> close_window();         // and to
    Result<Stretch> end_interval();  // by time; asks the server, too, which shows it our life
    Result<> stop();                 // the crew has drained: tells the server, which answers
    Result<> take_stopped();         // by answer_due_ns(): what it did
    Result<> settle();               // the crew has ended
    Result<> verify_after();
    Result<> close();

    // While threads run.
    [[nodiscard]] Watched watched() { return {&control_, &team_->crew()}; }

    void look() { team_->look(); }

    // Ends early what has no window. Not where the server posts by iterations: it goes on.
    void cut_short() {
        result_.complete = false;
        team_->crew().close();
    }

    // What we do lasts as long as the server goes on, and so does the window of our processor time:
    // it ends in take_stopped(), else in stop(). (In a ping-pong we have had the last answer.)
    [[nodiscard]] bool ends_with_server() const {
        return server_goes_on() && !is_ping_pong(result_.point);
    }

    // Of now_ns(); UINT64_MAX while none is due.
    [[nodiscard]] uint64_t answer_due_ns() const { return answer_due_ns_; }

    // Why attend() came back for this client.
    Error explain(const Attention& attention);

    // What the point has brought so far, but for what was measured.
    [[nodiscard]] const PointResult& result() const { return result_; }

    [[nodiscard]] const Stretch& measured() const { return measured_; }

    // Of the busier direction, in what the link leaves for the payload.
    [[nodiscard]] std::optional<LimitShare> share_of_limit(const Bandwidth& bandwidth) const;

    [[nodiscard]] const Hello& server() const { return server_; }

    // False after greet(): then there is neither of the next two.
    [[nodiscard]] bool has_device() const { return device_.has_value(); }

    [[nodiscard]] const DeviceInfo& server_device() const { return peer_; }

    [[nodiscard]] const Device& device() const { return *device_; }

    // For exchanges that are no points (suites/), too.
    [[nodiscard]] Control& control() { return control_; }

    [[nodiscard]] Account& account() { return account_; }

  private:
    Client(Control control, const SideOptions& options)
        : control_(std::move(control)), options_(options) {}

    template <class T>
    Result<T> ask(std::string_view type, Json body, std::string_view answer) {
        return parse<T>(TRY(control_.ask(message(type, std::move(body)), answer, step())));
    }

    Result<Device> choose_device(Verbs& verbs) const;
    Result<> open_verbs(const Point& wish);
    Result<> open_tcp(const Point& wish);
    Result<> verify_rounds(uint32_t count);
    Result<> verify_left();
    Result<> verify_of(Side poster, Round round);
    Result<Mark> mark(bool must_ask = false);
    Part part_of(Direction direction, const Posted& posted);

    [[nodiscard]] bool posts(Side side) const { return posts_data(result_.point, side); }

    // When our own threads have nothing left to post: by iterations its measurement may be whole.
    [[nodiscard]] bool server_goes_on() const {
        return result_.point.iterations != 0 && posts(Side::Server);
    }

    [[nodiscard]] Waiting waiting() {
        return {.control = &control_, .patience = options_.timeout, .poll = result_.point.poll};
    }

    [[nodiscard]] Deadline step() const { return Deadline::in(options_.timeout); }

    Control control_;
    SideOptions options_;
    Hello server_;
    DeviceInfo peer_;
    std::optional<Device> device_;
    Account account_;
    // Of the open point.
    std::unique_ptr<Team> team_;  // uses the device
    PointResult result_;
    Stretch measured_;
    uint32_t next_round_ = 0;
    Mark opened_{};
    Mark closed_{};
    Mark interval_{};                       // where the running one began
    Histogram seen_;                        // latencies of those before it
    std::vector<uint64_t> sent_by_server_;  // by lane
    uint64_t answer_due_ns_ = UINT64_MAX;
};

// ---- points over several clients ----------------------------------------------------------------
// Who looks on while a point by time runs.
struct Onlooker {
    uint32_t interval_ms = 0;  // 0: none
    std::function<Result<>(const Interim& interim)> show = {};
};

// Runs a point over all clients at the same time: opened and verified one after the other, then
// started, and measured in one window. A point whose data is wrong is not measured, and no error.
// After an error no client can be used any more.
//
// The clients' Stop may be interrupted while a point is measured, unless servers post by iterations:
// what is measured so far is the result then. If that is nothing, the point is stopped, an error.
//
// `loads`, one for each client, carry the point's load meanwhile. A server takes them for clients.
Result<PointResult> conduct(std::span<Client> clients,
                            const Point& point,
                            const Onlooker& onlooker = {},
                            std::span<Client> loads = {});

// ---- the clients of a command line --------------------------------------------------------------
// A client for each host, in order: versions are agreed on, and devices unless no point needs one.
Result<std::vector<Client>> connect_clients(std::span<const std::string> hosts,
                                            uint16_t port,
                                            const SideOptions& side,
                                            const Surroundings& around,
                                            bool with_device = true);

// The same over connections that are there already.
Result<std::vector<Client>> start_clients(std::vector<Control> controls,
                                          const SideOptions& side,
                                          const Surroundings& around,
                                          bool with_device = true);

}  // namespace perf
