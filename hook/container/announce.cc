// SPDX-License-Identifier: Apache-2.0
#include "hook/container/announce.h"

#include "netns/base/log.h"
#include "netns/link.h"
#include "netns/neighbour.h"

namespace hook {

namespace {
Result<> announce_attachment(World& world, const Journal& journal) {
    if (journal.endpoint.addresses.empty())
        return {};
    const Attachment attachment = TRY(attachment_from_json(journal.attachment));
    const ModeInfo* mode = find_mode_info(attachment.mode);
    if (mode == nullptr || !mode->changing_mac)
        return {};
    Site site = TRY(open_site(world.host, world.store, journal));
    const netns::Netns* ns = site.ns(journal.endpoint.where);
    if (ns == nullptr)
        return {};
    const auto link = TRY(site.host.links.find(*ns, journal.endpoint.netdev));
    if (!link)
        return {};
    return site.host.neighbours.announce(
        *ns, {.index = link->index, .mac = link->mac}, journal.endpoint.addresses);
}
}  // namespace

void announce_addresses(World& world, const Journal& journal) {
    if (auto done = announce_attachment(world, journal); !done)
        base::log::warning("neighbours were not told: " + done.error().message());
}

void announce_addresses(World& world, const Container& container) {
    for (const std::string& akey : container.attachments) {
        const auto journal = load_journal_head(world.store, akey);
        if (!journal)
            base::log::warning("neighbours were not told: " + journal.error().message());
        else if (*journal)
            announce_addresses(world, **journal);
    }
}

}  // namespace hook
