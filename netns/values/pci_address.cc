// SPDX-License-Identifier: Apache-2.0
#include "netns/values/pci_address.h"

#include <algorithm>

#include "netns/base/ascii.h"

namespace netns {

namespace {
bool is_hex(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    });
}
}  // namespace

// The kernel prints "%04x:%02x:%02x.%d". The domain of a bridge made by a driver (VMD) has more
// than four digits, and then no leading zero. A device is at most 1f, a function at most 7.
bool is_pci_address(std::string_view text) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon < 4 || colon > 8 || text.size() != colon + 8)
        return false;
    const std::string_view domain = text.substr(0, colon);
    const std::string_view bus = text.substr(colon + 1, 2);
    const std::string_view device = text.substr(colon + 4, 2);
    const char function = text[colon + 7];
    return is_hex(domain) && (colon == 4 || domain.front() != '0') && is_hex(bus) &&
           text[colon + 3] == ':' && is_hex(device) && device.front() <= '1' &&
           text[colon + 6] == '.' && function >= '0' && function <= '7';
}

bool is_before(std::string_view address, std::string_view other) {
    return address.size() != other.size() ? address.size() < other.size() : address < other;
}

// Bus and device become parts of paths in sysfs.
bool is_devlink_handle(std::string_view text) {
    constexpr size_t kMost = 128;
    const auto is_part = [](std::string_view part) {
        return !part.empty() && part.front() != '.' && part.find("..") == std::string_view::npos &&
               std::all_of(part.begin(), part.end(), [](char c) {
                   return c > ' ' && c <= '~' && c != '/';
               });
    };
    const size_t slash = text.find('/');
    return slash != std::string_view::npos && text.size() <= kMost &&
           is_part(text.substr(0, slash)) && is_part(text.substr(slash + 1));
}

// The grammar of annotations and of their schema: it is narrower than what devlink could name.
bool is_function_name(std::string_view text) {
    constexpr size_t kMostOfAPart = 63;
    const auto is_part = [&](std::string_view part) {
        return !part.empty() && part.size() <= kMostOfAPart && part.front() != '.' &&
               base::is_made_of(part, "_.:-");
    };
    const size_t slash = text.find('/');
    if (slash == std::string_view::npos)
        return is_pci_address(text);
    return text.substr(0, slash) != "pci" && is_part(text.substr(0, slash)) &&
           is_part(text.substr(slash + 1));
}

std::string devlink_handle(const std::string& function) {
    return is_pci_address(function) ? "pci/" + function : function;
}

std::string function_of(const std::string& handle) {
    const std::string device = device_of(handle);
    return is_pci_address(device) ? device : handle;
}

std::string device_of(const std::string& function) {
    return function.substr(function.find('/') + 1);  // npos + 1 is 0: an address stays as it is
}

}  // namespace netns
