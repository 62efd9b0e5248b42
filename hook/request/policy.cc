// SPDX-License-Identifier: Apache-2.0
// Without a policy everything is allowed but what would let a VF pass for another (trust on, spoof
// check off) and RDMA devices by the engine's own hand, which nobody would take back or limit:
// whoever may set other annotations on such a host may as well do without us.
#include "hook/request/policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "hook/request/draft.h"
#include "hook/request/judge.h"

namespace hook {

using base::Code;
using base::make_error;
using base::printable;

namespace {
void judge_attachment(const Attachment& attachment,
                      const Request& request,
                      const Config& config,
                      const Powers& powers,
                      std::vector<Verdict>& verdicts) {
    const Bench bench(config, find_pool(config, attachment.mode, attachment.pool));
    Judge judge(attachment, bench, verdicts);
    judge.mode();
    judge.pool();
    const Mode* mode = find_mode(attachment.mode);
    if (mode != nullptr && takes(*mode, *find_key("device")))
        judge.device();
    else
        judge.parent();
    judge.bridge();
    judge.addresses();
    judge.vlans();
    judge.rates();
    judge.placement();
    judge.identity();
    const auto limits = request.limits.find(attachment.index);
    if (limits != request.limits.end())
        judge.limits(limits->second);
    judge.powers(powers);
}

std::string text_of(const GivenNode& node) {
    const std::string number = fmt::format("{}:{}", node.number.major, node.number.minor);
    return node.path.empty() ? "device rule c " + number
                             : fmt::format("--device {} ({})", printable(node.path), number);
}

Verdict on_node(const GivenNode& node, const Powers& powers, std::string rule) {
    return {.key = {},
            .asked = text_of(node) + " beside rdma.*",
            .rule = std::move(rule),
            .allowed = std::ranges::find(powers.listed, node.number) != powers.listed.end(),
            .fix = "leave it out: the container is given its own"};
}

// What belongs to the container and to no single attachment.
void judge_container(const Request& request,
                     const std::optional<Policy>& policy,
                     const Powers& powers,
                     std::vector<Verdict>& verdicts) {
    const auto rule = [&](const char* name) {
        return policy ? fmt::format("policy.{}", name) : kDefaultPolicy;
    };
    if (policy && policy->attachments)
        verdicts.push_back({.key = {},
                            .asked = fmt::format("{} attachments", request.attachments.size()),
                            .rule = rule("attachments"),
                            .allowed = request.attachments.size() <= *policy->attachments,
                            .fix = fmt::format("ask for at most {}", *policy->attachments)});
    if (request.memlock) {
        const uint64_t most = policy ? policy->memlock_max : kMemlockUnlimited;
        const std::string value =
            *request.memlock == kMemlockUnlimited ? "unlimited" : std::to_string(*request.memlock);
        verdicts.push_back(
            {.key = "rdma.memlock",
             .asked = fmt::format("rdma.memlock='{}'", value),
             .rule = rule("memlock"),
             .allowed = *request.memlock <= most,
             .fix = most == 0 ? "remove the annotation" : fmt::format("set at most {}", most)});
    }
    for (const GivenNode& node : powers.char_devices)
        verdicts.push_back(on_node(node, powers, rule("char_devices")));
}
}  // namespace

std::vector<Verdict> judge(const Request& request, const Config& config, const Powers& powers) {
    std::vector<Verdict> verdicts;
    if (request.attachments.empty())
        return verdicts;
    for (const auto& attachment : request.attachments)
        judge_attachment(attachment, request, config, powers, verdicts);
    judge_container(request, config.policy, powers, verdicts);
    return verdicts;
}

Result<> check_policy(const Request& request, const Config& config, const Powers& powers) {
    for (Verdict& verdict : judge(request, config, powers)) {
        if (verdict.allowed)
            continue;
        const bool by_default = verdict.rule == kDefaultPolicy;
        return make_error(Code::Refused,
                          fmt::format("{}{} does not allow {}",
                                      by_default ? "the " : "",
                                      verdict.rule,
                                      verdict.asked))
            .advise(
                by_default
                    ? verdict.fix
                    : fmt::format(
                          "{}, or have {} allow it in {}", verdict.fix, verdict.rule, kConfigPath));
    }
    return {};
}

Limits limits_for(const Config& config, const Pool* pool) {
    const Bench bench(config, pool);
    const auto said = [](const Ruling<uint32_t>& ruling) {
        return ruling.said != nullptr ? std::optional(*ruling.said) : std::nullopt;
    };
    return {.handles = said(bench.limit(&Limits::handles, kHandlesKey)),
            .objects = said(bench.limit(&Limits::objects, kObjectsKey))};
}

std::optional<uint32_t> max_tx_rate_for(const Config& config, const Pool* pool) {
    const auto ruling = Bench(config, pool).ruling(&Rules::max_tx_rate, "max_tx_rate");
    return ruling.said != nullptr ? std::optional(*ruling.said) : std::nullopt;
}

}  // namespace hook
