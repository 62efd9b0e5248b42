// SPDX-License-Identifier: Apache-2.0
#include "hook/request/draft.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hook/request/nearest.h"

namespace hook {

using base::Code;
using base::Error;
using base::make_error;
using base::printable;

namespace {
constexpr std::string_view kPrefix = "rdma.";

// Exactly ^rdma\.([0-9]+\.)?[^/]*$: a key with a slash belongs to somebody else.
bool is_ours(std::string_view key) {
    return key.starts_with(kPrefix) && key.find('/') == std::string_view::npos;
}

struct SplitKey {
    unsigned index = 0;
    std::string_view name;
};

// "rdma.2.mode": an index is digits with a dot behind them, nothing else.
Result<SplitKey> split(const Given& given) {
    const std::string_view rest = std::string_view(given.annotation).substr(kPrefix.size());
    const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (digits == 0 || digits == rest.size() || rest[digits] != '.')
        return SplitKey{.index = 0, .name = rest};
    const auto index = parse_number(rest.substr(0, digits));
    if (!index || *index > kMaxIndex)
        return make_error(Code::BadInput,
                          fmt::format("{} has the bad index '{}'",
                                      given.text(),
                                      printable(rest.substr(0, digits), 20)))
            .advise("use an index from 0 to 15 without leading zeros");
    return SplitKey{.index = static_cast<unsigned>(*index), .name = rest.substr(digits + 1)};
}

Error unknown_key(const Given& given, const SplitKey& key) {
    const auto known = key_names();
    // A key with a part too many ("rdma.x.mtu") is nearest by its last part.
    const auto last = key.name.substr(key.name.rfind('.') + 1);
    return make_error(Code::BadInput, "unknown annotation " + given.text())
        .advise(fmt::format(
            "did you mean rdma.{}? known keys: {}", nearest(last, known), fmt::join(known, ", ")));
}

Result<> add(const Given& given, Drafts& drafts) {
    const SplitKey parts = TRY(split(given));
    const Key* key = find_key(parts.name);
    if (key == nullptr)
        return unknown_key(given, parts);
    const bool of_container = key->reach == Key::Reach::Container;
    if (of_container && parts.index != 0)
        return make_error(Code::BadInput,
                          given.text() + " has an index, but holds for the whole container")
            .advise(fmt::format("set rdma.{} instead", key->name));
    Draft& draft = of_container ? drafts.container : drafts.attachments[parts.index];
    if (draft.has(key->name))
        return make_error(Code::BadInput,
                          fmt::format(
                              "{} is there beside {}", given.text(), draft.given[key->name].text()))
            .advise("remove one of them: both speak of attachment 0");
    draft.index = parts.index;
    draft.given.emplace(key->name, given);
    return set_value(*key, given.annotation, given.value, draft.wish);
}
}  // namespace

bool mentions_rdma(const Annotations& annotations) {
    return std::any_of(annotations.begin(), annotations.end(), [](const auto& entry) {
        return is_ours(entry.first);
    });
}

std::string Given::text() const {
    return fmt::format("{}='{}'", printable(annotation), printable(value));
}

std::string Draft::name(std::string_view key) const {
    const auto it = given.find(key);
    return it != given.end() ? it->second.annotation : annotation_key(index, key);
}

Result<Drafts> read_drafts(const Annotations& annotations) {
    Drafts drafts;
    for (const auto& [annotation, value] : annotations) {
        if (is_ours(annotation))
            TRY(add({.annotation = annotation, .value = value}, drafts));
    }
    const auto& beside = drafts.container.given;
    if (drafts.attachments.empty() && !beside.empty())
        return make_error(Code::BadInput,
                          "rdma.mode is missing beside " + beside.begin()->second.text())
            .advise(fmt::format("set rdma.mode to one of {}", fmt::join(mode_names(), ", ")));
    return drafts;
}

std::vector<std::string_view> mode_names() {
    std::vector<std::string_view> names;
    for (const Mode* mode : all_modes())
        names.push_back(mode->name);
    return names;
}

bool takes(const Mode& mode, const Key& key) {
    return key.reach != Key::Reach::Mode ||
           std::find(mode.keys.begin(), mode.keys.end(), key.name) != mode.keys.end();
}

Result<> set_pool_default(const Mode& mode,
                          std::string_view name,
                          std::string_view value,
                          Wish& wish) {
    std::vector<std::string_view> known;
    for (const Key& key : all_keys()) {
        if (key.pool_default && takes(mode, key))
            known.push_back(key.name);
    }
    if (std::find(known.begin(), known.end(), name) == known.end())
        return make_error(
                   Code::BadConfig,
                   fmt::format(
                       "'{}' cannot be a default of a pool of mode {}", printable(name), mode.name))
            .advise(fmt::format(
                "did you mean {}? possible: {}", nearest(name, known), fmt::join(known, ", ")));
    const Key& key = *find_key(name);
    auto done = set_value(key, name, value, wish);
    if (done && wish.ip_source == IpSource::Static)
        done = bad_value(name, value, "containers cannot share addresses", "'auto' or 'none'");
    if (!done)
        done.error().code = Code::BadConfig;
    return done;
}

}  // namespace hook
