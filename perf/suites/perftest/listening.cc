// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/perftest/listening.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <vector>

#include <fcntl.h>

#include "netns/base/files.h"
#include "netns/base/unique_fd.h"
#include "perf/system/reading.h"

namespace perf::perftest {

namespace {
namespace fs = std::filesystem;

constexpr size_t kMaxDescriptors = 4096;

// The targets of its descriptors that are sockets: "socket:[INODE]". It may end at any time.
std::vector<std::string> sockets_of(const std::string& process) {
    std::vector<std::string> sockets;
    std::error_code error;
    for (auto it = fs::directory_iterator(process + "/fd", error);
         !error && it != fs::directory_iterator() && sockets.size() < kMaxDescriptors;
         it.increment(error)) {
        std::error_code gone;
        std::string target = fs::read_symlink(it->path(), gone);
        if (target.starts_with("socket:["))
            sockets.push_back(std::move(target));
    }
    return sockets;
}

// The socket of a line of /proc/net/tcp (proc_pid_net(5)) that listens on the port, or nothing:
//   sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode ...
std::string listener_of(const std::string& line, uint16_t port) {
    constexpr std::string_view kListening = "0A";
    constexpr size_t kInode = 9;
    const auto words = words_of(line);
    if (words.size() <= kInode || words[3] != kListening)
        return "";
    const auto number = words[1].substr(std::min(words[1].rfind(':'), words[1].size() - 1) + 1);
    uint16_t local = 0;
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), local, 16);
    if (error != std::errc() || end != number.data() + number.size() || local != port)
        return "";
    return "socket:[" + std::string(words[kInode]) + "]";
}
}  // namespace

bool listens(const std::string& process, uint16_t port) {
    const auto sockets = sockets_of(process);
    if (sockets.empty())
        return false;
    for (const char* table : {"/net/tcp", "/net/tcp6"}) {
        constexpr size_t kMostTable = 16 << 20;
        const std::string path = process + table;
        const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        const auto text = base::read_all(fd.get(), kMostTable, path);
        std::istringstream file(text ? *text : std::string());
        for (std::string line; std::getline(file, line);) {
            const std::string socket = listener_of(line, port);
            if (!socket.empty() && std::ranges::find(sockets, socket) != sockets.end())
                return true;
        }
    }
    return false;
}

}  // namespace perf::perftest
