// SPDX-License-Identifier: Apache-2.0
// Interrupter: a deadline for calls that have none.
#pragma once

#include <thread>

#include <pthread.h>

#include "perf/base/names.h"
#include "perf/verbs/cm/wait.h"

namespace perf {

// For a call of this thread that may sleep in the kernel for minutes: while the object lives, the
// call is interrupted (EINTR) once the wait is over. Soft-iWARP's rdma_connect() is one: it waits
// for TCP. Uses SIGURG, whose handler does nothing.
class Interrupter {
  public:
    Interrupter(const Deadline& deadline, const CmWait& wait);
    ~Interrupter();
    Interrupter(const Interrupter&) = delete;
    Interrupter& operator=(const Interrupter&) = delete;
    Interrupter(Interrupter&&) = delete;
    Interrupter& operator=(Interrupter&&) = delete;

    // The call is over. An error if the wait ended before it.
    Result<> finish();

  private:
    void watch(const Deadline& deadline, const CmWait& wait);

    UniqueFd done_;
    pthread_t caller_;
    Result<> outcome_;
    std::thread watcher_;
};

}  // namespace perf
