// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/ovs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/steps/eswitch.h"
#include "hook/steps/ovs_marks.h"
#include "netns/process.h"

namespace hook {

// ---- RaiseRepresentor
std::string RaiseRepresentor::describe() const {
    return fmt::format("bring representor {} of {} up (mtu {})", port, eswitch, mtu);
}

Result<> RaiseRepresentor::apply(Site& site) const {
    netns::LinkChange change;
    if (mtu_before != mtu)
        change.mtu = mtu;
    change.up = true;
    return site.host.links.change(site.host_ns, index, change);
}

Result<Undo> RaiseRepresentor::undo(Site& site) const {
    if (!TRY(is_held(site, lease)))
        return Undo::gone();
    const auto link = TRY(find_representor(site, eswitch, port));
    if (!link || (link->mtu == mtu_before && link->up == up_before))
        return Undo::gone();
    netns::LinkChange change;
    if (link->mtu != mtu_before)
        change.mtu = mtu_before;
    change.up = up_before;
    return undone_by(site.host.links.change(site.host_ns, link->index, change));
}

// ---- AddOvsPort
namespace {
// Replaces an older port of rdma-hook's for the representor. The VF's lease is held, so a boot or a
// journal that is gone left this port behind. Ports of others are not touched.
Result<> replace_stale(Site& site, const netns::OvsPortSpec& spec) {
    netns::Ovs& ovs = site.host.ovs;
    const auto there = TRY(ovs.find_port(spec.name, Deadline::in(kOvsTimeout)));
    const netns::OvsMap marks = there ? there->marks : netns::OvsMap{};
    const std::string attachment = value_of(marks, kAttachmentMark);
    if (value_of(marks, kOwnerMark) != kOwner || attachment.empty())
        return make_error(Code::Busy,
                          fmt::format("Open vSwitch has a port {} that is not rdma-hook's{}",
                                      spec.name,
                                      there ? " on bridge " + there->bridge : ""))
            .advise("see whose it is: ovs-vsctl list port " + spec.name +
                    "; if nobody's: ovs-vsctl del-port " + spec.name);
    TRY(ovs.remove_ports(marks_of(*there), Deadline::in(kOvsTimeout)));
    return ovs.add_port(spec, Deadline::in(kOvsTimeout));
}
}  // namespace

std::string AddOvsPort::describe() const {
    std::string text = fmt::format("add {} to bridge {} of Open vSwitch", netdev, bridge);
    if (tag == netns::kUntagged)
        text += " (untagged)";
    else if (tag)
        text += fmt::format(" (tag {})", *tag);
    if (!trunks.empty())
        text += fmt::format(" (trunk {})", fmt::join(trunks, ","));
    if (policing_kbps != 0)
        text += fmt::format(" (at most {} Mbit/s)", policing_kbps / 1000);
    return text;
}

Result<> AddOvsPort::apply(Site& site) const {
    netns::OvsPortSpec spec{.bridge = bridge,
                            .name = netdev,
                            .tag = tag,
                            .trunks = trunks,
                            .policing_kbps = policing_kbps,
                            .marks = attachment_marks(attachment)};
    spec.marks[kBootMark] = TRY(site.host.processes.boot_id());
    if (!container.empty())
        spec.marks[kContainerMark] = container;
    auto done = site.host.ovs.add_port(spec, Deadline::in(kOvsTimeout));
    if (done || done.error().code != Code::Busy)
        return done;
    return replace_stale(site, spec);
}

Result<Undo> AddOvsPort::undo(Site& site) const {
    return undone_by(
        site.host.ovs.remove_ports(attachment_marks(attachment), Deadline::in(kOvsUndoTimeout))
            .advise("repair Open vSwitch, then run: rdmactl gc"));
}

}  // namespace hook
