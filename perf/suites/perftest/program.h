// SPDX-License-Identifier: Apache-2.0
// Program: a program of perftest that runs beside us: all that netns/base/child.h says. It is found
// in a fixed list of folders; its environment is LC_ALL=C alone. Memory that a device uses is not
// in the child (memory.cc).
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "netns/base/child.h"
#include "netns/base/clock.h"
#include "netns/base/result.h"
#include "perf/system/stop.h"

namespace perf::perftest {

using Folders = std::vector<std::string>;

class Program {
  public:
    // What it left behind.
    struct Outcome {
        int status = 0;  // as a shell would say: 128 and the signal's number if it was killed
        std::string out;
        std::string err;
    };

    // Code::Unsupported with the package's name as advice if no folder has it.
    static base::Result<Program> start(const Folders& folders,
                                       const std::string& name,
                                       const std::vector<std::string>& arguments);

    [[nodiscard]] pid_t pid() const { return child_.pid(); }

    // Readable (poll(2)) once it has ended.
    [[nodiscard]] int life() const { return child_.life().get(); }

    // Reads what it writes until it ends; once. Killed: if the deadline passes (Code::Timeout), at
    // a stop, if it writes too much (Code::Unsupported), and if `peer` (-1: none), on which nothing
    // is due meanwhile, becomes readable or hangs up (Code::Unavailable).
    base::Result<Outcome> finish(const base::Deadline& deadline, const Stop& stop, int peer = -1);

  private:
    Program(std::string name, base::Child child)
        : name_(std::move(name)), child_(std::move(child)) {}

    base::Result<> collect(const base::Deadline& deadline,
                           const Stop& stop,
                           int peer,
                           Outcome& outcome);

    std::string name_;
    base::Child child_;
};

}  // namespace perf::perftest
