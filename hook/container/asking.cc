// SPDX-License-Identifier: Apache-2.0
#include "hook/container/asking.h"

#include <algorithm>

#include <fmt/format.h>

#include "hook/modes/near.h"

namespace hook {

namespace {
// A container of the host's network can have this instead.
constexpr char kHostsDevice[] =
    "set rdma.mode=host and rdma.device, which give it devices of the host";

// Refuses what only root of the machine can do: devices and interfaces are made, moved and limited
// by nobody else.
Result<> check_rootless(const Asking& asking) {
    if (asking.running || !goes_with_hosts_network(asking.request))
        return make_error(Code::Refused,
                          "a rootless engine can give a container devices of the host as they are, "
                          "by Podman's hook before its start, and nothing else")
            .advise(
                "set rdma.mode=host and rdma.device, or name the device to the engine (CDI): "
                "--device rdma-hook.org/hca=NAME");
    if (!asking.request.limits.empty())
        return make_error(Code::Refused, "rdma.max_hca_* limits need an engine of root")
            .advise("leave them out, or run the container as root");
    return {};
}

Result<> check_spec(const oci::Spec& spec, const Asking& asking, bool rootless) {
    if (rootless)
        TRY(check_rootless(asking));
    if (!asking.running && !rootless && spec.has_user_namespace())
        return make_error(Code::Refused,
                          "rdma.* annotations cannot be combined with a user namespace: rdma-hook "
                          "must make the network namespace first")
            .advise(
                "leave out --userns, --uidmap and --gidmap (Docker with userns-remap: give "
                "--userns=host), or use plain hooks");
    if (asking.network.kind == oci::Network::Kind::Host && !goes_with_hosts_network(asking.request))
        return make_error(
                   Code::Refused,
                   "this mode gives the container a network interface, and cannot be combined with "
                   "--network host")
            .advise(std::string("leave out --network host, or ") + kHostsDevice);
    if (spec.redirects_hook_output())
        return make_error(Code::Refused,
                          "run.oci.hooks.std* and rdma.* annotations cannot be combined")
            .advise("leave out run.oci.hooks.std*");
    return {};
}

// Judges a rule that names one device as that device's node.
void add_rule(const oci::DeviceRange& rule, Powers& powers) {
    if (rule.major && rule.minor)
        return powers.char_devices.push_back(
            {.path = {}, .number = {.major = *rule.major, .minor = *rule.minor}});
    const auto text = [](const std::optional<uint32_t>& number) {
        return number ? std::to_string(*number) : "*";
    };
    powers.open_rules.push_back(fmt::format("c {}:{}", text(rule.major), text(rule.minor)));
}
}  // namespace

Result<Asking> read_asking(const Context& context,
                           const oci::Spec& spec,
                           const Annotations& annotations,
                           bool running) {
    const Config& config = context.config;
    TRY(check_author(spec, config));
    Asking asking;
    asking.running = running;
    asking.request = TRY(parse_request(annotations, config));
    asking.network = spec.network();
    asking.cpus = spec.cpus();
    const Powers powers = TRY(powers_of(spec, config, context.host.char_nodes));
    // Where no cgroup guards devices, nodes do: a user namespace makes none.
    asking.fenced = config.rootless ? !spec.binds_rdma_nodes()
                                    : spec.denies_devices() && powers.open_rules.empty();
    asking.net_admin =
        std::ranges::find(powers.capabilities, "CAP_NET_ADMIN") != powers.capabilities.end();
    TRY(check_spec(spec, asking, config.rootless));
    asking.request = TRY(choose_near(context, std::move(asking.request)));
    TRY(check_policy(asking.request, config, powers));
    return asking;
}

Result<> check_author(const oci::Spec& spec, const Config& config) {
    const std::string_view engine = spec.pods_engine();
    if (engine.empty() || config.policy)
        return {};
    return make_error(Code::Refused,
                      fmt::format("a pod's rdma.* annotations are its author's and not root's, and "
                                  "{} has no `policy` that allows them",
                                  kConfigPath))
        .advise(fmt::format("write one; to begin with, one that allows nothing: rdmactl runtime "
                            "configure --runtime={} --starter-policy",
                            engine));
}

Result<Powers> powers_of(const oci::Spec& spec, const Config& config, netns::CharNodes& host) {
    Powers powers{.privileged = spec.privileged(), .capabilities = spec.capabilities()};
    std::vector<uint32_t> majors;
    if (spec.has_dynamic_majors() && !powers.privileged)
        majors = TRY(host.rdma_majors());
    for (const oci::DeviceNode& node : spec.rdma_nodes(majors))
        powers.char_devices.push_back(
            {.path = node.path, .number = {.major = node.major, .minor = node.minor}});
    for (const oci::DeviceRange& rule : spec.rdma_rules(majors))
        add_rule(rule, powers);
    if (powers.char_devices.empty() || !config.policy)
        return powers;
    for (const std::string& path : config.policy->char_devices) {
        if (const auto number = TRY(host.at(path)))
            powers.listed.push_back(*number);
    }
    return powers;
}

bool goes_with_hosts_network(const Request& request) {
    return std::ranges::all_of(request.attachments, [](const Attachment& attachment) {
        const ModeInfo* mode = find_mode_info(attachment.mode);
        return mode != nullptr && mode->of_host;
    });
}

Result<> check_not_the_hosts(netns::Netnses& namespaces, const netns::Netns& ns) {
    if (ns.id() != TRY(namespaces.current()).id())
        return {};
    return make_error(Code::Refused, "the container is in the host's network namespace")
        .advise(std::string("give it a network of its own, or ") + kHostsDevice);
}

}  // namespace hook
