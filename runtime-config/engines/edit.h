// SPDX-License-Identifier: Apache-2.0
// What an engine's configuration has to say of us, as pure edits of its text. Each edit changes
// nothing but what is ours, changes nothing the second time, and refuses what somebody else wrote
// under our name, or what of ours somebody has changed since.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/json.h"
#include "netns/base/result.h"

namespace engines {

using base::Json;
using base::Result;

// The runtime's name in every engine.
inline constexpr char kRuntimeName[] = "rdma";

// An engine of Kubernetes: the annotations of its containers are those of pods' authors, not
// root's.
inline bool serves_pods(std::string_view engine) {
    return engine == "containerd" || engine == "crio";
}

using FileText = std::optional<std::string>;  // nothing: there is no such file

struct EngineEdit {
    std::string path;     // of the file, which engines' documents give
    std::string runtime;  // path of rdma-runtime
    bool unset = false;
    FileText before;
    FileText main;  // containerd: config.toml, if `path` is a drop-in beside it
};

struct Edited {
    FileText text;
    std::vector<std::string> notes;  // what the administrator has to know besides
};

// JSON indented as the first line of `like` that is; by two spaces if there is none.
std::string layout_json(const Json& json, const std::string& like);

// /etc/docker/daemon.json: `runtimes.rdma`.
Result<Edited> edit_docker(const EngineEdit& edit);

// A file of containerd's version 2 or 3: lines at its end, between two marks.
Result<Edited> edit_containerd(const EngineEdit& edit);

// A file of ours alone, which begins with a mark.
Result<Edited> edit_crio(const EngineEdit& edit);

// The drop-in that the package installs.
Result<Edited> edit_podman(const EngineEdit& edit);

// Whether our lines go to a drop-in beside this file of containerd's: it is of a version that
// merges what it imports, imports the folder conf.d, and has no lines of ours.
Result<bool> takes_drop_ins(const std::string& path, const std::string& text);

// Whether this file of CRI-O's (another than ours) has a runtime of our name.
Result<bool> has_crio_runtime(const std::string& path, const std::string& text);

}  // namespace engines
