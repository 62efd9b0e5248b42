// SPDX-License-Identifier: Apache-2.0
// Session: the server's side of one control connection, from hello to the client's close. It knows
// no options of a test: the client says what is to be done, within the limits of plan.h. What is no
// message of points is a suite's. One thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "perf/command/served_suites.h"
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
    base::Result<> run();

    [[nodiscard]] uint64_t points() const { return points_; }

    // The table of GID candidates, once the client said what it wants to reach.
    [[nodiscard]] std::string explanation() const { return device_ ? device_->explanation : ""; }

    [[nodiscard]] std::string note() const { return device_ ? device_->note : ""; }

  private:
    using Handler = base::Result<> (Session::*)(const base::Json&);

    enum class State { New, Greeted, Ready, Open, Running, Suite };

    struct Step {
        std::string_view type;
        State due;
        Handler handler;
    };

    static const Step kSteps[];

    base::Result<> handle(const base::Json& frame);
    base::Result<> on_hello(const base::Json& frame);
    base::Result<> on_device(const base::Json& frame);
    base::Result<> on_open(const base::Json& frame);
    base::Result<> open_verbs(const Point& point, const base::Json& frame);
    base::Result<> open_tcp(const Point& point);

    // on_open() has waited for it.
    base::Result<> on_link(const base::Json&) { return reply("linked"); }

    base::Result<> on_verify(const base::Json& frame);
    base::Result<> on_fill(const base::Json& frame);
    base::Result<> on_emit(const base::Json& frame);
    base::Result<> on_fetch(const base::Json& frame);
    base::Result<> on_start(const base::Json& frame);
    base::Result<> on_mark(const base::Json& frame);
    base::Result<> on_stop(const base::Json& frame);
    base::Result<> on_close(const base::Json& frame);
    base::Result<> serve_suite(const std::string& type, const base::Json& frame);
    void open_suite(const ServedSuite& suite);

    base::Result<> reply(std::string_view type, base::Json body = base::Json::object());
    base::Result<base::Json> next_frame();
    base::Result<Attention::Cause> attend_crew(const std::function<bool()>& done);
    base::Result<> await_crew(const std::function<bool()>& done);
    base::Result<> reply_stopped(uint64_t received);

    [[nodiscard]] base::Deadline step() const { return base::Deadline::in(options_.timeout); }

    // Of what is running.
    [[nodiscard]] Busy busy() const;

    // How long the client may be silent now.
    [[nodiscard]] std::chrono::milliseconds idle() const;
    base::Result<Device> choose_device() const;

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
