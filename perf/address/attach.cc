// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "netns/base/files.h"
#include "perf/address/gid.h"

namespace perf {

namespace {
constexpr size_t kFileLimit = 256 * 1024;
constexpr size_t kMaxAttachments = 16;  // rdma.0 to rdma.15

// RDMA device names: IB_DEVICE_NAME_MAX is 64, with the final zero.
bool is_device_name(std::string_view name) {
    const auto fine = [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '/'; };
    return !name.empty() && name.size() < 64 && std::ranges::all_of(name, fine);
}

Result<AttachedGid> parse_one(const Json& entry) {
    AttachedGid out;
    out.device = TRY(required<std::string>(entry, "device"));
    if (!is_device_name(out.device))
        return make_error(Code::BadInput, "'device' is no device name: " + printable(out.device));
    const auto text = TRY(required<std::string>(entry, "gid"));
    const auto gid = parse_address(text);
    if (!gid || gid->is_zero())
        return make_error(Code::BadInput, "'gid' is no GID: " + printable(text));
    out.gid = *gid;
    return out;
}

void add_environment(std::string_view device, std::string_view gid, Attachment& out) {
    if (is_device_name(device))
        out.preferred_device = device;
    else if (!device.empty())
        out.remarks.push_back("RDMA_DEVICE is no device name: " + printable(device));
    if (gid.empty())
        return;
    const auto parsed = parse_address(gid);
    if (!parsed || parsed->is_zero())
        out.remarks.push_back("RDMA_GID is no GID: " + printable(gid));
    else if (std::ranges::find(out.gids, *parsed, &AttachedGid::gid) == out.gids.end())
        out.gids.push_back({out.preferred_device, *parsed});
}
}  // namespace

Result<std::vector<AttachedGid>> parse_attach_file(std::string_view text) {
    const Json root = TRY(base::parse_json(text, "attach.json"));
    const auto format = TRY(required<int64_t>(root, "format"));
    if (format != 1)
        return make_error(Code::BadInput, "format {} is not known", format);
    if (!TRY(required<bool>(root, "attached")))
        return std::vector<AttachedGid>{};
    const auto list = root.find("attachments");
    if (list == root.end() || !list->is_array() || list->size() > kMaxAttachments)
        return make_error(Code::BadInput, "'attachments' must be a list of at most 16");
    std::vector<AttachedGid> gids;
    for (const Json& entry : *list) {
        // An attachment whose GID was not known has none to offer.
        if (entry.is_object() && (!entry.contains("gid") || entry["gid"].is_null()))
            continue;
        gids.push_back(TRY(parse_one(entry)));
    }
    return gids;
}

Attachment load_attachment(const std::string& file, std::string_view device, std::string_view gid) {
    Attachment out;
    base::RealFiles files;
    auto text = files.read(file, kFileLimit);
    if (text) {
        auto gids = parse_attach_file(*text);
        if (gids)
            out.gids = std::move(gids).value();
        else
            out.remarks.push_back(file + " is not used: " + gids.error().message());
    } else if (!base::is_missing(text.error())) {
        out.remarks.push_back(file + " is not used: " + text.error().message());
    }
    add_environment(device, gid, out);
    return out;
}

}  // namespace perf
