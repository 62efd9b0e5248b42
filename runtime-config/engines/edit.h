// SPDX-License-Identifier: Apache-2.0
// Edits of engines' configuration files that add or remove a runtime of rdma-hook, as pure
// functions of the text. An edit changes only lines of rdma-hook, and changes nothing the second
// time. It refuses an entry of the same name by another author, and an entry of rdma-hook that was
// changed since.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netns/base/json_fwd.h"
#include "runtime-config/engines/named.h"

namespace engines {

using base::Code;
using base::Json;
using base::make_error;

// Returns whether the engine serves Kubernetes: the annotations of its containers come from pods'
// authors, not from root.
inline bool serves_pods(std::string_view engine) {
    return engine == "containerd" || engine == "crio";
}

using FileText = std::optional<std::string>;  // nothing: there is no such file

struct EngineEdit {
    std::string path;                 // of the file, as in the engine's documentation
    std::string name = kRuntimeName;  // of the runtime; Podman has none
    std::string program;              // that the engine calls for it
    bool unset = false;               // remove the runtime
    FileText before;                  // the present text
    FileText main;                    // containerd: config.toml, if `path` is a drop-in beside it
};

struct Edited {
    FileText text;
    std::vector<std::string> notes;  // further advice for the administrator
};

// Prints JSON, indented as the first indented line of `like`; by two spaces if there is none.
std::string layout_json(const Json& json, const std::string& like);

// Edits /etc/docker/daemon.json: a member of `runtimes`.
Result<Edited> edit_docker(const EngineEdit& edit);

// Edits daemon.json: `default-ulimits.memlock`, the limit of locked memory of every container that
// names none. An entry that is another limit is Busy.
Result<Edited> edit_docker_memlock(const EngineEdit& edit);

// Edits a file of containerd's version 2, 3 or 4: lines at its end, between two marks.
Result<Edited> edit_containerd(const EngineEdit& edit);

// Edits a file that holds only rdma-hook's lines and begins with a mark.
Result<Edited> edit_crio(const EngineEdit& edit);

// Edits the drop-in that the package installs.
Result<Edited> edit_podman(const EngineEdit& edit);

// Edits a drop-in that holds nothing but the default limit of locked memory.
Result<Edited> edit_podman_memlock(const EngineEdit& edit);
// Returns the runtimes of rdma-hook in an engine's file.
Result<Runtimes> docker_runtimes(const std::string& path, const FileText& text);
Result<Runtimes> containerd_runtimes(const std::string& path, const FileText& text);
Result<Runtimes> crio_runtimes(const std::string& path, const FileText& text);

// Returns whether the lines go to a drop-in beside this file of containerd. That is so if its
// version merges imported files, it imports the folder conf.d, and it has no lines of rdma-hook.
Result<bool> takes_drop_ins(const std::string& path, const std::string& text);

// Returns whether this file of CRI-O, which is not rdma-hook's, has a runtime of this name.
Result<bool> has_crio_runtime(const std::string& path,
                              const std::string& text,
                              const std::string& name);

}  // namespace engines
