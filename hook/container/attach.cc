// SPDX-License-Identifier: Apache-2.0
#include "hook/container/attach.h"

#include <algorithm>
#include <ctime>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/container/commit.h"
#include "hook/container/end.h"
#include "hook/container/granted_nodes.h"
#include "hook/modes/mode.h"
#include "hook/steps/executor.h"
#include "netns/base/ids.h"
#include "netns/base/log.h"
#include "netns/cgroup.h"

namespace hook {

namespace {
// A container that is about to hold attachments. Its record is on disk and names them.
struct Holder {
    const Context& context;
    const Asking& asking;
    const Container& container;
    const std::optional<netns::Netns>& ns;
};

// Returns the init of a container that exists.
netns::ProcessToken init_of(const Asking& asking) {
    return asking.running_init.value_or(asking.life);
}

Result<const Mode*> mode_of(const Attachment& attachment) {
    const Mode* mode = find_mode(attachment.mode);
    if (mode == nullptr)
        return make_error(Code::BadInput, "unknown rdma.mode '" + attachment.mode + "'")
            .advise(fmt::format("set rdma.mode to one of: {}", fmt::join(mode_names(), ", ")));
    return mode;
}

std::string context_of(const Attachment& attachment) {
    return fmt::format(
        "attach {} ({})",
        attachment.mode,
        attachment.ifname.empty() ? devices_text(attachment.devices) : attachment.ifname);
}

Result<Site> site_of(const Context& context, const std::optional<netns::Netns>& ns) {
    return Site{
        .host = context.host, .host_ns = TRY(context.host.namespaces.current()), .container = ns};
}

Error no_index_left(const Attachment& attachment, size_t devices, unsigned next) {
    const std::string what = fmt::format("{}='{}' is {} devices, and each has an index from {} on",
                                         annotation_key(attachment.index, "device"),
                                         printable(devices_text(attachment.devices)),
                                         devices,
                                         attachment.index);
    if (next > kMaxIndex)
        return make_error(Code::BadInput, what + fmt::format(": the last is {}", kMaxIndex))
            .advise("name fewer devices, or begin at a lower index");
    return make_error(Code::BadInput, what + fmt::format(": rdma.{}.* is there, too", next))
        .advise(fmt::format("give rdma.{}.* an index from {} on, or name fewer devices",
                            next,
                            attachment.index + devices));
}

// Returns the key under which the attachment is or will be recorded.
Result<std::string> key_of(Site& site, const Attachment& attachment) {
    const Scope scope = TRY(TRY(mode_of(attachment))->scope(attachment, site));
    const netns::Netns* ns = site.ns(scope.where);
    return attachment_key(ns == nullptr ? netns::NetnsId{} : ns->id(), scope.interface);
}

// ---- one attachment

// True if the attachment is the one that the journal has under its key. Where the device stays the
// host's only the key decides. The parent's name, the pool and the index make no difference then,
// and containers share the device without knowing of each other.
bool may_share(const Journal& journal, const Attachment& attachment) {
    return stays_on_host(attachment) || journal.attachment == to_json(attachment);
}

Error not_shared(const Attachment& attachment) {
    // The attachment uses the interface that the engine made (rdma.parent=container), and takes no
    // rdma.ifname.
    if (attachment.ifname.empty())
        return make_error(Code::Refused,
                          "another container of this network has RDMA on the engine's interface, "
                          "with other rdma.* annotations")
            .advise(
                "use the same annotations to share the device, or set rdma.parent to an interface "
                "of the host");
    return make_error(Code::Refused,
                      "another container of this network has " + attachment.ifname +
                          " with other rdma.* annotations")
        .advise(
            "use the same annotations to share the device, or another rdma.ifname for a second "
            "one");
}

Result<Granted> join_existing(const Holder& holder,
                              const Attachment& attachment,
                              Journal& journal) {
    if (!may_share(journal, attachment))
        return not_shared(attachment);
    Site site = TRY(open_site(holder.context.host, holder.context.store, journal));
    site.hosts_network = holder.asking.hosts_network;
    Granted granted = TRY(inspect(site, attachment, journal.endpoint));
    journal.holders.push_back(holder.container.key);
    journal.net_admin = journal.net_admin || holder.asking.net_admin;
    TRY(save_journal(holder.context.store, journal));
    return granted;
}

// Carries out a plan whose journal is on disk. Holds the lock of leases only until each device
// found is claimed: the rest may take seconds.
Result<> carry_out(const Journal& journal,
                   size_t claims,
                   Site& site,
                   std::optional<base::FileLock> leases) {
    const std::span all(journal.steps);
    for (const AnyStep& step : all.first(claims)) {
        auto done = run({&step, 1}, site);
        // A container that named the device claimed it in between, without that lock.
        if (!done && done.error().code == Code::Busy && std::holds_alternative<Claim>(step))
            site.in_use.insert(site.in_use.end(),
                               journal.endpoint.addresses.begin(),
                               journal.endpoint.addresses.end());
        TRY(std::move(done));
    }
    leases.reset();
    return run(all.subspan(claims), site);
}

// Carries out one plan, or undoes it. Adds to `in_use` the addresses of the pool that other hosts
// turn out to have, if all is undone. The next try then starts from nothing, as this one did.
Result<Granted> make_once(const Holder& holder,
                          const Attachment& attachment,
                          const std::string& akey,
                          std::set<netns::Address>& in_use) {
    const Context& context = holder.context;
    Site site = TRY(site_of(context, holder.ns));
    site.hosts_network = holder.asking.hosts_network;
    const Mode* mode = TRY(mode_of(attachment));
    // Finds and claims under one lock: two containers must not get the same address or VF.
    std::optional<base::FileLock> leases;
    if (find_mode_info(mode->name)->finds || attachment.ip_source == IpSource::Auto)
        leases = TRY(context.store.lock_leases(Deadline::in(kLockTimeout)));
    Plan plan = TRY(mode->plan(
        attachment, Survey{context, site, holder.container, akey, holder.asking.cpus, in_use}));
    Journal journal{.key = akey,
                    .attachment = to_json(attachment),
                    .endpoint = plan.endpoint,
                    .made = false,
                    .steps = std::move(plan.steps),
                    .holders = {holder.container.key}};
    if (plan.endpoint.where == Where::Container) {
        journal.netns = site.container->id();
        journal.netns_cookie = TRY(context.host.namespaces.cookie(*site.container));
    }
    TRY(save_journal(context.store, journal));
    const auto make = [&]() -> Result<Granted> {
        TRY(carry_out(journal, plan.claims, site, std::move(leases)));
        Granted granted = TRY(inspect(site, attachment, plan.endpoint));
        journal.made = true;
        journal.net_admin = holder.asking.net_admin;  // an unstarted container changed nothing
        TRY(save_journal(context.store, journal));
        return granted;
    };
    auto granted = make();
    if (granted)
        return granted;
    auto undone = undo_journal(context, journal).context("roll back");
    if (undone && attachment.ip_source == IpSource::Auto)
        in_use.insert(site.in_use.begin(), site.in_use.end());
    return join(std::move(granted).error(), std::move(undone)).error();
}

std::string others_have(const std::set<netns::Address>& in_use) {
    std::string list;
    for (const netns::Address& address : in_use)
        list += (list.empty() ? "" : ", ") + netns::ip_string(address);
    return fmt::format(
        "others on the network have {} of the pool's addresses ({})", in_use.size(), list);
}

// Tries the pool's next address if another host has this one. An address in use must not block the
// rest of the pool.
Result<Granted> make_new(const Holder& holder,
                         const Attachment& attachment,
                         const std::string& akey) {
    constexpr size_t kMostInUse = 8;  // each costs a device that is made and removed
    std::set<netns::Address> in_use;
    for (;;) {
        const size_t known = in_use.size();
        auto granted = make_once(holder, attachment, akey, in_use);
        if (granted || in_use.empty())
            return granted;
        if (in_use.size() == known || in_use.size() >= kMostInUse)
            return std::move(granted).context(others_have(in_use));
        base::log::warning(others_have(in_use) + ": trying the next");
    }
}

// Makes the attachment, or joins an equal one. That is one of the same namespace, or of a device
// that stays the host's (mode host, rdma.placement=host).
Result<Granted> attach(const Holder& holder,
                       const Attachment& attachment,
                       const std::string& akey) {
    const Context& context = holder.context;
    const auto lock = TRY(context.store.lock_attachment(akey, Deadline::in(kLockTimeout)));
    auto journal = TRY(load_journal(context.store, akey));
    if (journal)
        TRY(drop_dead_holders(context, *journal));
    // An attachment is half made if its process died, though the engine may live.
    const bool joins = journal && journal->made && !journal->holders.empty();
    if (journal && !joins) {
        auto undone = undo_journal(context, *journal);
        audit_recovery("attachment", akey, undone);
        TRY(std::move(undone)
                .context("undo what a dead container left")
                .advise("see what is left: rdmactl list, and try: rdmactl gc"));
    }
    auto granted =
        joins ? join_existing(holder, attachment, *journal) : make_new(holder, attachment, akey);
    if (granted)
        audit_attach(holder.container, akey, *granted, joins);
    return std::move(granted).context(context_of(attachment));
}

// ---- a container

// A device may be named in several ways. Only the host tells then that two names mean one.
Result<> check_apart(const Container& container, const std::string& akey, const Request& request) {
    const auto same = std::ranges::find(container.attachments, akey);
    if (same == container.attachments.end())
        return {};
    const auto first = static_cast<size_t>(same - container.attachments.begin());
    const Attachment& second = request.attachments[container.attachments.size()];
    return make_error(Code::Refused,
                      fmt::format("attachments {} and {} both ask for {}",
                                  request.attachments[first].index,
                                  second.index,
                                  second.devices.empty() ? "the device of the same parent"
                                                         : devices_text(second.devices)))
        .advise(fmt::format("change or remove the rdma.{}.* annotations", second.index));
}

// Writes the container's record, not yet committed.
Result<Container> register_container(const Context& context,
                                     const Asking& asking,
                                     const std::optional<netns::Netns>& ns) {
    Container container;
    container.key = asking.key;
    container.bundle = asking.bundle;
    container.id = asking.id;
    container.uuid = base::random_uuid();
    container.token = asking.life;
    container.running_init = asking.running_init;
    container.netns_path = asking.network.path;
    container.created = std::time(nullptr);
    container.created_uptime = context.host.processes.uptime();
    if (ns)
        container.netns = ns->id();
    for (const Attachment& attachment : asking.request.attachments) {
        Site site = TRY(site_of(context, ns));
        const std::string akey = TRY(key_of(site, attachment).context(context_of(attachment)));
        TRY(check_apart(container, akey, asking.request));
        container.attachments.push_back(akey);
        if (const auto limits = asking.request.limits.find(attachment.index);
            limits != asking.request.limits.end())
            container.limits.emplace(akey, limits->second);
    }
    TRY(context.store.save_container(container));
    return container;
}

bool gives_hosts(const Attachment& attachment) {
    const Mode* mode = find_mode(attachment.mode);
    return mode != nullptr && mode->expand != nullptr;
}

Result<Asking> expanded(const Context& context, Asking asking, Delivery& delivery) {
    if (std::ranges::none_of(asking.request.attachments, gives_hosts))
        return asking;
    asking.hosts_network = TRY(delivery.in_hosts_network(asking));
    asking.request = TRY(expand(context, std::move(asking.request), asking.hosts_network));
    return asking;
}

// Makes all attachments. A device in use may belong to a dead container: then it tries once more.
// If one fails, the others stay for with_record() to undo.
Result<std::vector<Granted>> attach_all(const Holder& holder) {
    const auto each = [&]() -> Result<std::vector<Granted>> {
        std::vector<Granted> granted;
        const auto& attachments = holder.asking.request.attachments;
        for (size_t i = 0; i < attachments.size(); ++i)
            granted.push_back(TRY(attach(holder, attachments[i], holder.container.attachments[i])));
        return granted;
    };
    auto granted = each();
    if (granted || granted.error().code != Code::Busy)
        return granted;
    const Collected collected = collect_garbage(holder.context, Deadline::in(kPatience));
    return collected.containers.empty() && collected.journals.empty() ? std::move(granted) : each();
}

// Does the work for a container with a record, and commits it if it runs. A failure undoes
// everything.
template <typename Work>
Result<Notes> with_record(const Context& context,
                          const Asking& asking,
                          const std::optional<netns::Netns>& ns,
                          const Work& work) {
    Container container = TRY(register_container(context, asking, ns));
    Notes notes;
    Result<> done = work(container, notes);
    if (done && asking.running)
        done = commit(context, container, init_of(asking));
    if (!done)
        return join(std::move(done), leave_all(context, container)).error();
    return notes;
}

Result<Notes> start_with_rdma(const Context& context, const Asking& asked, Delivery& delivery) {
    TRY(delivery.check(asked.request));
    if (!asked.request.limits.empty())
        TRY(context.host.cgroups.check_rdma());
    const Asking asking = TRY(expanded(context, asked, delivery));
    const auto ns = TRY(delivery.netns(asking));
    return with_record(context, asking, ns, [&](Container& container, Notes& notes) -> Result<> {
        auto granted = TRY(attach_all({context, asking, container, ns}));
        TRY(note_nodes(context, container.key, granted));
        delivery.look_at_image(asking, granted);
        notes = warnings(granted);
        return delivery.give(asking, container, granted, notes);
    });
}

// Starts the container without RDMA (rdma.optional). The container can read the reason if it has a
// place for it.
Result<Notes> start_without_rdma(const Context& context,
                                 Asking asking,
                                 Delivery& delivery,
                                 const Error& error) {
    asking.request.attachments.clear();
    return with_record(context, asking, {}, [&](Container& container, Notes& notes) {
        audit_refusal(asking.running ? "createRuntime" : "precreate", error, true);
        notes.push_back("started without RDMA: " + error.message());
        return delivery.explain(container, error, notes);
    });
}

// True if rdma.optional forgives the error: it forgives the host's failures, not a wrong request.
bool is_forgivable(const Error& error) {
    return error.code != Code::BadInput && error.code != Code::Refused &&
           error.code != Code::BadConfig;
}

// True if the container has the nodes that the attachment asks for beside that of verbs (rdma.umad).
// Containers that share a device of the host need not have the same ones.
Result<bool> has_nodes(const Context& context,
                       const Container& container,
                       const Journal& journal,
                       const Attachment& attachment) {
    if (!attachment.umad.value_or(false))
        return true;
    const auto nodes = TRY(granted_nodes(context.store, container.key));
    return std::ranges::count(nodes, journal.endpoint.rdma_index, &GrantedNode::index) > 1;
}

// Refuses more than the container has: it is attached once. prestart and createRuntime may ask for
// the same; the hooks of two devices do not.
Result<> check_has_all(const Context& context,
                       const Container& container,
                       const Asking& asking,
                       const std::optional<netns::Netns>& ns) {
    if (container.attachments.empty())
        return {};  // rdma.optional: the container went without
    Site site = TRY(site_of(context, ns));
    for (const Attachment& attachment : asking.request.attachments) {
        const std::string akey = TRY(key_of(site, attachment).context(context_of(attachment)));
        const bool has =
            std::ranges::find(container.attachments, akey) != container.attachments.end();
        const auto journal = has ? TRY(load_journal(context.store, akey)) : std::nullopt;
        if (journal && may_share(*journal, attachment) &&
            TRY(has_nodes(context, container, *journal, attachment)))
            continue;
        if (asking.running_init)
            return make_error(Code::Refused, "the container was given other RDMA while it ran")
                .advise("run first: rdmactl detach " + container.id);
        return make_error(Code::Refused,
                          "the container asks for two different RDMA attachments: by a CDI device "
                          "and annotations, or by two CDI devices")
            .advise("use one --device rdma-hook.org/pool=NAME, or only annotations");
    }
    return {};
}

// Handles an earlier start of the same bundle. If it is dead it is undone now; if it lives, this
// start is a mistake.
Result<> leave_earlier(const Context& context, const Container& earlier) {
    if (earlier.committed && TRY(is_alive(context, earlier)))
        return make_error(Code::Busy, "this container has its RDMA already and is running")
            .advise("stop it first; rdmactl show " + earlier.id);
    return leave_all(context, earlier, Leaving::Recovery)
        .context("undo the container's last start");
}
}  // namespace

Result<Notes> attach_container(const Context& context, const Asking& asking, Delivery& delivery) {
    TRY(context.store.open().advise(
        context.config.rootless ? "log in to have your folder in /run/user, or run: sudo loginctl "
                                  "enable-linger USER"
                                : ""));
    TRY(sweep_pending(context));
    const auto lock = TRY(context.store.lock_container(asking.key, Deadline::in(kLockTimeout)));
    if (const auto earlier = TRY(context.store.load_container(asking.key, lock))) {
        if (asking.running_init)
            TRY(check_started_without(context, *earlier));
        if (asking.running && earlier->committed && earlier->token == init_of(asking)) {
            const Asking all = TRY(expanded(context, asking, delivery));
            TRY(check_has_all(context, *earlier, all, TRY(delivery.netns(all))));
            return Notes{};
        }
        TRY(leave_earlier(context, *earlier));
    }
    auto notes = start_with_rdma(context, asking, delivery);
    if (notes || !asking.request.optional || !is_forgivable(notes.error()))
        return notes;
    return start_without_rdma(context, asking, delivery, notes.error());
}

Result<> check_started_without(const Context& context, const Container& earlier) {
    if (earlier.running_init || !TRY(is_alive(context, earlier)))
        return {};
    if (!earlier.committed)
        return make_error(Code::Busy, "the container is being created with rdma.* annotations")
            .advise("wait until it runs: rdmactl show " + earlier.id);
    return make_error(Code::Refused,
                      "the container was started with rdma.* annotations, and what it has of them "
                      "stays as it is while it runs")
        .advise("change its annotations, and create it again");
}

Result<Request> expand(const Context& context, Request request, bool hosts_network) {
    Site site = TRY(site_of(context, {}));
    site.hosts_network = hosts_network;
    const auto asked = std::exchange(request.attachments, {});
    for (size_t i = 0; i < asked.size(); ++i) {
        const Attachment& one = asked[i];
        const Mode* mode = TRY(mode_of(one));
        auto each = mode->expand == nullptr
                        ? std::vector{one}
                        : TRY(mode->expand(one, context, site).context(context_of(one)));
        const unsigned next = i + 1 < asked.size() ? asked[i + 1].index : kMaxIndex + 1;
        if (one.index + each.size() > next)
            return no_index_left(one, each.size(), next);
        const auto limits = request.limits.find(one.index);
        for (unsigned n = 0; n < each.size(); ++n) {
            each[n].index = one.index + n;
            if (limits != request.limits.end())
                request.limits[each[n].index] = limits->second;
            request.attachments.push_back(std::move(each[n]));
        }
    }
    return request;
}

Result<Plan> make_plan(const Context& context,
                       const Container& container,
                       const std::optional<netns::Netns>& ns,
                       const Attachment& attachment) {
    Site site = TRY(site_of(context, ns));
    const std::string akey = TRY(key_of(site, attachment));
    return TRY(mode_of(attachment))->plan(attachment, Survey{context, site, container, akey});
}

}  // namespace hook
