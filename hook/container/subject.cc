// SPDX-License-Identifier: Apache-2.0
#include "hook/container/subject.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <fmt/format.h>

#include "netns/base/ids.h"
#include "netns/base/log.h"

namespace hook {

using base::Code;
using base::Error;
using base::make_error;

namespace {
// What a container of the host's network can have instead.
constexpr char kHostsDevice[] =
    "leave out rdma.* and give it the host's device: --device rdma-hook.org/hca=NAME (rdmactl cdi "
    "generate)";

// Everything that can be refused without looking at the host.
Result<> check_subject(const Subject& subject, Grants grants, const Powers& powers) {
    if (grants == Grants::Declared && subject.spec.has_user_namespace())
        return make_error(
                   Code::Refused,
                   "rdma.* annotations do not go with a user namespace: the network namespace "
                   "cannot be made beforehand")
            .advise(
                "leave out --userns, --uidmap and --gidmap (Docker with userns-remap: give "
                "--userns=host), or use plain hooks");
    if (subject.network.kind == oci::Network::Kind::Host)
        return make_error(
                   Code::Refused,
                   "rdma.* annotations do not go with --network host: the container has all of "
                   "the host's RDMA devices' network already")
            .advise(std::string("leave out --network host, or ") + kHostsDevice);
    if (subject.spec.redirects_hook_output())
        return make_error(Code::Refused, "run.oci.hooks.std* annotations do not go with rdma.*")
            .advise("leave them out");
    return check_policy(subject.request, subject.config, powers);
}

// A rule that names one device is judged as its node would be.
void add_rule(const oci::DeviceRange& rule, Powers& powers) {
    if (rule.major && rule.minor)
        return powers.char_devices.push_back(
            {.path = {}, .number = {.major = *rule.major, .minor = *rule.minor}});
    const auto text = [](const std::optional<uint32_t>& number) {
        return number ? std::to_string(*number) : "*";
    };
    powers.open_rules.push_back(fmt::format("c {}:{}", text(rule.major), text(rule.minor)));
}

Result<std::vector<Granted>> attach_each(World& world,
                                         const Joiner& joiner,
                                         const Request& request) {
    std::vector<Granted> granted;
    for (size_t i = 0; i < request.attachments.size(); ++i)
        granted.push_back(
            TRY(attach(world, joiner, request.attachments[i], joiner.container.attachments[i])));
    return granted;
}

// A parent may be named in several ways, and then only the host tells that it is one.
Result<> check_apart(const Container& container, const std::string& akey, const Request& request) {
    const auto same = std::ranges::find(container.attachments, akey);
    if (same == container.attachments.end())
        return {};
    const auto first = static_cast<size_t>(same - container.attachments.begin());
    const unsigned second = request.attachments[container.attachments.size()].index;
    return make_error(
               Code::Refused,
               fmt::format("attachments {} and {} both ask for the device of the same parent",
                           request.attachments[first].index,
                           second))
        .advise(fmt::format("change or remove the rdma.{}.* annotations", second));
}
}  // namespace

Result<> check_not_the_hosts(netns::Netnses& namespaces, const netns::Netns& ns) {
    if (ns.id() != TRY(namespaces.current()).id())
        return {};
    return make_error(Code::Refused, "the container is in the host's network namespace")
        .advise(std::string("give it a network of its own, or ") + kHostsDevice);
}

std::string id_of(const Call& call) {
    return call.id.empty() ? id_from_bundle(call.bundle) : call.id;
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

Result<Subject> read_subject(oci::Spec spec,
                             const Annotations& annotations,
                             Config config,
                             Grants grants,
                             netns::CharNodes& host) {
    TRY(check_author(spec, config));
    Request request = TRY(parse_request(annotations, config));
    Subject subject{.spec = std::move(spec),
                    .network = {},
                    .request = std::move(request),
                    .config = std::move(config),
                    .fenced = true,
                    .net_admin = false};
    subject.network = subject.spec.network();
    const Powers powers = TRY(powers_of(subject.spec, subject.config, host));
    subject.fenced = subject.spec.denies_devices() && powers.open_rules.empty();
    subject.net_admin =
        std::ranges::find(powers.capabilities, "CAP_NET_ADMIN") != powers.capabilities.end();
    TRY(check_subject(subject, grants, powers));
    return subject;
}

Result<> leave_earlier(World& world, const std::string& key) {
    const auto earlier = TRY(world.store.load_container(key));
    if (!earlier)
        return {};
    if (earlier->committed && TRY(is_alive(world, *earlier)))
        return make_error(Code::Busy, "this container has its RDMA already and is running")
            .advise("stop it first; rdmactl show " + earlier->id);
    return leave_all(world, *earlier, Leaving::Recovery).context("undo the container's last start");
}

Result<Container> register_container(World& world,
                                     const Call& call,
                                     const Subject& subject,
                                     const std::optional<netns::Netns>& ns,
                                     const netns::ProcessToken& token) {
    Container container{.key = container_key(call.bundle),
                        .bundle = call.bundle,
                        .id = id_of(call),
                        .uuid = base::random_uuid(),
                        .committed = false,
                        .token = token,
                        .netns_path = subject.network.path,
                        .netns = {},
                        .attachments = {},
                        .limits = {},
                        .created = static_cast<int64_t>(std::time(nullptr)),
                        .created_uptime = call.host.processes.uptime(),
                        .grants = Json::array()};
    if (ns)
        container.netns = ns->id();
    for (const Attachment& attachment : subject.request.attachments) {
        const std::string akey = TRY(key_of(world, {container, ns}, attachment));
        TRY(check_apart(container, akey, subject.request));
        container.attachments.push_back(akey);
        if (const auto it = subject.request.limits.find(attachment.index);
            it != subject.request.limits.end())
            container.limits.emplace(container.attachments.back(), it->second);
    }
    TRY(world.store.save_container(container));
    return container;
}

Joiner joiner_of(const Subject& subject,
                 const Container& container,
                 const std::optional<netns::Netns>& ns) {
    return {.container = container,
            .netns = ns,
            .cpus = subject.spec.cpus(),
            .net_admin = subject.net_admin};
}

Result<std::vector<Granted>> attach_all(World& world,
                                        const Joiner& joiner,
                                        const Request& request) {
    auto granted = attach_each(world, joiner, request);
    if (granted || granted.error().code != Code::Busy)
        return granted;
    const Collected collected = collect_garbage(world, base::Deadline::in(kPatience));
    if (collected.containers.empty() && collected.journals.empty())
        return granted;
    return attach_each(world, joiner, request);
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

bool is_forgivable(const Error& error) {
    return error.code != Code::BadInput && error.code != Code::Refused &&
           error.code != Code::BadConfig;
}

Result<> check_marker(const std::string& uuid, const Store& store, const std::string& bundle) {
    const auto container = TRY(store.load_container(container_key(bundle)));
    if (container && container->uuid == uuid)
        return {};
    return make_error(Code::Refused, std::string("annotation ") + kMarker + " is rdma-hook's own")
        .advise("leave it out");
}

Config config_or_default(const Call& call) {
    auto config = call.load_config();
    return config ? *std::move(config) : Config{};
}

base::log::Target target_of(const Config& config) {
    return {.file = config.log_file, .level = config.log_level, .program = "rdma-hook"};
}

}  // namespace hook
