// SPDX-License-Identifier: Apache-2.0
// The smaller fake rooms: namespaces, processes, files, cgroups, placements, classes, counters,
// nodes. Codes and errno values are the kernel rooms': see tests/contract.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "netns/launch.h"
#include "tests/fakes/fake_host.h"

namespace test {

using netns::ContainerRoot;
using netns::DeviceNumber;
using netns::Placement;

namespace {
std::string place_of(const Placement& what) {
    return what.mount + "/" + what.folder + "/" + what.name;
}
}  // namespace

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
    if (FakeProcess* found = world_.find_process(process))
        return found;
    return coded(Code::Unavailable, ESRCH, "process " + std::to_string(process.pid));
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

Result<> FakeCgroups::check_rdma() {
    if (world_.kernel.rdma_cgroup)
        return {};
    return make_error(Code::Unsupported, "/sys/fs/cgroup is not cgroup v2")
        .advise("boot with only cgroup v2");
}

Result<> FakeCgroups::limit_rdma(const netns::ProcessToken& wanted,
                                 const Netns& ns,
                                 const netns::RdmaLimit& limit) {
    return gate_.pass<void>("limit " + limit.device, [&]() -> Result<> {
        TRY(check_rdma());
        FakeProcess* process = world_.find_process(wanted, true);
        if (process == nullptr)
            return coded(Code::Unavailable, ENOENT, "open cgroup of " + std::to_string(wanted.pid));
        if (!world_.own_cgroups)
            return make_error(Code::Unsupported, "the container has no cgroup of its own");
        const bool there = std::ranges::any_of(world_.rdma, [&](auto& entry) {
            return entry.second.device.name == limit.device && world_.sees(ns.id(), entry.second);
        });
        if (!there)
            return coded(Code::Unavailable, ENODEV, "write rdma.max");
        auto& max = process->rdma_max[limit.device];
        max.device = limit.device;
        const auto set = [](std::optional<uint32_t>& member, std::optional<uint32_t> value) {
            if (value)
                member = *value == netns::kNoRdmaLimit ? std::nullopt : value;
        };
        set(max.handles, limit.handles);
        set(max.objects, limit.objects);
        if (!max.handles && !max.objects)
            process->rdma_max.erase(limit.device);
        return {};
    });
}

Result<> FakeDeviceCgroups::check() {
    if (world_.kernel.cgroup2)
        return {};
    return make_error(Code::Unsupported, "/sys/fs/cgroup is not cgroup v2")
        .advise("boot with only cgroup v2");
}

Result<bool> FakeDeviceCgroups::allow(const netns::ProcessToken& init, DeviceNumber device) {
    const std::string name = std::to_string(device.major) + ":" + std::to_string(device.minor);
    return gate_.pass<bool>("allow " + name, [&]() -> Result<bool> {
        TRY(check());
        FakeProcess* process = world_.find_process(init);
        if (process == nullptr)
            return coded(Code::Unavailable, ENOENT, "the container's init is gone");
        if (!world_.own_cgroups)
            return make_error(Code::Unsupported, "the container has no cgroup of its own");
        return process->devices.insert(name).second;
    });
}

Result<> FakeDeviceCgroups::forbid(const netns::ProcessToken& init, DeviceNumber device) {
    const std::string name = std::to_string(device.major) + ":" + std::to_string(device.minor);
    return gate_.pass<void>("forbid " + name, [&]() -> Result<> {
        if (FakeProcess* process = world_.find_process(init, true))
            process->devices.erase(name);
        return {};
    });
}

Result<bool> FakeDeviceCgroups::contains(const netns::ProcessToken& init, pid_t process) {
    const FakeProcess* container = world_.find_process(init);
    if (container == nullptr)
        return coded(Code::Unavailable, ENOENT, "the container's init is gone");
    const auto found = world_.processes.find(process);
    return found != world_.processes.end() && found->second.ns == container->ns;
}

Result<> FakePlacements::place(const ContainerRoot& root, const Placement& what) {
    return gate_.pass<void>("place " + place_of(what), [&]() -> Result<> {
        FakeProcess* process = world_.find_process(root.init);
        if (process == nullptr)
            return coded(Code::Unavailable, ENOENT, "the container's init is gone");
        if (!process->tmpfs.contains(what.mount))
            return make_error(Code::Unsupported,
                              "/" + what.mount + " of the container is no tmpfs of its own");
        process->placed.insert(place_of(what));
        return {};
    });
}

Result<> FakePlacements::remove(const ContainerRoot& root, const Placement& what) {
    return gate_.pass<void>("remove " + place_of(what), [&]() -> Result<> {
        if (FakeProcess* process = world_.find_process(root.init, true))
            process->placed.erase(place_of(what));
        return {};
    });
}

// The RDMA parts of the host's /sys/class; ib_umad is not loaded.
Result<std::optional<netns::ClassFolder>> FakeSysClasses::look(
    const std::string& name, const std::vector<std::string>& devices) {
    const bool verbs = name == "infiniband_verbs";
    if (!world_.kernel.rdma || (!verbs && name != "infiniband"))
        return std::optional<netns::ClassFolder>{};
    netns::ClassFolder all;
    for (const auto& [index, device] : world_.rdma) {
        const std::string& entry = verbs ? device.uverbs.name : device.device.name;
        // The names of verbs nodes are visible from everywhere.
        if (verbs || world_.sees(world_.host, device))
            all.links[entry] = "../../devices/virtual/" + name + "/" + entry;
    }
    netns::ClassFolder found;
    for (const std::string& device : devices) {
        if (!all.links.contains(device))
            return coded(Code::Unavailable, ENOENT, "read link " + device + " of sysfs");
        found.links[device] = all.links[device];
    }
    if (verbs)
        found.files["abi_version"] = "6\n";
    return std::optional{found};
}

Result<netns::Counters> FakeStatistics::of_link(const Netns& ns, uint32_t index) {
    const FakeLink* link = world_.find_link(ns.id(), index);
    if (link == nullptr)
        return coded(
            Code::Unavailable, ENODEV, "ask for the counters of link " + std::to_string(index));
    netns::Counters counters = link->counters;
    for (const char* name : netns::kLinkCounters)
        counters.emplace(name, 0);
    return counters;
}

Result<netns::Counters> FakeStatistics::of_device(const Netns& ns,
                                                  const netns::RdmaDevice& device) {
    const auto found = std::ranges::find_if(world_.rdma, [&](const auto& entry) {
        return entry.second.device.name == device.name && world_.sees(ns.id(), entry.second);
    });
    if (found == world_.rdma.end())
        return coded(Code::Unavailable, ENOENT, "RDMA device " + device.name + " is not there");
    netns::Counters counters = found->second.counters;
    if (found->second.type == "rxe") {
        counters.emplace("sent_pkts", 0);
        counters.emplace("rcvd_pkts", 0);
    }
    return counters;
}

Result<std::vector<uint32_t>> FakeCharNodes::rdma_majors() {
    ++looks;
    if (!world_.kernel.rdma)
        return std::vector<uint32_t>{};
    return std::vector<uint32_t>{231, World::kDynamicVerbsMajor};
}

Result<std::optional<DeviceNumber>> FakeCharNodes::at(const std::string& path) {
    ++looks;
    if (const auto node = world_.nodes.find(path); node != world_.nodes.end())
        return std::optional{node->second};
    for (const auto& [index, device] : world_.rdma) {
        if (device.uverbs.path() == path)
            return std::optional{DeviceNumber{device.uverbs.major, device.uverbs.minor}};
    }
    return std::optional<DeviceNumber>{};
}

Result<std::vector<netns::PciCard>> FakePciTree::cards() {
    return world_.cards;
}

Result<std::optional<netns::PciPlace>> FakePciTree::place(const std::string& address) {
    const auto found = std::ranges::find(world_.cards, address, &netns::PciCard::address);
    return found == world_.cards.end() ? std::nullopt : std::optional{found->place};
}

Result<std::optional<uint16_t>> FakePciTree::acs(const std::string& bridge) {
    const auto found = world_.acs.find(bridge);
    return found == world_.acs.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace test
