// SPDX-License-Identifier: Apache-2.0
// rdmactl cdi: the devices that a container can get by --device and a name of the Container Device
// Interface. A CDI file has devices of one kind, so there are two files.
//
// rdma-hook.org/pool=NAME is a pool of the configuration. It brings the plain hooks
// (hook/container/into_running.h) with the pool in their arguments. It is an attach as by
// annotation, given back at the end.
//
// rdma-hook.org/hca=NAME is an RDMA device of the host, one that mode host would give. It is
// static: its nodes exist. It gives the host's device with the host's identity, without a hook. CDI
// has no limits of resources, so it gives no memlock.
#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "hook/modes/host.h"
#include "hook/rdmactl/text.h"
#include "hook/rdmactl/vf/pf.h"
#include "netns/base/ascii.h"
#include "netns/base/text.h"
#include "netns/launch.h"
#include "netns/link.h"
#include "netns/rdma.h"
#include "runtime-config/oci/spec.h"

namespace hook::ctl {

namespace {
constexpr char kHcaKind[] = "rdma-hook.org/hca";
constexpr char kPoolKind[] = "rdma-hook.org/pool";
constexpr char kHcaFile[] = "rdma-hook.json";
constexpr char kPoolFile[] = "rdma-hook-pool.json";
constexpr char kEverything[] = "all";
constexpr size_t kMaxCdiFile = 1U << 20U;

struct Hca {
    std::string name;
    std::string node;    // the verbs node's path
    std::string netdev;  // empty: InfiniBand
};

// True if CDI allows this name for a device.
bool is_cdi_name(const std::string& name) {
    return !name.empty() && name != kEverything && base::is_alnum(name.front()) &&
           base::is_alnum(name.back()) && base::is_made_of(name, "_.:-");
}

Result<std::vector<Hca>> find_hcas(const Context& context) {
    std::vector<Hca> found;
    netns::Host& host = context.host;
    Site site = TRY(host_site(host));
    for (const netns::RdmaDevice& device : TRY(list_hosts_own(context, site))) {
        if (!is_cdi_name(device.name))
            continue;
        const auto index = TRY(host.rdma.netdev_of(site.host_ns, device.index));
        const auto link = index ? TRY(host.links.find(site.host_ns, *index)) : std::nullopt;
        const auto node = TRY(host.rdma.uverbs_node(site.host_ns, device.index));
        found.push_back(
            {.name = device.name, .node = node.path(), .netdev = link ? link->name : ""});
    }
    return found;
}

struct Inventory {
    std::vector<Hca> hcas;
    std::vector<Pool> pools;
};

Result<Inventory> inventory_of(const Options& options, netns::Host& host) {
    const auto state = TRY(open_state(options, host));
    Inventory found;
    found.hcas = TRY(find_hcas(state->context));
    std::ranges::copy_if(state->config.pools,
                         std::back_inserter(found.pools),
                         [](const Pool& pool) { return is_cdi_name(pool.name); });
    return found;
}

// Gives no type and no numbers: the engine looks at the node when it uses it. After a boot the same
// name may have other numbers.
Json node_json(const std::string& path) {
    return {{"path", path}, {"permissions", "rw"}};
}

Json device_json(const std::string& name, const std::vector<Hca>& hcas) {
    Json env = Json::array();
    if (name != kEverything) {
        env.push_back("RDMA_DEVICE=" + name);
        if (!hcas.front().netdev.empty())
            env.push_back("RDMA_NETDEV=" + hcas.front().netdev);
    }
    std::string nccl;
    std::string ucx;
    Json nodes = Json::array();
    for (const Hca& hca : hcas) {
        nccl += (nccl.empty() ? "=" : ",") + hca.name;
        ucx += (ucx.empty() ? "" : ",") + hca.name + ":1";
        nodes.push_back(node_json(hca.node));
    }
    env.push_back("NCCL_IB_HCA=" + nccl);
    env.push_back("UCX_NET_DEVICES=" + ucx);
    return {{"name", name},
            {"containerEdits", {{"env", std::move(env)}, {"deviceNodes", std::move(nodes)}}}};
}

// Returns the lowest version with all features in use: engines refuse a file of a version that they
// do not know.
template <class Named>
std::string minimum_version(const std::vector<Named>& all) {
    const bool digit = std::any_of(all.begin(), all.end(), [](const Named& each) {
        return base::is_digit(each.name.front());
    });
    return digit ? "0.5.0" : "0.3.0";
}

// Returns null without devices: engines reject a file without any.
Result<Json> hca_spec(const std::vector<Hca>& hcas, netns::Host& host) {
    if (hcas.empty())
        return Json();
    Json spec{
        {"cdiVersion", minimum_version(hcas)}, {"kind", kHcaKind}, {"devices", Json::array()}};
    for (const Hca& hca : hcas)
        spec["devices"].push_back(device_json(hca.name, {hca}));
    spec["devices"].push_back(device_json(kEverything, hcas));
    const auto cm = TRY(host.rdma.rdma_cm_node());
    spec["containerEdits"] = {{"deviceNodes", Json::array({node_json(cm.path())})}};
    return spec;
}

Json hook_json(const char* stage, const std::string& program, std::vector<std::string> args) {
    args.insert(args.begin(), {"rdma-hook", stage});
    return {{"hookName", stage},
            {"path", program},
            {"args", args},
            {"env", Json::array({oci::kHookPath})},
            {"timeout", oci::kHookTimeoutSeconds}};
}

Json pool_json(const Pool& pool, const std::string& program, const std::string& config_path) {
    std::vector<std::string> args;
    if (config_path != kConfigPath)
        args = {"--config", config_path};
    std::vector<std::string> wish = args;
    for (const std::string& annotation : {"rdma.mode=" + pool.mode, "rdma.pool=" + pool.name})
        wish.insert(wish.end(), {"--annotation", annotation});
    const Json hooks = Json::array({hook_json("createRuntime", program, std::move(wish)),
                                    hook_json("poststop", program, std::move(args))});
    return {{"name", pool.name}, {"containerEdits", {{"hooks", hooks}}}};
}

Result<Json> pool_spec(const std::vector<Pool>& pools, const Options& options, netns::Host& host) {
    if (pools.empty())
        return Json();
    const std::string program = TRY(host.programs.beside_us("rdma-hook"));
    Json spec{
        {"cdiVersion", minimum_version(pools)}, {"kind", kPoolKind}, {"devices", Json::array()}};
    for (const Pool& pool : pools)
        spec["devices"].push_back(pool_json(pool, program, options.config_path));
    return spec;
}

// Writes the file if it differs: engines look at these folders all the time.
Result<bool> put_spec(const std::string& path, const Json& spec, base::Files& files) {
    const std::string text = spec.is_null() ? "" : spec.dump(2) + "\n";
    const auto now = files.read(path, kMaxCdiFile);
    if (!now && !base::is_missing(now.error()))
        return now.error();
    if (now ? *now == text : text.empty())
        return false;
    if (text.empty()) {
        TRY(files.remove(path));
        return true;
    }
    TRY(files.write(path, text, base::Access::Readable));
    return true;
}
}  // namespace

Result<Answer> cdi_generate(const Options& options, netns::Host& host) {
    const Inventory found = TRY(inventory_of(options, host));
    const std::vector<std::pair<const char*, Json>> specs = {
        {kHcaFile, TRY(hca_spec(found.hcas, host))},
        {kPoolFile, TRY(pool_spec(found.pools, options, host))}};
    const bool print = options.cdi_output == "-";
    if (!print)
        TRY(host.files.make_dir(options.cdi_output, base::Access::Readable));
    Answer answer{.json = {{print ? "specs" : "files", Json::array()}}, .text = {}};
    for (const auto& [name, spec] : specs) {
        if (print && !spec.is_null()) {
            answer.json["specs"].push_back(spec);
            answer.text += spec.dump(2) + "\n";
        }
        if (print)
            continue;
        const std::string path = options.cdi_output + "/" + name;
        const bool changed = TRY(put_spec(path, spec, host.files));
        const size_t devices = spec.is_null() ? 0 : spec["devices"].size();
        answer.json["files"].push_back(
            {{"file", path}, {"changed", changed}, {"devices", devices}});
        answer.text += fmt::format(
            "{}: {}{}\n", path, base::number_of(devices, "device"), changed ? "" : ", as before");
    }
    return answer;
}

Result<Answer> cdi_list(const Options& options, netns::Host& host) {
    const Inventory found = TRY(inventory_of(options, host));
    Json json{{"devices", Json::array()}};
    Rows rows = {{"DEVICE", "WHAT"}};
    for (const Hca& hca : found.hcas) {
        const std::string name = fmt::format("{}={}", kHcaKind, hca.name);
        json["devices"].push_back({{"name", name}, {"node", hca.node}, {"netdev", hca.netdev}});
        rows.push_back({name, hca.netdev.empty() ? hca.node : hca.node + " of " + hca.netdev});
    }
    for (const Pool& pool : found.pools) {
        const std::string name = fmt::format("{}={}", kPoolKind, pool.name);
        json["devices"].push_back({{"name", name}, {"mode", pool.mode}});
        rows.push_back({name, "one of the pool's, mode " + pool.mode});
    }
    return Answer{.json = std::move(json), .text = table(rows, options.page)};
}

}  // namespace hook::ctl
