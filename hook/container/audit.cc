// SPDX-License-Identifier: Apache-2.0
#include "hook/container/audit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "netns/base/log.h"

namespace hook {

using base::log::Field;

namespace {
std::string name_of(const Container& container) {
    return container.id.empty() ? container.key : container.id;
}

void add_outcome(std::vector<Field>& fields, const Result<>& done) {
    fields.push_back({"result", done ? "ok" : "failed"});
    if (done)
        return;
    fields.push_back({"code", std::string(base::code_name(done.error().code))});
    fields.push_back({"error", done.error().message()});
}
}  // namespace

void audit_attach(const Container& container,
                  const std::string& akey,
                  const Granted& granted,
                  bool joined) {
    std::vector<std::string> addresses;
    for (const auto& address : granted.addresses)
        addresses.push_back(netns::to_string(address));
    base::log::audit("attach",
                     name_of(container),
                     {{"attachment", akey},
                      {"index", std::to_string(granted.index)},
                      {"mode", granted.mode},
                      {"device", granted.device.name},
                      {"netdev", granted.netdev ? granted.netdev->name : ""},
                      {"addresses", fmt::format("{}", fmt::join(addresses, ","))},
                      {"joined", joined ? "yes" : "no"}});
}

void audit_leave(Leaving why,
                 const Container& container,
                 const std::string& akey,
                 size_t users,
                 const Result<>& done) {
    std::vector<Field> fields = {{"attachment", akey}, {"users", std::to_string(users)}};
    add_outcome(fields, done);
    base::log::audit(why == Leaving::Detach ? "detach" : "recovery", name_of(container), fields);
}

void audit_recovery(std::string_view kind, const std::string& name, const Result<>& done) {
    std::vector<Field> fields = {{kind, name}};
    add_outcome(fields, done);
    base::log::audit("recovery", "", fields);
}

void audit_refusal(std::string_view stage, const base::Error& error, bool optional) {
    base::log::audit("refusal",
                     base::log::container(),
                     {{"stage", std::string(stage)},
                      {"optional", optional ? "yes" : "no"},
                      {"code", std::string(base::code_name(error.code))},
                      {"error", error.message()}});
}

}  // namespace hook
