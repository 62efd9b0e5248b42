// SPDX-License-Identifier: Apache-2.0
// Subject: a container that asks for RDMA, as its config.json and our configuration describe it,
// and what the two ways to attach to it (hook/container/phases.h: before `create`, and while its init waits)
// have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/container/phases.h"

namespace hook {

// What has been promised by the engine that this container will be.
struct Subject {
    oci::Spec spec;
    oci::Network network;
    Request request;
    Config config;
    bool fenced = true;      // it may not open whatever RDMA device there is
    bool net_admin = false;  // it may change its interfaces
};

// How the container is given what it is granted: declared in its config.json, or while it is there.
enum class Grants { Declared, Live };

// Parses the request; everything that can be refused without looking at the host is refused. Of the
// host only the numbers of devices are asked, and only for a container with devices of its own.
Result<Subject> read_subject(oci::Spec spec,
                             const Annotations& annotations,
                             Config config,
                             Grants grants,
                             netns::CharNodes& host);

// Refused: a pod's container, whose annotations are not root's, and no policy that bounds them.
Result<> check_author(const oci::Spec& spec, const Config& config);

// What the engine gives the container beside what we do.
Result<Powers> powers_of(const oci::Spec& spec, const Config& config, netns::CharNodes& host);

// Refused if it is the host's, by whatever path.
Result<> check_not_the_hosts(netns::Netnses& namespaces, const netns::Netns& ns);

// What is known of the container's id before the runtime says it.
std::string id_of(const Call& call);

// An earlier start of the same bundle: dead, it is undone now; alive, this start is a mistake.
Result<> leave_earlier(World& world, const std::string& key);

// Writes the container's record, not yet committed. `token`: who has to live for it to be alive.
Result<Container> register_container(World& world,
                                     const Call& call,
                                     const Subject& subject,
                                     const std::optional<netns::Netns>& ns,
                                     const netns::ProcessToken& token);

// The container as attach_all() wants it; the record stays the caller's.
Joiner joiner_of(const Subject& subject,
                 const Container& container,
                 const std::optional<netns::Netns>& ns);

// All attachments or none. Something in use may be the property of the dead: then once more.
Result<std::vector<Granted>> attach_all(World& world, const Joiner& joiner, const Request& request);

// What rdma.optional forgives: the host's failures, not the asker's.
bool is_forgivable(const base::Error& error);

// The marker of half 1 in config.json. Anybody can write the annotation, so it counts only with the
// record that belongs to it; else Refused.
Result<> check_marker(const std::string& uuid, const Store& store, const std::string& bundle);

// The later stages need of the configuration only where to log, and can do without.
Config config_or_default(const Call& call);
base::log::Target target_of(const Config& config);

}  // namespace hook
