// SPDX-License-Identifier: Apache-2.0
// Programs starts programs of this project inside network namespaces, follows them, and leaves none
// behind. It guarantees of each program:
// - All that netns/base/child.h says. beside_us() finds it where only root may write.
// - It is in the namespace from its first instruction on, with a /sys of that namespace, mounted in
//   a mount namespace of its own. The calling process leaves its namespaces only for the time of
//   the fork.
// - It may lock memory (CAP_IPC_LOCK), and has no other capability: a container may answer it.
// - Destroying the room kills and reaps every program that still runs.
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

// Something that a program did: it wrote, or it ended. The end comes after all that it wrote.
struct ProgramEvent {
    size_t program = 0;  // its number, from start()
    bool ended = false;
    bool to_stderr = false;
    std::string text;  // at most some KiB
    int status = 0;    // exit status as a shell reports it; 128 + the signal's number if killed
};

class Programs {
  public:
    virtual ~Programs() = default;

    // Returns the absolute path of the program `name` in the folder of the running one.
    // Unavailable: it is not there. Refused: somebody other than root could write it, its folder or
    // a folder above.
    virtual Result<std::string> beside_us(const std::string& name) = 0;

    // Starts the program in `ns`. Returns its number for the calls below.
    virtual Result<size_t> start(const Netns& ns, const Program& program) = 0;

    // Returns the next event of any running program. Timeout: the deadline passed. Unavailable:
    // none runs.
    virtual Result<ProgramEvent> next(base::Deadline deadline) = 0;

    // Kills the program and its process group, and reaps it. A program that has ended is no error.
    virtual void kill(size_t program) = 0;
};

std::unique_ptr<Programs> make_kernel_programs();

}  // namespace netns
