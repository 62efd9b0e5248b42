// SPDX-License-Identifier: Apache-2.0
// Asking: a container that asks for RDMA, as its config.json and the configuration describe it.
// Refuses all that can be refused without a look at the host.
#pragma once

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
    std::string id;  // empty: not known yet
    // The process that has to live for the container to be alive: the one that creates it, or, once
    // it is there, its init.
    netns::ProcessToken life{};
    bool running = false;  // the container is there, and its init waits: plain hooks
    oci::Network network;
    Request request;
    std::string cpus;        // its cpuset, "0-3,8"; empty: all
    bool fenced = true;      // it may not open whatever RDMA device there is
    bool net_admin = false;  // it may change its interfaces
};

// All but `bundle`, `id` and `life`. Of the host only the numbers of devices are asked, and only
// for a container with devices of its own.
Result<Asking> read_asking(const Context& context,
                           const oci::Spec& spec,
                           const Annotations& annotations,
                           bool running);

// Refused for a pod's container, whose annotations are not root's, without a policy.
Result<> check_author(const oci::Spec& spec, const Config& config);

// Lists the powers that the engine gives the container, for the policy to judge.
Result<Powers> powers_of(const oci::Spec& spec, const Config& config, netns::CharNodes& host);

// Refused if the namespace is the host's, whatever path led to it.
Result<> check_not_the_hosts(netns::Netnses& namespaces, const netns::Netns& ns);

}  // namespace hook
