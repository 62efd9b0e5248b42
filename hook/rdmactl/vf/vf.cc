// SPDX-License-Identifier: Apache-2.0
// rdmactl vf: the administrator makes VFs, sees their users, and destroys them. Containers only
// ever get VFs that exist.
#include <functional>
#include <map>

#include <fmt/format.h>

#include "hook/rdmactl/find.h"
#include "hook/rdmactl/text.h"
#include "hook/rdmactl/vf/pf.h"

namespace hook::ctl {

using netns::PciFunction;

namespace {
// The names for people of containers, by id.
using LabelsById = std::map<std::string, std::string>;

Result<LabelsById> labels_of(const Context& context, const Options& options) {
    LabelsById labels;
    Names names{context.host.files, options.host_root};
    for (const Known& known : TRY(known_containers(context, names)))
        labels[known.id.empty() ? known.key : known.id] = label_of(known);
    return labels;
}

std::string lay_out(const Json& json, const LabelsById& labels, const Page& page) {
    std::string text;
    for (const Json& pf : json["pfs"]) {
        text += fmt::format("{} ({}, {}): {} of {} VFs\n",
                            pf["netdev"].get<std::string>(),
                            pf["address"].get<std::string>(),
                            pf["driver"].get<std::string>(),
                            pf["enabled"].get<uint32_t>(),
                            pf["total"].get<uint32_t>());
        Rows rows = {{"VF", "ADDRESS", "DRIVER", "NETDEV", "RDMA", "STATE", "CONTAINER"}};
        for (const Json& vf : pf["vfs"]) {
            std::string containers;
            for (const Json& id : vf["containers"]) {
                const auto label = labels.find(id.get<std::string>());
                containers += (containers.empty() ? "" : ",") +
                              (label == labels.end() ? id.get<std::string>() : label->second);
            }
            const auto state = vf["state"].get<std::string>();
            rows.push_back({std::to_string(vf["number"].get<uint32_t>()),
                            vf["address"].get<std::string>(),
                            vf["driver"].get<std::string>(),
                            vf["netdev"].get<std::string>(),
                            vf["rdma"].get<std::string>(),
                            {state, colour_of(state)},
                            containers});
        }
        if (rows.size() > 1)
            text += table(rows, page);
    }
    return text.empty() ? "no PCI function of this host has SR-IOV\n" : text;
}

Result<Answer> answer_of(HostView& view,
                         const Options& options,
                         const std::vector<PciFunction>& pfs) {
    Json json{{"pfs", Json::array()}};
    for (const PciFunction& pf : pfs)
        json["pfs"].push_back(TRY(describe_pf(view, pf)));
    std::string text = lay_out(json, TRY(labels_of(view, options)), options.page);
    return Answer{.json = std::move(json), .text = std::move(text)};
}

// A change of a PF's VFs.
struct Change {
    uint32_t count = 0;                        // the VFs that there are to be
    std::function<Result<>(const Pf&)> check;  // refuses it, and changes nothing
    std::function<Result<>(const Pf&)> make;
};

// Makes the change, and answers with the adapter's state afterwards. A dry run only checks, and
// answers with the intents and the present state.
Result<Answer> carry_out(HostView& view,
                         const Options& options,
                         const std::string& address,
                         const Change& change) {
    std::vector<std::string> intents;
    if (options.dry_run) {
        const Pf pf = TRY(find_pf(address, view.host));
        TRY(change.check(pf));
        intents = TRY(intents_of(view, pf, change.count));
    } else {
        TRY(work_on(view, netns::devlink_handle(address), [&]() -> Result<> {
            const Pf pf = TRY(find_pf(address, view.host));  // as it is by now
            TRY(change.check(pf));
            return change.make(pf);
        }));
    }
    const auto now = TRY(view.host.sriov.find(address));
    Answer answer =
        TRY(answer_of(view, options, now ? std::vector{*now} : std::vector<PciFunction>{}));
    return options.dry_run ? intended(intents, std::move(answer)) : std::move(answer);
}
}  // namespace

Result<Answer> vf_list(const Options& options, netns::Host& host) {
    const auto state = TRY(open_state(options, host));
    HostView view = TRY(host_view(state->context));
    if (!options.pf.empty())
        return answer_of(view, options, {TRY(find_pf(options.pf, host)).function});
    return answer_of(view, options, TRY(host.sriov.list_pfs()));
}

Result<Answer> vf_enable(const Options& options, netns::Host& host) {
    const auto state = TRY(open_state(options, host));
    HostView view = TRY(host_view(state->context));
    const Pf found = TRY(find_pf(options.pf, host));
    if (options.count == 0 || options.count > found.function.total_vfs)
        return make_error(Code::Usage,
                          fmt::format("PF {} can have 1 to {} VFs, not {}",
                                      found.netdev.name,
                                      found.function.total_vfs,
                                      options.count))
            .advise("remove all: rdmactl vf disable " + found.netdev.name);
    return carry_out(
        view,
        options,
        found.function.address,
        {.count = options.count,
         .check = [&](const Pf& pf) -> Result<> {
             TRY(check_up(pf, view.site));
             return pf.function.num_vfs == options.count ? Result<>{}
                                                         : check_unused(view, pf.function);
         },
         .make = [&](const Pf& pf) -> Result<> {
             return make_vfs(view, pf, options.count).context("enable VFs of " + pf.netdev.name);
         }});
}

Result<Answer> vf_disable(const Options& options, netns::Host& host) {
    const auto state = TRY(open_state(options, host));
    HostView view = TRY(host_view(state->context));
    return carry_out(
        view,
        options,
        TRY(find_pf(options.pf, host)).function.address,
        {.count = 0,
         .check = [&](const Pf& pf) { return check_unused(view, pf.function); },
         .make = [&](const Pf& pf) { return host.sriov.set_num_vfs(pf.function.address, 0); }});
}

}  // namespace hook::ctl
