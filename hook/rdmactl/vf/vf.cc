// SPDX-License-Identifier: Apache-2.0
// rdmactl vf: the administrator makes VFs, sees their users, and destroys them. Containers only
// ever get VFs that exist.
#include <fmt/format.h>

#include "hook/rdmactl/find.h"
#include "hook/rdmactl/text.h"
#include "hook/rdmactl/vf/pf.h"

namespace hook::ctl {

using netns::PciFunction;

namespace {
std::string text_of(const Json& json) {
    std::string text;
    for (const Json& pf : json["pfs"]) {
        text += fmt::format("{} ({}, {}): {} of {} VFs\n",
                            pf["netdev"].get<std::string>(),
                            pf["address"].get<std::string>(),
                            pf["driver"].get<std::string>(),
                            pf["enabled"].get<uint32_t>(),
                            pf["total"].get<uint32_t>());
        std::vector<std::vector<std::string>> rows = {
            {"VF", "ADDRESS", "DRIVER", "NETDEV", "RDMA", "STATE", "CONTAINER"}};
        for (const Json& vf : pf["vfs"]) {
            std::string containers;
            for (const Json& id : vf["containers"])
                containers += (containers.empty() ? "" : ",") + id.get<std::string>().substr(0, 12);
            rows.push_back({std::to_string(vf["number"].get<uint32_t>()),
                            vf["address"].get<std::string>(),
                            vf["driver"].get<std::string>(),
                            vf["netdev"].get<std::string>(),
                            vf["rdma"].get<std::string>(),
                            vf["state"].get<std::string>(),
                            containers});
        }
        if (rows.size() > 1)
            text += table(rows);
    }
    return text.empty() ? "no PCI function of this host has SR-IOV\n" : text;
}

Result<Answer> answer_of(const Context& context, Site& site, const std::string& pf) {
    const auto now = TRY(site.host.sriov.find(pf));
    Json json{{"pfs", Json::array()}};
    if (now)
        json["pfs"].push_back(TRY(describe_pf(context, site, *now)));
    std::string text = text_of(json);
    return Answer{.json = std::move(json), .text = std::move(text)};
}
}  // namespace

Result<Answer> vf_list(const Options& options, netns::Host& host) {
    Config config;
    const Store store = TRY(open_store(options, host, config));
    const Context context{host, config, store};
    Site site = TRY(host_site(host));
    if (!options.pf.empty())
        return answer_of(context, site, TRY(find_pf(options.pf, host)).function.address);
    Json json{{"pfs", Json::array()}};
    for (const PciFunction& pf : TRY(host.sriov.list_pfs()))
        json["pfs"].push_back(TRY(describe_pf(context, site, pf)));
    std::string text = text_of(json);
    return Answer{.json = std::move(json), .text = std::move(text)};
}

Result<Answer> vf_enable(const Options& options, netns::Host& host) {
    Config config;
    const Store store = TRY(open_store(options, host, config));
    const Context context{host, config, store};
    Site site = TRY(host_site(host));
    const Pf found = TRY(find_pf(options.pf, host));
    const std::string& address = found.function.address;
    if (options.count == 0 || options.count > found.function.total_vfs)
        return make_error(Code::Usage,
                          fmt::format("PF {} can have 1 to {} VFs, not {}",
                                      found.netdev.name,
                                      found.function.total_vfs,
                                      options.count))
            .advise("to have none: rdmactl vf disable " + found.netdev.name);
    TRY(work_on(store, host.sriov, netns::devlink_handle(address), [&]() -> Result<> {
        const Pf pf = TRY(find_pf(address, host));  // as it is by now
        TRY(check_up(pf, site));
        if (pf.function.num_vfs != options.count)
            TRY(check_unused(context, site, pf.function));
        return make_vfs(context, site, pf, options.count)
            .context("enable VFs of " + pf.netdev.name);
    }));
    return answer_of(context, site, address);
}

Result<Answer> vf_disable(const Options& options, netns::Host& host) {
    Config config;
    const Store store = TRY(open_store(options, host, config));
    const Context context{host, config, store};
    Site site = TRY(host_site(host));
    const std::string address = TRY(find_pf(options.pf, host)).function.address;
    TRY(work_on(store, host.sriov, netns::devlink_handle(address), [&]() -> Result<> {
        const Pf pf = TRY(find_pf(address, host));  // as it is by now
        TRY(check_unused(context, site, pf.function));
        return host.sriov.set_num_vfs(address, 0);
    }));
    return answer_of(context, site, address);
}

}  // namespace hook::ctl
