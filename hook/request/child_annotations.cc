// SPDX-License-Identifier: Apache-2.0
#include "hook/request/child_annotations.h"

#include <fmt/format.h>

namespace hook {

using base::Code;
using base::make_error;
using netns::ChildKind;

namespace {
Result<> refuse(const Draft& draft, std::string_view key, ChildKind kind) {
    const std::string child = fmt::format("{}={}", draft.name("child"), netns::to_string(kind));
    return make_error(Code::BadInput,
                      fmt::format("{} does not go with {}", draft.given.at(key).text(), child))
        .advise(fmt::format("remove {}, or set another {}", draft.name(key), draft.name("child")));
}
}  // namespace

Result<> set_child(Wish& wish, std::string_view value) {
    wish.child = netns::parse_child_kind(value);
    return wish.child ? Result<>{} : make_error(Code::BadInput, "");
}

Result<> set_macvlan_mode(Wish& wish, std::string_view value) {
    wish.macvlan_mode = netns::parse_macvlan_mode(value);
    return wish.macvlan_mode ? Result<>{} : make_error(Code::BadInput, "");
}

Result<> choose_child(const Choice& choice, Attachment& attachment) {
    if (!takes(choice.mode(), *find_key("child")))
        return {};
    const Draft& draft = choice.draft();
    const auto vlan = choice.find(&Wish::vlan);
    const ChildKind kind = choice.get(&Wish::child, vlan ? ChildKind::Vlan : ChildKind::Macvlan);
    if (kind == ChildKind::Vlan && !vlan)
        return make_error(Code::BadInput,
                          fmt::format("{}=vlan needs {}", draft.name("child"), draft.name("vlan")))
            .advise(fmt::format("set {} to a number from 1 to 4094", draft.name("vlan")));

    const struct {
        std::string_view key;
        bool fits;
    } rows[] = {{"vlan", kind == ChildKind::Vlan},
                {"macvlan_mode", kind == ChildKind::Macvlan},
                {"mac", kind != ChildKind::Ipvlan}};

    for (const auto& row : rows) {
        if (!row.fits && draft.has(row.key))
            return refuse(draft, row.key, kind);
    }
    attachment.child.kind = kind;
    if (kind == ChildKind::Vlan)
        attachment.child.vlan = *vlan;
    if (kind == ChildKind::Macvlan)
        attachment.child.macvlan_mode = choice.get(&Wish::macvlan_mode, netns::MacvlanMode::Bridge);
    return {};
}

}  // namespace hook
