// SPDX-License-Identifier: Apache-2.0
#include "hook/container/delivery.h"

#include <fmt/format.h>

#include "hook/container/image_verbs.h"

namespace hook {

namespace {
void put_granted(std::string& text, const Granted& g) {
    const auto put = [&](std::string_view name, const auto& value) {
        base::append_member(text, name, value);
    };
    std::vector<std::string> addresses;
    for (const auto& address : g.addresses)
        addresses.push_back(netns::to_string(address));
    std::vector<std::string> nodes;
    for (const netns::CharDevice& node : device_nodes(g))
        nodes.push_back(node.path());
    if (g.rdma_cm)
        nodes.push_back(g.rdma_cm->path());
    text += '{';
    put("index", g.index);
    put("mode", g.mode);
    put("placement", g.placement == Placement::Host ? "host" : "container");
    put("device", g.device.name);
    put("provider", g.software.empty() ? "device" : g.software);
    put("node_guid", fmt::format("{:016x}", g.device.node_guid));
    if (g.netdev) {
        put("netdev", g.netdev->name);
        put("mac", netns::to_string(g.netdev->mac));
        put("mtu", g.netdev->mtu);
    }
    put("addresses", addresses);
    put("rdma_cm", g.rdma_cm.has_value());
    put("nodes", nodes);
    if (g.gid) {
        put("gid", netns::to_string(g.gid->gid));
        put("gid_index", g.gid->index);
        put("gid_type", "RoCE v2");
    }
    if (!g.port_state.empty())
        put("port_state", g.port_state);
    if (!g.software_path.empty())
        put("software_path", g.software_path);
    if (!g.image_lacks.empty())
        put("image_lacks", g.image_lacks);
    text += '}';
}
}  // namespace

bool Delivery::label_all(const std::vector<std::string>& paths,
                         const std::string& what,
                         Notes& notes) const {
    const std::string label = spec_.mount_label();
    if (label.empty())
        return true;
    for (const std::string& path : paths) {
        if (const auto done = context_.host.files.set_label(path, label); !done) {
            notes.push_back(fmt::format(
                "the container does without {}: {}; see why: ausearch -m avc -ts recent",
                what,
                done.error().message()));
            return false;
        }
    }
    return true;
}

void Delivery::look_at_image(const Asking& asking, std::vector<Granted>& granted) const {
    for (Granted& g : granted) {
        const std::string_view provider = provider_of(g.driver);
        if (provider.empty())
            continue;
        const auto image = hook::look_at_image(spec_, asking.bundle, provider);
        const auto lack = image ? image_lacks(*image, provider, g.device.name) : std::nullopt;
        if (lack)
            g.image_lacks = lack->message();
    }
}

Result<bool> Delivery::write_attach_file(const Container& container,
                                         const std::string& content,
                                         Notes& notes) const {
    const std::string file = context_.store.attach_path(container.key);
    TRY(context_.host.files.write(file, content, base::Access::Readable));
    return label_all({file}, kAttachFileInContainer, notes);
}

std::string granted_json(const std::string& id, bool fenced, const std::vector<Granted>& granted) {
    std::string text = "{";
    base::append_member(text, "format", 1);
    base::append_member(text, "attached", true);
    base::append_member(text, "id", id);
    base::append_member(text, "isolation", fenced ? "device nodes" : "none");
    base::append_name(text, "attachments");
    text += '[';
    for (const Granted& g : granted) {
        if (!text.ends_with('['))
            text += ',';
        put_granted(text, g);
    }
    text += "]}";
    return text;
}

std::string failed_json(const std::string& id, const base::Error& error) {
    return base::dump_json(base::object({{"format", 1},
                                         {"attached", false},
                                         {"id", id},
                                         {"error", error.message()},
                                         {"code", base::code_name(error.code)},
                                         {"attachments", Json::array()}}));
}

}  // namespace hook
