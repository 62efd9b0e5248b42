// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/step.h"

#include "hook/steps/add_address.h"
#include "hook/steps/add_ovs_port.h"
#include "hook/steps/add_route.h"
#include "hook/steps/add_rule.h"
#include "hook/steps/allow_device.h"
#include "hook/steps/claim.h"
#include "hook/steps/configure_vf.h"
#include "hook/steps/create_child.h"
#include "hook/steps/create_rdma_link.h"
#include "hook/steps/move_link.h"
#include "hook/steps/move_rdma_device.h"
#include "hook/steps/pin_netns.h"
#include "hook/steps/place_file.h"
#include "hook/steps/raise_representor.h"
#include "hook/steps/rebind_vf.h"
#include "hook/steps/restore_vf.h"
#include "hook/steps/set_memlock.h"
#include "hook/steps/strict_arp.h"
#include "hook/steps/where.h"

namespace hook {

using base::Code;
using base::make_error;

namespace {
// The one table of steps that can stand in a journal.
struct StepRow {
    std::string_view kind;
    Result<std::unique_ptr<Step>> (*load)(const Json&);
};

constexpr StepRow kSteps[] = {
    {"add_address", AddAddress::load},
    {"add_ovs_port", AddOvsPort::load},
    {"add_route", AddRoute::load},
    {"add_rule", AddRule::load},
    {AllowDevice::kKind, AllowDevice::load},
    {"claim", Claim::load},
    {"configure_vf", ConfigureVf::load},
    {"create_child", CreateChild::load},
    {"create_rdma_link", CreateRdmaLink::load},
    {"move_link", MoveLink::load},
    {"move_rdma_device", MoveRdmaDevice::load},
    {"pin_netns", PinNetns::load},
    {"place_file", PlaceFile::load},
    {"raise_representor", RaiseRepresentor::load},
    {"rebind_vf", RebindVf::load},
    {"restore_vf", RestoreVf::load},
    {"set_memlock", SetMemlock::load},
    {"strict_arp", StrictArp::load},
};
}  // namespace

Result<std::unique_ptr<Step>> load_step(const Json& json) {
    const std::string kind = TRY(base::required<std::string>(json, "kind"));
    for (const StepRow& row : kSteps) {
        if (row.kind == kind)
            return row.load(json).context("step " + kind);
    }
    return make_error(Code::Internal, "unknown step '" + base::printable(kind) + "'")
        .advise("the journal is of another version of rdma-hook: use that one to undo it");
}

Json save_step(const Step& step) {
    Json saved = step.save();
    Json json = base::object_for(saved.size() + 1);
    json["kind"] = step.kind();
    for (auto& [key, value] : saved.get_ref<Json::object_t&>())
        json[key] = std::move(value);
    return json;
}

Json to_json(const Endpoint& endpoint) {
    Json json = base::object({{"where", where_name(endpoint.where)},
                              {"netdev", endpoint.netdev},
                              {"device", endpoint.device},
                              {"software", endpoint.software},
                              {"moved", endpoint.moved},
                              {"hca_netdev", endpoint.hca_netdev},
                              {"software_path", endpoint.software_path},
                              {"addresses", Json::array()}});
    if (endpoint.gid)
        json["gid"] = netns::to_string(*endpoint.gid);
    for (const auto& address : endpoint.addresses)
        json["addresses"].push_back(netns::to_string(address));
    return json;
}

Result<Endpoint> endpoint_from_json(const Json& json) {
    Endpoint endpoint;
    endpoint.where = TRY(where_from_json(json));
    endpoint.netdev = TRY(base::required<uint32_t>(json, "netdev"));
    endpoint.device = TRY(base::required<std::string>(json, "device"));
    endpoint.software = TRY(base::required<std::string>(json, "software"));
    endpoint.moved = TRY(base::required<bool>(json, "moved"));
    endpoint.hca_netdev = TRY(base::required<uint32_t>(json, "hca_netdev"));
    endpoint.software_path = TRY(base::required<std::string>(json, "software_path"));
    if (json.contains("gid")) {
        endpoint.gid = netns::parse_gid(TRY(base::required<std::string>(json, "gid")));
        if (!endpoint.gid)
            return make_error(Code::Internal, "endpoint: broken GID");
    }
    for (const Json& entry : base::array_of(json, "addresses")) {
        const auto address = netns::parse_cidr(TRY(base::as<std::string>(entry, "addresses")));
        if (!address)
            return make_error(Code::Internal, "endpoint: broken address");
        endpoint.addresses.push_back(*address);
    }
    return endpoint;
}

}  // namespace hook
