// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/link_change.h"

#include <cerrno>

#include <net/if.h>

namespace netns {

using base::Code;
using base::Error;

namespace {
constexpr size_t kAliasSpace = 256;  // IFALIASZ

Error coded(Code code, Error error, std::string fix = {}) {
    error.code = code;
    return fix.empty() ? error : std::move(error).advise(std::move(fix));
}
}  // namespace

Result<> check_change(const std::string& what, const LinkChange& change) {
    const bool good =
        !change.name ||
        (!change.name->empty() && change.name->size() < IFNAMSIZ && *change.name != "." &&
         *change.name != ".." && change.name->find_first_of("/:% \t\n\v\f\r") == std::string::npos);
    if (!good)
        return coded(Code::BadInput,
                     base::sys_error(EINVAL, what + ", name " + base::printable(*change.name)));
    if (change.alias && change.alias->size() >= kAliasSpace)
        return coded(Code::BadInput, base::sys_error(ERANGE, what + ", alias"));
    if (change.index && (*change.index == 0 || *change.index > INT32_MAX))
        return coded(Code::BadInput, base::sys_error(ERANGE, what + ", index"));
    return {};
}

Error explain_change(const LinkChange& change, Error refusal) {
    switch (refusal.sys) {
        case EEXIST:
            return coded(Code::Busy,
                         std::move(refusal),
                         change.name ? "an interface there has the name " +
                                           base::printable(*change.name) + ", or this one's"
                                     : "an interface there has this one's name");
        case EAGAIN:
        case EBUSY:
        case EADDRINUSE:
            return coded(Code::Busy, std::move(refusal));
        case ENODEV:
            return coded(Code::Unavailable, std::move(refusal));
        case EADDRNOTAVAIL:
            return coded(Code::BadInput,
                         std::move(refusal),
                         "the MAC is no unicast address, or the PF has set another for this VF");
        case EINVAL:
        case ERANGE:
            return coded(Code::BadInput, std::move(refusal));
        case EOPNOTSUPP:
            return coded(Code::Unsupported, std::move(refusal));
        case EPERM:
            return std::move(refusal).advise("run as root");
        default:
            return refusal;
    }
}

}  // namespace netns
