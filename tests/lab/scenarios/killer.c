// SPDX-License-Identifier: Apache-2.0
// Kills rdma-hook or rdma-runtime when it has come back from its Kth call that changes something: built and used by
// killer-lib.sh. A BPF program at the end of each system call counts those of processes with the right names and sends SIGKILL
// from there, so that the caller dies before it runs another instruction. Nothing is put around the programs: their parents, their
// paths and their time are as always, whoever starts them.
//
// Orders are lines on standard input, each answered by one on standard output:
//   arm K NAME...   counts from 0 in processes of these names (at most two), and kills at the Kth; 0: never
//   seen            COUNT KILLED: how many there were, and the name of the call that was the last one of somebody, or -
//   calls           the names of all of them, as far as there is room
#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WANTED = 512, LOGGED = 4096, NAMES = 2 };
// What has to be so for a call to count; all have to succeed.
enum { NEVER, ALWAYS, TO_A_FILE, THAT_MAKES, NETLINK_CHANGE, WITH_THIRD };
static const struct {
    unsigned nr;
    unsigned when;
    const char* name;
} calls[] = {
    {SYS_write, TO_A_FILE, "write"},      {SYS_pwrite64, TO_A_FILE, "pwrite"},
    {SYS_openat, THAT_MAKES, "open"},     {SYS_sendto, NETLINK_CHANGE, "send"},
    {SYS_sendmsg, NEVER, "sendmsg"},      {SYS_rename, ALWAYS, "rename"},
    {SYS_renameat, ALWAYS, "rename"},     {SYS_renameat2, ALWAYS, "rename"},
    {SYS_mkdir, ALWAYS, "mkdir"},         {SYS_mkdirat, ALWAYS, "mkdir"},
    {SYS_link, ALWAYS, "link"},           {SYS_linkat, ALWAYS, "link"},
    {SYS_symlink, ALWAYS, "symlink"},     {SYS_symlinkat, ALWAYS, "symlink"},
    {SYS_unlink, ALWAYS, "unlink"},       {SYS_unlinkat, ALWAYS, "unlink"},
    {SYS_rmdir, ALWAYS, "rmdir"},         {SYS_mknodat, ALWAYS, "mknod"},
    {SYS_chmod, ALWAYS, "chmod"},         {SYS_fchmod, ALWAYS, "chmod"},
    {SYS_fchmodat, ALWAYS, "chmod"},      {SYS_fchown, ALWAYS, "chown"},
    {SYS_mount, ALWAYS, "mount"},         {SYS_umount2, ALWAYS, "umount"},
    {SYS_open_tree, ALWAYS, "open_tree"}, {SYS_move_mount, ALWAYS, "move_mount"},
    {SYS_fsmount, ALWAYS, "fsmount"},     {SYS_mount_setattr, ALWAYS, "mount_setattr"},
    {SYS_bpf, ALWAYS, "bpf"},             {SYS_prlimit64, WITH_THIRD, "prlimit"},
    {SYS_unshare, ALWAYS, "unshare"},
};

struct control { // the program's, at its first element
    uint64_t count;
    uint64_t target;
    uint64_t killed; // number of the call, plus one
    uint64_t names[NAMES][2];
};

static int bpf(int command, union bpf_attr* attr) { return (int)syscall(SYS_bpf, command, attr, sizeof *attr); }

static void die(const char* what) {
    perror(what);
    exit(1);
}

// An element takes a multiple of 8 bytes, whatever its size.
static void* make_map(unsigned value, unsigned entries, int* fd) {
    union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = value,
                           .max_entries = entries, .map_flags = BPF_F_MMAPABLE};
    *fd = bpf(BPF_MAP_CREATE, &attr);
    if (*fd < 0)
        die("make a map");
    void* at = mmap(NULL, ((size_t)value * entries + 4095) & ~4095UL, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (at == MAP_FAILED)
        die("map a map");
    return at;
}

// ---- the program ---------------------------------------------------------------------------------------------
#define INSN(c, d, s, o, i) ((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define MOV(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_IMM(d, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD_IMM(d, i) INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define AND_IMM(d, i) INSN(BPF_ALU64 | BPF_AND | BPF_K, d, 0, 0, i)
#define LOAD(size, d, s, o) INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define STORE(size, d, s, o) INSN(BPF_STX | BPF_MEM | (size), d, s, o, 0)
#define FETCH_ADD(d, s, o) INSN(BPF_STX | BPF_ATOMIC | BPF_DW, d, s, o, BPF_ADD | BPF_FETCH)
#define CALL(f) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define JUMP(op, d, s) INSN(BPF_JMP | (op) | BPF_X, d, s, 0, 0)
#define JUMP_IMM(op, d, i) INSN(BPF_JMP | (op) | BPF_K, d, 0, 0, i)
enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };
enum { OUT = 1, MATCH, COUNT, FILE_, MAKES, NETLINK, THIRD, LABELS };

static struct bpf_insn code[200];
static int length;
static int place[LABELS]; // of a label
static struct { int at, label; } jumps[60];
static int jumped;

static void put(struct bpf_insn insn) { code[length++] = insn; }
static void jump(struct bpf_insn insn, int label) {
    jumps[jumped].at = length;
    jumps[jumped++].label = label;
    put(insn);
}
static void label(int name) { place[name] = length; }
static void lookup(int map, int key) { // R0: the element whose number is on the stack
    put(INSN(BPF_LD | BPF_DW | BPF_IMM, R1, BPF_PSEUDO_MAP_FD, 0, map));
    put(INSN(0, 0, 0, 0, 0));
    put(MOV(R2, FP));
    put(ADD_IMM(R2, key));
    put(CALL(BPF_FUNC_map_lookup_elem));
    jump(JUMP_IMM(BPF_JEQ, R0, 0), OUT);
}

static void assemble(int control, int wanted, int log) {
    enum { COMM = -16, REGS = -64, KEY = -72, BYTES = -80 };
    // Of the kernel's struct pt_regs, from ax on: ax, cx, dx, si, di, orig_ax.
    enum { AX = 80 };
    enum { THIRD_ARG = REGS + 16, SECOND_ARG = REGS + 24, FIRST_ARG = REGS + 32, NUMBER = REGS + 40 };
    put(MOV(R6, R1));
    put(MOV(R1, FP));
    put(ADD_IMM(R1, COMM));
    put(MOV_IMM(R2, 16));
    put(CALL(BPF_FUNC_get_current_comm));
    put(INSN(BPF_ST | BPF_MEM | BPF_W, FP, 0, KEY, 0));
    lookup(control, KEY);
    put(MOV(R9, R0));
    for (int i = 0; i < NAMES; ++i) {
        const int at = offsetof(struct control, names) + 16 * i;
        put(LOAD(BPF_DW, R1, FP, COMM));
        put(LOAD(BPF_DW, R2, R9, at));
        put(INSN(BPF_JMP | BPF_JNE | BPF_X, R1, R2, 3, 0)); // the next name
        put(LOAD(BPF_DW, R1, FP, COMM + 8));
        put(LOAD(BPF_DW, R2, R9, at + 8));
        jump(JUMP(BPF_JEQ, R1, R2), MATCH);
    }
    jump(INSN(BPF_JMP | BPF_JA, 0, 0, 0, 0), OUT);

    label(MATCH);
    put(LOAD(BPF_DW, R1, R6, 8));
    jump(JUMP_IMM(BPF_JSLT, R1, 0), OUT); // it failed
    put(LOAD(BPF_DW, R3, R6, 0));
    put(ADD_IMM(R3, AX));
    put(MOV(R1, FP));
    put(ADD_IMM(R1, REGS));
    put(MOV_IMM(R2, 48));
    put(CALL(BPF_FUNC_probe_read_kernel));
    put(LOAD(BPF_DW, R1, FP, NUMBER));
    put(STORE(BPF_W, FP, R1, KEY));
    lookup(wanted, KEY);
    put(LOAD(BPF_DW, R1, R0, 0));
    jump(JUMP_IMM(BPF_JEQ, R1, NEVER), OUT);
    jump(JUMP_IMM(BPF_JEQ, R1, ALWAYS), COUNT);
    jump(JUMP_IMM(BPF_JEQ, R1, TO_A_FILE), FILE_);
    jump(JUMP_IMM(BPF_JEQ, R1, THAT_MAKES), MAKES);
    jump(JUMP_IMM(BPF_JEQ, R1, WITH_THIRD), THIRD);

    // A netlink request that is acknowledged and no dump; what is sent to Open vSwitch's database passes for one.
    put(MOV(R1, FP));
    put(ADD_IMM(R1, BYTES));
    put(MOV_IMM(R2, 8));
    put(LOAD(BPF_DW, R3, FP, SECOND_ARG));
    put(CALL(BPF_FUNC_probe_read_user));
    jump(JUMP_IMM(BPF_JNE, R0, 0), OUT);
    put(LOAD(BPF_H, R1, FP, BYTES + 6));
    put(MOV(R2, R1));
    put(AND_IMM(R2, 4)); // NLM_F_ACK
    jump(JUMP_IMM(BPF_JEQ, R2, 0), OUT);
    put(AND_IMM(R1, 0x300)); // NLM_F_DUMP
    jump(JUMP_IMM(BPF_JEQ, R1, 0x300), OUT);
    jump(INSN(BPF_JMP | BPF_JA, 0, 0, 0, 0), COUNT);

    label(FILE_);
    put(LOAD(BPF_DW, R1, FP, FIRST_ARG));
    jump(JUMP_IMM(BPF_JLE, R1, 2), OUT);
    jump(INSN(BPF_JMP | BPF_JA, 0, 0, 0, 0), COUNT);

    label(MAKES);
    put(LOAD(BPF_DW, R1, FP, THIRD_ARG));
    put(AND_IMM(R1, O_CREAT));
    jump(JUMP_IMM(BPF_JEQ, R1, 0), OUT);
    jump(INSN(BPF_JMP | BPF_JA, 0, 0, 0, 0), COUNT);

    label(THIRD);
    put(LOAD(BPF_DW, R1, FP, THIRD_ARG));
    jump(JUMP_IMM(BPF_JEQ, R1, 0), OUT);

    label(COUNT);
    put(MOV_IMM(R7, 1));
    put(FETCH_ADD(R9, R7, offsetof(struct control, count)));
    put(MOV(R1, R7));
    put(AND_IMM(R1, LOGGED - 1));
    put(LOAD(BPF_W, R8, FP, KEY)); // the number of the call
    put(STORE(BPF_W, FP, R1, KEY));
    put(ADD_IMM(R7, 1));
    put(LOAD(BPF_DW, R1, R9, offsetof(struct control, target)));
    put(INSN(BPF_JMP | BPF_JNE | BPF_X, R1, R7, 5, 0));
    put(MOV(R1, R8));
    put(ADD_IMM(R1, 1));
    put(STORE(BPF_DW, R9, R1, offsetof(struct control, killed)));
    put(MOV_IMM(R1, 9));
    put(CALL(BPF_FUNC_send_signal));
    lookup(log, KEY);
    put(STORE(BPF_DW, R0, R8, 0));

    label(OUT);
    put(MOV_IMM(R0, 0));
    put(INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
    for (int i = 0; i < jumped; ++i)
        code[jumps[i].at].off = (short)(place[jumps[i].label] - jumps[i].at - 1);
}

static void attach(void) {
    static char log[65536];
    union bpf_attr load = {.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insn_cnt = (unsigned)length,
                           .insns = (uintptr_t)code, .license = (uintptr_t) "GPL",
                           .log_level = 1, .log_size = sizeof log, .log_buf = (uintptr_t)log};
    const int program = bpf(BPF_PROG_LOAD, &load);
    if (program < 0) {
        fputs(log, stderr);
        die("load the program");
    }
    union bpf_attr open = {.raw_tracepoint = {.name = (uintptr_t) "sys_exit", .prog_fd = (unsigned)program}};
    if (bpf(BPF_RAW_TRACEPOINT_OPEN, &open) < 0)
        die("attach the program");
}

// ---- orders --------------------------------------------------------------------------------------------------
static const char* name_of(unsigned nr) {
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i)
        if (calls[i].nr == nr)
            return calls[i].name;
    return "?";
}

static void arm(volatile struct control* control, char* words) {
    control->target = 0;
    memset((void*)control->names, 0, sizeof control->names);
    control->count = control->killed = 0;
    const char* target = strtok(words, " ");
    for (int i = 0; i < NAMES; ++i) {
        const char* name = strtok(NULL, " ");
        if (name != NULL)
            strncpy((char*)control->names[i], name, 15);
    }
    control->target = target == NULL ? 0 : strtoull(target, NULL, 10);
}

int main(void) {
    int control_fd, wanted_fd, log_fd;
    volatile struct control* control = make_map(sizeof *control, 1, &control_fd);
    uint64_t* wanted = make_map(sizeof *wanted, WANTED, &wanted_fd);
    volatile uint64_t* log = make_map(sizeof *log, LOGGED, &log_fd);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i)
        wanted[calls[i].nr] = calls[i].when;
    assemble(control_fd, wanted_fd, log_fd);
    attach();
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    char line[200];
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "arm ", 4) == 0) {
            arm(control, line + 4);
            puts("armed");
        } else if (strcmp(line, "seen") == 0) {
            printf("%llu %s\n", (unsigned long long)control->count,
                   control->killed != 0 ? name_of((unsigned)control->killed - 1) : "-");
        } else {
            for (uint64_t i = 0; i < control->count && i < LOGGED; ++i)
                printf("%s ", name_of((unsigned)log[i]));
            putchar('\n');
        }
    }
    return 0;
}
