// SPDX-License-Identifier: Apache-2.0
#include "perf/suites/doctor/doctor.h"

#include <algorithm>
#include <memory>

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "perf/report/report.h"
#include "perf/system/tcp.h"

namespace perf {

// ---- the scene ----------------------------------------------------------------------------------
namespace {
// By system calls and not from sysfs: a /sys that was mounted in another network namespace shows
// the interfaces of that one.
std::vector<Interface> own_interfaces() {
    std::vector<Interface> out;
    ifaddrs* raw = nullptr;
    if (::getifaddrs(&raw) != 0)
        return out;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
        const std::string name = entry->ifa_name;
        if (std::ranges::find(out, name, &Interface::name) != out.end())
            continue;
        ifreq request{};
        name.copy(request.ifr_name, sizeof request.ifr_name - 1);
        if (!socket || ::ioctl(socket.get(), SIOCGIFMTU, &request) != 0)
            request.ifr_mtu = 0;
        out.push_back({.name = name,
                       .up = (entry->ifa_flags & IFF_UP) != 0,
                       .carrier = (entry->ifa_flags & IFF_RUNNING) != 0,
                       .mtu = static_cast<uint32_t>(std::max(request.ifr_mtu, 0)),
                       .pfc = pfc_of(name)});
    }
    return out;
}

DeviceFacts facts_of(Verbs& verbs, const std::string& name, const std::string& sysfs) {
    DeviceFacts facts;
    facts.name = name;
    auto ports = [&]() -> Result<std::vector<PortFacts>> {
        const auto context = TRY(open_device(verbs, name));
        facts.iwarp = context->device->transport_type == IBV_TRANSPORT_IWARP;
        ibv_device_attr attr{};
        TRY(outcome_of(verbs.query_device(context.get(), &attr), "query device " + name));
        facts.software = is_software(attr);
        facts.identity = identity_of(name, attr, sysfs);
        std::vector<PortFacts> out;
        for (uint8_t number = 1; number <= attr.phys_port_cnt && number != 0; ++number) {
            ibv_port_attr port{};
            TRY(outcome_of(verbs.query_port(context.get(), number, &port),
                           "query port " + std::to_string(number) + " of " + name));
            out.push_back({.number = number,
                           .active = port.state == IBV_PORT_ACTIVE,
                           .ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET,
                           .state = ::ibv_port_state_str(port.state),
                           .active_mtu = mtu_bytes(port.active_mtu),
                           .grh = (port.flags & IBV_QPF_GRH_REQUIRED) != 0});
        }
        return out;
    }();
    if (ports)
        facts.ports = std::move(ports).value();
    else
        facts.error = std::move(ports).error();
    return facts;
}

PeerFacts ask_peer(const LookOptions& options, const Stop& stop) {
    PeerFacts facts;
    facts.host = options.peer;
    facts.port = options.port;
    auto sources = sources_towards(options.peer);
    if (!sources) {
        facts.route_error = std::move(sources).error();
        return facts;
    }
    facts.sources = std::move(sources).value();
    const auto deadline = Deadline::in(options.side.timeout);
    if (auto connected = connect_to(options.peer, options.port, deadline, stop); !connected)
        facts.connect_error = std::move(connected).error();
    return facts;
}
}  // namespace

std::vector<const Interface*> Scene::netdevs(const std::string& device, uint8_t port) const {
    std::vector<const Interface*> out;
    for (const GidRow& row : found.tables.rows) {
        const auto netdev = std::ranges::find(interfaces, row.netdev, &Interface::name);
        const bool wanted = row.device == device && row.port == port && netdev != interfaces.end();
        if (wanted && std::ranges::find(out, &*netdev) == out.end())
            out.push_back(&*netdev);
    }
    return out;
}

Scene gather(const LookOptions& options, Verbs& verbs, const Stop& stop, const std::string& root) {
    Scene scene;
    scene.root = root;
    scene.attach_file = root + options.side.wish.attach_file;
    scene.interfaces = own_interfaces();
    auto names = verbs.device_names();
    if (!names) {
        scene.verbs_error = std::move(names).error();
    } else {
        std::ranges::sort(*names);
        for (const std::string& name : *names)
            scene.devices.push_back(facts_of(verbs, name, root + "/sys"));
    }
    if (!options.peer.empty())
        scene.peer = ask_peer(options, stop);
    DeviceWish wish = options.side.wish;
    wish.attach_file = scene.attach_file;
    auto found = find_candidates(
        verbs, wish, scene.peer ? scene.peer->sources : std::vector<Address>(), root + "/sys");
    if (found)
        scene.found = std::move(found).value();
    return scene;
}

// ---- the command --------------------------------------------------------------------------------
std::vector<Diagnosis> examine(const Scene& scene) {
    std::vector<Diagnosis> out;
    for (const auto checks : {kDeviceChecks, kAdapterChecks, kLimitChecks}) {
        for (const Check& check : checks) {
            for (Finding& finding : check.look(scene))
                out.push_back({check.id, std::move(finding)});
        }
    }
    return out;
}

Json to_json(const std::vector<Diagnosis>& diagnoses, const std::string& peer) {
    return {{"peer", peer.empty() ? Json() : Json(peer)},
            {"usable", !base::any_failed(diagnoses)},
            {"checks", base::to_json(diagnoses)}};
}

extern const Suite kDoctor = {
    .name = "doctor",
    .help = "check what this container can see; changes nothing",
    .port = "TCP port of the peer",
    .run = [](const LookOptions& look, Document& document) -> Result<> {
        Verbs& verbs = document.around.verbs;
        const Stop& stop = document.around.stop;
        Scene scene = gather(look, verbs, stop, "");
        const auto own = open_best_device(verbs, look.side.wish, scene.found.query.sources);
        document.say(side_text("here", own_hello(), own ? std::optional(own->info) : std::nullopt));
        for (const Point& point : expand(Plan{})) {
            for (const Side side : {Side::Client, Side::Server})
                scene.needed_bytes =
                    std::max<uint64_t>(scene.needed_bytes, layout_of(point, side).bytes);
        }
        const auto diagnoses = examine(scene);
        document.say(base::to_text(diagnoses));
        document.members = to_json(diagnoses, look.peer);
        if (stop.requested())
            document.exit = Exit::Interrupted;
        else if (base::any_failed(diagnoses))
            document.exit = Exit::Environment;
        return {};
    },
};

}  // namespace perf
