// SPDX-License-Identifier: Apache-2.0
// rdmactl attach and detach: RDMA for a container that runs already.
#include "hook/container/attach.h"

#include <fmt/format.h>

#include "hook/container/detach.h"
#include "hook/container/into_running.h"
#include "hook/rdmactl/find.h"
#include "hook/rdmactl/running.h"
#include "netns/base/log.h"
#include "runtime-config/oci/bundle.h"

namespace hook::ctl {

namespace {
void open_log(const Config& config) {
    base::log::open({.file = config.log_file, .level = config.log_level, .program = "rdmactl"});
}

// Reads the request of the command line, which is the only one. The container's own annotations
// were for its start.
Result<Asking> read_request(const Context& context, const Options& options, const oci::Spec& spec) {
    const Annotations annotations = TRY(asked_for(options, context.host)).annotations;
    if (!mentions_rdma(annotations))
        return make_error(Code::Usage, "nothing is asked for")
            .advise("give annotations: -a rdma.mode=softroce -a rdma.ip=10.9.0.1/24");
    Asking asking = TRY(read_asking(context, spec, annotations, true));
    if (asking.request.optional)
        return make_error(Code::Usage, "rdma.optional is for a container that is to start")
            .advise("leave it out");
    return asking;
}

Json to_json(const std::vector<Variable>& variables) {
    Json json = Json::object();
    for (const Variable& variable : variables)
        json[variable.name] = variable.value;
    return json;
}

std::string attached_text(const Json& json) {
    std::string text;
    for (const Json& note : json["notes"])
        text += "note: " + note.get<std::string>() + "\n";
    if (json["environment"].empty())
        return text + "it has this already: rdmactl show " + json["id"].get<std::string>() + "\n";
    text += "programs that are started in it now, as by docker exec --env-file, need:\n";
    for (const auto& [name, value] : json["environment"].items())
        text += fmt::format("{}={}\n", name, value.get<std::string>());
    return text;
}

Result<Answer> attach_to(const Options& options, netns::Host& host, const oci::State& state) {
    const Config config = TRY(options.load_config());
    open_log(config);
    const Store store{host.files, config.state_dir};
    const Context context{host, config, store};
    const oci::Bundle bundle = TRY(oci::Bundle::open(state.bundle));
    TRY(bundle.check_owner());
    // Its config.json may have been edited then: to judge its devices would be the wrong refusal.
    const std::string key = container_key(bundle.path());
    if (const auto earlier = TRY(store.load_container(key)))
        TRY(check_started_without(context, *earlier));
    oci::Spec spec = TRY(oci::Spec::parse(TRY(bundle.read(oci::kSpecFile, oci::kMaxSpecBytes))));
    Asking asking = TRY(read_request(context, options, spec));
    auto delivery = TRY(IntoRunning::find(
        context, std::move(spec), bundle.path(), state.pid, IntoRunning::Init::Runs));
    const auto self = TRY(host.processes.token(host.processes.self()));
    if (!self || delivery.init().start != state.start)
        return make_error(Code::Unavailable, "container " + state.id + " has just ended")
            .advise("start it, then run this again");
    asking.bundle = bundle.path();
    asking.key = key;
    asking.id = state.id;
    asking.life = *self;
    asking.running_init = delivery.init();
    const Notes notes = TRY(attach_container(context, asking, delivery));
    for (const std::string& note : notes)
        base::log::warning(note);
    Json json{{"id", state.id}, {"environment", to_json(delivery.variables())}, {"notes", notes}};
    std::string text = attached_text(json);
    return Answer{.json = std::move(json), .text = std::move(text)};
}

Result<> detach_from(const Options& options, netns::Host& host, std::string& id) {
    const auto state = TRY(open_state(options, host));
    const Context& context = state->context;
    open_log(context.config);
    Names names{host.files, options.host_root};
    const Container container = TRY(require_container(context, names, options.container));
    id = container.id;
    base::log::set_container(id);
    return detach_container(context, container.key);
}
}  // namespace

Result<Answer> attach(const Options& options, netns::Host& host) {
    const oci::State state = TRY(find_running(options, host));
    base::log::set_container(state.id);
    auto answer = attach_to(options, host, state);
    if (!answer)
        audit_refusal("attach", answer.error());
    return answer;
}

Result<Answer> detach(const Options& options, netns::Host& host) {
    std::string id;
    if (auto done = detach_from(options, host, id); !done) {
        if (!id.empty())
            audit_refusal("detach", done.error());
        return std::move(done).error();
    }
    return Answer{.json = {{"id", id}}, .text = "detached from " + id + "\n"};
}

}  // namespace hook::ctl
