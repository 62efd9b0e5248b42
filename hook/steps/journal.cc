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

Result<Journal> journal_from_json(const Json& json) {
    TRY(check_format(json));
    TRY(check_arrays(json, {kStepsKey}));
    Journal journal;
    journal.key = TRY(base::required<std::string>(json, "key"));
    journal.attachment = json.value("request", Json());
    if (!journal.attachment.is_object())
        return base::make_error(base::Code::Internal, "a journal without its request");
    const Json none = Json::object();
    const auto endpoint = json.find("endpoint");
    journal.endpoint = TRY(endpoint_from_json(endpoint == json.end() ? none : *endpoint));
    if (const auto found = json.find("netns"); found != json.end()) {
        const auto saved = TRY(decode<SavedNetns>(*found, "netns"));
        journal.netns = netns::NetnsId{saved.dev, saved.ino};
        journal.netns_cookie = saved.cookie;
    }
    journal.made = TRY(base::required<bool>(json, "made"));
    journal.net_admin = TRY(base::required<bool>(json, "net_admin"));
    for (const Json& step : base::array_of(json, kStepsKey))
        journal.steps.push_back(TRY(load_step(step)));
    journal.holders = TRY(string_list(json, "holders"));
    journal.trouble = TRY(string_list(json, "trouble"));
    return journal;
}

using Parse = Result<Json> (*)(std::string_view text, std::string_view what);

Result<std::optional<Journal>> load(const Store& store, const std::string& akey, Parse parse) {
    const std::string path = store.journal_path(akey);
    auto text = store.files().read(path, kMaxStateFile);
    if (!text && base::is_missing(text.error()))
        return std::optional<Journal>{};
    const Json json = TRY(parse(TRY(std::move(text)), path));
    auto journal = journal_from_json(json);
    if (journal)
        TRY(check_key(json, akey).context(path));
    return std::optional{TRY(std::move(journal).context(path))};
}
}  // namespace

Result<std::optional<Journal>> load_journal(const Store& store, const std::string& akey) {
    return load(store, akey, base::parse_json);
}

Result<std::optional<Journal>> load_journal_head(const Store& store, const std::string& akey) {
    return load(store, akey, [](std::string_view text, std::string_view what) {
        return base::parse_json_before(kStepsKey, text, what);
    });
}

Result<> save_journal(const Store& store, const Journal& journal) {
    std::string text = "{";
    text.reserve(kUsualJournal);
    codec::put(text, "format", kFormat);
    codec::put(text, "key", journal.key);
    codec::put_name(text, "request");
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
    codec::put_name(text, kStepsKey);
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
