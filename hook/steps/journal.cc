// SPDX-License-Identifier: Apache-2.0
#include "hook/steps/journal.h"

namespace hook {

namespace {
constexpr char kStepsKey[] = "steps";  // most of the text; no member follows it

Result<Journal> journal_from_json(const Json& json) {
    TRY(check_format(json));
    TRY(check_arrays(json, {kStepsKey}));
    Journal journal;
    journal.key = TRY(base::required<std::string>(json, "key"));
    journal.attachment = json.value("request", Json());
    if (!journal.attachment.is_object())
        return base::make_error(base::Code::Internal, "a journal without its request");
    journal.endpoint = TRY(endpoint_from_json(json.value("endpoint", Json::object())));
    if (const auto ns = json.find("netns"); ns != json.end()) {
        journal.netns = netns::NetnsId{TRY(base::required<uint64_t>(*ns, "dev")),
                                       TRY(base::required<uint64_t>(*ns, "ino"))};
        journal.netns_cookie = TRY(base::required<uint64_t>(*ns, "cookie"));
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
    Json json = base::object_for(10);
    json["format"] = kFormat;
    json["key"] = journal.key;
    json["request"] = journal.attachment;
    if (journal.netns)
        json["netns"] = base::object({{"dev", journal.netns->dev},
                                      {"ino", journal.netns->ino},
                                      {"cookie", journal.netns_cookie}});
    json["endpoint"] = to_json(journal.endpoint);
    json["made"] = journal.made;
    json["net_admin"] = journal.net_admin;
    json["holders"] = journal.holders;
    json["trouble"] = journal.trouble;
    Json& steps = json[kStepsKey] = Json::array();
    for (const AnyStep& step : journal.steps) {
        if (is_journaled(step))
            steps.push_back(save_step(step));
    }
    return store.files().write(store.journal_path(journal.key), base::dump_json(json));
}

Result<> remove_journal(const Store& store, const std::string& akey) {
    return store.files().remove(store.journal_path(akey));
}

}  // namespace hook
