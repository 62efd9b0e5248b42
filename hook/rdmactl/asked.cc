// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/asked.h"

#include "hook/container/asking.h"
#include "hook/container/attach.h"
#include "netns/base/ids.h"

namespace hook::ctl {

Result<Asked> asked_for(const Options& options, netns::Host& host) {
    Asked asked;
    if (!options.spec_path.empty()) {
        const std::string text = TRY(host.files.read(options.spec_path, oci::kMaxSpecBytes));
        asked.spec = TRY(oci::Spec::parse(text));
        asked.annotations = asked.spec->annotations();
    }
    for (const std::string& pair : options.annotations) {
        const auto equals = pair.find('=');
        if (equals == std::string::npos)
            return make_error(Code::Usage,
                              "--annotation wants KEY=VALUE, not '" + printable(pair) + "'");
        asked.annotations[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
    return asked;
}

Result<Powers> powers_of(const Asked& asked, const Config& config, netns::Host& host) {
    if (!asked.spec)
        return Powers{};
    TRY(check_author(*asked.spec, config));
    return hook::powers_of(*asked.spec, config, host.char_nodes);
}

Result<std::vector<Plan>> plan_all(const Context& context,
                                   const Request& request,
                                   const std::optional<netns::Netns>& ns) {
    Container container;
    container.key = container_key("rdmactl plan");
    container.uuid = base::random_uuid();
    std::vector<Plan> plans;
    for (const Attachment& attachment : request.attachments)
        plans.push_back(TRY(make_plan(context, container, ns, attachment)));
    return plans;
}

}  // namespace hook::ctl
