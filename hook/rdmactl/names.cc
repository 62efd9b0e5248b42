// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/names.h"

#include <algorithm>
#include <array>

#include "hook/rdmactl/text.h"
#include "hook/state/store.h"
#include "netns/base/ascii.h"
#include "netns/base/json.h"
#include "runtime-config/oci/bundle.h"
#include "runtime-config/oci/spec.h"

namespace hook::ctl {

using base::Json;

namespace {
constexpr std::array<std::string_view, 4> kEngineWords = {"docker", "podman", "containerd", "crio"};
constexpr size_t kMaxStorageFile = 8U << 20U;  // a thousand containers need one megabyte
constexpr size_t kMaxDockerFile = 1U << 20U;
constexpr size_t kMaxName = 255;
constexpr char kDaemonFile[] = "/etc/docker/daemon.json";
constexpr char kDockerFolder[] = "/var/lib/docker";
constexpr std::string_view kStorage = "-containers";  // after the name of a storage driver
constexpr std::string_view kTasks = "io.containerd.runtime.v2.task";
constexpr std::string_view kDockersNamespace = "moby";

struct PodKeys {
    const char* pod;
    const char* container;
};

// The annotations of containerd's CRI plugin, and those of CRI-O.
constexpr PodKeys kPodKeys[] = {
    {"io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.container-name"},
    {"io.kubernetes.pod.name", "io.kubernetes.container.name"}};
constexpr char kNerdctlKey[] = "nerdctl/name";

// Accepts the names of Docker and Podman, which pods' names fit in, too.
bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= kMaxName && base::is_alnum(text.front()) &&
           base::is_made_of(text, "_.-");
}

std::string accepted(const std::string& name) {
    return is_name(name) ? name : std::string();
}

// Splits the last part off a path: {"/a/b", "c"}.
std::pair<std::string, std::string> split_last(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos)
        return {"", path};
    return {path.substr(0, slash), path.substr(slash + 1)};
}

// Adds the names of a storage's file to `names`.
void add_names(const Json& list, std::map<std::string, std::string>& names) {
    if (!list.is_array())
        return;
    for (const Json& container : list) {
        const auto all = container.is_object() ? container.find("names") : container.end();
        if (!container.is_object() || all == container.end() || !all->is_array() || all->empty())
            continue;
        const Json& name = all->front();  // Podman gives each container one
        if (name.is_string() && is_name(name.get_ref<const std::string&>()))
            names.emplace(string_at(container, "id"), name.get<std::string>());
    }
}
}  // namespace

bool is_engine(std::string_view word) {
    return std::ranges::find(kEngineWords, word) != kEngineWords.end();
}

CalledAs Names::of(const std::string& id, const std::string& bundle) {
    const auto [above, last] = split_last(bundle);
    const auto [folder, middle] = split_last(above);
    CalledAs called;
    if (last == "userdata" && folder.ends_with(kStorage)) {
        called.engine = "podman";
        const auto& names = of_storage(folder);
        const auto found = names.find(middle);
        called.name = found != names.end() ? found->second : of_annotations(bundle, called.engine);
    } else if (split_last(folder).second == kTasks && middle == kDockersNamespace) {
        called = {.engine = "docker", .name = of_docker(last)};
    } else if (split_last(folder).second == kTasks) {
        called.engine = "containerd";
        called.name = of_annotations(bundle, called.engine);
        // The user of `ctr` chooses the id itself.
        const std::string& own = id.empty() ? last : id;
        if (called.name.empty() && !is_container_key(own))
            called.name = accepted(own);
    }
    return called;
}

const std::map<std::string, std::string>& Names::of_storage(const std::string& folder) {
    const auto [at, is_new] = storages_.try_emplace(folder);
    for (const char* file : {"containers.json", "volatile-containers.json"}) {
        if (!is_new)
            break;
        const auto text = files_.read(root_ + folder + "/" + file, kMaxStorageFile);
        const auto json = text ? base::parse_json(*text, file) : text.error();
        if (json)
            add_names(*json, at->second);
    }
    return at->second;
}

std::string Names::of_docker(const std::string& id) {
    if (!is_container_key(id))  // foreign text must not become part of a path
        return {};
    if (!docker_) {
        const auto text = files_.read(root_ + kDaemonFile, kMaxDockerFile);
        const auto json = text ? base::parse_json(*text, kDaemonFile) : text.error();
        docker_ = json ? string_at(*json, "data-root") : std::string();
        if (!docker_->starts_with('/'))
            docker_ = kDockerFolder;
    }
    const auto text =
        files_.read(root_ + *docker_ + "/containers/" + id + "/config.v2.json", kMaxDockerFile);
    const auto json = text ? base::parse_json(*text, "config.v2.json") : text.error();
    if (!json || string_at(*json, "ID") != id)
        return {};
    const std::string name = string_at(*json, "Name");  // "/server"
    return accepted(name.starts_with('/') ? name.substr(1) : name);
}

std::string Names::of_annotations(const std::string& bundle, std::string& engine) {
    const auto text = files_.read(root_ + bundle + "/" + oci::kSpecFile, oci::kMaxSpecBytes);
    const auto spec = text ? oci::Spec::parse_annotations(*text) : text.error();
    if (!spec)
        return {};
    const auto annotations = spec->annotations();
    const auto value = [&](const char* key) {
        const auto found = annotations.find(key);
        return found != annotations.end() ? accepted(found->second) : std::string();
    };
    if (annotations.contains("io.kubernetes.cri-o.SandboxID"))
        engine = "crio";
    if (std::string name = value(kNerdctlKey); !name.empty())
        return name;
    for (const PodKeys& keys : kPodKeys) {
        const std::string container = value(keys.container);
        if (container.empty())
            continue;
        const std::string pod = value(keys.pod);
        return pod.empty() ? container : pod + "/" + container;
    }
    return {};
}

}  // namespace hook::ctl
