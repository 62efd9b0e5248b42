// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/running.h"

#include <optional>

#include <fmt/format.h>

#include "hook/rdmactl/find.h"
#include "netns/base/files.h"

namespace hook::ctl {

namespace {
// The folders with a folder for each container: of runc's and crun's own users and Podman, and of
// Docker, whatever low-level runtime it uses (moby, daemon/runtime_unix.go).
constexpr const char* kFolders[] = {"/run/runc", "/run/crun", "/run/docker/runtime-runc/moby"};
// containerd has such a folder for each of its namespaces: "k8s.io", "default".
constexpr char kContainerd[] = "/run/containerd/runc";

struct Kept {
    std::string folder;
    std::string id;
};

// Returns the names in a folder that could be ids; none if there is no such folder.
Result<std::vector<std::string>> ids_in(base::Files& files, const std::string& folder) {
    auto names = files.list(folder);
    if (!names && base::is_missing(names.error()))
        return std::vector<std::string>{};
    std::vector<std::string> ids = TRY(std::move(names));
    std::erase_if(ids, [](const std::string& name) { return !oci::is_container_id(name); });
    return ids;
}

// Returns the containers whose id begins so; only one of them if that is its whole id.
Result<std::vector<Kept>> containers_of(base::Files& files,
                                        const std::string& root,
                                        const std::string& wanted) {
    std::vector<std::string> folders;
    for (const char* folder : kFolders)
        folders.push_back(root + folder);
    for (const std::string& name : TRY(ids_in(files, root + kContainerd)))
        folders.push_back(root + kContainerd + "/" + name);
    std::vector<Kept> found;
    for (const std::string& folder : folders) {
        for (const std::string& id : TRY(ids_in(files, folder))) {
            if (id == wanted)
                return std::vector<Kept>{{folder, id}};
            if (id.starts_with(wanted))
                found.push_back({folder, id});
        }
    }
    return found;
}

Result<oci::State> read_kept(base::Files& files, const Kept& kept) {
    const std::string folder = kept.folder + "/" + kept.id;
    const auto runc = files.read(folder + "/state.json", oci::kMaxStateBytes);
    if (runc || !base::is_missing(runc.error()))
        return oci::parse_runc_state(TRY(runc), kept.id).context(folder);
    const auto crun = files.read(folder + "/status", oci::kMaxStateBytes);
    if (!crun && base::is_missing(crun.error()))
        return make_error(Code::Unavailable,
                          folder + " has neither runc's state.json nor crun's status")
            .advise("name the container by --pid and --bundle");
    oci::State state = TRY(oci::parse_crun_status(TRY(crun), kept.id).context(folder));
    if (!state.knows_bundle())
        return make_error(Code::Unavailable, folder + "/status does not say where config.json is")
            .advise("name the container by --pid and --bundle");
    return state;
}

// Returns the container that its engine calls so; nothing if there is none.
Result<std::optional<Kept>> called_so(const Options& options, netns::Host& host) {
    const auto running = TRY(containers_of(host.files, options.host_root, ""));
    Names names{host.files, options.host_root};
    std::vector<Known> all;
    for (const Kept& kept : running) {
        if (const auto state = read_kept(host.files, kept))
            all.push_back(
                {.key = kept.folder, .id = kept.id, .called = names.of(kept.id, state->bundle)});
    }
    const auto chosen = TRY(choose(all, options.container));
    return chosen ? std::optional{Kept{chosen->key, chosen->id}} : std::nullopt;
}

Result<oci::State> named_by_pid(const Options& options, netns::Host& host) {
    if (!oci::is_container_id(options.container))
        return make_error(Code::Usage,
                          "'" + printable(options.container) + "' is not a container's id");
    const auto init = TRY(host.processes.token(options.init));
    return oci::State{.id = options.container,
                      .bundle = options.bundle,
                      .status = {},
                      .pid = options.init,
                      .start = init ? init->start : 0};
}

Result<oci::State> named_by_id(const Options& options, netns::Host& host) {
    const std::string name = printable(options.container);
    auto found = TRY(containers_of(host.files, options.host_root, options.container));
    if (found.empty()) {
        if (auto called = TRY(called_so(options, host)))
            return read_kept(host.files, *called);
        return make_error(Code::Unavailable, "no container '" + name + "' runs")
            .advise(
                "give its name or id, as docker ps or podman ps shows them; or --pid and --bundle");
    }
    if (found.size() > 1)
        return make_error(Code::Usage, "'" + name + "' names several containers")
            .advise(fmt::format("give more of the id: {} or {}", found[0].id, found[1].id));
    return read_kept(host.files, found.front());
}
}  // namespace

Result<oci::State> find_running(const Options& options, netns::Host& host) {
    auto state =
        TRY(options.bundle.empty() ? named_by_id(options, host) : named_by_pid(options, host));
    const auto init = TRY(host.processes.token(state.pid));
    if (init && init->start == state.start)
        return state;
    return make_error(Code::Unavailable, "container " + state.id + " does not run")
        .advise("start it, and run this again");
}

}  // namespace hook::ctl
