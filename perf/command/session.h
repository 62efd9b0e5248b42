// SPDX-License-Identifier: Apache-2.0
// Session: the server's side of one control connection, from hello to the client's close. It knows
// no options of a test: the client says what is to be done, within the limits of plan.h. What is no
// message of points is a suite's. One thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "perf/command/suites.h"
#include "perf/engine/attention.h"
#include "perf/engine/cm_links.h"
#include "perf/engine/team.h"
#include "perf/measure/account.h"
#include "perf/measure/side_options.h"
#include "perf/protocol/control.h"
#include "perf/verbs/cm/connection.h"
#include "perf/verbs/device.h"

namespace perf {

class Session {
  public:
    Session(Verbs& verbs,
            Control control,
            SideOptions options,
            std::span<const ServedSuite* const> suites = served_suites());

    // Serves until the client closes. An error has been told to the client where that was possible.
    Result<> run();

    [[nodiscard]] uint64_t points() const { return points_; }

    // The table of GID candidates, once the client said what it wants to reach.
    [[nodiscard]] std::string explanation() const { return device_ ? device_->explanation : ""; }

    [[nodiscard]] std::string note() const { return device_ ? device_->note : ""; }

  private:
    using Handler = Result<> (Session::*)(const Json&);

    enum class State { New, Greeted, Ready, Open, Running, Suite };

    struct Step {
        std::string_view type;
        State due;
        Handler handler;
    };

    static const Step kSteps[];

    struct LaneRound {
        uint32_t lane = 0;
        Round round;
    };

    Result<> handle(const Json& frame);
    Result<> on_hello(const Json& frame);
    Result<> on_device(const Json& frame);
    Result<> on_open(const Json& frame);
    Result<> open_verbs(const Point& point, const Json& frame);
    Result<> open_tcp(const Point& point);

    // on_open() has waited for it.
    Result<> on_link(const Json&) { return reply("linked"); }

    // The round that a message asks for; an error where the point has none of the kind, as it does
    // not fit or the poster posts nothing.
    [[nodiscard]] Result<LaneRound> round_in(
        const Json& frame, std::string_view type, bool fits, Side poster, Side from) const;
    Result<> on_verify(const Json& frame);
    Result<> on_fill(const Json& frame);
    Result<> on_emit(const Json& frame);
    Result<> on_fetch(const Json& frame);
    Result<> on_start(const Json& frame);
    Result<> on_mark(const Json& frame);
    Result<> on_stop(const Json& frame);
    Result<> on_close(const Json& frame);
    Result<> serve_suite(const std::string& type, const Json& frame);
    void open_suite(const ServedSuite& suite);

    Result<> reply(std::string_view type, Json body = Json::object());
    Result<Json> next_frame();
    Result<Attention::Cause> attend_crew(const std::function<bool()>& done);
    Result<> await_crew(const std::function<bool()>& done);
    Result<> reply_stopped(uint64_t received);

    [[nodiscard]] Deadline step() const { return Deadline::in(options_.timeout); }

    // Of what is running.
    [[nodiscard]] Busy busy() const;

    // How long the client may be silent now.
    [[nodiscard]] std::chrono::milliseconds idle() const;
    Result<Device> choose_device() const;

    // Of a point that is to be opened.
    [[nodiscard]] Waiting waiting_for(const Point& point);
    // The client may leave now, and nothing is wrong.
    [[nodiscard]] bool between_points() const;
    [[nodiscard]] std::string where() const;

    Verbs* verbs_;
    Control control_;
    SideOptions options_;
    std::span<const ServedSuite* const> suites_;
    State state_ = State::New;
    uint64_t points_ = 0;
    DeviceInfo peer_;
    std::optional<Device> device_;  // once the client asked for one
    Account account_;
    // What uses the device: an open point or an open suite.
    std::unique_ptr<Team> team_;
    const ServedSuite* suite_ = nullptr;  // of the half
    std::unique_ptr<ServerHalf> half_;
};

}  // namespace perf
