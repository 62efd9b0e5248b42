// SPDX-License-Identifier: Apache-2.0
#include "netns/kernel/link_change.h"

#include <cerrno>

#include <net/if.h>

namespace netns {

using base::Code;
using base::Error;

namespace {
constexpr size_t kAliasSpace = 256;  // IFALIASZ

}  // namespace

Result<> check_change(const std::string& what, const LinkChange& change) {
    const bool good =
        !change.name ||
        (!change.name->empty() && change.name->size() < IFNAMSIZ && *change.name != "." &&
         *change.name != ".." && change.name->find_first_of("/:% \t\n\v\f\r") == std::string::npos);
    if (!good)
        return base::sys_error(EINVAL, what + ", name " + base::printable(*change.name))
            .as(Code::BadInput);
    if (change.alias && change.alias->size() >= kAliasSpace)
        return base::sys_error(ERANGE, what + ", alias").as(Code::BadInput);
    if (change.index && (*change.index == 0 || *change.index > INT32_MAX))
        return base::sys_error(ERANGE, what + ", index").as(Code::BadInput);
    return {};
}

Error explain_change(const LinkChange& change, Error refusal) {
    switch (refusal.sys) {
        case EEXIST:
            return std::move(refusal).as(Code::Busy,
                                         change.name
                                             ? "an interface there has the name " +
                                                   base::printable(*change.name) + ", or this one's"
                                             : "an interface there has this one's name");
        case EAGAIN:
        case EBUSY:
        case EADDRINUSE:
            return std::move(refusal).as(Code::Busy);
        case ENODEV:
            return std::move(refusal).as(Code::Unavailable);
        case EADDRNOTAVAIL:
            return std::move(refusal).as(
                Code::BadInput,
                "the MAC is no unicast address, or the PF has set another for this VF");
        case EINVAL:
        case ERANGE:
            return std::move(refusal).as(Code::BadInput);
        case EOPNOTSUPP:
            return std::move(refusal).as(Code::Unsupported);
        case EPERM:
            return std::move(refusal).advise("run as root");
        default:
            return refusal;
    }
}

}  // namespace netns
