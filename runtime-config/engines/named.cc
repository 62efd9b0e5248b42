// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/engines/named.h"

#include <algorithm>

#include <fmt/format.h>

namespace engines {

using base::Code;
using base::make_error;

namespace {
constexpr std::string_view kProgram = "/rdma-runtime";
constexpr std::string_view kOption = " --low-level=";
constexpr size_t kLongestName = 37;
// BINPRM_BUF_SIZE of Linux before 5.1, with a byte for the end.
constexpr size_t kLongestLine = 127;
}  // namespace

bool is_runtime_name(std::string_view name) {
    constexpr std::string_view kStart = "rdma-";
    if (name == kRuntimeName)
        return true;
    return name.starts_with(kStart) && name.size() > kStart.size() && name.size() <= kLongestName &&
           name.back() != '-' && std::ranges::all_of(name, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
           });
}

std::string path_of_named(const std::string& name) {
    return fmt::format("{}/{}", kNamedFolder, name);
}

bool is_ours(const std::string& name, const std::string& program) {
    return program.ends_with(kProgram) || (is_runtime_name(name) && program == path_of_named(name));
}

Result<std::string> text_of_named(const std::string& rdma_runtime, const std::string& low_level) {
    std::string line = fmt::format("#!{}{}{}", rdma_runtime, kOption, low_level);
    if (line.size() > kLongestLine)
        return make_error(Code::Unsupported,
                          fmt::format("the path {} is too long for the first line of a program",
                                      base::printable(low_level)))
            .advise("make a symbolic link to it");
    return line + "\n";
}

Result<std::string> low_level_of(const std::string& path, const std::string& text) {
    const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
    const auto option = line.find(kOption);
    if (line.starts_with("#!/") && option != std::string_view::npos &&
        line.substr(0, option).ends_with(kProgram))
        return std::string(line.substr(option + kOption.size()));
    return make_error(Code::BadConfig, path + " is not as rdmactl writes it")
        .advise("run: rdmactl runtime configure");
}

}  // namespace engines
