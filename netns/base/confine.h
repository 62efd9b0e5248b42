// SPDX-License-Identifier: Apache-2.0
// Confine: what a program gives up before it works on foreign input. After confine():
// - The process has no privilege but those of its profile, and can regain none (no_new_privs).
//   Capabilities are dropped from the permitted, effective, inheritable and ambient sets. The
//   bounding set matters only for exec, which is forbidden.
// - A system call that is not in the profile's list (confine_calls.cc, with a reason each) is not
//   made. It answers ENOSYS, so a library that tries a newer call continues as on an older kernel.
// - A call that only an attack makes kills the process: to start a program or a process, trace
//   another one, make code, load a module, or enter or mount what is not listed.
// - The kernel's log has both ("type=1326"; sig=31 is a death).
//
// It does not filter paths. seccomp cannot, and Landlock, which can, forbids a process all mounts,
// the pins of network namespaces among them. So files stay as open as their permissions. The hook
// stays out of root file systems because it acts through descriptors (netns/placement.h).
//
// Only mains call it: there is no way back, and a test that called it would be confined, too. The
// filters are made at build time (confine_generator.cc), so no program needs libseccomp. Under a
// sanitizer, whose runtime makes calls of its own, nothing is done. Relies on seccomp(2) with
// SECCOMP_FILTER_FLAG_LOG (4.14). Sources: seccomp(2), capabilities(7).
#pragma once

#include <functional>

#include "netns/base/result.h"

namespace base {

enum class Profile {
    Hook,   // attach, undo and all in between: any stage may have to undo another's work
    Look,   // read and ask; changes nothing
    Serve,  // rdma-perf's server: verbs, rdma_cm, TCP
};

// The effect of an unlisted call in this build.
enum class Unlisted { IsRefused, IsLogged, Passes };
Unlisted unlisted();

// Confines all threads of the process. On an error the kernel has refused, and the program must
// end.
Result<> confine(Profile profile);

// Allows threads. Call it before the first std::thread of a profile that has threads; for
// Profile::Serve confine() has done so. glibc tries clone3() first, which is not listed; a second
// filter keeps that out of the kernel's log. Each filter costs every stage of a container's start,
// and few stages make a thread.
Result<> expect_threads();

// Every program of this project on the host begins with it. It clears the environment, and sets the
// umask so that no new file can be written by others.
void clean_surroundings();

// Does the work in a confined child process, for a program that must start others afterwards. Only
// the outcome comes back; changes in the child's memory stay there. If the child dies, by the
// filter or otherwise, that is an error. If this process dies, the kernel kills the child. For
// programs with one thread.
Result<> run_apart(Profile profile, const std::function<Result<>()>& work);

}  // namespace base
