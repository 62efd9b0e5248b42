// SPDX-License-Identifier: Apache-2.0
#include "hook/request/config_ports.h"

#include <fmt/format.h>

#include "hook/request/annotations.h"
#include "netns/devlink.h"

namespace hook {

using base::printable;

namespace {
Error bad_bridge(const std::string& place, const std::string& text) {
    return bad(
        place,
        fmt::format("must be the name of a bridge of Open vSwitch, not '{}'", printable(text)));
}

// "functions": ["0000:00:05.0", "auxiliary/mlx5_core.sf.4"]
Result<std::vector<MappedFunction>> parse_list(const Json& pool, const std::string& place) {
    std::vector<MappedFunction> functions;
    for (const std::string& name : TRY(strings(pool, "functions", place))) {
        if (!netns::is_function_name(name))
            return bad(fmt::format("{}.functions[{}]", place, functions.size()),
                       fmt::format("must name a function, not '{}'", printable(name)))
                .advise("write it as \"0000:00:05.0\" or \"auxiliary/mlx5_core.sf.4\"");
        functions.push_back({.function = name, .eswitch = {}, .port = {}});
    }
    return functions;
}
}  // namespace

Result<std::string> parse_bridge(const Json& pool, const std::string& place) {
    const Json* value = find(pool, "bridge");
    if (value == nullptr)
        return std::string();
    auto name = value->get<std::string>();
    if (!is_interface_name(name))
        return bad_bridge(place + ".bridge", name);
    return name;
}

Result<std::vector<std::string>> parse_bridges(const Json& policy, const std::string& place) {
    auto names = TRY(strings(policy, "bridges", place));
    for (size_t i = 0; i < names.size(); ++i) {
        if (!is_interface_name(names[i]))
            return bad_bridge(fmt::format("{}[{}]", join(place, "bridges"), i), names[i]);
    }
    return names;
}

Result<std::vector<MappedFunction>> parse_functions(const Json& pool,
                                                    bool with_port,
                                                    const std::string& place) {
    std::vector<MappedFunction> functions;
    const Json* object = find(pool, "functions");
    if (object == nullptr)
        return functions;
    TRY(expect(*object, with_port ? Type::Object : Type::List, join(place, "functions")));
    if (!with_port)
        return parse_list(pool, place);
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

}  // namespace hook
