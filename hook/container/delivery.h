// SPDX-License-Identifier: Apache-2.0
// Delivery: how a container is given what was attached for it. There are two ways: by its
// config.json before it is created (in_config.h), or while its init waits (into_running.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/container/asking.h"
#include "hook/container/inspect.h"

namespace hook {

using Notes = std::vector<std::string>;  // lines for the person at the terminal

inline constexpr char kAttachFileInContainer[] = "/run/rdma/attach.json";

class Delivery {
  public:
    virtual ~Delivery() = default;
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;
    Delivery(Delivery&&) = default;
    Delivery& operator=(Delivery&&) = delete;

    // An error if this way cannot give the container what it asks for. Changes nothing.
    [[nodiscard]] virtual Result<> check(const Request& request) const = 0;
    // The namespace that the attachments go to; nothing if none of them does.
    virtual Result<std::optional<netns::Netns>> netns(const Asking& asking) = 0;
    // Gives what was granted, and attach.json. The record says before what has to be undone.
    virtual Result<> give(const Asking& asking,
                          Container& container,
                          const std::vector<Granted>& granted,
                          Notes& notes) = 0;
    // rdma.optional: tells a container that starts without RDMA why.
    virtual Result<> explain(Container& container, const base::Error& error, Notes& notes) = 0;

  protected:
    Delivery(const Context& context, oci::Spec spec) : context_(context), spec_(std::move(spec)) {}

    // Under SELinux a container reads only what has its own label, linux.mountLabel: labels files,
    // folders and links before they are mounted. False, with a note, if one cannot have it: the
    // container does without `what`. An empty label: the engine uses no SELinux.
    bool label_all(const std::vector<std::string>& paths,
                   const std::string& what,
                   Notes& notes) const;
    // Writes Store::attach_path() of the container. False as of label_all().
    Result<bool> write_attach_file(const Container& container,
                                   const Json& content,
                                   Notes& notes) const;

    const Context& context_;
    oci::Spec spec_;
};

// attach.json, "format" 1; see hook/README.md. `fenced`: see Asking.
Json granted_json(const std::string& id, bool fenced, const std::vector<Granted>& granted);
Json failed_json(const std::string& id, const base::Error& error);

}  // namespace hook
