// SPDX-License-Identifier: Apache-2.0
// The log tells the full story, by container id, for an operator who looks later. It goes to
// journald's native socket (one datagram an entry, fields RDMA_CONTAINER and PRIORITY) or to a
// file. The one line for the person at the terminal is printed by main. Only programs and the
// executor log; rooms and steps return errors. A log that cannot be written is no
// failure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace base::log {

// syslog(3) priorities. Audit lines are written at every level.
enum class Level { Error = 3, Warning = 4, Audit = 5, Info = 6, Debug = 7 };

struct Target {
    // Empty: journald; no log where there is none. If the file cannot be opened, the log goes to
    // journald with a warning: an audit line must not be lost to a typing error.
    std::string file;
    Level level = Level::Info;
    std::string program;  // its name in each entry
};

void open(Target target);
// Asks for the target at the first line only: most stages of the hook log nothing.
void open_later(std::function<Target()> target);

// Sets the container that the following lines name: its id, or its key while the id is unknown.
void set_container(std::string id);
const std::string& container();

void write(Level level, std::string_view text);

struct Field {
    std::string_view name;
    std::string value;
};

// Writes an audit line: the event, and fields as NAME=VALUE. journald gets the event as RDMA_EVENT,
// too. `container` may differ from container().
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

}  // namespace base::log
