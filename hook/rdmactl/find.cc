// SPDX-License-Identifier: Apache-2.0
#include "hook/rdmactl/find.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hook::ctl {

namespace {
constexpr size_t kShortId = 12;
constexpr size_t kMostListed = 8;

// The engine that a text asks for, and the rest of the text.
struct Wanted {
    std::string_view engine;  // empty: any
    std::string_view text;
};

Wanted split_engine(std::string_view text) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos || !is_engine(text.substr(0, colon)))
        return {.engine = {}, .text = text};
    return {.engine = text.substr(0, colon), .text = text.substr(colon + 1)};
}

bool is_called(const Known& known, std::string_view text) {
    return !text.empty() && (known.called.name == text || known.id == text || known.key == text);
}

bool begins(const Known& known, std::string_view text) {
    return known.id.starts_with(text) || known.key.starts_with(text);
}

// Returns a text that names this container and, with the id, no other.
std::string full_name(const Known& known) {
    const std::string id = printable((known.id.empty() ? known.key : known.id).substr(0, kShortId));
    return known.called.name.empty()
               ? id
               : fmt::format("{}:{} ({})", known.called.engine, known.called.name, id);
}
}  // namespace

std::string label_of(const Known& known) {
    if (!known.called.name.empty())
        return known.called.name;
    return printable((known.id.empty() ? known.key : known.id).substr(0, kShortId));
}

Result<std::vector<Known>> known_containers(const Context& context, Names& names) {
    std::vector<Known> all;
    for (const std::string& key : TRY(context.store.container_keys())) {
        const auto container = context.store.load_container(key);
        if (!container)
            all.push_back({.key = key, .id = {}, .called = {}});
        else if (*container)
            all.push_back({.key = key,
                           .id = (*container)->id,
                           .called = names.of((*container)->id, (*container)->bundle)});
    }
    return all;
}

Result<std::optional<Known>> choose(const std::vector<Known>& all, const std::string& text) {
    const Wanted wanted = split_engine(text);
    for (const auto fits : {is_called, begins}) {
        std::vector<Known> found;
        std::ranges::copy_if(all, std::back_inserter(found), [&](const Known& known) {
            return (wanted.engine.empty() || wanted.engine == known.called.engine) &&
                   fits(known, wanted.text);
        });
        if (found.size() == 1)
            return std::optional{found.front()};
        if (found.empty())
            continue;
        std::vector<std::string> names;
        for (size_t i = 0; i < std::min(found.size(), kMostListed); ++i)
            names.push_back(full_name(found[i]));
        return make_error(Code::Usage,
                          fmt::format("'{}' names several containers: {}{}",
                                      printable(text),
                                      fmt::join(names, ", "),
                                      found.size() > kMostListed ? ", ..." : ""))
            .advise("give ENGINE:NAME, or more of the id");
    }
    return std::optional<Known>{};
}

Result<std::optional<Container>> find_container(const Context& context,
                                                Names& names,
                                                const std::string& text) {
    const auto chosen = TRY(choose(TRY(known_containers(context, names)), text));
    return chosen ? context.store.load_container(chosen->key) : std::optional<Container>{};
}

Result<Container> require_container(const Context& context, Names& names, const std::string& text) {
    auto container = TRY(find_container(context, names, text));
    if (!container)
        return no_container(text);
    return *std::move(container);
}

Error no_container(const std::string& text) {
    return make_error(Code::Unavailable, "no container '" + printable(text) + "' has RDMA")
        .advise("see all: rdmactl list; failed ones: rdmactl list --failed");
}

}  // namespace hook::ctl
