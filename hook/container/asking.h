// SPDX-License-Identifier: Apache-2.0
// Asking holds a container's request for RDMA, as its config.json and the configuration describe
// it. Reading it refuses all that can be refused without a look at the host.
#pragma once

#include <optional>
#include <string>

#include "hook/request/policy.h"
#include "hook/request/request.h"
#include "hook/state/context.h"
#include "netns/namespace.h"
#include "netns/process.h"
#include "runtime-config/oci/spec.h"

namespace hook {

struct Asking {
    std::string bundle;
    std::string key;  // container_key() of the bundle
    std::string id;   // empty: not known yet
    // The process that has to live for the container to be alive. First it is the process that
    // creates the container, later the container's init.
    netns::ProcessToken life{};
    // The container exists. Its init waits in a plain hook, or runs (`running_init`).
    bool running = false;
    // rdmactl attach: the container's init. `life` is then rdmactl itself.
    std::optional<netns::ProcessToken> running_init = {};
    oci::Network network;
    bool hosts_network = false;  // it is the host's; known for modes of the host's devices
    Request request;
    std::string cpus;        // the container's cpuset, "0-3,8"; empty: all
    bool fenced = true;      // the container may not open every RDMA device of the host
    bool net_admin = false;  // the container may change its interfaces
};

// Reads all members but `bundle`, `key`, `id`, `life` and `running_init`. Asks the host only for the
// numbers of devices, and only for a container with devices of its own; and for the devices that are
// near a GPU.
Result<Asking> read_asking(const Context& context,
                           const oci::Spec& spec,
                           const Annotations& annotations,
                           bool running);

// Refused without a policy: a container of a pod, whose annotations do not come from root.
Result<> check_author(const oci::Spec& spec, const Config& config);

// Lists the powers that the engine gives the container, for the policy to judge.
Result<Powers> powers_of(const oci::Spec& spec, const Config& config, netns::CharNodes& host);

// Returns whether all attachments are devices of the host as they are: nothing is done in the
// container's network then, and it may be the host's.
bool goes_with_hosts_network(const Request& request);

// Refused: the namespace is the host's, by whatever path it was named.
Result<> check_not_the_hosts(netns::Netnses& namespaces, const netns::Netns& ns);

}  // namespace hook
