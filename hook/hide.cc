// SPDX-License-Identifier: Apache-2.0
#include "hook/hide.h"

#include <array>

#include "netns/rdma.h"
#include "netns/sys_class.h"

namespace hook {

namespace {
struct View {
    const char* name;  // a folder of /sys/class
    std::vector<std::string> devices;
};

// umad nodes are never granted: their folder is empty.
std::array<View, 3> views_of(const std::vector<Granted>& granted) {
    std::array<View, 3> views{
        View{"infiniband", {}}, View{"infiniband_verbs", {}}, View{"infiniband_mad", {}}};
    for (const Granted& g : granted) {
        views[0].devices.push_back(g.device.name);
        views[1].devices.push_back(g.uverbs.name);
    }
    return views;
}

Result<> prepare(base::Files& files, const std::string& dir, const netns::ClassFolder& content) {
    TRY(files.make_dir(dir, base::Access::Readable));
    for (const auto& [name, target] : content.links)
        TRY(files.make_link(dir + "/" + name, target));
    for (const auto& [name, text] : content.files)
        TRY(files.write(dir + "/" + name, text, base::Access::Readable));
    return {};
}
}  // namespace

Result<> hide_others(oci::Spec& spec,
                     netns::Host& host,
                     const Store& store,
                     const std::string& key,
                     const std::vector<Granted>& granted) {
    if (!spec.has_own_sysfs() || TRY(host.rdma.mode()) == netns::RdmaNetnsMode::Exclusive)
        return {};
    const std::string base = store.view_path(key);
    TRY(host.files.make_dir(base));
    for (const View& view : views_of(granted)) {
        const auto content = TRY(host.classes.look(view.name, view.devices));
        // Nothing can be mounted over a folder that is not there; if its module comes later, what
        // it shows are names without nodes.
        if (!content)
            continue;
        const std::string dir = base + "/" + view.name;
        TRY(prepare(host.files, dir, *content).context("prepare the container's view of devices"));
        spec.add_file_mount(dir, std::string("/sys/class/") + view.name);
    }
    return {};
}

}  // namespace hook
