// SPDX-License-Identifier: Apache-2.0
// Service: the server's side of a comparison with perftest: one program at a time, which ends with
// this object at the latest.
#pragma once

#include <optional>

#include "perf/protocol/control.h"
#include "perf/suites/perftest/message.h"
#include "perf/suites/perftest/program.h"
#include "perf/verbs/device.h"

namespace perf::perftest {

// How long a side may take to say which perftest it has.
inline constexpr auto kProbeTime = std::chrono::seconds(10);

// Which perftest this side has. Code::Unsupported without one.
base::Result<Version> probe(const Folders& folders, const Stop& stop);

// Code::Unsupported for a device whose queue pairs only rdma_cm connects: not compared.
base::Result<> check_device(const DeviceInfo& device);

// Of a side's device. `server`: where the server's end listens.
End end_of(Side side, const DeviceInfo& device, const Address& server, uint16_t port);

// The server's address at the control connection `fd`, of which this is that side; 127.0.0.1 beside
// a socket that is neither IPv4 nor IPv6.
Address server_address(int fd, Side side);

// Of what a program printed.
std::string last_line_of(const Program::Outcome& outcome);

class Service {
  public:
    // `device` and `control` must live longer. `timeout`: of each step.
    Service(const Folders& folders,
            const DeviceInfo& device,
            const Control& control,
            std::chrono::milliseconds timeout)
        : folders_(folders), device_(&device), control_(&control), timeout_(timeout) {}

    base::Result<Version> probe();

    // Starts the program in place of one before; the port on which it listens. One that ends before
    // it listens is started again on another port, twice at most.
    base::Result<uint16_t> start(const Trial& trial);

    [[nodiscard]] bool is_running() const { return program_.has_value(); }

    // How long the client may say nothing while it runs.
    [[nodiscard]] std::chrono::milliseconds patience() const;

    base::Result<Ended> end();

  private:
    base::Result<> start_on(uint16_t port, base::Deadline deadline);
    base::Result<> await_listener(uint16_t port, base::Deadline deadline);

    Folders folders_;
    const DeviceInfo* device_;
    const Control* control_;
    std::chrono::milliseconds timeout_;
    bool can_bind_ = false;
    Trial trial_;
    std::optional<Program> program_;
};

}  // namespace perf::perftest
