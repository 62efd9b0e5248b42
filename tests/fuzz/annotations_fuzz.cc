// SPDX-License-Identifier: Apache-2.0
// A container's annotations: one KEY=VALUE in a line. A request that is accepted holds valid values
// only, and a journal gives it back as it was.
#include <string_view>

#include "hook/request/request.h"
#include "netns/base/json.h"
#include "tests/fuzz/expect.h"

namespace {
constexpr char kConfig[] = R"({"pools":{"fast":{"mode":"softroce","default":true,
    "parents":["eth1","container"],"range":["10.9.0.10-10.9.0.200/24","fd00::1-fd00::9/64"],
    "defaults":{"mtu":"9000","ip":"auto"}},"hca":{"mode":"shared"},
    "vfs":{"mode":"vf","devices":["enp1s0#0-3,5"],"defaults":{"vlan":"5","trust":"on"}}},
    "policy":{"modes":["softroce","shared","vf"],"devices":["enp1s0"],"parents":["eth1"],"addresses":["10.9.0.0/16","::/0"],
    "memlock":65536,"placement_host":true}})";

hook::Annotations split_lines(std::string_view text) {
    hook::Annotations all;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const size_t equals = std::min(line.find('='), line.size());
        all.emplace(line.substr(0, equals), line.substr(std::min(equals + 1, line.size())));
    }
    return all;
}

void check_attachment(const hook::Attachment& attachment) {
    fuzz::expect(attachment.index <= hook::kMaxIndex, "an index is at most 15");
    fuzz::expect(attachment.ifname.size() <= 15, "an interface name fits IFNAMSIZ");
    fuzz::expect((attachment.ip_source == hook::IpSource::Static) != attachment.addresses.empty(),
                 "there are addresses where some were given");
    for (const auto& address : attachment.addresses)
        fuzz::expect(netns::is_host_address(address), "an address is a host's");
    const auto again = hook::attachment_from_json(to_json(attachment));
    fuzz::expect(again && *again == attachment, "a journal gives the attachment back");
}

void ask(const hook::Annotations& annotations, const hook::Config& config) {
    const auto request = parse_request(annotations, config);
    if (!request)
        return;
    fuzz::expect(request->attachments.empty() || hook::mentions_rdma(annotations),
                 "nothing is attached that was not asked for");
    for (const auto& attachment : request->attachments)
        check_attachment(attachment);
    (void)check_policy(*request, config, {});
}
}  // namespace

FUZZ_TARGET(annotations) {
    static const hook::Config kPlain;
    static const hook::Config kStrict = hook::parse_config(kConfig).value();
    const auto annotations = split_lines({reinterpret_cast<const char*>(data), size});
    ask(annotations, kPlain);
    ask(annotations, kStrict);
}
