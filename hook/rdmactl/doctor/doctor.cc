// SPDX-License-Identifier: Apache-2.0
// rdmactl doctor: runs all checks over this host, or those of one mode, or of GPUs.
#include <algorithm>

#include "hook/rdmactl/doctor/check.h"
#include "hook/rdmactl/find.h"
#include "hook/rdmactl/vf/pf.h"
#include "hook/steps/free_vf.h"

namespace hook::ctl {

using base::Diagnosis;

namespace {
struct Check {
    std::string_view id;  // an interface: in --json, and in the table of modes
    Result<Findings> (*look)(Look& look);
};

// The checks in reading order: the earlier ones explain the later ones.
constexpr Check kChecks[] = {
    {"config", check_config_file},
    {"kernel", check_release},
    {"ib_uverbs", check_uverbs},
    {"rdma_ucm", check_rdma_ucm},
    {"rdma_rxe", check_rxe},
    {"siw", check_siw},
    {"macvlan", check_macvlan},
    {"netns_mode", check_netns_mode},
    {"gids", check_gids},
    {"memlock", check_memlock},
    {"cgroups", check_cgroups},
    {"parent", check_parents},
    {"hca", check_hcas},
    {"host", check_hosts_devices},
    {"pf", check_pfs},
    {"vf", check_vfs},
    {"offload", check_offload},
    {"podman", check_podman},
    {"docker", check_docker},
    {"low_level", check_low_level},
    {"kubernetes", check_kubernetes},
    {"mounts", check_mounts},
    {"selinux", check_selinux},
    {"timer", check_timer},
    {"leftovers", check_leftovers},
    {"images", check_images},
};

// A check is for the modes that list it, or for all modes if none does.
bool is_for(std::string_view check, const ModeInfo& mode) {
    const auto lists = [&](const ModeInfo& each) { return has_word(each.checks, check); };
    return lists(mode) || std::ranges::none_of(all_mode_infos(), lists);
}

std::vector<Diagnosis> examine(Look& look) {
    std::vector<Diagnosis> all;
    const ModeInfo* mode = find_mode_info(look.options.mode);
    for (const Check& check : kChecks) {
        if (mode != nullptr && !is_for(check.id, *mode))
            continue;
        auto found = check.look(look);
        if (!found)
            found = one(Status::Warning, "nobody could look: " + found.error().message());
        for (Finding& finding : *found)
            all.push_back({.id = check.id, .finding = std::move(finding)});
    }
    return all;
}

Json modes_of(std::string_view id) {
    Json modes = Json::array();
    for (const ModeInfo& mode : all_mode_infos()) {
        if (is_for(id, mode))
            modes.push_back(mode.name);
    }
    return modes;
}
}  // namespace

bool Look::wants(std::string_view mode) const {
    return options.mode == mode ||
           std::ranges::find(config.pools, mode, &Pool::mode) != config.pools.end();
}

Finding finding_of(Error error, Status status) {
    Finding finding{.status = status, .fix = std::move(error.fix)};
    error.fix.clear();
    finding.why = error.message();
    return finding;
}

Result<> Verdicts::note(Result<> answer, bool named) {
    if (answer) {
        any_fit_ = true;
        return {};
    }
    const Code code = answer.error().code;
    if (code != Code::Refused && code != Code::Unsupported && code != Code::Unavailable &&
        code != Code::Busy)
        return answer;
    refusals_.push_back({std::move(answer).error(), named && code != Code::Busy});
    return {};
}

void Verdicts::report(bool asked, Findings& found) const {
    const bool lacking = asked && !any_fit_;
    for (const Refusal& refusal : refusals_) {
        Finding finding =
            finding_of(refusal.error, lacking || refusal.named ? Status::Fail : Status::Warning);
        const auto same = std::ranges::find(found, finding.why, &Finding::why);
        if (same == found.end())
            found.push_back(std::move(finding));
        else if (finding.status == Status::Fail)
            same->status = Status::Fail;
    }
}

bool is_leased(const Look& look, const std::string& function) {
    const Store& store = look.store;
    return store.files().read(store.lease_path(vf_lease(function)), kMaxStateFile).has_value();
}

Result<Answer> doctor(const Options& options, netns::Host& host) {
    const bool gpu = options.mode == "gpu";
    if (!gpu && !options.mode.empty() && find_mode_info(options.mode) == nullptr)
        return make_error(Code::Usage, "no mode is called '" + printable(options.mode) + "'")
            .advise("leave it out for all of them, or say gpu");
    const auto loaded = options.load_config();
    const Config config = loaded ? *loaded : options.default_config();
    const Store store{host.files, config.state_dir};
    Look look{
        TRY(host_view({host, config, store})), options, loaded ? "" : loaded.error().message()};
    if (gpu)
        return doctor_gpu(look);
    const auto all = examine(look);
    Json json{{"healthy", !base::any_failed(all)}, {"checks", base::to_json(all)}};
    for (Json& check : json["checks"])
        check["modes"] = modes_of(check["id"].get<std::string>());
    return Answer{
        .json = std::move(json),
        .text = base::to_text(
            all, options.page.colours, options.page.is_terminal ? options.page.columns : 0),
        .trouble = base::any_failed(all)};
}

}  // namespace hook::ctl
