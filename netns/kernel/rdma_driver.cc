// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/rdma_driver.h"

#include <charconv>

namespace netns {

Result<std::optional<std::string>> software_type_in(const SysTree& tree,
                                                    const std::string& device) {
    const auto folder = TRY(tree.enter("class/infiniband/" + device));
    if (!folder)
        return std::optional<std::string>{};
    if (TRY(folder->link("device")))  // hardware has a device on its bus
        return std::optional{std::string{}};
    const auto node = TRY(folder->read("node_type"));  // "1: CA" or "4: RNIC"
    if (!node)
        return std::optional<std::string>{};
    return std::optional<std::string>{node->starts_with('4') ? "siw" : "rxe"};
}

Result<uint64_t> module_references(const SysTree& tree, const std::string& type) {
    const std::string module = type == "rxe" ? "rdma_rxe" : type;
    const std::string text = TRY(tree.read("module/" + module + "/refcnt")).value_or("0");
    uint64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    return error == std::errc{} ? count : ~uint64_t{0};  // an unreadable count means many
}

}  // namespace netns
