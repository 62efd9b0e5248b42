// SPDX-License-Identifier: Apache-2.0
// Strict: an unknown member, or a value that is not exactly right, is an error. A typing error in a
// policy must not widen it.
#include "hook/request/config.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/ranges.h>

#include "hook/request/config_json.h"
#include "hook/request/config_policy.h"
#include "hook/request/keys.h"
#include "netns/base/ascii.h"
#include "netns/base/json_kept.h"
#include "netns/base/owned_file.h"
#include "netns/devlink.h"

namespace hook {

namespace {
// The tables of members, with that of config_policy.cc. A unit test keeps
// runtime-config/install/schema/config.schema.json equal to them.
constexpr std::array kDocument = {Member{"$schema", Type::String},  // for editors; not looked at
                                  Member{"pools", Type::Object},
                                  Member{"policy", Type::Object},
                                  Member{"state_dir", Type::String},
                                  Member{"runtime", Type::String},
                                  Member{"log", Type::Object}};
constexpr std::array kPool = {Member{"mode", Type::String},
                              Member{"default", Type::Bool},
                              Member{"parents", Type::List},
                              Member{"devices", Type::List},
                              Member{"exclude", Type::List},
                              Member{"functions", Type::Any},
                              Member{"bridge", Type::String},
                              Member{"choose", Type::String},
                              Member{"probe", Type::Bool},
                              Member{"range", Type::Any},
                              Member{"defaults", Type::Object},
                              Member{"policy", Type::Object}};
constexpr std::array kLog = {Member{"file", Type::String}, Member{"level", Type::String}};

constexpr std::string_view kStateRoot = "/run/";
constexpr size_t kMaxPath = 200;  // file names below state_dir must fit PATH_MAX and mountinfo

constexpr Word<Choose> kChoices[] = {{"first", Choose::First},
                                     {"spread", Choose::Spread},
                                     {"numa", Choose::Numa},
                                     {"sticky", Choose::Sticky}};

using base::log::Level;
constexpr Word<Level> kLevels[] = {{"error", Level::Error},
                                   {"warning", Level::Warning},
                                   {"info", Level::Info},
                                   {"debug", Level::Debug}};

constexpr Item<std::string> kFunctions{
    parse_name<netns::is_function_name>,
    "must name a function",
    "write it as \"0000:00:05.0\" or \"auxiliary/mlx5_core.sf.4\""};

// Returns a member that is one of some words; `otherwise` if it is absent.
template <class T, size_t N>
Result<T> parse_choice(const Json& object,
                       const char* key,
                       const std::string& place,
                       const Word<T> (&words)[N],
                       const char* must,
                       T otherwise) {
    const Json* value = find(object, key);
    if (value == nullptr)
        return otherwise;
    const auto text = value->get<std::string>();
    if (const auto choice = parse_word(words, text))
        return *choice;
    return bad(join(place, key), fmt::format("must be {}, not '{}'", must, printable(text)));
}

Result<std::string> parse_bridge(const Json& pool, const std::string& place) {
    const Json* value = find(pool, "bridge");
    if (value == nullptr)
        return std::string();
    auto name = value->get<std::string>();
    if (!is_interface_name(name))
        return bad(place + ".bridge", fmt::format("{}, not '{}'", kBridges.must, printable(name)));
    return name;
}

// Reads a list, or in a mode whose functions have a port an object:
// {"auxiliary/mlx5_core.sf.4": "pci/0000:03:00.0/pf0sf88"}
Result<std::vector<MappedFunction>> parse_functions(const Json& pool,
                                                    bool with_port,
                                                    const std::string& place) {
    std::vector<MappedFunction> functions;
    const Json* object = find(pool, "functions");
    if (object == nullptr)
        return functions;
    TRY(expect(*object, with_port ? Type::Object : Type::List, join(place, "functions")));
    if (!with_port) {
        for (std::string& name : TRY(read_list(pool, "functions", place, kFunctions)))
            functions.push_back({.function = std::move(name), .eswitch = {}, .port = {}});
        return functions;
    }
    for (const auto& [function, value] : object->items()) {
        const std::string here = fmt::format("{}.functions.{}", place, printable(function));
        TRY(expect(value, Type::String, here));
        const auto text = value.get<std::string>();
        const size_t slash = text.rfind('/');
        const std::string eswitch = text.substr(0, slash);
        const std::string port = slash == std::string::npos ? "" : text.substr(slash + 1);
        if (!netns::is_function_name(function) || !netns::is_devlink_handle(eswitch) ||
            !is_interface_name(port))
            return bad(here,
                       fmt::format("must name a function and the port of its e-switch, not '{}'",
                                   printable(text)))
                .advise(
                    "write it as \"auxiliary/mlx5_core.sf.4\": \"pci/0000:03:00.0/pf0sf88\", "
                    "see `devlink port show`");
        functions.push_back({.function = function, .eswitch = eswitch, .port = port});
    }
    return functions;
}

// Refuses members that would have no effect in a pool of this mode: the mistake must be seen.
Result<> check_members_of_mode(const Json& json, const ModeInfo& mode, const std::string& place) {
    const bool gives_vfs = mode.finds;
    const bool has_port = takes(mode, "bridge");

    const struct {
        const char* key;
        bool fits;
    } rows[] = {{"parents", !mode.of_host},
                {"devices", gives_vfs || mode.of_host},
                {"exclude", gives_vfs},
                {"choose", gives_vfs},
                {"functions", gives_vfs},
                {"bridge", has_port},
                {"range", !mode.of_host},
                // A VF has no carrier yet when it could ask.
                {"probe", !gives_vfs && !mode.of_host}};

    for (const auto& [key, fits] : rows) {
        if (!fits && find(json, key) != nullptr)
            return bad(join(place, key), fmt::format("is not for a pool of mode {}", mode.name))
                .advise("remove it");
    }
    return {};
}

Error bad_range(const std::string& place, const std::string& text, std::string_view why) {
    return bad(place, fmt::format("has the range '{}': {}", printable(text), why))
        .advise("write it as 10.9.0.10-10.9.0.200/24");
}

Result<AddressRange> parse_range(const std::string& text, const std::string& place) {
    const auto dash = text.find('-');
    if (dash == std::string::npos)
        return bad_range(place, text, "no '-'");
    auto first = netns::parse_ip(std::string_view(text).substr(0, dash));
    const auto last = netns::parse_cidr(std::string_view(text).substr(dash + 1));
    if (!first || !last || first->family != last->family)
        return bad_range(place, text, "not two addresses and a prefix length");
    first->prefix = last->prefix;
    if (!netns::contains(*first, *last))
        return bad_range(place, text, "not one subnet");
    if (!netns::is_host_address(*first) || !netns::is_host_address(*last))
        return bad_range(place, text, "its ends cannot be addresses of hosts");
    if (*last < *first)
        return bad_range(place, text, "it ends before it begins");
    return AddressRange{.first = *first, .last = *last};
}

Result<std::vector<AddressRange>> parse_ranges(const Json& pool, const std::string& place) {
    const Json* value = find(pool, "range");
    const std::string here = place + ".range";
    if (value != nullptr && value->is_string())
        return std::vector{TRY(parse_range(value->get<std::string>(), here))};
    if (value != nullptr && !value->is_array())
        return bad_type(here, "a range or a list of ranges", *value);
    std::vector<AddressRange> ranges;
    for (const auto& text : TRY(strings(pool, "range", place))) {
        const auto range = TRY(parse_range(text, fmt::format("{}[{}]", here, ranges.size())));
        if (!ranges.empty() && (ranges.size() > 1 || ranges[0].first.family == range.first.family))
            return bad_range(here, text, "a pool has one range a family");
        ranges.push_back(range);
    }
    return ranges;
}

Result<std::map<std::string, std::string>> parse_defaults(const Json& pool,
                                                          const ModeInfo& mode,
                                                          const std::string& place) {
    std::map<std::string, std::string> defaults;
    const Json* object = find(pool, "defaults");
    const std::string here = place + ".defaults";
    if (object == nullptr)
        return defaults;
    for (const auto& [key, value] : object->items()) {
        TRY(expect(value, Type::String, join(here, key)));
        KeyValues ignored;
        TRY(parse_pool_default(mode, key, value.get<std::string>(), ignored).context(here));
        defaults.emplace(key, value.get<std::string>());
    }
    return defaults;
}

Result<Pool> parse_pool(const std::string& name, const Json& json) {
    const std::string place = "pools." + name;
    if (!is_pool_name(name))
        return bad(place, "is not a name for a pool: letters, digits and _.- up to 63");
    TRY(expect(json, Type::Object, place));
    TRY(check_members(json, kPool, place));
    const Json* mode = find(json, "mode");
    if (mode == nullptr)
        return bad(place + ".mode", "is missing")
            .advise(fmt::format("set it to one of {}", fmt::join(mode_names(), ", ")));
    Pool pool;
    pool.name = name;
    pool.mode = mode->get<std::string>();
    TRY(expect_mode(pool.mode, place + ".mode"));
    const ModeInfo& info = *find_mode_info(pool.mode);
    pool.is_default = flag(json, "default");
    pool.parents = TRY(read_list(json, "parents", place, kParents));
    TRY(check_members_of_mode(json, info, place));
    pool.devices = TRY(read_list(json, "devices", place, kDevices));
    for (const DeviceSpec& spec : pool.devices) {
        if (const std::string why = why_cannot_give(info, spec); !why.empty())
            return bad(join(place, "devices"), fmt::format("names '{}': {}", to_string(spec), why));
    }
    pool.exclude = TRY(read_list(json, "exclude", place, kDevices));
    pool.functions = TRY(parse_functions(json, takes(info, "bridge"), place));
    pool.bridge = TRY(parse_bridge(json, place));
    pool.choose = TRY(parse_choice(
        json, "choose", place, kChoices, "first, spread, numa or sticky", Choose::First));
    if (const Json* probe = find(json, "probe"))
        pool.probe = probe->get<bool>();
    pool.ranges = TRY(parse_ranges(json, place));
    pool.defaults = TRY(parse_defaults(json, info, place));
    if (const Json* policy = find(json, "policy"))
        pool.rules = TRY(parse_pool_policy(*policy, pool.mode, place + ".policy"));
    return pool;
}

Result<std::vector<Pool>> parse_pools(const Json& json) {
    std::vector<Pool> pools;
    for (const auto& [name, value] : json.items()) {
        Pool pool = TRY(parse_pool(name, value));
        const auto rival = std::find_if(pools.begin(), pools.end(), [&](const Pool& other) {
            return other.is_default && pool.is_default && other.mode == pool.mode;
        });
        if (rival != pools.end())
            return bad(fmt::format("pools.{}.default", name),
                       fmt::format("is true, as that of pool {}: a mode has one default pool",
                                   rival->name));
        pools.push_back(std::move(pool));
    }
    return pools;
}

// Returns a path that is absolute and in its one spelling: no empty, "." or ".." components, no
// control characters.
Result<std::string> parse_path(const Json& value, const std::string& place) {
    const auto text = value.get<std::string>();
    const std::string closed = text + "/";
    const bool plain = text.size() <= kMaxPath && text.starts_with('/') &&
                       closed.find("//") == std::string::npos &&
                       closed.find("/./") == std::string::npos &&
                       closed.find("/../") == std::string::npos &&
                       std::none_of(text.begin(), text.end(), base::is_control);
    if (!plain)
        return bad(place,
                   fmt::format("must be an absolute path of up to {} bytes without '..', not '{}'",
                               kMaxPath,
                               printable(text)));
    return text;
}

Result<> read_log(const Json& document, Config& config) {
    const Json* log = find(document, "log");
    if (log == nullptr)
        return {};
    TRY(expect(*log, Type::Object, "log"));
    TRY(check_members(*log, kLog, "log"));
    if (const Json* file = find(*log, "file"))
        config.log_file = TRY(parse_path(*file, "log.file"));
    config.log_level = TRY(parse_choice(
        *log, "level", "log", kLevels, "error, warning, info or debug", config.log_level));
    return {};
}

Result<Config> read_document(const Json& json) {
    Config config;
    TRY(expect(json, Type::Object, "the document"));
    TRY(check_members(json, kDocument, ""));
    if (const Json* pools = find(json, "pools"))
        config.pools = TRY(parse_pools(*pools));
    if (const Json* policy = find(json, "policy"))
        config.policy = TRY(parse_policy(*policy, config.pools));
    if (const Json* dir = find(json, "state_dir"))
        config.state_dir = TRY(parse_path(*dir, "state_dir"));
    // Journals name processes, namespaces and mounts, all of which end with the boot.
    if (!config.state_dir.starts_with(kStateRoot))
        return bad("state_dir",
                   fmt::format("must be below /run, not '{}'", printable(config.state_dir)))
            .advise("choose a folder there: what it holds is worthless after a boot");
    if (const Json* runtime = find(json, "runtime"))
        config.runtime = TRY(parse_path(*runtime, "runtime"));
    TRY(read_log(json, config));
    return config;
}

template <class T>
Result<T> as_config_error(Result<T> result) {
    if (!result)
        result.error().code = Code::BadConfig;
    return result;
}

Result<Config> load_owned_config(const std::string& path, const base::Owned& owned) {
    const auto text = TRY(base::read_owned_file(path, owned));
    if (!text)
        return Config{};
    return parse_config(*text).context(printable(path)).advise("check it: rdmactl config check");
}
}  // namespace

std::vector<std::string_view> config_members(std::string_view object) {
    if (object == "pool")
        return names(kPool);
    if (object == "policy" || object == "pool_policy")
        return policy_members(object == "pool_policy");
    return names(object == "log" ? std::span<const Member>(kLog) : kDocument);
}

Result<Config> parse_config(std::string_view text) {
    const Json json = TRY(as_config_error(base::parse_json(text, "the configuration")));
    return read_document(json);
}

Result<Config> load_config(const std::string& path) {
    return load_owned_config(path, base::Owned{});
}

Result<Config> load_users_config(const std::string& path, uid_t user, uid_t root) {
    auto config = load_owned_config(path, {.root = "/", .owner = root});
    if (!config && config.error().sys == EACCES)
        return std::move(config).advise(fmt::format("let users read it: sudo chmod a+rX {} {}",
                                                    printable(path.substr(0, path.rfind('/'))),
                                                    printable(path)));
    return as_users(TRY(std::move(config)), user);
}

Config as_users(Config config, uid_t user) {
    config.rootless = true;
    if (user == 0)
        return config;
    config.state_dir = fmt::format("/run/user/{}/rdma-hook", user);
    config.log_file.clear();
    return config;
}

Result<Config> parse_log_settings(std::string_view text) {
    constexpr std::string_view kOthers[] = {"pools", "policy"};
    const Json json = TRY(base::parse_json_keeping(kOthers, text, "the configuration"));
    TRY(expect(json, Type::Object, "the document"));
    Config config;
    TRY(read_log(json, config));
    return config;
}

Result<Config> load_log_settings(const std::string& path) {
    const auto text = TRY(base::read_owned_file(path, base::Owned{}));
    if (!text)
        return Config{};
    return parse_log_settings(*text);
}

Result<std::string> runtime_setting(const std::string& path) {
    const auto text = TRY(base::read_owned_file(path, base::Owned{}));
    if (!text)
        return std::string{};
    const Json json = TRY(base::parse_json(*text, path));
    const auto setting = TRY(base::optional_member<std::string>(json, "runtime", ""));
    return setting.empty() ? Result<std::string>{setting} : parse_path(setting, "runtime");
}

std::vector<DeviceSpec> devices_of(const Pool& pool) {
    std::vector<DeviceSpec> all = pool.devices;
    for (const MappedFunction& mapped : pool.functions)
        all.push_back({.device = mapped.function, .vfs = {}});
    return all;
}

const Pool* find_pool(const Config& config, std::string_view mode, std::string_view name) {
    for (const Pool& pool : config.pools) {
        if (name.empty() ? pool.is_default && pool.mode == mode : pool.name == name)
            return &pool;
    }
    return nullptr;
}

}  // namespace hook
