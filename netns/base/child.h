// SPDX-License-Identifier: Apache-2.0
// Child runs a program beside this one. It guarantees:
// - The program is run by its absolute path with the given arguments: no shell, no search. The
//   environment is exactly the given one; no signal is blocked, SIGPIPE is not ignored.
// - Standard input is /dev/null, standard output and error are pipes to this process. The program
//   inherits no other descriptor, not even those that this process was started with
//   (close_range(2), kernel 5.11).
// - It leads a process group of its own, which kill() ends as a whole. The kernel kills the program
//   when the thread that started it ends, however that ends. The destructor kills and reaps it.
// - A failure to exec is an error of start(), not a strange exit status.
// Between fork and exec only async-signal-safe calls are made, so a process with several threads
// may start one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "netns/base/result.h"
#include "netns/base/unique_fd.h"

namespace base {

struct ChildSpec {
    std::string path;                      // absolute
    std::vector<std::string> arguments;    // without argv[0]
    std::vector<std::string> environment;  // NAME=VALUE
    // Called in the child before the exec. Returns nullptr, or the name of what failed, with errno.
    // It may call only async-signal-safe functions.
    const char* (*prepare)() = nullptr;
    // Wraps the fork: calls its argument, for example inside another namespace. Empty: the fork
    // happens on the spot.
    std::function<Result<>(const std::function<Result<>()>&)> around = {};
};

// Returns the words as exec(3) takes them: a pointer to each, and nullptr.
std::vector<char*> exec_pointers(std::vector<std::string>& words);

class Child {
  public:
    static Result<Child> start(const ChildSpec& spec);

    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) noexcept;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    [[nodiscard]] pid_t pid() const { return pid_; }

    // Readable (poll(2)) once the program has ended.
    [[nodiscard]] const UniqueFd& life() const { return life_; }

    UniqueFd& out() { return out_; }

    UniqueFd& err() { return err_; }

    [[nodiscard]] const UniqueFd& out() const { return out_; }

    [[nodiscard]] const UniqueFd& err() const { return err_; }

    [[nodiscard]] bool is_reaped() const { return pid_ <= 0; }

    // Kills the program and its group; does nothing if it is reaped.
    void kill() noexcept;

    // Waits for the program's end and closes its descriptors. Returns the exit status as a shell
    // reports it: 128 + the signal's number if it was killed.
    int reap() noexcept;

  private:
    Child() = default;

    pid_t pid_ = -1;
    UniqueFd out_;
    UniqueFd err_;
    UniqueFd life_;
};

}  // namespace base
