// SPDX-License-Identifier: Apache-2.0
// The log: the full story, by container id, for the operator who comes later. Goes to journald's
// native socket (one datagram an entry, fields RDMA_CONTAINER and PRIORITY) or to a file. The one
// line for the person at the terminal is not this: main prints that. Only programs and the executor
// log above debug; rooms and steps return errors. A log that cannot be written is no failure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace base::log {

// syslog(3) priorities. Audit lines are written at every level.
enum class Level { Error = 3, Warning = 4, Audit = 5, Info = 6, Debug = 7 };

struct Target {
    // Empty: journald, and nothing where there is none. One that cannot be opened: the same, with a
    // warning, for an audit line must not be lost to a typing error.
    std::string file;
    Level level = Level::Info;
    std::string program;
};

void open(Target target);
// Where to, asked at the first line: most calls of the hook have nothing to say.
void open_later(std::function<Target()> target);

// Named on each line that follows: the container's id, or its key before the id is known.
void set_container(std::string id);
const std::string& container();

void write(Level level, std::string_view text);

struct Field {
    std::string_view name;
    std::string value;
};

// An audit line: the event, and fields as NAME=VALUE. journald gets the event as RDMA_EVENT, too.
// `container` may be another than the one that lines are about.
void audit(std::string_view event, const std::string& container, const std::vector<Field>& fields);

inline void error(std::string_view text) {
    write(Level::Error, text);
}

inline void warning(std::string_view text) {
    write(Level::Warning, text);
}

inline void info(std::string_view text) {
    write(Level::Info, text);
}

inline void debug(std::string_view text) {
    write(Level::Debug, text);
}

}  // namespace base::log
