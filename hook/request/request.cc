// SPDX-License-Identifier: Apache-2.0
// From annotations to a Request, in three passes: each key by itself (draft.cc), each
// attachment with its mode and pool, all attachments beside each other.
#include "hook/request/request.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/request/child_annotations.h"
#include "hook/request/choice.h"
#include "hook/request/nearest.h"
#include "hook/request/ovs_annotations.h"
#include "hook/request/route_annotations.h"

namespace hook {

using base::Code;
using base::Error;
using base::make_error;
using base::printable;

namespace {
// IPv6 does not run over less (RFC 8200, 5): the kernel takes the addresses away, and GIDs go too.
constexpr uint32_t kMinMtuV6 = 1280;

Result<const Mode*> mode_of(const Draft& draft) {
    const auto known = mode_names();
    if (!draft.wish.mode)
        return make_error(Code::BadInput,
                          fmt::format("{} is missing beside {}",
                                      draft.name("mode"),
                                      draft.given.begin()->second.text()))
            .advise(fmt::format("set {} to one of {}", draft.name("mode"), fmt::join(known, ", ")));
    const Mode* mode = find_mode(*draft.wish.mode);
    if (mode == nullptr)
        return make_error(Code::BadInput, draft.given.at("mode").text() + " is not a mode")
            .advise(fmt::format("did you mean {}? modes: {}",
                                nearest(*draft.wish.mode, known),
                                fmt::join(known, ", ")));
    return mode;
}

Result<> check_keys_of_mode(const Draft& draft, const Mode& mode) {
    for (const auto& [name, given] : draft.given) {
        if (takes(mode, *find_key(name)))
            continue;
        std::vector<std::string_view> known{"mode", "pool"};
        known.insert(known.end(), mode.keys.begin(), mode.keys.end());
        return make_error(
                   Code::BadInput,
                   fmt::format(
                       "{}={} does not take {}", draft.name("mode"), mode.name, given.text()))
            .advise(fmt::format("remove it; {} takes {}", mode.name, fmt::join(known, ", ")));
    }
    return {};
}

Result<const Pool*> pool_of(const Draft& draft, const Mode& mode, const Config& config) {
    const std::string name = draft.wish.pool.value_or("");
    const Pool* pool = find_pool(config, mode.name, name);
    if (pool == nullptr && !name.empty()) {
        std::vector<std::string_view> known;
        for (const Pool& other : config.pools)
            known.push_back(other.name);
        return make_error(Code::BadInput,
                          draft.given.at("pool").text() + " is not a pool of the configuration")
            .advise(known.empty() ? fmt::format("add it to \"pools\" in {}", kConfigPath)
                                  : fmt::format("did you mean {}? pools: {}",
                                                nearest(name, known),
                                                fmt::join(known, ", ")));
    }
    if (pool != nullptr && pool->mode != mode.name)
        return make_error(Code::BadInput,
                          fmt::format("{} is a pool for mode {}, not for {}",
                                      draft.given.at("pool").text(),
                                      pool->mode,
                                      mode.name))
            .advise(fmt::format(
                "set {} to {}, or choose another pool", draft.name("mode"), pool->mode));
    return pool;
}

Result<std::string> parent_of(const Choice& choice) {
    const auto& asked = choice.draft().wish.parent;
    if (choice.pool() == nullptr || choice.pool()->parents.empty())
        return asked.value_or("");
    const auto& parents = choice.pool()->parents;
    if (!asked)
        return parents.front();
    if (std::find(parents.begin(), parents.end(), *asked) != parents.end())
        return *asked;
    return make_error(Code::Refused,
                      fmt::format("{} is not a parent of pool {}",
                                  choice.draft().given.at("parent").text(),
                                  choice.pool()->name))
        .advise(fmt::format("choose one of {}, or another {}",
                            fmt::join(parents, ", "),
                            choice.draft().name("pool")));
}

// Keys that speak of an interface of ours where there is none.
Result<> refuse_given(const Draft& draft,
                      const std::vector<std::string_view>& keys,
                      const std::string& reason) {
    for (const auto key : keys) {
        if (draft.has(key))
            return make_error(
                       Code::BadInput,
                       fmt::format("{} does not go with {}", draft.given.at(key).text(), reason))
                .advise(fmt::format("remove {}, or {}", draft.name(key), reason));
    }
    return {};
}

// With rdma.placement=host there is no interface of the container's own, and with
// rdma.parent=container it is the engine's, which has its name, MAC and MTU already.
Result<> check_placement(const Choice& choice, const Attachment& attachment) {
    const Draft& draft = choice.draft();
    const std::string parent =
        fmt::format("{}={}", draft.name("parent"), printable(attachment.parent));
    const bool on_container = attachment.parent == kContainerParent;
    if (on_container && !choice.mode().on_container_link)
        return make_error(Code::BadInput,
                          fmt::format("{} does not go with mode {}", parent, attachment.mode))
            .advise(fmt::format("name an interface or RDMA device of the host in {}",
                                draft.name("parent")));
    if (attachment.placement == Placement::Host) {
        const std::string placement = draft.name("placement") + "=host";
        if (on_container)
            return make_error(Code::BadInput, parent + " does not go with " + placement)
                .advise("remove one of them");
        return refuse_given(draft, {"ip", "gateway", "routes", "mac", "mtu", "ifname"}, placement);
    }
    return on_container ? refuse_given(draft, {"gateway", "routes", "mac", "mtu", "ifname"}, parent)
                        : Result<>{};
}

Error no_range(const Choice& choice, const std::string& name) {
    const bool known = choice.pool() != nullptr;
    const std::string pool = known ? "pool " + choice.pool()->name : "a pool";
    return make_error(Code::BadInput,
                      fmt::format("{}='auto' needs a pool with a range, and {}",
                                  name,
                                  known ? pool + " has none" : "there is no pool"))
        .advise(fmt::format(
            "set \"range\" of {} in {}, or give addresses in {}", pool, kConfigPath, name));
}

Result<> choose_addresses(const Choice& choice, Attachment& attachment) {
    const Wish& wish = choice.draft().wish;
    const bool has_range = choice.pool() != nullptr && !choice.pool()->ranges.empty();
    const std::string name = choice.draft().name("ip");
    // The engine's interface has the engine's addresses: only more of them can be asked for.
    if (attachment.parent == kContainerParent)
        attachment.ip_source = wish.ip_source.value_or(IpSource::None);
    else
        attachment.ip_source =
            choice.get(&Wish::ip_source, has_range ? IpSource::Auto : IpSource::None);
    if (attachment.ip_source == IpSource::Static)
        attachment.addresses = wish.addresses;
    if (attachment.ip_source == IpSource::None && choice.mode().needs_address)
        return make_error(Code::BadInput, fmt::format("mode {} needs an address", attachment.mode))
            .advise(
                fmt::format("set {} to one such as 10.9.0.1/24, or give its pool a range", name));
    if (attachment.ip_source != IpSource::Auto)
        return {};
    if (attachment.parent == kContainerParent)
        return make_error(Code::BadInput, name + "='auto' does not go with rdma.parent=container")
            .advise(fmt::format("remove {}: the interface has the engine's address", name));
    return has_range ? Result<>{} : no_range(choice, name);
}

Result<> choose_mtu(const Choice& choice, Attachment& attachment) {
    attachment.mtu = choice.find(&Wish::mtu);
    if (!attachment.mtu || *attachment.mtu >= kMinMtuV6)
        return {};
    std::vector<netns::Address> addresses = attachment.addresses;
    if (attachment.ip_source == IpSource::Auto) {
        for (const auto& range : choice.pool()->ranges)
            addresses.push_back(range.first);
    }
    const auto is_v6 = [](const auto& address) { return address.family == netns::Family::V6; };
    if (std::none_of(addresses.begin(), addresses.end(), is_v6))
        return {};
    const std::string name = choice.draft().name("mtu");
    return make_error(Code::BadInput,
                      fmt::format("{}='{}' is too small for IPv6", name, *attachment.mtu))
        .advise(fmt::format("set {} to at least {}, or use IPv4 alone", name, kMinMtuV6));
}

Result<Attachment> make_attachment(unsigned index, const Draft& draft, const Config& config) {
    const Mode* mode = TRY(mode_of(draft));
    TRY(check_keys_of_mode(draft, *mode));
    const Pool* pool = TRY(pool_of(draft, *mode, config));
    Choice choice(draft, *mode, pool);
    TRY(choice.load_defaults());
    Attachment attachment;
    attachment.index = index;
    attachment.mode = mode->name;
    attachment.pool = pool != nullptr ? pool->name : "";
    attachment.parent = TRY(parent_of(choice));
    attachment.placement = choice.get(&Wish::placement, Placement::Container);
    TRY(check_placement(choice, attachment));
    if (attachment.placement == Placement::Host)
        return attachment;
    TRY(choose_addresses(choice, attachment));
    if (attachment.parent == kContainerParent)
        return attachment;
    TRY(choose_routes(choice, attachment));
    TRY(choose_vf(choice, attachment, max_tx_rate_for(config, pool)));
    TRY(choose_port(choice, attachment));
    TRY(choose_child(choice, attachment));
    attachment.ifname = choice.get(&Wish::ifname, fmt::format("rdma{}", index));
    attachment.mac = draft.wish.mac;
    TRY(choose_mtu(choice, attachment));
    return attachment;
}

// The annotation; else the pool's default, as far as the policy lets it; else the policy's bound.
std::optional<uint32_t> choose_limit(std::optional<uint32_t> asked,
                                     std::optional<uint32_t> usual,
                                     std::optional<uint32_t> bound) {
    if (asked)
        return asked;
    return usual && bound ? std::min(usual, bound) : usual ? usual : bound;
}

Result<Limits> make_limits(const Draft& draft, const Config& config) {
    const Mode* mode = TRY(mode_of(draft));
    const Pool* pool = TRY(pool_of(draft, *mode, config));
    Choice choice(draft, *mode, pool);
    TRY(choice.load_defaults());
    const Limits bounds = limits_for(config, pool);
    const Wish& wish = draft.wish;
    return Limits{
        .handles = choose_limit(wish.max_handles, choice.usual(&Wish::max_handles), bounds.handles),
        .objects =
            choose_limit(wish.max_objects, choice.usual(&Wish::max_objects), bounds.objects)};
}

// What two attachments of one container must not share; empty if they get along.
std::string clash(const Attachment& a, const Attachment& b) {
    if (!a.ifname.empty() && a.ifname == b.ifname)
        return "the interface name " + a.ifname;
    if (a.mac && a.mac == b.mac)
        return "the MAC address " + to_string(*a.mac);
    for (const auto& mine : a.addresses) {
        for (const auto& other : b.addresses) {
            if (mine.family == other.family && mine.bytes == other.bytes)
                return "the address " + ip_string(mine);
        }
    }
    const bool same_device = a.ifname.empty() && b.ifname.empty() && a.mode == b.mode &&
                             a.placement == b.placement && a.parent == b.parent;
    return same_device ? "the device of the same parent" : "";
}

Result<> check_neighbours(const std::vector<Attachment>& attachments) {
    for (size_t i = 0; i < attachments.size(); ++i) {
        for (size_t j = i + 1; j < attachments.size(); ++j) {
            const std::string what = clash(attachments[i], attachments[j]);
            if (!what.empty())
                return make_error(Code::BadInput,
                                  fmt::format("attachments {} and {} both ask for {}",
                                              attachments[i].index,
                                              attachments[j].index,
                                              what))
                    .advise(fmt::format("change or remove the rdma.{}.* annotations",
                                        attachments[j].index));
        }
    }
    return {};
}
}  // namespace

Result<Request> parse_request(const Annotations& annotations, const Config& config) {
    const Drafts drafts = TRY(read_drafts(annotations));
    Request request;
    for (const auto& [index, draft] : drafts.attachments) {
        request.attachments.push_back(TRY(make_attachment(index, draft, config)));
        if (const Limits limits = TRY(make_limits(draft, config)); limits.any())
            request.limits.emplace(index, limits);
    }
    TRY(check_neighbours(request.attachments));
    request.memlock = drafts.container.wish.memlock;
    if (config.policy)
        request.memlock_default = config.policy->memlock_max;
    request.optional = drafts.container.wish.optional.value_or(false);
    return request;
}

}  // namespace hook
