// SPDX-License-Identifier: Apache-2.0
// An attachment as JSON: the annotations that would ask for exactly it, in canonical spelling, so
// that a journal reads like the request and one grammar serves both.
#include <fmt/format.h>

#include "hook/annotations.h"
#include "hook/request.h"

namespace hook {

using base::Code;
using base::make_error;
using base::printable;

namespace {
std::string ip_text(const Attachment& attachment) {
    if (attachment.ip_source != IpSource::Static)
        return attachment.ip_source == IpSource::Auto ? "auto" : "none";
    std::string text;
    for (const auto& address : attachment.addresses)
        text += (text.empty() ? "" : ",") + to_string(address);
    return text;
}

Result<Wish> read_members(const Json& json) {
    Wish wish;
    for (const auto& [name, value] : json.items()) {
        if (name == "index")
            continue;
        const Key* key = find_key(name);
        if (key == nullptr || key->reach == Key::Reach::Container)
            return make_error(Code::BadInput, fmt::format("unknown member '{}'", printable(name)));
        TRY(set_value(*key, name, TRY(base::as<std::string>(value, name)), wish));
    }
    return wish;
}

Result<Attachment> read_attachment(const Json& json) {
    if (!json.is_object())
        return make_error(Code::BadInput, "not an object");
    Attachment attachment;
    attachment.index = TRY(base::required<unsigned>(json, "index"));
    if (attachment.index > kMaxIndex)
        return make_error(Code::BadInput, fmt::format("index {} is too large", attachment.index));
    const Wish wish = TRY(read_members(json));
    if (!wish.mode || !wish.ip_source)
        return make_error(Code::BadInput, "mode or ip is missing");
    attachment.mode = *wish.mode;
    attachment.pool = wish.pool.value_or("");
    attachment.parent = wish.parent.value_or("");
    attachment.placement = wish.placement.value_or(Placement::Container);
    attachment.ifname = wish.ifname.value_or("");
    attachment.ip_source = *wish.ip_source;
    attachment.addresses = wish.addresses;
    attachment.mac = wish.mac;
    attachment.mtu = wish.mtu;
    return attachment;
}
}  // namespace

Json to_json(const Attachment& attachment) {
    Json json{{"index", attachment.index}, {"mode", attachment.mode}};
    const auto put = [&](const char* key, const std::string& value) {
        if (!value.empty())
            json[key] = value;
    };
    put("pool", attachment.pool);
    put("parent", attachment.parent);
    put("placement", attachment.placement == Placement::Host ? "host" : "container");
    put("ifname", attachment.ifname);
    put("ip", ip_text(attachment));
    put("mac", attachment.mac ? to_string(*attachment.mac) : "");
    put("mtu", attachment.mtu ? std::to_string(*attachment.mtu) : "");
    return json;
}

Result<Attachment> attachment_from_json(const Json& json) {
    return read_attachment(json).context("attachment");
}

}  // namespace hook
