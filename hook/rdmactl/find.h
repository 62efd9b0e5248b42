// SPDX-License-Identifier: Apache-2.0
// Finds the containers that a verb of rdmactl is about. It is the one place that decides which
// container a text names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/rdmactl/command.h"
#include "hook/rdmactl/names.h"

namespace hook::ctl {

// A container that has a record, or whose last failure is kept.
struct Known {
    std::string key;
    std::string id;  // empty: not known
    CalledAs called;
};

// Returns the name for people: the engine's, else the beginning of the id or key.
std::string label_of(const Known& known);

// Returns all containers with a record. Of one that is unreadable only the key is known.
Result<std::vector<Known>> known_containers(const Context& context, Names& names);

// Returns the one that `text` names: by name, ENGINE:NAME, id or key; else by the beginning of id
// or key, also ENGINE:BEGINNING. Nothing if there is none. Code::Usage: there are several, and the
// error lists them.
Result<std::optional<Known>> choose(const std::vector<Known>& all, const std::string& text);

// Returns the container that choose() finds among those with a record.
Result<std::optional<Container>> find_container(const Context& context,
                                                Names& names,
                                                const std::string& text);
// The same; Code::Unavailable if there is none.
Result<Container> require_container(const Context& context, Names& names, const std::string& text);

Error no_container(const std::string& text);

}  // namespace hook::ctl
