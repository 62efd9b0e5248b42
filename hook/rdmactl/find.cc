// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/find.h"

namespace hook::ctl {

Result<Store> open_store(const Options& options, netns::Host& host, Config& config) {
    config = config_for_upkeep(options);
    Store store{host.files, config.state_dir};
    TRY(store.open());
    return store;
}

Result<std::optional<Container>> find_container(const Context& context, const std::string& name) {
    std::optional<Container> found;
    for (const std::string& key : TRY(context.store.container_keys())) {
        auto loaded = context.store.load_container(key);
        if (!loaded && !key.starts_with(name))  // an unreadable record is not this one
            continue;
        auto container = TRY(std::move(loaded));
        if (!container || !(container->id.starts_with(name) || key.starts_with(name)))
            continue;
        if (found)
            return make_error(Code::Usage,
                              "'" + base::printable(name) + "' names several containers")
                .advise("give more of the id: rdmactl list");
        found = std::move(container);
    }
    return found;
}

}  // namespace hook::ctl
