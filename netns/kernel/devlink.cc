// SPDX-License-Identifier: Apache-2.0
#include "netns/devlink.h"

#include <algorithm>

#include "netns/kernel/devlink_message.h"

namespace netns {

using netlink::GenlFamily;
using netlink::Request;

namespace {
std::string eswitch_text(const std::string& device) {
    return "the e-switch of " + printable(device);
}

class KernelDevlink : public Devlink {
  public:
    Result<std::optional<Eswitch>> eswitch(const Netns& host, const std::string& device) override {
        const std::string what = "ask for " + eswitch_text(device);
        Request request = devlink::eswitch_request(TRY(sockets_.family(host)), device);
        auto reply = TRY(sockets_.get(host))->get(request, what);
        if (!reply && devlink::lacks_eswitch(reply.error()))
            return std::optional<Eswitch>{};
        auto found = devlink::parse_eswitch(TRY(std::move(reply)));
        if (!found)
            return std::move(found).error().in(what);
        return found;
    }

    Result<> set_mode(const Netns& host, const std::string& device, EswitchMode mode) override {
        const GenlFamily family = TRY(sockets_.family(host));
        auto done = change(host,
                           devlink::mode_request(family, device, mode),
                           "set the mode of " + eswitch_text(device));
        if (done)
            return {};
        // Some drivers refuse their present mode.
        const auto now = eswitch(host, device);
        return now && *now && (*now)->mode == mode ? Result<>{} : std::move(done);
    }

    Result<> set_inline_mode(const Netns& host,
                             const std::string& device,
                             InlineMode mode) override {
        const GenlFamily family = TRY(sockets_.family(host));
        return change(host,
                      devlink::inline_mode_request(family, device, mode),
                      "set the inline mode of " + eswitch_text(device));
    }

    Result<std::vector<DevlinkPort>> ports(const Netns& host, const std::string& device) override {
        const std::string what = "list the ports of " + printable(device);
        Request request = devlink::ports_request(TRY(sockets_.family(host)), device);
        auto replies = TRY(sockets_.get(host))->dump(request, what);
        std::vector<DevlinkPort> all;
        if (!replies && replies.error().sys == ENODEV)
            return all;
        for (const auto& reply : TRY(std::move(replies))) {
            if (auto port = devlink::parse_port(reply, device))
                all.push_back(std::move(*port));
        }
        std::ranges::sort(all, {}, &DevlinkPort::index);
        return all;
    }

  private:
    Result<> change(const Netns& host, Request request, const std::string& what) {
        auto done = TRY(sockets_.get(host))->request(request, what);
        if (!done)
            return devlink::explain_change(std::move(done).error());
        return {};
    }

    netlink::GenlSockets sockets_{devlink::kFamily, devlink::kVersion};
};
}  // namespace

std::unique_ptr<Devlink> make_kernel_devlink() {
    return std::make_unique<KernelDevlink>();
}

}  // namespace netns
