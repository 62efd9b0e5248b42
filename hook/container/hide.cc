// SPDX-License-Identifier: Apache-2.0
#include "hook/container/hide.h"

#include <array>

#include "hook/container/label.h"
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

// All that is made is added to `paths`.
Result<> prepare(base::Files& files,
                 const std::string& dir,
                 const netns::ClassFolder& content,
                 std::vector<std::string>& paths) {
    TRY(files.make_dir(dir, base::Access::Readable));
    paths.push_back(dir);
    for (const auto& [name, target] : content.links) {
        paths.push_back(dir + "/" + name);
        TRY(files.make_link(paths.back(), target));
    }
    for (const auto& [name, text] : content.files) {
        paths.push_back(dir + "/" + name);
        TRY(files.write(paths.back(), text, base::Access::Readable));
    }
    return {};
}
}  // namespace

Result<std::vector<std::string>> hide_others(oci::Spec& spec,
                                             netns::Host& host,
                                             const Store& store,
                                             const std::string& key,
                                             const std::vector<Granted>& granted) {
    std::vector<std::string> notes;
    if (!spec.has_own_sysfs() || TRY(host.rdma.mode()) == netns::RdmaNetnsMode::Exclusive)
        return notes;
    const std::string base = store.view_path(key);
    TRY(host.files.remove_tree(base));  // of a start whose record somebody removed by hand
    TRY(host.files.make_dir(base));
    std::vector<std::string> paths;
    std::vector<std::string> shown;
    for (const View& view : views_of(granted)) {
        const auto content = TRY(host.classes.look(view.name, view.devices));
        // Nothing can be mounted over a folder that is not there; if its module comes later, what
        // it shows are names without nodes.
        if (!content)
            continue;
        TRY(prepare(host.files, base + "/" + view.name, *content, paths)
                .context("prepare the container's view of devices"));
        shown.emplace_back(view.name);
    }
    // All or none: libraries compare these folders.
    if (!label_all(host.files, paths, spec.mount_label(), "a /sys/class of its own", notes))
        return notes;
    for (const std::string& name : shown)
        spec.add_file_mount(base + "/" + name, "/sys/class/" + name);
    return notes;
}

}  // namespace hook
