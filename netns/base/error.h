// SPDX-License-Identifier: Apache-2.0
// The one error type. An Error says what failed (text), why the kernel refused (sys, extack) and in
// which operation (context, innermost first). It also holds errors that happened while it was
// handled (also), and the command or change that fixes it (fix). Text is lower case, without a full
// stop, and names the object. Errors are values: printed once, in main.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace base {

// The kind of failure. Each has one exit code and one line in docs/reference/exit-codes.md.
enum class Code {
    Internal,     // a bug, or a failure of the system that no input explains
    Usage,        // wrong command line
    BadInput,     // container state, config.json or annotation is not acceptable
    BadConfig,    // the configuration file is broken, or others can write it
    Refused,      // policy, or a request that can never work here
    Unsupported,  // this kernel or device cannot do it
    Busy,         // taken: an address, a device, a lock
    Unavailable,  // something needed is not there: parent, module, device node
    Timeout,      // a deadline passed
    Kernel,       // the kernel refused a request
};

// The stable name of a code, used in --json and in docs/reference/exit-codes.md ("bad_input").
std::string_view code_name(Code code);

// The exit status of a code, by the table of sysexits(3).
int exit_status(Code code);

struct Error {
    Code code = Code::Internal;
    int sys = 0;                       // errno, or 0
    std::string text;                  // the failure, with its object
    std::string extack;                // the kernel's own sentence (NETLINK_EXT_ACK), or empty
    std::string fix;                   // advice for the operator, or empty
    std::vector<std::string> context;  // innermost first
    std::vector<Error> also;           // other failures of the same operation

    // Returns one line: "outer context: inner context: text: errno text (extack); fix". Control
    // characters and bytes outside of ASCII, which foreign text may hold, are escaped.
    [[nodiscard]] std::string message() const;

    // Adds an outer frame of context.
    [[gnu::cold]] Error in(std::string frame) &&;

    // Adds advice; advice that was given further inside stays.
    [[gnu::cold]] Error advise(std::string advice) &&;

    // Sets the code, and adds advice.
    [[gnu::cold]] Error as(Code kind, std::string advice = {}) &&;
};

// Functions that make an error are cold: the compiler places the code behind such a call apart. A
// program that succeeds then touches fewer pages, and their first touch is most of a start's cost.
[[gnu::cold]] Error make_error(Code code, std::string text);

// Makes an error of a system call. The first takes errno. `what` names call and object: "open
// /run/x".
[[gnu::cold]] Error sys_error(std::string what);
[[gnu::cold]] Error sys_error(int number, std::string what);

// The same for an object with a path: Unavailable if it is not there (ENOENT, ESRCH).
[[gnu::cold]] Error path_error(std::string what);

// Makes foreign text safe for one line of a terminal. Control characters and bytes outside of
// printable ASCII become \xNN. Text longer than `limit` bytes is cut with "...".
std::string printable(std::string_view text, size_t limit = 120);

}  // namespace base
