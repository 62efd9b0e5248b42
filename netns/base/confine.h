// SPDX-License-Identifier: Apache-2.0
// Confine: what a program gives up before it works on what others wrote. After confine()
// - the process has no privilege but those of its profile, and can get none back (no_new_privs;
//   capabilities are dropped from the permitted, effective, inheritable and ambient set; the
//   bounding set is for exec, which nothing may call);
// - a system call that is not in the profile's list (confine_calls.cc, with a reason each) is not
//   made: it answers ENOSYS, so that a library which tries something new goes on as on an older
//   kernel. One that nothing but an attack makes kills the process: to start a program or a
//   process, to trace another one, to make code, to load a module, to enter or mount what is not
//   listed. Both are in the kernel's log ("type=1326"; sig=31 is a death).
// What it does not do: paths cannot be filtered by seccomp, and Landlock, which can, takes from a
// process all mounts, the pins of network namespaces among them. So a file can still be opened by
// whoever could before; what keeps the hook out of root file systems is that it acts through
// descriptors (netns/placement.h).
// For mains alone: there is no way back, and a test that called it would be confined, too. The
// filters are made at build time (confine_generator.cc), so no program needs libseccomp. Under a
// sanitizer, whose runtime makes calls of its own, nothing is done. Relies on seccomp(2) with
// SECCOMP_FILTER_FLAG_LOG (4.14); from: seccomp(2), capabilities(7), seccomp_export_bpf(3).
#pragma once

#include <functional>

#include "netns/base/result.h"

namespace base {

enum class Profile {
    Hook,   // attach, undo and everything on the way: each of our calls may have to undo another's
    Look,   // read and ask; changes nothing
    Serve,  // rdma-perf's server: verbs, rdma_cm, TCP
};

// What a call that is not listed brings, as this was built.
enum class Unlisted { IsRefused, IsLogged, Passes };
Unlisted unlisted();

// All threads of the process. An error: the kernel refuses, and nothing may go on.
Result<> confine(Profile profile);

// Call it before the first std::thread of a profile that has threads; for Profile::Serve confine()
// has done so. glibc tries clone3() first, which is not listed; a second filter keeps that out of
// the kernel's log. Each filter costs every stage of a container's start, and few of them make a
// thread.
Result<> expect_threads();

// What all of our programs on the host begin with, whoever started them: no environment, no file
// that others may write.
void clean_surroundings();

// Does the work in a confined process of its own, for a program that must start others afterwards.
// Only the outcome comes back; what the work changes in memory stays there. If the process dies,
// whether by the filter or by somebody else, that is an error; if we die, the kernel kills it. For
// programs with one thread.
Result<> run_apart(Profile profile, const std::function<Result<>()>& work);

}  // namespace base
