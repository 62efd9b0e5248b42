// SPDX-License-Identifier: Apache-2.0
// The smaller fake rooms: namespaces, processes, files.
#include <cerrno>
#include <filesystem>
#include <set>

#include "netns/launch.h"
#include "tests/fakes/fake_host.h"

namespace test {

using base::Code;
using base::Error;
using base::make_error;
using base::sys_error;

Result<Netns> FakeNetnses::current() {
    return world_.handle(world_.host);
}

std::optional<NetnsId> FakeNetnses::resolve(const std::string& path) const {
    if (const auto pin = world_.pins.find(path); pin != world_.pins.end())
        return pin->second;
    if (const auto mount = world_.engine_paths.find(path); mount != world_.engine_paths.end())
        return mount->second;
    for (const auto& [pid, process] : world_.processes) {
        if (path == "/proc/" + std::to_string(pid) + "/ns/net" && !process.zombie)
            return process.ns;
    }
    return std::nullopt;
}

Result<Netns> FakeNetnses::open(const std::string& path) {
    if (const auto id = resolve(path))
        return world_.handle(*id);
    if (world_.files.contains(path) || std::filesystem::exists(path))
        return make_error(Code::BadInput, path + " is not a network namespace");
    return coded(Code::Unavailable, ENOENT, "open network namespace " + path);
}

Result<Netns> FakeNetnses::open_process(pid_t pid) {
    const auto process = world_.processes.find(pid);
    if (process == world_.processes.end() || process->second.zombie)
        return coded(
            Code::Unavailable, ENOENT, "open network namespace of process " + std::to_string(pid));
    return world_.handle(process->second.ns);
}

Result<std::optional<Netns>> FakeNetnses::open_pin(const std::string& path, NetnsId id) {
    const auto pin = world_.pins.find(path);
    if (pin == world_.pins.end() || !(pin->second == id) || world_.hidden.pins)
        return std::optional<Netns>{};
    return std::optional<Netns>{world_.handle(id)};
}

Result<uint64_t> FakeNetnses::cookie(const Netns& ns) {
    return ns.id().ino;  // worlds do not use a number twice
}

Result<std::optional<Netns>> FakeNetnses::search(
    const std::function<Result<bool>(const Netns&)>& is_wanted) {
    std::set<NetnsId, NetnsIdOrder> seen;
    for (const auto& [pid, process] : world_.processes) {
        if (!process.zombie)
            seen.insert(process.ns);
    }
    for (const auto* mounts : {&world_.engine_paths, &world_.pins}) {
        for (const auto& [path, id] : *mounts)
            seen.insert(id);
    }
    for (const NetnsId& id : seen) {
        const Netns ns = world_.handle(id);
        if (!world_.hidden.namespaces && TRY(is_wanted(ns)))
            return std::optional{ns};
    }
    return std::optional<Netns>{};
}

Result<Netns> FakeNetnses::make() {
    return gate_.pass<Netns>("make a network namespace", [&]() -> Result<Netns> {
        const NetnsId id = world_.add_netns();
        world_.namespaces[id].in_our_hands = true;
        return world_.handle(id);
    });
}

Result<> FakeNetnses::pin(const Netns& ns, const std::string& path) {
    return gate_.pass<void>("pin " + path, [&]() -> Result<> {
        if (const auto pin = world_.pins.find(path); pin != world_.pins.end()) {
            if (pin->second == ns.id())
                return {};
            return coded(Code::Busy, EEXIST, "pin network namespace at " + path);
        }
        if (world_.find(ns) == nullptr)
            return coded(Code::Kernel, EINVAL, "pin network namespace at " + path);
        world_.pins[path] = ns.id();
        return {};
    });
}

Result<> FakeNetnses::unpin(const std::string& path) {
    return gate_.pass<void>("unpin " + path, [&]() -> Result<> {
        world_.pins.erase(path);
        return {};
    });
}

Result<std::optional<netns::ProcessToken>> FakeProcesses::token(pid_t pid) {
    if (unreadable.contains(pid))
        return coded(Code::Kernel, EIO, "read /proc/" + std::to_string(pid) + "/stat");
    const auto process = world_.processes.find(pid);
    if (process == world_.processes.end() || process->second.zombie)
        return std::optional<netns::ProcessToken>{};
    return std::optional<netns::ProcessToken>{{pid, process->second.start}};
}

Result<std::vector<pid_t>> FakeProcesses::that_opened(uint32_t major,
                                                      uint32_t minor,
                                                      base::Deadline /*deadline*/) {
    ++searches;
    if (too_many)
        return make_error(Code::Timeout, "looked at some of all processes");
    for (const auto& [index, device] : world_.rdma) {
        if (device.uverbs.major == major && device.uverbs.minor == minor)
            return std::vector<pid_t>(device.openers.begin(), device.openers.end());
    }
    return std::vector<pid_t>{};
}

Result<FakeProcess*> FakeProcesses::find(const netns::ProcessToken& process) {
    const auto found = world_.processes.find(process.pid);
    if (found == world_.processes.end() || found->second.zombie ||
        found->second.start != process.start)
        return coded(Code::Unavailable, ESRCH, "process " + std::to_string(process.pid));
    return &found->second;
}

Result<netns::Memlock> FakeProcesses::memlock(const netns::ProcessToken& process) {
    return TRY(find(process))->memlock;
}

Result<> FakeProcesses::set_memlock(const netns::ProcessToken& process,
                                    const netns::Memlock& limit) {
    return gate_.pass<void>("set memlock", [&]() -> Result<> {
        TRY(find(process))->memlock = limit;
        return {};
    });
}

pid_t FakeProcesses::parent() {
    return world_.parent;
}

pid_t FakeProcesses::self() {
    return world_.self;
}

Result<std::string> FakeProcesses::boot_id() {
    return world_.boot_id;
}

Result<std::optional<uint64_t>> FakeProcesses::mount_namespace(pid_t pid) {
    const auto process = world_.processes.find(pid);
    if (pid == 1)
        return std::optional<uint64_t>{0};
    if (process == world_.processes.end())
        return std::optional<uint64_t>{};
    return std::optional<uint64_t>{process->second.mounts};
}

std::chrono::seconds FakeProcesses::uptime() {
    return world_.uptime;
}

bool FakeProcesses::exists(const std::string& path) {
    if (world_.hidden.paths)
        return false;
    const std::string proc = "/proc/";
    for (const auto& [pid, process] : world_.processes) {
        const std::string own = proc + std::to_string(pid);
        if (path == own || path.starts_with(own + "/"))
            return true;
    }
    if (path.starts_with(proc))
        return false;
    return world_.files.contains(path) || world_.pins.contains(path) ||
           world_.engine_paths.contains(path) || std::filesystem::exists(path);
}

Result<std::string> FakePrograms::beside_us(const std::string& name) {
    return "/usr/bin/" + name;
}

Result<size_t> FakePrograms::start(const Netns& ns, const netns::Program& program) {
    started.push_back({ns.id(), program});
    return started.size() - 1;
}

Result<netns::ProgramEvent> FakePrograms::next(base::Deadline /*deadline*/) {
    if (script.empty())
        return make_error(Code::Timeout, "the deadline passed");
    netns::ProgramEvent event = script.front();
    script.erase(script.begin());
    if (event.ended)
        ended_.insert(event.program);
    return event;
}

void FakePrograms::kill(size_t program) {
    if (ended_.insert(program).second)
        killed.push_back(program);
}

Result<std::string> GatedFiles::read(const std::string& path, size_t limit) {
    ++looks;
    auto text = real_.read(path, limit);
    if (after_read)
        after_read(path);
    return text;
}

Result<> GatedFiles::write(const std::string& path, std::string_view content, base::Access access) {
    return gate_.pass<void>("write " + path, [&] { return real_.write(path, content, access); });
}

Result<> GatedFiles::create(const std::string& path, std::string_view content) {
    return gate_.pass<void>("create " + path, [&] { return real_.create(path, content); });
}

Result<> GatedFiles::remove(const std::string& path) {
    return gate_.pass<void>("remove " + path, [&] { return real_.remove(path); });
}

Result<> GatedFiles::rename(const std::string& from, const std::string& to) {
    return gate_.pass<void>("rename " + from, [&] { return real_.rename(from, to); });
}

Result<std::vector<std::string>> GatedFiles::list(const std::string& dir) {
    ++looks;
    return real_.list(dir);
}

// Bypasses the gate: it removes things that belong to nobody, and they exist only after a real
// death.
Result<std::vector<std::string>> GatedFiles::sweep(const std::string& dir) {
    return real_.sweep(dir);
}

Result<> GatedFiles::make_dir(const std::string& path, base::Access access) {
    return gate_.pass<void>("make folder " + path, [&] { return real_.make_dir(path, access); });
}

Result<> GatedFiles::make_link(const std::string& path, const std::string& target) {
    return gate_.pass<void>("make link " + path, [&] { return real_.make_link(path, target); });
}

Result<> GatedFiles::set_label(const std::string& path, const std::string& label) {
    return gate_.pass<void>("label " + path, [&]() -> Result<> {
        if (!std::filesystem::exists(std::filesystem::symlink_status(path)))
            return base::sys_error(ENOENT, "label " + path);
        labels[path] = label;
        return {};
    });
}

Result<> GatedFiles::remove_tree(const std::string& path) {
    return gate_.pass<void>("remove folder " + path, [&] { return real_.remove_tree(path); });
}

}  // namespace test
