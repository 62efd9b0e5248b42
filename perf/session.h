// SPDX-License-Identifier: Apache-2.0
// Session: the server's side of one control connection, from hello to the client's close. It knows
// no options of a test: the client says what is to be done, within the limits of plan.h. One
// thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "perf/account.h"
#include "perf/control.h"
#include "perf/device.h"
#include "perf/workloads/engine.h"

namespace perf {

struct SideOptions {
    DeviceWish wish;
    std::chrono::milliseconds timeout{5000};  // of each step
};

// The poll mode for "auto" on this machine and device.
PollMode resolve_poll(PollMode wish, const Device& device);

class Session {
  public:
    Session(Verbs& verbs, Control control, SideOptions options);

    // Serves until the client closes. An error has been told to the client where that was possible.
    base::Result<> run();

    [[nodiscard]] uint64_t points() const { return points_; }

    // The table of GID candidates, once the client said what it wants to reach.
    [[nodiscard]] std::string explanation() const { return device_ ? device_->explanation : ""; }

  private:
    using Handler = base::Result<> (Session::*)(const base::Json&);

    enum class State { New, Greeted, Ready, Open };

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
    base::Result<> on_verify(const base::Json& frame);
    base::Result<> on_fill(const base::Json& frame);
    base::Result<> on_emit(const base::Json& frame);
    base::Result<> on_start(const base::Json& frame);
    base::Result<> on_stop(const base::Json& frame);
    base::Result<> on_close(const base::Json& frame);

    base::Result<> reply(std::string_view type, base::Json body = base::Json::object());
    base::Result<> reply_stopped(uint64_t messages);

    [[nodiscard]] base::Deadline step() const { return base::Deadline::in(options_.timeout); }

    [[nodiscard]] base::Deadline idle() const;
    [[nodiscard]] Waiting waiting();
    [[nodiscard]] std::string where() const;

    Verbs* verbs_;
    Control control_;
    SideOptions options_;
    State state_ = State::New;
    uint64_t points_ = 0;
    DeviceInfo peer_;
    std::optional<Device> device_;
    std::optional<Lane> lane_;  // of the open point; uses the device
    Account account_;
};

}  // namespace perf
