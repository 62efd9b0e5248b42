// SPDX-License-Identifier: Apache-2.0
// Delivery into config.json, before the container is created. It adds device nodes with their
// rules, memlock, environment, attach.json, files of settings and the view of /sys/class. It also
// adds the hooks that commit and undo the container's record. The runtime mounts; rdma-hook touches
// no root file system.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/container/delivery.h"
#include "hook/container/variables.h"

namespace hook {

// The annotation that precreate leaves in config.json, so that a second precreate passes it
// through.
inline constexpr char kMarker[] = "org.rdma-hook.attach";

// Refused: the annotation has no record that belongs to it. Anybody can write the annotation.
Result<> check_marker(const Store& store, const std::string& bundle, const std::string& uuid);

class InConfig final : public Delivery {
  public:
    // `program`: rdma-hook's path, for the hooks.
    InConfig(const Context& context, oci::Spec spec, std::string program)
        : Delivery(context, std::move(spec)), program_(std::move(program)) {}

    [[nodiscard]] Result<> check(const Request& /*request*/) const override { return {}; }

    // Returns the engine's namespace, or a new one, which config.json then names.
    Result<std::optional<netns::Netns>> netns(const Asking& asking) override;
    Result<bool> in_hosts_network(const Asking& asking) override;
    Result<> give(const Asking& asking,
                  Container& container,
                  const std::vector<Granted>& granted,
                  Notes& notes) override;
    Result<> explain(Container& container, const base::Error& error, Notes& notes) override;

    // Returns the edited config.json.
    [[nodiscard]] std::string text() const { return spec_.text(); }

  private:
    [[nodiscard]] Result<uint64_t> memlock_for(const Asking& asking, Notes& notes) const;
    Result<> open_view(const Container& container);
    Result<> add_classes(const Container& container,
                         bool hosts_network,
                         const std::vector<Granted>& granted,
                         Notes& notes);
    Result<> add_settings(const std::string& bundle,
                          const Container& container,
                          const std::vector<Variable>& variables,
                          Notes& notes);
    Result<> declare(const Container& container, const std::string& attach, Notes& notes);

    std::string program_;
    std::optional<oci::Spec> untouched_;  // the config.json before give()
};

}  // namespace hook
