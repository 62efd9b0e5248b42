// SPDX-License-Identifier: Apache-2.0
// The command line of a low-level runtime, as runc (Go's flag package) and crun (argp) read it, as
// far as rdma-runtime has to understand it. Pure. If the two differ, the reading that finds the
// bundle in both is taken.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shim {

enum class Verb {
    Other,  // passed on to the low-level runtime
    Create,
    Run,
    Delete,
    Checkpoint,
    Restore,
};

// Returns the verb as it is spelt on the command line; empty for Other.
std::string_view name_of(Verb verb);

struct Invocation {
    Verb verb = Verb::Other;
    std::string bundle;  // as given; empty: the working directory
    std::string config;  // crun's name of another config.json; empty: none
    std::string id;
    std::string root;                // the runtime's folder of state (--root)
    std::vector<std::string> words;  // Other: the words after its name, the id among them
    std::string log;                 // the file from which engines read a failure; empty: none
    std::string log_format;          // "json", or the runtimes' own text
    // The program of --low-level; nothing: the configuration names it.
    std::optional<std::string> low_level;
    // The part that was not understood. Then the other members are the best guess: enough to see
    // whether the container asks for RDMA, and too little to give it any.
    std::string trouble;
};

// Takes rdma-runtime's own option out of the words, if it is the first: --low-level=PATH. A file of
// rdmactl has it, which engines start as a runtime of its own name: "#!/usr/bin/rdma-runtime
// --low-level=PATH". The kernel puts that file's path behind the option. It becomes the program's
// name; no word that an engine puts there begins with a slash.
std::optional<std::string> take_low_level(std::vector<std::string>& argv);

// Parses the words; `argv` begins with the program's name.
Invocation parse_args(const std::vector<std::string>& argv);

}  // namespace shim
