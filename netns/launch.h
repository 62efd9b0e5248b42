// SPDX-License-Identifier: Apache-2.0
// Programs: starts our own programs inside network namespaces, follows them, and leaves none
// behind. What it guarantees of a program:
// - All that netns/base/child.h says. beside_us() finds it where only root may write.
// - It is in the namespace from its first instruction on, with a /sys of that namespace (mounted in
//   a mount namespace of its own); we never leave ours but for the time of the fork.
// - It may lock memory (CAP_IPC_LOCK), and has no other capability: a container may answer it.
// - Destroying the room kills and reaps whatever still runs.
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
