// SPDX-License-Identifier: Apache-2.0
#include "hook/container/in_config.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "hook/container/variables.h"
#include "netns/image.h"
#include "netns/rdma.h"
#include "netns/sys_class.h"

namespace hook {

namespace {
// Returns the first attachment inside the container's namespace; the end if there is none.
auto first_inside(const Request& request) {
    return std::ranges::find_if_not(request.attachments, stays_on_host);
}

struct View {
    const char* name;  // a folder of /sys/class
    std::vector<std::string> devices;
};

// Returns the views, of which a container without umad nodes has an empty one.
std::array<View, 3> views_of(const std::vector<Granted>& granted) {
    std::array<View, 3> views{
        View{"infiniband", {}}, View{"infiniband_verbs", {}}, View{"infiniband_mad", {}}};
    for (const Granted& g : granted) {
        views[0].devices.push_back(g.device.name);
        views[1].devices.push_back(g.uverbs.name);
        for (const netns::CharDevice& node : g.mad_nodes)
            views[2].devices.push_back(node.name);
    }
    return views;
}

// True if the image has nothing at the path that a mount would hide, and the runtime can mount a
// file there. Both runtimes make a file that is missing, and its folders, in the container's root;
// runc and crun fail where that is read-only, and crun where a link leads to nothing. An empty file
// may be such a one, from the container's last start.
Result<bool> is_free(const netns::ImageRoot& root, const std::string& path) {
    for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
        const std::string folder = path.substr(0, end);
        const auto there = TRY(root.look(folder));
        if (there == netns::ImageEntry::Missing)
            return !TRY(root.link(folder)) && !TRY(root.is_read_only());
        if (there != netns::ImageEntry::Folder)
            return false;
    }
    if (TRY(root.link(path)))
        return false;
    const auto there = TRY(root.look(path));
    return there == netns::ImageEntry::EmptyFile ||
           (there == netns::ImageEntry::Missing && !TRY(root.is_read_only()));
}

// A place that cannot be seen is not free.
bool can_mount_file(const netns::ImageRoot& root, const std::string& path) {
    const auto is = is_free(root, path);
    return is && *is;
}

// Makes a folder with links and files. Adds all their paths to `paths`.
Result<> make_view(base::Files& files,
                   const std::string& dir,
                   const netns::ClassFolder& content,
                   std::vector<std::string>& paths) {
    TRY(files.make_dir(dir, base::Access::Readable));
    paths.push_back(dir);
    for (const auto& [name, target] : content.links) {
        paths.push_back(dir + "/" + name);
        TRY(files.make_link(paths.back(), target));
    }
    for (const auto& [name, text] : content.files) {
        paths.push_back(dir + "/" + name);
        TRY(files.write(paths.back(), text, base::Access::Readable));
    }
    return {};
}
}  // namespace

Result<> check_marker(const Store& store, const std::string& bundle, const std::string& uuid) {
    const auto container = TRY(store.load_container(container_key(bundle)));
    if (container && container->uuid == uuid)
        return {};
    return make_error(Code::Refused, std::string("annotation ") + kMarker + " is rdma-hook's own")
        .advise("leave it out");
}

Result<std::optional<netns::Netns>> InConfig::netns(const Asking& asking) {
    netns::Netnses& namespaces = context_.host.namespaces;
    if (first_inside(asking.request) == asking.request.attachments.end())
        return std::optional<netns::Netns>{};
    if (asking.network.kind != oci::Network::Kind::Path)
        return std::optional{TRY(namespaces.make())};
    auto ns = TRY(namespaces.open(asking.network.path));
    TRY(check_not_the_hosts(namespaces, ns));
    return std::optional{std::move(ns)};
}

Result<bool> InConfig::in_hosts_network(const Asking& asking) {
    netns::Netnses& namespaces = context_.host.namespaces;
    if (asking.network.kind != oci::Network::Kind::Path)
        return asking.network.kind == oci::Network::Kind::Host;
    return TRY(namespaces.open(asking.network.path)).id() == TRY(namespaces.current()).id();
}

Result<> InConfig::give(const Asking& asking,
                        Container& container,
                        const std::vector<Granted>& granted,
                        Notes& notes) {
    const Request& request = asking.request;
    if (request.optional)
        untouched_ = spec_;  // a copy costs as much as parsing
    // A namespace that netns() made has a path that lives as long as the container: that of its
    // pin.
    if (asking.network.kind == oci::Network::Kind::Private && container.netns) {
        const auto first = first_inside(request) - request.attachments.begin();
        spec_.set_network_path(
            context_.store.pin_path(container.attachments[static_cast<size_t>(first)]));
    }
    for (const netns::CharDevice& node : all_nodes(granted))
        TRY(spec_.add_device({node.path(), node.major, node.minor}));
    if (const uint64_t bytes = TRY(memlock_for(asking, notes)); bytes != 0)
        spec_.set_memlock(bytes, request.memlock.has_value());
    const auto variables = variables_of(granted);
    for (const Variable& variable : variables)
        spec_.add_env(variable.name, variable.value);
    TRY(open_view(container));
    TRY(add_classes(container, asking.hosts_network, granted, notes));
    TRY(add_settings(asking.bundle, container, variables, notes));
    return declare(container, granted_json(container.id, asking.fenced, granted), notes);
}

Result<> InConfig::explain(Container& container, const base::Error& error, Notes& notes) {
    if (untouched_)
        spec_ = *std::move(untouched_);
    spec_.add_env("RDMA_ERROR", error.message());
    return declare(container, failed_json(container.id, error), notes);
}

// Returns how much memory the container's processes may lock; 0: the engine's own limit stays. The
// annotation decides, then the user's --ulimit, then the policy's maximum: verbs pin their memory.
// Only root raises a hard limit, and a container with a higher one than its user's does not start.
Result<uint64_t> InConfig::memlock_for(const Asking& asking, Notes& notes) const {
    const Request& request = asking.request;
    const uint64_t wanted = request.memlock.value_or(request.memlock_default);
    const bool decides = request.memlock || !spec_.has_memlock();
    if (!context_.config.rootless || !decides)
        return wanted;
    const uint64_t most = TRY(context_.host.processes.memlock(asking.life)).hard;
    if (wanted <= most)
        return wanted;
    constexpr char kRaise[] =
        "raise it: a line `USER hard memlock unlimited` in a file of /etc/security/limits.d, and "
        "log in again";
    if (request.memlock)
        return make_error(Code::Refused,
                          fmt::format("rdma.memlock is more than your hard limit, {} bytes", most))
            .advise(kRaise);
    notes.push_back(fmt::format(
        "programs may lock {} bytes of memory, your hard limit, and no more; {}", most, kRaise));
    return most;
}

// Makes the folder of what is mounted into the container beside attach.json.
Result<> InConfig::open_view(const Container& container) {
    const std::string base = context_.store.view_path(container.key);
    TRY(context_.host.files.remove_tree(base));  // left by a start whose record was removed by hand
    return context_.host.files.make_dir(base);
}

// Adds a view of /sys/class. In RDMA netns mode shared every container's /sys/class names every
// RDMA device of the host, although it can open only its own. Programs that read those folders
// (UCX, NCCL, scripts) see only the granted devices instead. The view has links like the real ones,
// on read-only mounts. A mask for each other device would be wrong as soon as the next container
// starts.
//
// Does nothing where the container's /sys is not the engine's own. That is so with `privileged`, or
// with a user's mount at or below /sys/class or /sys/devices. Does nothing in exclusive mode
// either, in which the kernel hides the host's devices outside of the host's network. The view
// makes programs choose right; a container cannot use other devices because it has no node of them.
Result<> InConfig::add_classes(const Container& container,
                               bool hosts_network,
                               const std::vector<Granted>& granted,
                               Notes& notes) {
    netns::Host& host = context_.host;
    const auto is_hidden = [&]() -> Result<bool> {
        return !hosts_network && TRY(host.rdma.mode()) == netns::RdmaNetnsMode::Exclusive;
    };
    if (!spec_.has_own_sysfs(context_.config.rootless) || TRY(is_hidden()))
        return {};
    const std::string base = context_.store.view_path(container.key);
    std::vector<std::string> paths;
    std::vector<std::string> shown;
    for (const View& view : views_of(granted)) {
        const auto content = TRY(host.classes.look(view.name, view.devices));
        // Nothing can be mounted over a folder that does not exist. If its module comes later, the
        // folder shows names without nodes.
        if (!content)
            continue;
        TRY(make_view(host.files, base + "/" + view.name, *content, paths)
                .context("prepare the container's view of devices"));
        shown.emplace_back(view.name);
    }
    // Gives all views or none: libraries compare these folders.
    if (!label_all(paths, "a /sys/class of its own", notes))
        return {};
    for (const std::string& name : shown)
        spec_.add_file_mount(base + "/" + name, "/sys/class/" + name);
    return {};
}

// Adds the files of settings. Programs that are started in the container later (`docker exec`, ssh)
// have the engine's environment, without the variables. An image's own file stays, and so does
// what the user mounts there.
Result<> InConfig::add_settings(const std::string& bundle,
                                const Container& container,
                                const std::vector<Variable>& variables,
                                Notes& notes) {
    const auto root = netns::ImageRoot::open(spec_.root(bundle));
    for (const SettingsFile& file : kSettingsFiles) {
        if (!root || spec_.mounts_near(file.path) || !can_mount_file(*root, file.path))
            continue;
        const std::string source = context_.store.view_path(container.key) + "/" + file.name;
        TRY(context_.host.files.write(
            source, settings_text(file, variables), base::Access::Readable));
        if (label_all({source}, file.path, notes))
            spec_.add_file_mount(source, file.path);
    }
    return {};
}

// Declares what every container gets, with RDMA or (rdma.optional) without. That is attach.json,
// and the hooks that commit and undo its record.
Result<> InConfig::declare(const Container& container, const std::string& attach, Notes& notes) {
    if (TRY(write_attach_file(container, attach, notes)))
        spec_.add_file_mount(context_.store.attach_path(container.key), kAttachFileInContainer);
    for (const char* stage : {"createRuntime", "poststop"})
        spec_.add_hook(stage,
                       {.path = program_,
                        .args = {"rdma-hook",
                                 stage,
                                 "--state",
                                 context_.config.state_dir,
                                 "--container",
                                 container.key,
                                 "--attach",
                                 container.uuid},
                        .timeout_s = oci::kHookTimeoutSeconds});
    spec_.set_annotation(kMarker, container.uuid);
    return {};
}

}  // namespace hook
