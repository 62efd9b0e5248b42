// SPDX-License-Identifier: Apache-2.0
#include "hook/container/delivery.h"

#include <fmt/format.h>

#include "hook/container/image_verbs.h"

namespace hook {

namespace {
Json to_json(const Granted& g) {
    Json json = base::object({{"index", g.index},
                              {"mode", g.mode},
                              {"placement", g.placement == Placement::Host ? "host" : "container"},
                              {"device", g.device.name},
                              {"provider", g.software.empty() ? "device" : g.software},
                              {"node_guid", fmt::format("{:016x}", g.device.node_guid)}});
    if (g.netdev) {
        json["netdev"] = g.netdev->name;
        json["mac"] = netns::to_string(g.netdev->mac);
        json["mtu"] = g.netdev->mtu;
    }
    json["addresses"] = Json::array();
    json["rdma_cm"] = g.rdma_cm.has_value();
    json["nodes"] = Json::array();
    for (const netns::CharDevice& node : device_nodes(g))
        json["nodes"].push_back(node.path());
    if (g.gid) {
        json["gid"] = netns::to_string(g.gid->gid);
        json["gid_index"] = g.gid->index;
        json["gid_type"] = "RoCE v2";
    }
    if (!g.port_state.empty())
        json["port_state"] = g.port_state;
    if (!g.software_path.empty())
        json["software_path"] = g.software_path;
    if (!g.image_lacks.empty())
        json["image_lacks"] = g.image_lacks;
    for (const auto& address : g.addresses)
        json["addresses"].push_back(netns::to_string(address));
    if (g.rdma_cm)
        json["nodes"].push_back(g.rdma_cm->path());
    return json;
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
                                         const Json& content,
                                         Notes& notes) const {
    const std::string file = context_.store.attach_path(container.key);
    TRY(context_.host.files.write(file, base::dump_json(content), base::Access::Readable));
    return label_all({file}, kAttachFileInContainer, notes);
}

Json granted_json(const std::string& id, bool fenced, const std::vector<Granted>& granted) {
    Json json = base::object({{"format", 1},
                              {"attached", true},
                              {"id", id},
                              {"isolation", fenced ? "device nodes" : "none"},
                              {"attachments", Json::array()}});
    for (const Granted& g : granted)
        json["attachments"].push_back(to_json(g));
    return json;
}

Json failed_json(const std::string& id, const base::Error& error) {
    return base::object({{"format", 1},
                         {"attached", false},
                         {"id", id},
                         {"error", error.message()},
                         {"code", base::code_name(error.code)},
                         {"attachments", Json::array()}});
}

}  // namespace hook
