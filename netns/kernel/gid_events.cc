// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/gid_events.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace netns {

namespace {
UniqueFd open_node(const CharDevice& node) {
    UniqueFd fd{::open(node.path().c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};

    struct stat st {};

    // Only the device itself: another device may have a stale node of that name by now.
    if (!fd || ::fstat(fd.get(), &st) != 0 || !S_ISCHR(st.st_mode) ||
        st.st_rdev != makedev(node.major, node.minor))
        return {};
    return UniqueFd{
        ::open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), O_RDWR | O_CLOEXEC)};
}

// GET_CONTEXT of the write interface: the answer is the file of asynchronous events. Drivers append
// words of their own to the answer, so there is room for them. mlx5 and irdma want words in the
// question, too, and answer EINVAL. bnxt_re accepts it, and has one context more meanwhile.
UniqueFd get_context(const UniqueFd& node) {
    // Both structures end in words of the driver, which C++ allows only in plain memory.
    alignas(8) std::array<uint8_t, 256> answer{};
    alignas(8) std::array<uint8_t, sizeof(ib_uverbs_cmd_hdr) + sizeof(ib_uverbs_get_context)>
        question{};
    const ib_uverbs_cmd_hdr header{.command = IB_USER_VERBS_CMD_GET_CONTEXT,
                                   .in_words = sizeof question / 4,
                                   .out_words = sizeof answer / 4};
    const uint64_t response = reinterpret_cast<uintptr_t>(answer.data());
    std::memcpy(question.data(), &header, sizeof header);
    std::memcpy(question.data() + sizeof header, &response, sizeof response);
    if (::write(node.get(), question.data(), question.size()) !=
        static_cast<ssize_t>(question.size()))
        return {};
    int events = -1;
    static_assert(offsetof(ib_uverbs_get_context_resp, async_fd) == 0);
    std::memcpy(&events, answer.data(), sizeof events);
    return UniqueFd{events};
}

base::Error device_gone() {
    return make_error(Code::Unavailable, "the RDMA device has gone")
        .advise("load its driver again, then create the container again");
}
}  // namespace

GidEvents GidEvents::open(const Netns& ns, const CharDevice& node) {
    GidEvents events;
    // In exclusive mode a node opens only for a thread in the device's namespace.
    (void)inside(ns, [&]() -> Result<> {  // without events wait() looks more often
        events.node_ = open_node(node);
        return {};
    });
    if (!events.node_)
        return events;
    events.events_ = get_context(events.node_);
    if (events.events_)
        (void)::fcntl(events.events_.get(), F_SETFL, O_NONBLOCK);  // else read() waits: no harm
    return events;
}

Result<bool> GidEvents::wait(base::Deadline deadline) {
    pollfd ready{.fd = events_.get(), .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, events_ ? 1 : 0, pace_.next_ms(deadline));
    if (count < 0 && errno != EINTR)
        return sys_error("wait for GID events");
    if (count <= 0)
        return false;
    if ((ready.revents & POLLIN) == 0)
        return device_gone();
    pace_.hurry();
    ib_uverbs_async_event_desc event{};
    // Any event is a reason to look again.
    if (::read(events_.get(), &event, sizeof event) < 0 && errno != EAGAIN && errno != EINTR)
        return device_gone();
    return true;
}

}  // namespace netns
