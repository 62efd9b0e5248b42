// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/journal.h"

#include "hook/steps/codec.h"

namespace hook {

namespace {
constexpr char kStepsKey[] = "steps";  // most of the text; no member follows it
constexpr size_t kUsualJournal = 2048;

// The namespace in a journal.
struct SavedNetns {
    uint64_t dev = 0;
    uint64_t ino = 0;
    uint64_t cookie = 0;

    static constexpr std::tuple kFields{Named{"dev", &SavedNetns::dev},
                                        Named{"ino", &SavedNetns::ino},
                                        Named{"cookie", &SavedNetns::cookie}};
};

Result<Steps> load_steps(const JsonView& journal) {
    Steps steps;
    const auto list = journal.find(kStepsKey);
    if (list && !list->is_array())
        return base::make_error(base::Code::Internal, "'steps' must be an array");
    for (const JsonView& step : list.value_or(JsonView{}).elements())
        steps.push_back(TRY(load_step(step)));
    return steps;
}

Result<Journal> load_members(const JsonView& json, const std::string& akey) {
    constexpr std::string_view kOwner = "journal";
    TRY(check_format(json));
    Journal journal;
    journal.key = TRY(base::required<std::string>(json, "key"));
    const auto request = json.find("request");
    if (!request || !request->is_object())
        return base::make_error(base::Code::Internal, "a journal without its request");
    journal.attachment = request->value();
    TRY(codec::take(json, "endpoint", "endpoint", journal.endpoint));
    std::optional<SavedNetns> ns;
    TRY(codec::take(json, "netns", "netns", ns));
    if (ns) {
        journal.netns = netns::NetnsId{ns->dev, ns->ino};
        journal.netns_cookie = ns->cookie;
    }
    TRY(codec::take(json, kOwner, "made", journal.made));
    TRY(codec::take(json, kOwner, "net_admin", journal.net_admin));
    journal.steps = TRY(load_steps(json));
    TRY(codec::take(json, kOwner, "holders", journal.holders));
    TRY(codec::take(json, kOwner, "trouble", journal.trouble));
    TRY(check_key(json, akey));
    return journal;
}

// Reads the members before `stop_at`; all if that is empty.
Result<std::optional<Journal>> load(const Store& store,
                                    const std::string& akey,
                                    std::string_view stop_at) {
    const std::string path = store.journal_path(akey);
    const auto text = store.files().read(path, kMaxStateFile);
    if (!text && base::is_missing(text.error()))
        return std::optional<Journal>{};
    if (!text)
        return text.error();
    const auto nodes = TRY(base::scan_json(*text, path, stop_at));
    return std::optional{TRY(load_members(JsonView(*text, nodes), akey).context(path))};
}
}  // namespace

Result<std::optional<Journal>> load_journal(const Store& store, const std::string& akey) {
    return load(store, akey, {});
}

Result<std::optional<Journal>> load_journal_head(const Store& store, const std::string& akey) {
    return load(store, akey, kStepsKey);
}

Result<> save_journal(const Store& store, const Journal& journal) {
    std::string text = "{";
    text.reserve(kUsualJournal);
    codec::put(text, "format", kFormat);
    codec::put(text, "key", journal.key);
    base::append_name(text, "request");
    text += base::dump_json(journal.attachment);
    if (journal.netns)
        codec::put(text,
                   "netns",
                   SavedNetns{.dev = journal.netns->dev,
                              .ino = journal.netns->ino,
                              .cookie = journal.netns_cookie});
    codec::put(text, "endpoint", journal.endpoint);
    codec::put(text, "made", journal.made);
    codec::put(text, "net_admin", journal.net_admin);
    codec::put(text, "holders", journal.holders);
    codec::put(text, "trouble", journal.trouble);
    base::append_name(text, kStepsKey);
    text += '[';
    for (const AnyStep& step : journal.steps) {
        if (!is_journaled(step))
            continue;
        if (!text.ends_with('['))
            text += ',';
        text += step_text(step);
    }
    text += "]}";
    return store.files().write(store.journal_path(journal.key), text);
}

Result<> remove_journal(const Store& store, const std::string& akey) {
    return store.files().remove(store.journal_path(akey));
}

}  // namespace hook
