// SPDX-License-Identifier: Apache-2.0
#include "netns/tc_offload.h"

#include <cerrno>

#include <linux/netlink.h>

#include "netns/kernel/tc_offload_message.h"

namespace netns {

using netlink::Request;

namespace {
std::string feature_text(uint32_t link) {
    return "hw-tc-offload of link " + std::to_string(link);
}

Error explain_feature(Error refusal) {
    if (refusal.sys == ENODEV)
        return std::move(refusal).as(Code::Unavailable);
    if (refusal.sys == EPERM)
        return std::move(refusal).advise("run as root");
    return refusal;
}

// The error for a feature that stayed as it was, which the kernel does not report.
Error feature_stays(const std::string& what, const TcFeature& feature) {
    if (!feature.fixed && feature.on)
        return base::sys_error(EBUSY, what)
            .as(Code::Busy,
                "remove its tc rules first: its driver keeps the feature on while there are any");
    return base::sys_error(EOPNOTSUPP, what)
        .as(Code::Unsupported,
            feature.fixed ? "see ethtool -k, which says fixed: the driver or this kernel lacks it"
                          : "see dmesg: the driver does not take it");
}

class KernelTcOffload : public TcOffload {
  public:
    Result<TcFeature> feature(const Netns& ns, uint32_t link) override {
        const std::string what = "ask for " + feature_text(link);
        Request request = tc::feature_request(TRY(ethtool_.family(ns)), link);
        auto reply = TRY(ethtool_.get(ns))->get(request, what);
        if (!reply)
            return explain_feature(std::move(reply).error());
        const auto found = tc::parse_feature(*reply);
        if (!found)
            return make_error(Code::Internal, what + ": the kernel's answer is malformed");
        return *found;
    }

    // The kernel acknowledges a fixed feature and a driver's refusal, too: only reading it back
    // shows the result.
    Result<> set_feature(const Netns& ns, uint32_t link, bool on) override {
        const std::string what = std::string("turn ") + (on ? "on " : "off ") + feature_text(link);
        const TcFeature before = TRY(feature(ns, link));
        if (before.on == on)
            return {};
        if (before.fixed)
            return feature_stays(what, before);
        TRY(write(ns, link, on, what));
        const TcFeature after = TRY(feature(ns, link));
        if (after.on == on)
            return {};
        // A refused value stays wanted, and would be set with the next change of any other feature.
        // So the old value is written back.
        TRY(write(ns, link, before.on, what));
        return feature_stays(what, after);
    }

    Result<TcRules> rules(const Netns& ns, uint32_t link) override {
        Request request = tc::rules_request(link);
        const auto replies =
            TRY(TRY(sockets_.get(ns))
                    ->dump(request, "list the tc rules of link " + std::to_string(link)));
        // Without a qdisc, or without the link, the list is empty.
        TcRules rules;
        for (const auto& reply : replies)
            tc::count_rule(reply, rules);
        return rules;
    }

  private:
    Result<> write(const Netns& ns, uint32_t link, bool on, const std::string& what) {
        Request request = tc::set_feature_request(TRY(ethtool_.family(ns)), link, on);
        auto done = TRY(ethtool_.get(ns))->request(request, what);
        if (!done)
            return explain_feature(std::move(done).error());
        return {};
    }

    netlink::GenlSockets ethtool_{tc::kFeatureFamily, tc::kFeatureVersion};
    netlink::Sockets sockets_{NETLINK_ROUTE};
};
}  // namespace

std::unique_ptr<TcOffload> make_kernel_tc_offload() {
    return std::make_unique<KernelTcOffload>();
}

}  // namespace netns
