// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/add_ovs_port.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/steps/deadlines.h"
#include "hook/steps/ovs_marks.h"
#include "netns/process.h"

namespace hook {

using base::Code;
using base::Deadline;
using base::make_error;

Result<std::unique_ptr<Step>> AddOvsPort::load(const Json& json) {
    Args args;
    args.port.bridge = TRY(base::required<std::string>(json, "bridge"));
    args.port.name = TRY(base::required<std::string>(json, "netdev"));
    args.attachment = TRY(base::required<std::string>(json, "attachment"));
    args.container = TRY(base::required<std::string>(json, "container"));
    args.port.policing_kbps = TRY(base::required<uint32_t>(json, "policing_kbps"));
    if (json.contains("tag"))
        args.port.tag = TRY(base::required<uint16_t>(json, "tag"));
    for (const Json& vlan : base::array_of(json, "trunks"))
        args.port.trunks.push_back(TRY(base::as<uint16_t>(vlan, "trunks")));
    return make_step<AddOvsPort>(std::move(args));
}

std::string AddOvsPort::describe() const {
    std::string text =
        fmt::format("add {} to bridge {} of Open vSwitch", args_.port.name, args_.port.bridge);
    if (args_.port.tag == netns::kUntagged)
        text += " (untagged)";
    else if (args_.port.tag)
        text += fmt::format(" (tag {})", *args_.port.tag);
    if (!args_.port.trunks.empty())
        text += fmt::format(" (trunk {})", fmt::join(args_.port.trunks, ","));
    if (args_.port.policing_kbps != 0)
        text += fmt::format(" (at most {} Mbit/s)", args_.port.policing_kbps / 1000);
    return text;
}

// The VF is ours by its lease: another port of ours for its representor is one that was left
// behind, by a boot or by a journal that is gone. Anybody else's is not touched.
Result<> AddOvsPort::replace_stale(Site& site, const netns::OvsPortSpec& spec) const {
    netns::Ovs& ovs = site.host.ovs;
    const auto there = TRY(ovs.find_port(spec.name, Deadline::in(kOvsTimeout)));
    const netns::OvsMap marks = there ? there->marks : netns::OvsMap{};
    const std::string attachment = value_of(marks, kAttachmentMark);
    if (value_of(marks, kOwnerMark) != kOwner || attachment.empty())
        return make_error(Code::Busy,
                          fmt::format("Open vSwitch has a port {} that is not ours{}",
                                      spec.name,
                                      there ? " on bridge " + there->bridge : ""))
            .advise("see whose it is: ovs-vsctl list port " + spec.name +
                    "; if nobody's: ovs-vsctl del-port " + spec.name);
    TRY(ovs.remove_ports(marks_of(*there), Deadline::in(kOvsTimeout)));
    return ovs.add_port(spec, Deadline::in(kOvsTimeout));
}

Result<> AddOvsPort::apply(Site& site) const {
    netns::OvsPortSpec spec = args_.port;
    spec.marks = attachment_marks(args_.attachment);
    spec.marks[kBootMark] = TRY(site.host.processes.boot_id());
    if (!args_.container.empty())
        spec.marks[kContainerMark] = args_.container;
    auto done = site.host.ovs.add_port(spec, Deadline::in(kOvsTimeout));
    if (done || done.error().code != Code::Busy)
        return done;
    return replace_stale(site, spec);
}

Result<Undo> AddOvsPort::undo(Site& site) const {
    return undone_by(
        site.host.ovs
            .remove_ports(attachment_marks(args_.attachment), Deadline::in(kOvsUndoTimeout))
            .advise("repair Open vSwitch, then run: rdmactl gc"));
}

Json AddOvsPort::save() const {
    Json json = base::object({{"bridge", args_.port.bridge},
                              {"netdev", args_.port.name},
                              {"attachment", args_.attachment},
                              {"container", args_.container},
                              {"policing_kbps", args_.port.policing_kbps},
                              {"trunks", args_.port.trunks}});
    if (args_.port.tag)
        json["tag"] = *args_.port.tag;
    return json;
}

}  // namespace hook
