// SPDX-License-Identifier: Apache-2.0
// Delivery into a container that exists: its init waits in a prestart or createRuntime hook, or runs
// (rdmactl attach). The hooks serve bare runc and crun bundles, CDI devices, and engines that have
// no stage before `create`. Steps in the container's record (Container::grants) open devices in its
// cgroup, mount nodes and attach.json, and set memlock. Environment variables and a view of
// /sys/class cannot be given at this point.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/container/delivery.h"
#include "hook/container/variables.h"
#include "hook/steps/plan.h"
#include "netns/placement.h"
#include "runtime-config/oci/state.h"

namespace hook {

class IntoRunning final : public Delivery {
  public:
    enum class Init { Waits, Runs };

    // Finds the container of this init. `bundle`: the folder to which its root.path may be
    // relative. Unavailable: the init is gone.
    static Result<IntoRunning> find(const Context& context,
                                    oci::Spec spec,
                                    const std::string& bundle,
                                    pid_t init,
                                    Init now = Init::Waits);

    [[nodiscard]] const netns::ProcessToken& init() const { return root_.init; }

    // Returns the variables that the container could not be given. Empty before give().
    [[nodiscard]] const std::vector<Variable>& variables() const { return variables_; }

    [[nodiscard]] Result<> check(const Request& request) const override;

    Result<std::optional<netns::Netns>> netns(const Asking& asking) override;
    Result<bool> in_hosts_network(const Asking& asking) override;
    Result<> give(const Asking& asking,
                  Container& container,
                  const std::vector<Granted>& granted,
                  Notes& notes) override;
    Result<> explain(Container& container, const base::Error& error, Notes& notes) override;

  private:
    IntoRunning(const Context& context,
                oci::Spec spec,
                netns::ContainerRoot root,
                netns::Netns ns,
                Init now)
        : Delivery(context, std::move(spec)),
          root_(std::move(root)),
          ns_(std::move(ns)),
          runs_(now == Init::Runs) {}

    Result<> carry_out(Steps steps,
                       const std::string& attach,
                       Container& container,
                       Notes& notes) const;

    netns::ContainerRoot root_;
    netns::Netns ns_;
    bool runs_;
    std::vector<Variable> variables_;
};

// Handles poststop of such a container: takes back its grants. Finds its record by its bundle, else
// by its id. Does nothing without a record. Busy: the container runs.
Result<> leave_ended(const Context& context, const oci::State& state);

struct Regranted {
    std::vector<std::string> containers;  // keys of those whose devices had been taken away
    std::vector<std::string> locked;      // "container KEY": another process is at work on it
    std::vector<std::string> trouble;
};

// Allows the living containers their devices again, where somebody has replaced the programs of
// their cgroups since: systemd at daemon-reload. Waits for no lock; a container that cannot be
// looked at keeps no other from its devices.
Regranted regrant(const Context& context);

}  // namespace hook
