// SPDX-License-Identifier: Apache-2.0
// Stands for the programs of perftest: a server that listens and takes one client, and a client
// that prints a result. Tests link it into a folder under their names; the file "behaviour" beside
// it says what goes wrong, "arguments.SIDE" and "pid.SIDE" there say afterwards how it was started.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {
using Words = std::vector<std::string>;

std::string after(const Words& words, const std::string& option) {
    for (size_t i = 0; i + 1 < words.size(); ++i) {
        if (words[i] == option)
            return words[i + 1];
    }
    return "";
}

sockaddr_in address_of(const std::string& host, const std::string& port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(std::atoi(port.c_str())));
    (void)::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    return address;
}

int fail(const char* line) {
    std::printf("                    some title\n");
    std::fprintf(stderr, "first line\n %s\n", line);
    return 1;
}

// Until the client closes, as the real one ends with its client.
int serve(const Words& words) {
    const sockaddr_in address = address_of(after(words, "--bind_source_ip"), after(words, "-p"));
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const int yes = 1;
    (void)::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd, 1) != 0)
        return fail("Couldn't listen");
    const int client = ::accept(fd, nullptr, nullptr);
    char byte = 0;
    (void)!::read(client, &byte, 1);
    return 0;
}

// Without a clock every time is a division by zero.
void print_result(const std::string& name, const std::string& size, bool clock) {
    const bool bandwidth = name.ends_with("_bw");
    std::puts(bandwidth ? "#bytes #iterations BW peak[MiB/sec] BW average[MiB/sec] MsgRate[Mpps]"
                        : "#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec]");
    if (!clock)
        std::printf("%s 1000 inf inf inf inf\n", size.c_str());
    else if (bandwidth)
        std::printf("%s 1000 0.00 %.2f %.6f\n",
                    size.c_str(),
                    1000.0 * std::atoi(size.c_str()) / 1048576,
                    0.001);
    else
        std::printf("%s 1000 1.00 9.00 2.00 3.00\n", size.c_str());
}

bool reach_server(const Words& words) {
    const sockaddr_in address = address_of(words.back(), after(words, "-p"));
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

int request(const std::string& name, const Words& words, const std::string& behaviour) {
    if (!reach_server(words))
        return fail("Couldn't connect");
    if (behaviour == "client garbage")
        std::puts("#bytes \x1b[2J\n");
    else
        print_result(name, after(words, "-s"), behaviour != "client has no clock once");
    return 0;
}

int misbehave(const std::string& behaviour) {
    if (behaviour == "fails")
        return fail("no such device");
    if (behaviour == "floods") {
        for (int i = 0; i < 100'000; ++i)
            std::puts("flood");
    }
    if (behaviour == "leaves a child" && ::fork() != 0)
        return 0;
    ::pause();
    return 0;
}
}  // namespace

int main(int argc, char** argv) {
    const std::string self = argv[0];
    const std::string folder = self.substr(0, self.rfind('/'));
    const std::string name = self.substr(self.rfind('/') + 1);
    const Words words(argv + 1, argv + argc);
    if (!words.empty() && words[0] == "--version") {
        std::puts("Version: 6.24");
        return 1;
    }
    if (!words.empty() && words[0] == "--help") {
        std::puts("  --write_with_imm\n  --bind_source_ip");
        return 1;
    }
    const bool server = !after(words, "--bind_source_ip").empty();
    const std::string side = server ? "server" : "client";
    std::ofstream arguments(folder + "/arguments." + side);
    for (const std::string& word : words)
        arguments << word << ' ';
    arguments.close();
    std::ofstream(folder + "/pid." + side) << ::getpid();
    std::string behaviour;
    std::getline(std::ifstream(folder + "/behaviour") >> std::ws, behaviour);
    const bool prints = behaviour == "client garbage" || behaviour == "client has no clock once";
    if (behaviour.ends_with(" once") && behaviour.starts_with(side + " "))
        std::ofstream(folder + "/behaviour", std::ios::trunc) << "well";
    // With them the server ends; it waits for a client that fails before it was there.
    if (behaviour == "client fails once" || behaviour == "client floods")
        (void)reach_server(words);
    if (behaviour == side + " fails once")
        return fail("the other end is gone");
    if (!prints && behaviour.starts_with(side + " "))
        return misbehave(behaviour.substr(side.size() + 1));
    return server ? serve(words) : request(name, words, behaviour);
}
