// SPDX-License-Identifier: Apache-2.0
// The command line of a low-level runtime, as runc (Go's flag package) and crun (argp) read it, as
// far as rdma-runtime has to understand it. Pure. Where the two differ, the reading is taken that
// finds the bundle in both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shim {

enum class Verb {
    Other,  // none of our business
    Create,
    Run,
    Delete,
    Checkpoint,
    Restore,
};

// As it is spelt on the command line; empty for Other.
std::string_view name_of(Verb verb);

struct Invocation {
    Verb verb = Verb::Other;
    std::string bundle;  // as given; empty: the working directory
    std::string config;  // crun's name of another config.json; empty: none
    std::string id;
    std::string root;                // where the runtime keeps what it knows of containers
    std::vector<std::string> words;  // of Other: what follows its name, the id among it
    std::string log;                 // the file that engines read a failure from; empty: none
    std::string log_format;          // "json", or the runtimes' own text
    // What we do not understand of it. Then the rest is the best guess: enough to see whether the
    // container asks for RDMA, and not enough to give it any.
    std::string trouble;
};

// `argv` with the program's name.
Invocation parse_args(const std::vector<std::string>& argv);

}  // namespace shim
