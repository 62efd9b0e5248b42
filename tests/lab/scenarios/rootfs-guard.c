// SPDX-License-Identifier: Apache-2.0
// Stands at the door of a file system: whoever opens a file of it is asked for by the kernel first
// (fanotify(7), FAN_OPEN_PERM), in whatever mount namespace and by whatever path. A program of ours
// is refused, and killed. Built and used by rootfs.sh.
//   rootfs-guard FILE-OF-THE-FILE-SYSTEM
// Standard output: "ready"; then "killed PROGRAM FILE" for each open of ours; at SIGTERM "others
// N", how many opens there were of others. What is opened as a place alone (O_PATH) is no open for
// the kernel, nor is the start of a program.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

static const char* const ours[] = {
    "/usr/bin/rdma-hook", "/usr/bin/rdma-runtime", "/usr/bin/rdmactl"};
static volatile sig_atomic_t ended;

static void die(const char* what) {
    perror(what);
    exit(1);
}

static void end(int signal) {
    (void)signal;
    ended = 1;
}

// "": it has ended, or is no program but the kernel.
static void read_link(const char* link, char* to) {
    const ssize_t length = readlink(link, to, PATH_MAX - 1);
    to[length < 0 ? 0 : length] = 0;
}

static int is_ours(const char* program) {
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; ++i)
        if (strcmp(program, ours[i]) == 0)
            return 1;
    return 0;
}

static unsigned answer(int guard, const struct fanotify_event_metadata* event) {
    char link[64], program[PATH_MAX], file[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", event->pid);
    read_link(link, program);
    const int killed = is_ours(program);
    if (killed) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", event->fd);
        read_link(link, file);
        printf("killed %s %s\n", program, file);
        kill(event->pid, SIGKILL);
    }
    const struct fanotify_response response = {.fd = event->fd,
                                               .response = killed ? FAN_DENY : FAN_ALLOW};
    if (write(guard, &response, sizeof response) != sizeof response)
        die("answer");
    close(event->fd);
    return !killed;
}

int main(int argc, char** argv) {
    if (argc != 2)
        return 64;
    setvbuf(stdout, NULL, _IOLBF, 0);
    const struct sigaction action = {.sa_handler = end};  // without SA_RESTART: read() comes back
    sigaction(SIGTERM, &action, NULL);
    const int guard =
        fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_UNLIMITED_QUEUE, O_RDONLY);
    if (guard < 0)
        die("fanotify_init");
    if (fanotify_mark(guard, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN_PERM, AT_FDCWD, argv[1]) <
        0)
        die("fanotify_mark");
    puts("ready");
    unsigned others = 0;
    char events[8192];
    while (!ended) {
        const ssize_t got = read(guard, events, sizeof events);
        ssize_t left = got;
        for (const struct fanotify_event_metadata* event = (void*)events;
             left > 0 && FAN_EVENT_OK(event, left);
             event = FAN_EVENT_NEXT(event, left))
            others += answer(guard, event);
    }
    printf("others %u\n", others);
    return 0;
}
