// SPDX-License-Identifier: Apache-2.0
// Delivery into config.json, before the container is created: device nodes with their rules,
// memlock, environment, attach.json, the view of /sys/class, and the hooks that commit and undo the
// container's record. The runtime mounts; rdma-hook touches no root file system.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/container/delivery.h"

namespace hook {

// The annotation that precreate leaves in config.json, so that a second precreate passes through.
inline constexpr char kMarker[] = "org.rdma-hook.attach";

// Anybody can write the annotation, so it counts only with the record that belongs to it; else
// Refused.
Result<> check_marker(const Store& store, const std::string& bundle, const std::string& uuid);

class InConfig final : public Delivery {
  public:
    // `program`: rdma-hook's path, for the hooks.
    InConfig(const Context& context, oci::Spec spec, std::string program)
        : Delivery(context, std::move(spec)), program_(std::move(program)) {}

    [[nodiscard]] Result<> check(const Request& /*request*/) const override { return {}; }

    // The engine's namespace, or a new one, which config.json then names.
    Result<std::optional<netns::Netns>> netns(const Asking& asking) override;
    Result<> give(const Asking& asking,
                  Container& container,
                  const std::vector<Granted>& granted,
                  Notes& notes) override;
    Result<> explain(Container& container, const base::Error& error, Notes& notes) override;

    // The edited config.json.
    [[nodiscard]] std::string text() const { return spec_.text(); }

  private:
    Result<> add_view(const Container& container,
                      const std::vector<Granted>& granted,
                      Notes& notes);
    Result<> declare(const Container& container, const Json& attach, Notes& notes);

    std::string program_;
    std::optional<oci::Spec> untouched_;  // as it was before give()
};

}  // namespace hook
