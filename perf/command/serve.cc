// SPDX-License-Identifier: Apache-2.0
// serve: accepts clients and gives each a thread with its own device context, protection domain and
// queue pairs. Nothing is shared between clients but the machine. One too many is told so and
// closed. No client, and no shortage that passes, ends the server.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <list>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "netns/base/text.h"
#include "perf/command/commands.h"
#include "perf/engine/crew.h"
#include "perf/system/cpu.h"
#include "perf/system/tcp.h"
#include "perf/verbs/memory.h"

namespace perf {

namespace {
constexpr size_t kMaxClients = 32;
constexpr int kRestMs = 100;

struct Guest {
    explicit Guest(Control connection) : control(std::move(connection)) {}

    Control control;  // the thread's, once that runs
    std::atomic<bool> done = false;
    Exit exit = Exit::Ok;
    std::jthread thread;
};

// At most half of the machine's: a peer that asks for much gets an error, and not the machine's
// other processes the killer. A container's own limit may be lower.
size_t memory_for_clients() {
    const auto pages = static_cast<uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L));
    const auto page = static_cast<uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 0L));
    const uint64_t half = pages * page / 2;
    return half == 0 ? kMaxServerBytes : std::min(kMaxServerBytes, half);
}

// So many that each client has one, and each processor several, which take turns there.
size_t threads_for_clients() {
    const auto own = own_processors();
    const size_t processors = own ? static_cast<size_t>(CPU_COUNT(&*own)) : CPU_SETSIZE;
    return std::max(kMaxClients, 4 * processors);
}

class Server {
  public:
    Server(const ServeOptions& options, const Surroundings& around)
        : options_(options), around_(around) {}

    Result<Exit> run() {
        const auto listeners = TRY(listen_on(options_.bind, options_.port));
        std::vector<pollfd> fds = {{around_.stop.fd(), POLLIN, 0}};
        for (const Listener& listener : listeners) {
            say("listening on " + listener.name);
            fds.push_back({listener.fd.get(), POLLIN, 0});
        }
        TRY(around_.settle_down());
        while (!around_.stop.requested()) {
            if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR)
                return sys_error("poll");
            for (size_t i = 0; i < listeners.size() && !around_.stop.requested(); ++i) {
                if ((fds[i + 1].revents & POLLIN) == 0)
                    continue;
                auto fd = TRY(take_from(listeners[i]));
                if (fd && admit(std::move(*fd)) && options_.once) {
                    guests_.back().thread.join();
                    return guests_.back().exit;
                }
            }
        }
        return Exit::Ok;  // a stop is how a server ends
    }

  private:
    // A waiting client; nothing if it has gone, or cannot be taken now.
    Result<std::optional<UniqueFd>> take_from(const Listener& listener) {
        // With these accept(2) will never work again. All else is of one connection (the network's
        // errors, a firewall) or of the moment: descriptors and memory come back.
        constexpr int kForGood[] = {EBADF, EFAULT, EINVAL, ENOTSOCK, EOPNOTSUPP};
        auto taken = accept_from(listener);
        if (!taken && std::ranges::count(kForGood, taken.error().sys) == 0) {
            // Once for each kind, until clients can be taken again.
            if (taken.error().sys != trouble_)
                say(taken.error().message() + ": clients wait until that has passed");
            trouble_ = taken.error().sys;
            // The one place that waits on the clock: the listener stays readable while a client
            // waits, and nobody tells of descriptors or memory that somebody gives back.
            pollfd stop{around_.stop.fd(), POLLIN, 0};
            (void)::poll(&stop, 1, kRestMs);
            return std::optional<UniqueFd>();
        }
        if (taken && *taken)
            trouble_ = 0;
        return taken;
    }

    bool admit(UniqueFd fd) {
        std::erase_if(guests_, [](const Guest& guest) { return guest.done.load(); });
        const auto address = peer_address(fd.get());
        const std::string name = address ? address->text() : "?";
        Control control(std::move(fd), around_.stop);
        if (guests_.size() >= kMaxClients) {
            refuse(control, name, fmt::format("the server has {} clients already", kMaxClients));
            return false;
        }
        Guest& guest = guests_.emplace_back(std::move(control));
        try {
            guest.thread = std::jthread([this, &guest, name] {
                attend(std::move(guest.control), name, guest);
                guest.done.store(true);
            });
        } catch (const std::system_error& error) {  // a limit of processes
            refuse(
                guest.control,
                name,
                "the server cannot start a thread for another client: " + error.code().message());
            guests_.pop_back();
            return false;
        }
        return true;
    }

    void refuse(Control& control, const std::string& name, const std::string& why) const {
        // Best effort: the client sees the connection close in any case.
        (void)control.send(
            error_message(
                make_error(Code::Busy, why).advise("try again when another client has ended")),
            Deadline::in(std::chrono::milliseconds(100)));
        say("client " + name + ": refused: " + why);
    }

    void attend(Control control, const std::string& name, Guest& guest) const {
        say("client " + name + ": connected");
        Served served;
        const auto done = serve_session(around_.verbs, std::move(control), options_.side, served);
        if (!served.note.empty())
            say("client " + name + ": note: " + served.note);
        if (options_.explain_gid)
            say("client " + name + ":\n" + served.explanation);
        if (done) {
            say("client " + name + ": done, " + base::number_of(served.points, "point"));
            return;
        }
        guest.exit = exit_of(done.error());
        say("client " + name + ": " + done.error().message());
    }

    // One call for the whole line: threads must not interleave.
    void say(const std::string& text) const { print(around_.err, "rdma-perf: " + text + "\n"); }

    const ServeOptions& options_;
    const Surroundings& around_;
    int trouble_ = 0;          // errno of what was said last
    std::list<Guest> guests_;  // addresses stay; each thread ends by the stop or by its client
};
}  // namespace

Exit serve(const ServeOptions& options, const Surroundings& around) {
    const MemoryBudget memory(memory_for_clients());
    const ThreadBudget threads(options.max_threads != 0 ? options.max_threads
                                                        : threads_for_clients());
    const auto done = Server(options, around).run();
    return done ? *done : complain(done.error(), Exit::Ok, around);
}

}  // namespace perf
