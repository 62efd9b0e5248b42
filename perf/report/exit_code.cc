// SPDX-License-Identifier: Apache-2.0
#include "perf/report/exit_code.h"

#include <cerrno>

namespace perf {

Exit exit_of(const base::Error& error) {
    if (error.sys == ECANCELED)
        return Exit::Interrupted;
    switch (error.code) {
        case base::Code::Internal:
            return Exit::Internal;
        case base::Code::Usage:
        case base::Code::Refused:
            return Exit::Usage;
        case base::Code::BadInput:  // after the command line is read, only the peer gives input
            return Exit::Version;
        case base::Code::BadConfig:
        case base::Code::Kernel:
            return Exit::Environment;
        case base::Code::Unsupported:
            return Exit::Environment;
        case base::Code::Busy:
        case base::Code::Unavailable:
            return Exit::Peer;
        case base::Code::Timeout:
            return Exit::Deadline;
    }
    return Exit::Internal;
}

}  // namespace perf
