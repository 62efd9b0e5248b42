// SPDX-License-Identifier: Apache-2.0
// Delivery gives a container what was attached for it. There are two ways: by its config.json
// before it is created (in_config.h), or while it exists (into_running.h).
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

    // Returns an error if this way cannot give the container what it asks for. Changes nothing.
    [[nodiscard]] virtual Result<> check(const Request& request) const = 0;
    // Returns the namespace that the attachments go to; nothing if none goes into one. Refused: it
    // is the host's.
    virtual Result<std::optional<netns::Netns>> netns(const Asking& asking) = 0;
    // Returns whether the container is in the host's network namespace.
    virtual Result<bool> in_hosts_network(const Asking& asking) = 0;
    // Gives the grants and attach.json. The record lists beforehand what has to be undone.
    virtual Result<> give(const Asking& asking,
                          Container& container,
                          const std::vector<Granted>& granted,
                          Notes& notes) = 0;
    // Tells a container that starts without RDMA (rdma.optional) the reason.
    virtual Result<> explain(Container& container, const base::Error& error, Notes& notes) = 0;

    // Notes of each device why programs of the container's image cannot open it. No failure here
    // keeps a container from its start: programs may bring a library of their own.
    void look_at_image(const Asking& asking, std::vector<Granted>& granted) const;

  protected:
    Delivery(const Context& context, oci::Spec spec) : context_(context), spec_(std::move(spec)) {}

    // Labels files, folders and links before they are mounted. Under SELinux a container reads only
    // files with its own label, linux.mountLabel. False, with a note: one of them cannot have the
    // label, and the container goes without `what`. An empty label means that the engine uses no
    // SELinux.
    bool label_all(const std::vector<std::string>& paths,
                   const std::string& what,
                   Notes& notes) const;
    // Writes Store::attach_path() of the container. False: as label_all() returns it.
    Result<bool> write_attach_file(const Container& container,
                                   const std::string& content,
                                   Notes& notes) const;

    const Context& context_;
    oci::Spec spec_;
};

// Both return attach.json, "format" 1; see docs/reference/attach-json.md. `fenced`: see Asking.
std::string granted_json(const std::string& id, bool fenced, const std::vector<Granted>& granted);
std::string failed_json(const std::string& id, const base::Error& error);

}  // namespace hook
