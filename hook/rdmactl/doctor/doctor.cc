// SPDX-License-Identifier: Apache-2.0
// rdmactl doctor: all checks over this host, or those of one mode.
#include <algorithm>

#include <fmt/format.h>

#include "hook/modes/mode.h"
#include "hook/rdmactl/doctor/check.h"
#include "hook/rdmactl/find.h"
#include "hook/rdmactl/vf/pf.h"
#include "hook/steps/free_vf.h"

namespace hook::ctl {

using base::Code;
using base::Diagnosis;
using base::make_error;

namespace {
struct Check {
    std::string_view id;     // an interface: in --json
    std::string_view modes;  // with spaces around each; empty: all
    Result<Findings> (*look)(Look& look);
};

constexpr std::string_view kAll;
constexpr std::string_view kVf = " vf asap2 ";

// In the order in which they are to be read: what comes first explains what comes later.
constexpr Check kChecks[] = {
    {"config", kAll, check_config_file},
    {"kernel", " softroce ", check_release},
    {"ib_uverbs", kAll, check_uverbs},
    {"rdma_ucm", kAll, check_rdma_ucm},
    {"rdma_rxe", " softroce ", check_rxe},
    {"siw", " softiwarp ", check_siw},
    {"macvlan", " softroce softiwarp shared ", check_macvlan},
    {"netns_mode", kAll, check_netns_mode},
    {"gids", " shared ", check_gids},
    {"memlock", kAll, check_memlock},
    {"cgroups", kAll, check_cgroups},
    {"parent", " softroce softiwarp shared ", check_parents},
    {"hca", " shared ", check_hcas},
    {"pf", kVf, check_pfs},
    {"vf", kVf, check_vfs},
    {"offload", " asap2 ", check_offload},
    {"podman", kAll, check_podman},
    {"docker", kAll, check_docker},
    {"kubernetes", kAll, check_kubernetes},
    {"mounts", kAll, check_mounts},
    {"selinux", kAll, check_selinux},
    {"timer", kAll, check_timer},
    {"leftovers", kAll, check_leftovers},
};

bool is_for(const Check& check, const std::string& mode) {
    return mode.empty() || check.modes.empty() ||
           check.modes.find(" " + mode + " ") != std::string_view::npos;
}

std::vector<Diagnosis> examine(Look& look) {
    std::vector<Diagnosis> all;
    for (const Check& check : kChecks) {
        if (!is_for(check, look.options.mode))
            continue;
        auto found = check.look(look);
        if (!found)
            found = Findings{{.status = Status::Warning,
                              .why = "nobody could look: " + found.error().message()}};
        for (Finding& finding : *found)
            all.push_back({.id = check.id, .finding = std::move(finding)});
    }
    return all;
}

Json modes_of(std::string_view id) {
    const auto* check = std::ranges::find(kChecks, id, &Check::id);
    Json modes = Json::array();
    for (const Mode* mode : all_modes()) {
        if (is_for(*check, std::string(mode->name)))
            modes.push_back(mode->name);
    }
    return modes;
}
}  // namespace

bool Look::wants(std::string_view mode) const {
    return options.mode == mode ||
           std::ranges::find(world.config.pools, mode, &Pool::mode) != world.config.pools.end();
}

Finding finding_of(base::Error error, Status status) {
    Finding finding{.status = status, .fix = std::move(error.fix)};
    error.fix.clear();
    finding.why = error.message();
    return finding;
}

bool is_leased(const Look& look, const std::string& function) {
    const Store& store = look.world.store;
    return store.files().read(store.lease_path(vf_lease(function)), kMaxStateFile).has_value();
}

Result<Answer> doctor(const Options& options, netns::Host& host) {
    if (!options.mode.empty() && find_mode(options.mode) == nullptr)
        return make_error(Code::Usage, "no mode is called '" + base::printable(options.mode) + "'")
            .advise("leave it out for all of them");
    const auto loaded = options.load_config();
    const Config config = loaded ? *loaded : Config{};
    const Store store{host.files, config.state_dir};
    World world{host, config, store};
    Site site = TRY(host_site(host));
    Look look{.world = world,
              .site = site,
              .options = options,
              .config_trouble = loaded ? "" : loaded.error().message()};
    const auto all = examine(look);
    Json json{{"healthy", !base::any_failed(all)}, {"checks", base::to_json(all)}};
    for (Json& check : json["checks"])
        check["modes"] = modes_of(check["id"].get<std::string>());
    return Answer{
        .json = std::move(json), .text = base::to_text(all), .trouble = base::any_failed(all)};
}

}  // namespace hook::ctl
