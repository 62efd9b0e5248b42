// SPDX-License-Identifier: Apache-2.0
#include "netns/base/log.h"

#include <array>
#include <cstring>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

std::string timestamp() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    std::array<char, 32> text{};
    (void)::gmtime_r(&now, &utc);
    const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return {text.data(), size};
}

std::string_view level_name(Level level) {
    switch (level) {
        case Level::Error:
            return "error";
        case Level::Warning:
            return "warning";
        case Level::Info:
            return "info";
        case Level::Debug:
            break;
    }
    return "debug";
}

// Once: a machine without journald is not asked at every line.
void connect_journald(State& s) {
    s.journald_tried = true;
    UniqueFd fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, "/run/systemd/journal/socket", sizeof address.sun_path - 1);
    if (fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        s.journald = std::move(fd);
}

// journald's native protocol: newline-separated KEY=value; our text has no newline (printable).
void to_journald(State& s, Level level, const std::string& safe) {
    if (!s.journald_tried)
        connect_journald(s);
    if (!s.journald)
        return;
    const std::string message =
        "MESSAGE=" + safe + "\nPRIORITY=" + std::to_string(static_cast<int>(level)) +
        "\nSYSLOG_IDENTIFIER=" + s.target.program + "\nRDMA_CONTAINER=" + s.container + "\n";
    // A log is never worth a failure.
    (void)::send(s.journald.get(), message.data(), message.size(), MSG_NOSIGNAL);
}
}  // namespace

void open(Target target) {
    State& s = state();
    s.later = nullptr;
    s.file.reset();
    if (!target.file.empty())
        s.file.reset(::open(target.file.c_str(),
                            O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
                            0600));
    s.target = std::move(target);
}

void open_later(std::function<Target()> target) {
    state().later = std::move(target);
}

void set_container(std::string id) {
    state().container = printable(id);
}

void write(Level level, std::string_view text) {
    State& s = state();
    if (const auto target = std::exchange(s.later, nullptr))
        open(target());
    if (level > s.target.level || s.target.program.empty())
        return;
    const std::string safe = printable(text, 4096);
    if (s.file) {
        const std::string line = timestamp() + " " + s.target.program + " " +
                                 std::string(level_name(level)) + " container=" + s.container +
                                 " " + safe + "\n";
        (void)!::write(s.file.get(), line.data(), line.size());  // a log is never worth a failure
    } else if (s.target.file.empty()) {
        to_journald(s, level, safe);
    }
}

}  // namespace base::log
