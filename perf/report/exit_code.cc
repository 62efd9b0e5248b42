// SPDX-License-Identifier: Apache-2.0
#include "perf/report/exit_code.h"

#include <cerrno>

namespace perf {

Exit exit_of(const Error& error) {
    if (error.sys == ECANCELED)
        return Exit::Interrupted;
    switch (error.code) {
        case Code::Internal:
            return Exit::Internal;
        case Code::Usage:
        case Code::Refused:
            return Exit::Usage;
        case Code::BadInput:  // after the command line is read, only the peer gives input
            return Exit::Version;
        case Code::BadConfig:
        case Code::Kernel:
            return Exit::Environment;
        case Code::Unsupported:
            return Exit::Environment;
        case Code::Busy:
        case Code::Unavailable:
            return Exit::Peer;
        case Code::Timeout:
            return Exit::Deadline;
    }
    return Exit::Internal;
}

}  // namespace perf
