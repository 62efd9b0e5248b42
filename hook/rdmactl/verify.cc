// SPDX-License-Identifier: Apache-2.0
// rdmactl verify: sends data between two containers, from one to a host where `rdma-perf serve`
// runs, or within one. It runs the host's rdma-perf in the containers' network namespaces, so no
// image needs to carry it. The test uses the containers' attachments, not their permissions. verify
// also looks at the verbs library of each image.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/container/image_verbs.h"
#include "hook/container/inspect.h"
#include "hook/rdmactl/find.h"
#include "hook/steps/executor.h"
#include "netns/base/findings.h"
#include "netns/launch.h"
#include "netns/rdma.h"
#include "runtime-config/oci/bundle.h"

namespace hook::ctl {

using base::Finding;
using base::Status;
using netns::Program;
using netns::ProgramEvent;

namespace {
constexpr std::chrono::seconds kDeadline{60};
constexpr std::chrono::seconds kGrace{5};  // for the other program, once one has ended
constexpr size_t kOutputLimit = 1U << 20U;
constexpr std::string_view kListening = "listening on ";

// A program of the pair, and its output.
struct Actor {
    explicit Actor(std::string called) : name(std::move(called)) {}

    std::string name;
    std::optional<size_t> number;  // once it is started
    std::string out;
    std::string err;
    std::optional<int> status;

    void add(const ProgramEvent& event) {
        std::string& text = event.to_stderr ? err : out;
        text += event.text.substr(0, kOutputLimit - std::min(kOutputLimit, text.size()));
        if (event.ended)
            status = event.status;
    }

    [[nodiscard]] std::string text() const {
        const std::string end = status ? fmt::format("status {}", *status) : "killed";
        return fmt::format("{}: {}\n{}{}", name, end, out, err);
    }
};

Json to_json(const Actor& actor) {
    Json json{{"name", actor.name}, {"out", actor.out}, {"err", actor.err}};
    json["status"] = actor.status ? Json(*actor.status) : Json();
    return json;
}

// The running programs, which end with the scope in any case.
class Stage {
  public:
    Stage(netns::Programs& programs, Deadline deadline)
        : programs_(programs), deadline_(deadline) {}

    ~Stage() { clear(); }

    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    Stage(Stage&&) = delete;
    Stage& operator=(Stage&&) = delete;

    // Kills all programs that still run.
    void clear() {
        for (const Actor* actor : actors_) {
            if (!actor->status)
                programs_.kill(*actor->number);
        }
        actors_.clear();
    }

    Result<> start(Actor& actor, const netns::Netns& ns, const Program& program) {
        actor.number = TRY(programs_.start(ns, program).context("starting the " + actor.name));
        actors_.push_back(&actor);
        return {};
    }

    // Handles one event; Timeout if none comes in time.
    Result<> step(Deadline deadline) {
        const ProgramEvent event = TRY(programs_.next(deadline));
        for (Actor* actor : actors_) {
            if (actor->number == event.program)
                actor->add(event);
        }
        return {};
    }

    // Returns the port that the server reports.
    Result<std::string> wait_for_port(const Actor& server) {
        for (;;) {
            if (const auto port = listening_port(server.err))
                return *port;
            if (server.status)
                return make_error(Code::Unavailable, "the server ended before it listened")
                    .advise("read what it printed above");
            TRY(step(deadline_).context("waiting for the server to listen"));
        }
    }

    // Waits until the client has ended. The other program may finish its output, but only for a
    // limited time. A client cannot go on without its server either.
    Result<> wait_for_end(const Actor& client) {
        std::optional<Deadline> last;
        while (!all_ended()) {
            if (!last && any_ended())
                last = Deadline::in(kGrace);
            auto done = step(last ? *last : deadline_);
            if (!done && last && done.error().code == Code::Timeout)
                break;
            TRY(std::move(done).context("waiting for rdma-perf"));
        }
        if (client.status)
            return {};
        return make_error(Code::Timeout, "the server ended and the client did not: it was killed");
    }

  private:
    [[nodiscard]] bool all_ended() const {
        return std::ranges::all_of(actors_, [](const Actor* a) { return a->status.has_value(); });
    }

    [[nodiscard]] bool any_ended() const {
        return std::ranges::any_of(actors_, [](const Actor* a) { return a->status.has_value(); });
    }

    netns::Programs& programs_;
    Deadline deadline_;
    std::vector<Actor*> actors_;
};

Result<Json> granted_of(const Context& context, const Container& container) {
    const std::string path = context.store.attach_path(container.key);
    const Json json = TRY(context.store.read_json(path));
    const auto list = json.find("attachments");
    if (list == json.end() || !list->is_array() || list->empty())
        return make_error(Code::Unavailable,
                          "container " + container.id + " has no RDMA attachment")
            .advise("see which containers have one: rdmactl list");
    return list->front();
}

std::string address_of(const Json& granted) {
    const auto list = granted.find("addresses");
    if (list == granted.end() || !list->is_array() || list->empty() || !list->front().is_string())
        return {};
    const auto text = list->front().get<std::string>();
    return text.substr(0, text.find('/'));
}

// A container that lives, and its attachment 0.
struct Target {
    std::string id;  // shortened
    netns::Netns ns;
    std::string device;
    std::string address;  // without prefix; empty: it has none of its own
    std::string attach_file;
    bool by_cm = false;  // its device has no GIDs of addresses: only rdma_cm connects it
};

// Makes a program of a verification: all share path and environment.
Program program_of(const std::string& path, std::vector<std::string> arguments) {
    return {.path = path,
            .arguments = std::move(arguments),
            .environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}};
}

std::vector<std::string> with_device(std::vector<std::string> arguments, const Target& target) {
    arguments.insert(arguments.end(),
                     {"--device", target.device, "--attach-file", target.attach_file});
    return arguments;
}

// Returns the arguments of a server. Port 0: one of the container's own may use the usual port.
std::vector<std::string> serve_arguments(const Target& target) {
    return with_device({"serve", "--once", "--bind", target.address, "--port", "0"}, target);
}

// Returns the arguments of a command that measures, which begin with these.
std::vector<std::string> measure_arguments(std::vector<std::string> arguments,
                                           const Target& target,
                                           bool json) {
    arguments = with_device(std::move(arguments), target);
    arguments.insert(arguments.end(), {"--time", "200ms"});
    if (target.by_cm)
        arguments.emplace_back("--cm");
    if (json)
        arguments.insert(arguments.end(), {"--json", "-"});
    return arguments;
}

std::vector<std::string> run_arguments(const Target& target,
                                       const std::string& host,
                                       const std::string& port,
                                       bool json) {
    std::vector<std::string> arguments = {"run"};
    if (!port.empty())
        arguments.insert(arguments.end(), {"--port", port});
    arguments = measure_arguments(std::move(arguments), target, json);
    // After "--" nothing is an option, whatever it looks like.
    arguments.insert(arguments.end(), {"--", host});
    return arguments;
}

// Unavailable: the container does not run (any more) or has no attachment.
Result<Target> target_of(const Context& context, const Container& container) {
    const std::string name = container.id.empty() ? container.key : container.id;
    const auto not_running = [&] {
        return make_error(Code::Unavailable, "container " + name + " is not running")
            .advise("see rdmactl list");
    };
    if (!container.committed || !TRY(is_alive(context, container)))
        return not_running();
    const netns::Netns ns = TRY(context.host.namespaces.open_process(container.token.pid));
    // Check again: the process that was just opened is the container's only if it still lives.
    if (!TRY(is_alive(context, container)))
        return not_running();
    if (container.netns && !(*container.netns == ns.id()))
        return make_error(Code::Refused, "container " + name + " has left its network namespace")
            .advise("create the container again");
    const Json granted = TRY(granted_of(context, container));
    return Target{.id = name.substr(0, 12),
                  .ns = ns,
                  .device = TRY(base::required<std::string>(granted, "device")),
                  .address = address_of(granted),
                  .attach_file = context.store.attach_path(container.key),
                  .by_cm = !granted.contains("gid") && granted.value("rdma_cm", false)};
}

// Returns the output and the result: with the client's status, if it got so far.
Answer answer_of(const Options& options,
                 const Result<>& done,
                 const Actor& client,
                 const Actor& server) {
    Answer answer;
    for (const Actor* actor : {&server, &client}) {
        if (!actor->number)
            continue;
        const char* role = actor == &client ? "client" : "server";
        answer.text += actor->text();
        answer.json[role] = to_json(*actor);
    }
    if (auto report = base::parse_json(client.out, "report"); options.json && report)
        answer.json["client"]["out"] = std::move(report).value();
    if (!done) {
        answer.text += "not verified: " + done.error().message() + "\n";
        answer.json["error"] = done.error().message();
        answer.status = server.status.value_or(0);
        if (answer.status == 0)
            answer.status = base::exit_status(done.error().code);
    }
    if (client.status)
        answer.status = *client.status;
    return answer;
}

Result<Answer> with_container(const Options& options,
                              netns::Host& host,
                              const Target& from,
                              const Target& to) {
    if (to.address.empty())
        return make_error(Code::Unsupported,
                          "container " + to.id + " has no RDMA address of its own to serve on")
            .advise("give it one with rdma.ip");
    const std::string path = TRY(host.programs.beside_us("rdma-perf"));
    Actor server("server in " + to.id);
    Actor client("client in " + from.id);
    Stage stage(host.programs, Deadline::in(kDeadline));
    const auto done = [&]() -> Result<> {
        TRY(stage.start(server, to.ns, program_of(path, serve_arguments(to))));
        const std::string port = TRY(stage.wait_for_port(server));
        const auto arguments = run_arguments(from, to.address, port, options.json);
        TRY(stage.start(client, from.ns, program_of(path, arguments)));
        return stage.wait_for_end(client);
    }();
    stage.clear();
    return answer_of(options, done, client, server);
}

Result<Answer> alone(const Options& options,
                     netns::Host& host,
                     const Target& from,
                     const std::vector<std::string>& arguments) {
    const std::string path = TRY(host.programs.beside_us("rdma-perf"));
    Actor client("client in " + from.id);
    Stage stage(host.programs, Deadline::in(kDeadline));
    TRY(stage.start(client, from.ns, program_of(path, arguments)));
    const auto done = stage.wait_for_end(client);
    stage.clear();
    return answer_of(options, done, client, Actor(""));
}

// ---- The verbs library of an image
Result<oci::Spec> spec_of(const Container& container) {
    const auto bundle = TRY(oci::Bundle::open(container.bundle));
    return oci::Spec::parse(TRY(bundle.read(oci::kSpecFile, oci::kMaxSpecBytes)));
}

Finding judge(const ImageVerbs& image,
              std::string_view provider,
              const std::string& device,
              const std::string& abi) {
    if (image.library.empty())
        return {.status = Status::Skipped,
                .why =
                    "the image has no libibverbs in the usual folders: its programs bring what "
                    "opens " +
                    device + ", or cannot"};
    if (auto lack = image_lacks(image, provider, device)) {
        Finding finding{.status = Status::Warning, .fix = std::move(lack->fix)};
        lack->fix.clear();
        finding.why = lack->message();
        return finding;
    }
    return {.status = Status::Ok,
            .why = fmt::format("the image's {} has a provider for {}: {} with private ABI {}; the "
                               "kernel's driver has ABI {}",
                               base::printable(image.library),
                               device,
                               provider,
                               fmt::join(image.abis, ", "),
                               abi)};
}

// Returns nothing if the attachment has ended meanwhile.
Result<std::optional<Finding>> look_at_device(const Context& context,
                                              const Container& container,
                                              const std::string& akey) {
    const auto journal = TRY(load_journal_head(context.store, akey));
    if (!journal)
        return std::optional<Finding>{};
    Site site = TRY(open_site(context.host, context.store, *journal));
    const auto [device, ns] = TRY(find_device(site, journal->endpoint));
    netns::RdmaDevices& rdma = context.host.rdma;
    const std::string driver = TRY(rdma.driver(ns, device));
    const std::string_view provider = provider_of(driver);
    if (provider.empty())
        return std::optional{
            Finding{.status = Status::Skipped,
                    .why = fmt::format("{} has the driver '{}', whose provider is not known",
                                       device.name,
                                       base::printable(driver))}};
    const auto image = hook::look_at_image(TRY(spec_of(container)), container.bundle, provider);
    if (!image)
        return std::optional{Finding{
            .status = Status::Skipped,
            .why = "a mount hides what the image has to open " + device.name + ", or its root"}};
    const auto node = TRY(rdma.uverbs_node(ns, device.index));
    const std::string abi = TRY(rdma.provider_abi(node)).value_or("unknown");
    return std::optional{judge(*image, provider, device.name, base::printable(abi))};
}

// Returns a finding for each device of the container: Warning if programs of its image cannot open
// it; Skipped if it has no library for that, or cannot be judged.
base::Findings look_at_image(const Context& context, const Container& container) {
    base::Findings found;
    for (const std::string& akey : container.attachments) {
        auto finding = look_at_device(context, container, akey);
        if (!finding)
            found.push_back({.status = Status::Skipped,
                             .why = "the image was not looked at: " + finding.error().message()});
        else if (*finding)
            found.push_back(**std::move(finding));
    }
    return found;
}

// Says before the result what the images have to open their devices: the programs of a
// verification do without.
void add_images(const Context& context, const std::vector<Container>& containers, Answer& answer) {
    std::string text;
    answer.json["images"] = Json::array();
    for (const Container& container : containers) {
        for (const Finding& finding : look_at_image(context, container)) {
            text += fmt::format("image of {}: {}: {}\n",
                                (container.id.empty() ? container.key : container.id).substr(0, 12),
                                base::name_of(finding.status),
                                finding.why);
            if (!finding.fix.empty())
                text += fmt::format("  -> {}\n", finding.fix);
            answer.json["images"].push_back({{"id", container.id},
                                             {"status", base::name_of(finding.status)},
                                             {"why", finding.why},
                                             {"fix", finding.fix}});
        }
    }
    answer.text = text + answer.text;
}

}  // namespace

std::optional<std::string> listening_port(std::string_view text) {
    const auto at = text.find(kListening);
    const auto end = at == std::string_view::npos ? at : text.find('\n', at);
    if (end == std::string_view::npos)  // the line is not complete yet
        return std::nullopt;
    const std::string_view name = text.substr(at, end - at);
    const std::string_view port = name.substr(name.rfind(':') + 1);
    uint16_t number = 0;
    const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || stop != port.data() + port.size() || number == 0)
        return std::nullopt;
    return std::string(port);
}

Result<Answer> verify(const Options& options, netns::Host& host) {
    const auto state = TRY(open_state(options, host));
    const Context& context = state->context;
    Names names{host.files, options.host_root};
    const Container first = TRY(require_container(context, names, options.container));
    const Target from = TRY(target_of(context, first));
    std::vector<Container> containers{first};
    Answer answer;
    if (options.peer.empty()) {
        answer = TRY(alone(options, host, from, measure_arguments({"loop"}, from, options.json)));
    } else if (const auto second = TRY(find_container(context, names, options.peer))) {
        answer = TRY(with_container(options, host, from, TRY(target_of(context, *second))));
        containers.push_back(*second);
    } else {
        const auto arguments = run_arguments(from, options.peer, "", options.json);
        answer = TRY(alone(options, host, from, arguments));
    }
    add_images(context, containers, answer);
    return answer;
}

}  // namespace hook::ctl
