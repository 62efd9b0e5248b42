// SPDX-License-Identifier: Apache-2.0
// Programs: starts our own programs inside network namespaces, follows them, and leaves none
// behind. What it guarantees of a program:
// - It is run by its absolute path with the arguments given: no shell, no search. beside_us() finds
//   it where only root may write. The environment is exactly the one given.
// - It is in the namespace from its first instruction on, with a /sys of that namespace (mounted in
//   a mount namespace of its own); we never leave ours but for the time of the fork.
// - Standard input is /dev/null, standard output and error are pipes to us; it inherits no other
//   descriptor, not even those that we were started with (close_range(2), kernel 5.11).
// - It leads a process group of its own, which kill() ends as a whole, and it is killed by the
//   kernel when we die. Destroying the room kills and reaps whatever still runs.
// - A failure to enter or to exec is an error of start(), not a strange exit status.
// For programs with one thread: between fork and exec only async-signal-safe calls are made.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "netns/base/clock.h"
#include "netns/base/result.h"
#include "netns/namespace.h"

namespace netns {

struct Program {
    std::string path;                      // absolute
    std::vector<std::string> arguments;    // without argv[0]
    std::vector<std::string> environment;  // NAME=VALUE
};

// What a program did next: wrote something, or ended. The end comes after all that was written.
struct ProgramEvent {
    size_t program = 0;
    bool ended = false;
    bool to_stderr = false;
    std::string text;  // at most some KiB
    int status = 0;    // of its end, as a shell would say: 128 and the signal's number if killed
};

class Programs {
  public:
    virtual ~Programs() = default;

    // The absolute path of the program `name` in the folder of the one that runs. Code::Refused if
    // it, its folder or one above could be written by others than root; Unavailable if it is not
    // there.
    virtual Result<std::string> beside_us(const std::string& name) = 0;

    // The number of the program for the calls below.
    virtual Result<size_t> start(const Netns& ns, const Program& program) = 0;

    // The next event of any program that runs. Code::Timeout when the deadline passes, Unavailable
    // if none runs.
    virtual Result<ProgramEvent> next(base::Deadline deadline) = 0;

    // Kills the program and its group, and reaps it; one that has ended is no error.
    virtual void kill(size_t program) = 0;
};

std::unique_ptr<Programs> make_kernel_programs();

}  // namespace netns
