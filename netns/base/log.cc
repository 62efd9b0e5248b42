// SPDX-License-Identifier: Apache-2.0
#include "netns/base/log.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "netns/base/clock.h"
#include "netns/base/error.h"
#include "netns/base/unique_fd.h"

namespace base::log {

namespace {
struct State {
    Target target;
    std::function<Target()> later;
    std::string container;
    UniqueFd file;
    UniqueFd journald;
    bool journald_tried = false;
};

State& state() {
    static State instance;
    return instance;
}

std::string_view level_name(Level level) {
    switch (level) {
        case Level::Error:
            return "error";
        case Level::Warning:
            return "warning";
        case Level::Audit:
            return "audit";
        case Level::Info:
            return "info";
        case Level::Debug:
            break;
    }
    return "debug";
}

// Connects once: a machine without journald is not tried at every line.
void connect_journald(State& s) {
    s.journald_tried = true;
    UniqueFd fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, "/run/systemd/journal/socket", sizeof address.sun_path - 1);
    if (fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        s.journald = std::move(fd);
}

// A line whose members are all safe to print.
struct Line {
    Level level = Level::Info;
    std::string container;
    std::string text;
    std::string event = {};  // for an audit line
};

// journald's native protocol: newline-separated KEY=value. The text has no newline (printable).
void to_journald(State& s, const Line& line) {
    if (!s.journald_tried)
        connect_journald(s);
    if (!s.journald)
        return;
    std::string message =
        "MESSAGE=" + line.text + "\nPRIORITY=" + std::to_string(static_cast<int>(line.level)) +
        "\nSYSLOG_IDENTIFIER=" + s.target.program + "\nRDMA_CONTAINER=" + line.container + "\n";
    if (!line.event.empty())
        message += "RDMA_EVENT=" + line.event + "\n";
    // A failed log is no failure.
    (void)::send(s.journald.get(), message.data(), message.size(), MSG_NOSIGNAL);
}

void to_file(const State& s, const Line& line) {
    const std::string text = rfc3339_now() + " " + s.target.program + " " +
                             std::string(level_name(line.level)) + " container=" + line.container +
                             " " + line.text + "\n";
    (void)!::write(s.file.get(), text.data(), text.size());  // a failed log is no failure
}

// Returns the state if lines of this level are written; else nullptr.
State* ready(Level level) {
    State& s = state();
    if (const auto target = std::exchange(s.later, nullptr))
        open(target());
    const bool wanted = level <= s.target.level || level == Level::Audit;
    return wanted && !s.target.program.empty() ? &s : nullptr;
}

void put(State& s, const Line& line) {
    if (s.file)
        to_file(s, line);
    else
        to_journald(s, line);
}

// Quotes the value if need be, so that a field ends where it should, whatever it contains.
std::string quoted(const std::string& value) {
    constexpr size_t kMost = 4096;
    constexpr std::string_view kSpecial = "\"\\=";
    const auto plain = [&](unsigned char c) {
        return std::isgraph(c) != 0 && kSpecial.find(static_cast<char>(c)) == kSpecial.npos;
    };
    if (!value.empty() && value.size() <= kMost && std::ranges::all_of(value, plain))
        return value;
    std::string text = "\"";
    for (const char c : value.substr(0, kMost)) {
        const bool escaped = c == '"' || c == '\\';
        text += escaped ? std::string{'\\', c} : printable({&c, 1});
    }
    return text + (value.size() > kMost ? "...\"" : "\"");
}
}  // namespace

void open(Target target) {
    State& s = state();
    s.later = nullptr;
    s.file.reset();
    s.target = std::move(target);
    if (s.target.file.empty())
        return;
    s.file.reset(::open(s.target.file.c_str(),
                        O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
                        0600));
    if (!s.file)
        warning(
            sys_error("open the log " + printable(s.target.file) + ", which the journal has now")
                .message());
}

void open_later(std::function<Target()> target) {
    state().later = std::move(target);
}

void set_container(std::string id) {
    state().container = printable(id);
}

const std::string& container() {
    return state().container;
}

void write(Level level, std::string_view text) {
    if (State* s = ready(level))
        put(*s, {.level = level, .container = s->container, .text = printable(text, 4096)});
}

void audit(std::string_view event, const std::string& container, const std::vector<Field>& fields) {
    State* s = ready(Level::Audit);
    if (s == nullptr)
        return;
    std::string text = "event=" + std::string(event);
    for (const auto& [name, value] : fields)
        text += " " + std::string(name) + "=" + quoted(value);
    put(*s,
        {.level = Level::Audit,
         .container = printable(container),
         .text = std::move(text),
         .event = std::string(event)});
}

}  // namespace base::log
