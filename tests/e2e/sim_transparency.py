#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""On the modelled core a program does what it does natively: the same output, errors and exit status; and every
process is profiled, or named where it is not."""
import os
import re
import shutil
import signal
import subprocess
import time

import td

PLUGIN = os.path.join(td.BUILD, "tdprof-sim-plugin.so")
if not os.path.exists(PLUGIN):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")
FOLDER = td.scratch("work")
os.makedirs(FOLDER)
# The shell that a shell's variable says it is, and what a test's own folder is called, are the same in both runs.
ENVIRONMENT = {**os.environ, "_": "x"}
OUT = td.scratch("sim.td")


def native(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=FOLDER,
                          env=ENVIRONMENT, timeout=60, check=False)
    # As a shell would say it.
    return (done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout, done.stderr)


def modelled(command, quiet=True):
    done = subprocess.run([td.TDREC, *(["-q"] if quiet else []), "--source", "sim", "-o", OUT, "--", *command],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=FOLDER,
                          env=ENVIRONMENT, timeout=230, check=False)
    return (done.returncode, done.stdout, done.stderr)


def same(*command):
    expected, got = native(command), modelled(command)
    td.check(expected == got, f"{' '.join(command)}:\nnatively  {expected}\nmodelled  {got}")
    return td.report_json(OUT)


def processes(data=None):
    """Names of the processes in the profile."""
    rows = td.report_json(OUT, "threads")["threads"] if data is None else data
    return {row["process"] for row in rows}


def compile_c(name, text, *options):
    source = os.path.join(FOLDER, name + ".c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    td.run(["gcc", "-O1", "-o", os.path.join(FOLDER, name), source, *options])
    return "./" + name


def environment():
    same("env")
    same("cat", "/proc/self/comm")
    same("sh", "-c", "pwd; ulimit -a; umask; echo $0")
    same("bash", "-c", 'exec -a another sh -c "echo \\$0"')
    same("sh", "-c", "cat /proc/self/status | grep -E 'Sig(Blk|Ign)'")


def shells():
    same("sh", "-c", "ls /usr | sort -r | head -3 | tr a-z A-Z; exit 7")
    wanted = {"sh", "ls", "sort", "head", "tr"}
    found = processes()
    td.check(wanted <= found, f"missing in the profile: {wanted - found} (there are {found})")
    same("bash", "-c", "trap 'echo caught' USR1; kill -USR1 $$; echo after; sleep 0.1 & wait $!; echo $?")


def signals():
    for name in ("TERM", "KILL", "SEGV", "ABRT", "ILL"):
        data = same("sh", "-c", f"echo before; kill -{name} $$")
        td.check(data["profile"]["instructions"] > 10000, f"nothing of a program killed by {name} is in the profile")
    same("bash", "-c", "sleep 5 & kill -9 $!; wait $! 2>/dev/null; echo $?")


def executed():
    """A signal that comes while a process executes another program is not lost, and what the first has blocked stays
    blocked, all signals among it."""
    same(td.workload("signalled"), "40", "100")
    for words in (["env", "--block-signal=TERM"], ["env", "--block-signal"]):
        same(*words, "sh", "-c", "kill -TERM $$; echo alive")
        td.check("sh" in processes(), f"{words}: {processes()}")


def scripts():
    same("/usr/bin/perl", "-e", 'print "$0 $^X\\n"; system("echo hi"); exit 5')
    same("/usr/bin/python3", "-Sc", "import os, sys; print(sys.argv, os.getcwd(), os.readlink('/proc/self/exe')); "
         "print(os.spawnlp(os.P_WAIT, 'sh', 'sh', '-c', 'exit 3'))")
    path = os.path.join(FOLDER, "script")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh -e\necho $0 $1 $-\nfalse\n")
    os.chmod(path, 0o755)
    same("./script", "one two")


def make():
    td.need("make")
    for name in ("one", "two"):
        with open(os.path.join(FOLDER, f"{name}.c"), "w", encoding="utf-8") as file:
            file.write(f"int {name}(void) {{ return {len(name)}; }}\n")
    with open(os.path.join(FOLDER, "Makefile"), "w", encoding="utf-8") as file:
        file.write("all: one.o two.o\n\tcat one.o two.o | wc -l >/dev/null\n%.o: %.c\n\t@cp $< $@; echo made $@\n")
    expected = native(["make", "-s", "-j2"])
    subprocess.run(["rm", os.path.join(FOLDER, "one.o"), os.path.join(FOLDER, "two.o")], check=True)
    got = modelled(["make", "-s", "-j2"])
    td.check((expected[0], sorted(expected[1].split(b"\n")), expected[2]) ==
             (got[0], sorted(got[1].split(b"\n")), got[2]), f"make:\n{expected}\n{got}")
    wanted = {"make", "cp", "cat", "wc"}
    td.check(wanted <= processes(), f"{wanted - processes()} are missing")


def threads():
    program = compile_c("threads", r"""
#include <pthread.h>
#include <stdio.h>
static volatile long sums[4];
static void *work(void *arg) { for (long i = 0; i < 300000; i++) sums[(long)arg] += i; return 0; }
int main(void) { pthread_t t[4]; for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void *)i);
for (int i = 0; i < 4; i++) pthread_join(t[i], 0); printf("%ld\n", sums[0] + sums[3]); return 4; }
""", "-pthread")
    data = same(program)
    td.check(data["profile"]["instructions"] > 4 * 300000 * 3, f"{data['profile']['instructions']} instructions")
    rows = td.report_json(OUT, "threads")["threads"]
    td.check(len(rows) == 5, f"{len(rows)} threads: {rows}")
    # Threads that do next to nothing are known by their numbers, too, while the first writes what it did.
    program = compile_c("waiting", r"""
#include <pthread.h>
#include <unistd.h>
static volatile long sum;
static void spin(long n) { for (long i = 0; i < n; i++) sum += i; }
static void *wait(void *arg) { spin(1000); usleep(400000); spin(1000); return arg; }
int main(void) { pthread_t t[12]; for (int i = 0; i < 12; i++) pthread_create(&t[i], 0, wait, 0);
spin(8000000); for (int i = 0; i < 12; i++) pthread_join(t[i], 0); return 0; }
""", "-pthread")
    same(program)
    rows = td.report_json(OUT, "threads")["threads"]
    td.check(len(rows) == 13 and all(row["tid"] and row["thread"] for row in rows), f"{len(rows)} threads: {rows}")


def forks():
    """A server that forks a child a request; vfork and posix_spawn; a child that outlives nothing."""
    program = compile_c("server", r"""
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static volatile long sum;
static void work(long n) { for (long i = 0; i < n; i++) sum += i; }
int main(void) {
    int status;
    for (int i = 0; i < 5; i++) if (fork() == 0) { work(200000); _exit(i); }
    for (int i = 0, all = 0; i < 5; i++) { wait(&status); all += WEXITSTATUS(status); if (i == 4) printf("%d\n", all); }
    fflush(stdout);
    if (vfork() == 0) { execlp("echo", "echo", "vforked", (char *)0); _exit(1); }
    wait(&status);
    char *argv[] = {"echo", "spawned", 0};
    pid_t pid;
    posix_spawnp(&pid, "echo", 0, 0, argv, environ);
    wait(&status);
    abort();
}
""")
    data = same(program)
    td.check(data["profile"]["instructions"] > 5 * 200000 * 3, f"{data['profile']['instructions']} instructions")
    td.check({"server", "echo"} <= processes(), f"{processes()}")


def thread_forks():
    """A child has the one thread that forked it. (QEMU fails when that starts others.)"""
    program = compile_c("thread_forks", r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long sums[4];
static pthread_barrier_t all;
static void *work(void *arg) {
    for (long i = 0; i < 100000; i++) sums[(long)arg] += i;
    pthread_barrier_wait(&all);
    if (arg == (void *)2 && fork() == 0) {
        for (long i = 0; i < 100000; i++) sums[2] += i;
        _exit(0);
    }
    if (arg == (void *)2) wait(0);
    pthread_barrier_wait(&all);
    return 0;
}
int main(void) { pthread_t t[4]; pthread_barrier_init(&all, 0, 4);
for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void *)i);
for (int i = 0; i < 4; i++) pthread_join(t[i], 0); printf("%ld\n", sums[0] + sums[2]); return 0; }
""", "-pthread")
    same(program)
    rows = td.report_json(OUT, "threads")["threads"]
    td.check(len(rows) == 5 + 1, f"{len(rows)} threads: {rows}")
    counted = re.findall(r"counter \d+ threads=(\d+)", td.report(OUT, "dump"))[-1]
    td.check(counted == "6", f"{counted} threads counted")


def busy_forks():
    """Forks in the middle of misses: what the model holds then must not stay held in the child."""
    program = compile_c("busy", r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
enum { LINES = 1 << 17, STEPS = 10000 };
static struct { long next, pad[7]; } lines[LINES];
int main(void) {
    long at = 0, failed = 0;
    int status = 0;
    for (long i = 0; i < LINES; i++) lines[i].next = (i * 40503 + 12345) % LINES;
    for (int i = 0; i < 60; i++) {
        for (int k = 0; k < STEPS; k++) at = lines[at].next;
        if (fork() == 0) { for (int k = 0; k < 100; k++) at = lines[at].next; _exit(at < 0); }
        wait(&status);
        failed += status != 0;
    }
    printf("%ld %ld\n", at, failed);
    return 0;
}
""")
    same(program)
    rows = td.report_json(OUT, "threads")["threads"]
    td.check(len(rows) == 61, f"{len(rows)} threads of 61 processes")


def forked_threads():
    """A forked child of a program with threads makes threads of its own, which QEMU alone does not survive."""
    program = compile_c("forked", r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *p) { volatile long s = 0; for (long i = 0; i < 20000; i++) s += i; return p; }
static int two(void) {
    pthread_t a, b;
    int failed = pthread_create(&a, 0, work, 0);
    failed |= pthread_create(&b, 0, work, 0);
    return failed | pthread_join(a, 0) | pthread_join(b, 0);
}
int main(void) {
    pthread_t t;
    int status = 0;
    pthread_create(&t, 0, work, 0);
    if (fork() == 0) _exit(two() ? 9 : 7);
    wait(&status);
    pthread_join(t, 0);
    printf("%d\n", WEXITSTATUS(status));
    return 0;
}
""", "-pthread")
    same(program)
    rows = td.report_json(OUT, "threads")["threads"]
    td.check(len(rows) == 5, f"{len(rows)} threads of 5: {rows}")


def serial_threads():
    """Threads that run one after another, each with the number of the one before, have a row each."""
    program = compile_c("serial", r"""
#include <pthread.h>
static void *work(void *p) { volatile long s = 0; for (long i = 0; i < (long)p; i++) s += i; return 0; }
int main(void) {
    for (long i = 1; i <= 5; i++) {
        pthread_t t;
        if (pthread_create(&t, 0, work, (void *)(i * 20000)) || pthread_join(t, 0)) return 1;
    }
    return 0;
}
""", "-pthread")
    data = same(program)
    rows = td.report_json(OUT, "threads")["threads"]
    main = next(row for row in rows if row["tid"] == row["pid"])
    counts = sorted(row["instructions"] for row in rows if row is not main)
    td.check(len({row["tid"] for row in rows}) == 6, f"{len(rows)} threads of 6: {rows}")
    td.check(all(6 * 20000 * i <= n <= 6 * 20000 * i + 5000 for i, n in enumerate(counts, 1)), f"{counts}")
    td.check(sum(counts) + main["instructions"] == data["profile"]["instructions"], f"{data['profile']}: {rows}")


def hostile():
    """A program that closes every descriptor, changes its root and its user, and dies of SIGKILL."""
    program = compile_c("hostile", r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) static void closed(long n) { for (long i = 0; i < n; i++) sum += i; }
int main(void) {
    closefrom(0);
    if (geteuid() == 0 && (chroot("/var/empty") < 0 && chroot("/var") < 0)) return 9;
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0) return 8;
    if (fork() == 0) { closed(500000); _exit(0); }
    closed(500000);
    wait(0);
    raise(SIGKILL);
}
""", "-g")
    data = same(program)
    rows = [row for row in data["functions"] if row["function"] == "closed"]
    td.check(rows and data["profile"]["instructions"] > 2 * 500000 * 3, f"{data['profile']}: {rows}")


def killed_waiting():
    """Killed from outside while it waits: what it did before is in the profile."""
    program = compile_c("waits", r"""
#include <stdio.h>
#include <unistd.h>
static volatile long sum;
int main(void) { for (long i = 0; i < 400000; i++) sum += i; printf("%d\n", (int)getpid()); fflush(stdout);
for (long i = 0; i < 400000; i++) sum += i; pause(); }
""")
    child = subprocess.Popen([td.TDREC, "-q", "--source", "sim", "-o", OUT, "--", program], cwd=FOLDER,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    pid = int(child.stdout.readline())
    for _ in range(600):
        with open(f"/proc/{pid}/syscall", encoding="utf-8") as file:
            if file.read().startswith(("34 ", "130 ")):  # pause; as QEMU does it, rt_sigsuspend
                break
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    child.wait(timeout=60)
    td.check(child.returncode == 128 + signal.SIGKILL, f"exit {child.returncode}")
    data = td.report_json(OUT)
    td.check(data["profile"]["instructions"] > 2 * 400000 * 3, f"{data['profile']['instructions']} instructions")


def handlers():
    """Handlers of signals are entered with the stack as the ABI wants it, also on a stack of their own; they can
    unwind, jump away and return; and a program sees the handlers that it set."""
    program = compile_c("handlers", r"""
#define _GNU_SOURCE
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
static sigjmp_buf away;
static char *volatile page;
static volatile double sum = 1;
static volatile int repaired, jumped;
static void simple(int s) { void *frames[20]; printf("%d %d %d\n", s, (int)((uintptr_t)__builtin_frame_address(0) % 16),
backtrace(frames, 20) > 3); }
static void full(int s, siginfo_t *info, void *context) {
    ucontext_t *c = context;
    if (s == SIGUSR2) { printf("%d %d %d\n", info->si_signo, info->si_pid > 0, c->uc_mcontext.fpregs != 0); return; }
    if ((char *)info->si_addr == page) { repaired++; mprotect(page, 4096, PROT_READ | PROT_WRITE); return; }
    jumped++;
    siglongjmp(away, 1);
}
int main(void) {
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    struct sigaction a = {.sa_handler = simple}, old, f = {.sa_sigaction = full, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&stack, 0);
    sigaction(SIGUSR1, &a, 0);
    sigaction(SIGUSR2, &f, &old);
    printf("%d\n", old.sa_handler == SIG_DFL);
    f.sa_flags |= SA_NODEFER;
    sigaction(SIGSEGV, &f, 0);
    raise(SIGUSR1);
    raise(SIGUSR2);
    for (int i = 0; i < 20; i++) {
        page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *page = 7;
        sum *= 1.5;
        if (!sigsetjmp(away, 1)) *(volatile int *)8 = 1;
    }
    printf("%d %d %f\n", repaired, jumped, sum);
    signal(SIGUSR1, SIG_IGN);
    sigaction(SIGUSR1, 0, &old);
    printf("%d\n", old.sa_handler == SIG_IGN);
    signal(SIGUSR1, simple);
    printf("%d\n", signal(SIGUSR1, SIG_DFL) == simple);
    printf("%d\n", sigaction(SIGKILL, &a, 0));
    sigaction(SIGUSR2, 0, &old);
    printf("%d\n", old.sa_sigaction == full);
    fflush(stdout);
    a.sa_flags = SA_RESETHAND;
    sigaction(SIGTERM, &a, 0);
    raise(SIGTERM);
    fflush(stdout);
    raise(SIGTERM);
}
""", "-O2", "-g")
    same(program)


def mapped_twice():
    """Code that is written through one mapping and executed through another, by a compiler that can do without."""
    program = compile_c("twice", r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3};
int main(void) {
    int fd = memfd_create("code", 0);
    if (ftruncate(fd, 4096) < 0) return 9;
    unsigned char *to = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned char *run = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    if (run == MAP_FAILED)
        to = run = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 1; i < 5; i++) {
        code[1] = (unsigned char)i;
        memcpy(to, code, sizeof(code));
        printf("%d\n", ((int (*)(void))run)());
    }
    return 0;
}
""")
    same(program)
    td.check("'twice' asked for code that is written through another mapping" in " ".join(td.report(OUT).split()),
             "the report does not say so")


def own_executable():
    """Who executes /proc/self/exe means the program, not the emulator."""
    program = compile_c("again", r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
int main(int argc, char **argv) {
    char path[40] = "/proc/self/exe", *again[] = {"two", "x", 0}, *third[] = {"three", "x", "y", 0};
    printf("%s %d\n", argv[0], argc);
    fflush(stdout);
    if (argc == 1) { chdir("/"); execv(path, again); return 1; }
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)getpid());
    if (argc == 2) { execv(path, third); return 2; }
    return 3;
}
""")
    same(program)


def missing():
    """What the emulator does not have is named."""
    program = compile_c("asks", r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <linux/seccomp.h>
int main(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    setrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = 1 << 30;
    setrlimit(RLIMIT_AS, &limit);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    unshare(CLONE_NEWUSER);
    return 0;
}
""")
    code, _, err = modelled([program], quiet=False)
    told = re.findall(rb"'asks' asked for ([^,]*), which the emulator does not have", err)
    wanted = [b"a limit of address space", b"a user namespace", b"ptrace", b"seccomp"]
    td.check(code == 0 and sorted(told) == wanted, f"{code}: {err!r}")
    td.check("asked for ptrace" in " ".join(td.report(OUT).split()), "the report does not say so")


def unprofiled():
    """What cannot be emulated runs natively, and the profile says so."""
    path = os.path.join(FOLDER, "setuid")
    shutil.copy("/bin/true", path)
    os.chmod(path, 0o4755)
    code, _, err = modelled(["sh", "-c", "./setuid && echo ran"], quiet=False)
    td.check(code == 0 and b"not modelled" in err and b"setuid" in err, f"{code}: {err!r}")
    td.check("not modelled" in td.report(OUT), "the report does not name what was not modelled")
    code, _, err = modelled(["./setuid"], quiet=False)
    td.check(code == 125 and b"setuid" in err and err.count(b"\n") == 1, f"{code}: {err!r}")
    # Only the kernel can still open a file whose descriptor the execution closes.
    program = compile_c("closing", r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
extern char **environ;
int main(void) { char *argv[] = {"echo", "ran", 0}; fexecve(open("/bin/echo", O_RDONLY | O_CLOEXEC), argv, environ);
return 1; }
""")
    code, out, _ = modelled([program])
    td.check(code == 0 and out == b"ran\n", f"{code}: {out!r}")
    td.check("closed on exec" in td.report(OUT), "the report does not name what was not modelled")


def avx512():
    program = compile_c("wide", r"""
#include <immintrin.h>
volatile float g;
int main(void) { __m512 a = _mm512_set1_ps(g); a = _mm512_add_ps(a, a); float f[16]; _mm512_storeu_ps(f, a);
for (int i = 0; i < 16; i++) g += f[i]; return 0; }
""", "-mavx512f")
    code, _, err = modelled([program], quiet=False)
    td.check(code == 132, f"exit {code}")
    td.check(b"AVX-512" in err and b"wide+0x" in err and b"zmm" in err and b"-march=x86-64-v3" in err, f"{err!r}")
    td.check("AVX-512" in td.report(OUT), "the report does not say so")
    marked = compile_c("marked", "int main(void) { return 0; }\n", "-Wl,-z,x86-64-v4")
    code, _, err = modelled([marked], quiet=False)
    td.check(code == 125 and b"AVX-512" in err, f"{code}: {err!r}")
    # QEMU 7.2 reads index 4 of a gather as none; where it does not, the note is still no error.
    gather = compile_c("gather", r"""
#include <immintrin.h>
int table[64];
int main(void) {
    __m256i to, mask = _mm256_set1_epi32(-1);
    __asm__ volatile("vpxor %%ymm4, %%ymm4, %%ymm4; vpgatherdd %1, (%2,%%ymm4,4), %0"
                     : "=&x"(to), "+x"(mask) : "r"(table) : "xmm4");
    return _mm256_extract_epi32(to, 0);
}
""", "-mavx2")
    code, _, err = modelled([gather], quiet=False)
    td.check(code == 0 and b"gather" in err, f"{code}: {err!r}")
    td.check("gather by xmm4 or ymm4" in " ".join(td.report(OUT).split()), "the report does not say so")
    trap = compile_c("trap", "int main(void) { __builtin_trap(); }\n")
    code, _, err = modelled([trap], quiet=False)
    td.check(code == 132 and b"AVX" not in err, f"{code}: {err!r}")


def node():
    td.need("node")
    same("node", "-e", "console.log([3, 1, 2].sort().join()); process.exit(6)")


td.cases({"environment": environment, "shells": shells, "signals": signals, "executed": executed, "scripts": scripts,
          "make": make,
          "threads": threads, "forks": forks, "thread_forks": thread_forks, "busy_forks": busy_forks,
          "forked_threads": forked_threads, "serial_threads": serial_threads, "hostile": hostile,
          "killed_waiting": killed_waiting, "handlers": handlers, "mapped_twice": mapped_twice,
          "own_executable": own_executable, "missing": missing, "unprofiled": unprofiled, "avx512": avx512, "node": node})
