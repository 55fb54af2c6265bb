#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--source live: time of a native run, categories of windows of it."""
import os
import platform
import re
import signal
import subprocess
import time

import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
if platform.machine() != "x86_64":
    td.skip("live windows are of x86-64 only")
td.need("qemu-x86_64")
td.need_perf_events()

# A chain of divisions, a loop that retires, and one that chases pointers through memory, in turns.
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile unsigned long sink;
static unsigned *next_of;
enum { COUNT = 1 << 16 };
__attribute__((noinline)) static void divide(long n) {
    unsigned long x = ~0ul;
    for (long i = 0; i < n; i++) x = (x / (sink + 3)) + ~0ul / 2;
    sink = x & 1;
}
__attribute__((noinline)) static void add(long n) {
    unsigned long a = 1, b = 2, c = 3;
    for (long i = 0; i < n; i++) { a += i; b ^= i; c += b; }
    sink = (a + b + c) & 1;
}
__attribute__((noinline)) static void chase(long n) {
    unsigned at = 0;
    while (n--) at = next_of[at];
    sink = at & 1;
}
static void *work(void *ctx) {
    for (long i = 0, n = (long)ctx; n < 0 || i < n; i++) { divide(20000); add(200000); chase(20000); }
    return ctx;
}
int main(int argc, char **argv) {
    long turns = atol(argv[1]), threads = argc > 2 ? atol(argv[2]) : 0;
    pthread_t made[8];
    next_of = malloc(COUNT * sizeof(unsigned));
    for (unsigned i = 0; i < COUNT; i++) next_of[i] = (i * 40503u + 12345) % COUNT;
    for (long t = 0; t < threads; t++) pthread_create(&made[t], NULL, work, (void *)turns);
    if (!threads) work((void *)turns);
    for (long t = 0; t < threads; t++) pthread_join(made[t], NULL);
    printf("done %d\n", argc);
    return 7;
}
"""


def program(text=PROGRAM):
    path = td.scratch("program")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(text)
    td.run(["gcc", "-O1", "-g", "-pthread", "-o", path, path + ".c"])
    return path


def windows_of(stderr):
    """Of what tdrec said: images, windows."""
    found = re.search(rb"(\d+) images, (\d+) windows", stderr)
    td.check(found, f"{stderr!r}")
    return int(found.group(1)), int(found.group(2))


def judge(done, images, windows):
    """Skips where the machine gave no image, or no CPU for one."""
    if images == 0:
        td.skip("no image could be taken here: " + "; ".join(done.stderr.decode(errors="replace").splitlines()))
    late = re.search(rb"(\d+) were not run in time", done.stderr)
    tried = images - (int(late.group(1)) if late else 0)
    if windows == 0 and tried == 0:
        td.skip("no CPU was free for windows")
    if windows == 0 and tried < 5:
        td.skip("too few images could be taken here")


def record(*command, status=0, options=()):
    out = td.scratch("live.td")
    done = td.run([td.TDREC, "--source", "live", "--overhead", "50%", *options, "-o", out, "--", *command], status, timeout=110)
    images, windows = windows_of(done.stderr)
    judge(done, images, windows)
    return done, windows, out


def whole():
    """Two threads; then the same functions as the exact model has them."""
    path = program()
    done, windows, out = record(path, "400", status=7)
    td.check(done.stdout == b"done 2\n", f"{done.stdout!r}")
    td.check(windows > 0, f"{done.stderr!r}")
    data = td.report_json(out)
    td.check(data["profile"]["source"] == "live" and data["profile"]["exit"] == "exit 7", f"{data['profile']}")
    td.check(not data["profile"].get("instructions"), "instructions of the whole are not known")
    td.check(b"still runs" not in done.stderr, f"{done.stderr!r}")
    td.check(data["coverage"]["samples"] > 20 and data["coverage"]["complete"], f"{data['coverage']}")
    exact = td.scratch("exact.td")
    td.run([td.TDREC, "--source", "sim", "-o", exact, "--", path, "2"], 7, timeout=110)
    truth = {row["function"]: row for row in td.report_json(exact)["functions"]}
    compared = 0
    for row in data["functions"]:
        if row["function"] not in ("divide", "add", "chase"):
            continue
        for category in ("retiring", "bad_speculation", "frontend_bound", "backend_bound"):
            shown, known = row["categories"][category], truth[row["function"]]["categories"][category]
            if shown is None or known is None:
                continue
            compared += 1
            td.check(abs(shown - known) <= max(0.1, row["category_errors"][category]),
                     f"{row['function']}: {category} {shown}, of the exact model {known}")
    td.check(compared > 0 or windows < 5, f"{windows} windows, nothing to compare: {data['functions']}")


def threads():
    done, windows, out = record(program(), "300", "2", status=7)
    td.check(done.stdout == b"done 3\n" and windows > 0, f"{done.stdout!r} {done.stderr!r}")
    td.check(td.report_json(out)["coverage"]["complete"], "not complete")


def apart():
    """Memory that clones do not get (V8's heaps) is in the images all the same: else each window ends at its first use."""
    made = "next_of = mmap(NULL, COUNT * sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n" \
           "    madvise(next_of, COUNT * sizeof(unsigned), MADV_DONTFORK);"
    text = "#include <sys/mman.h>\n" + PROGRAM.replace("next_of = malloc(COUNT * sizeof(unsigned));", made)
    td.check(made in text, text)
    done, windows, out = record(program(text), "1500", status=7)
    td.check(windows > 0, f"{done.stderr!r}")
    shares = {row["function"]: row["categories"].get("retiring") for row in td.report_json(out)["functions"]}
    td.check(windows < 5 or shares.get("chase") is not None, f"{windows} windows, {shares}")


def interpreters():
    for command in (["perl", "-e", "my %h; for (1..1000000) { $h{$_ % 5000} .= 'x' } print scalar keys %h, qq(\\n)"],
                    ["python3", "-c", "print(sum(i * i % 7 for i in range(1500000)))"]):
        native = td.run(command, 0, timeout=60)
        done, windows, out = record(*command)
        td.check(done.stdout == native.stdout, f"{done.stdout!r}")
        td.check(windows > 0, f"{done.stderr!r}")
        td.report_json(out)


def attach():
    out = td.scratch("attached.td")
    with subprocess.Popen([program(), "-1"], stdout=subprocess.PIPE) as running:
        try:
            time.sleep(0.3)
            done = td.run([td.TDREC, "--source", "live", "--overhead", "50%", "--duration", "2", "-o", out,
                           "-p", str(running.pid)], 0, timeout=60)
            images, windows = windows_of(done.stderr)
            td.check(running.poll() is None, "the program ended")
            judge(done, images, windows)
            td.check(windows > 0, f"{done.stderr!r}")
            td.check(td.report_json(out)["profile"]["source"] == "live", "another source")
        finally:
            running.send_signal(signal.SIGKILL)
            running.wait()


STRINGS = r"""
#include <stdlib.h>
#include <string.h>
static volatile unsigned long sink;
static char text[1 << 16];
int main(int argc, char **argv) {
    memset(text, 'x', sizeof text - 1);
    for (unsigned long i = 0;; i++) sink += strlen(text + (i & 31));
}
"""


def versions():
    """The program runs strlen for AVX-512, the windows one that the emulator has."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        if not re.search(r"^flags.*\bavx512vl\b", file.read(), re.M):
            td.skip("no AVX-512 here")
    path, out = td.scratch("strings"), td.scratch("strings.td")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(STRINGS)
    td.run(["gcc", "-O1", "-g", "-fno-builtin", "-o", path, path + ".c"])
    with subprocess.Popen([path]) as running:
        try:
            time.sleep(0.3)
            done = td.run([td.TDREC, "--source", "live", "--overhead", "50%", "--duration", "2", "-o", out,
                           "-p", str(running.pid)], 0, timeout=60)
            judge(done, *windows_of(done.stderr))
        finally:
            running.send_signal(signal.SIGKILL)
            running.wait()
    data = td.report_json(out)
    rows = {row["function"]: row for row in data["functions"]}
    name = next((name for name in rows if name.startswith("__strlen_evex")), None)
    if name is None:
        td.skip("the names of the C library's own functions are not known here")
    windows = windows_of(done.stderr)[1]
    td.check(windows > 0, f"{done.stderr!r}")
    said = {one["function"]: one["categories_of"] for one in data["coverage"].get("versions", [])}
    td.check(re.match("__strlen_(avx2|sse2)", said.get(name, "")), f"{data['coverage']}")
    shares = [rows[name]["categories"][of] for of in ("retiring", "backend_bound")]
    td.check(windows < 8 or any(share is not None for share in shares), f"{windows} windows: {rows[name]}")
    td.check(data["coverage"]["uncategorized_share"] < 0.5, f"{data['coverage']}")
    for line in td.report_json(out, "lines")["lines"]:
        known = [share for share in line.get("categories", {}).values() if share is not None]
        td.check(line["function"] != name or not known, f"{line}")
    text = td.report(out).replace("\n      ", " ")
    td.check(f"for {name}" in text and "no AVX-512" in text, text)


def static():
    """A program that has its C library in itself is repaired, too: it has no symbols for it."""
    path = td.scratch("static")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(STRINGS)
    if subprocess.run(["gcc", "-O1", "-s", "-static", "-fno-builtin", "-o", path, path + ".c"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        td.skip("no C library to link statically")
    with subprocess.Popen([path]) as running:
        try:
            time.sleep(0.3)
            done = td.run([td.TDREC, "--source", "live", "--overhead", "50%", "--duration", "2", "-o", td.scratch("static.td"),
                           "-p", str(running.pid)], 0, timeout=60)
            judge(done, *windows_of(done.stderr))
        finally:
            running.send_signal(signal.SIGKILL)
            running.wait()
    images, windows = windows_of(done.stderr)
    td.check(windows > 0, f"of {images} images: {done.stderr!r}")


SHARED = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
enum { SIZE = 1 << 16 };
static char own[SIZE];
int main(void) {
    volatile unsigned long *words = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(own, 'a', SIZE);
    for (clock_t end = clock() + 2 * CLOCKS_PER_SEC; clock() < end;) {
        for (int i = 0; i < 1000; i++) memcpy((char *)words, own, SIZE);
        for (unsigned i = 0; i < SIZE / 8; i++) words[i] = 7;
        for (int k = 0; k < 500; k++)
            for (unsigned i = 0; i < SIZE / 8; i++)
                if (words[i] != 7) return 9;
    }
    return puts("as it was written") < 0;
}
"""


def shared():
    """What a program shares with others is never written by a clone, which goes on in its copying."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        if not re.search(r"^flags.*\bavx512vl\b", file.read(), re.M):
            td.skip("no AVX-512 here")
    path = td.scratch("shared")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(SHARED)
    td.run(["gcc", "-O1", "-fno-builtin", "-o", path, path + ".c"])
    done = td.run([td.TDREC, "--source", "live", "--overhead", "50%", "--windows", "40", "-o", td.scratch("shared.td"), "--",
                   path], 0, timeout=60)
    td.check(done.stdout == b"as it was written\n", f"{done.stdout!r}")
    if windows_of(done.stderr)[0] == 0:
        td.skip("no image could be taken here")


def broken():
    """An emulator that cannot run is given up, with a sentence; time is recorded all the same."""
    folder, out = td.scratch("broken"), td.scratch("broken.td")
    os.makedirs(folder)
    with open(os.path.join(folder, "qemu-x86_64"), "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nexit 3\n")
    os.chmod(os.path.join(folder, "qemu-x86_64"), 0o755)
    done = td.run([td.TDREC, "--source", "live", "--overhead", "50%", "-o", out, "--", program(), "400"], 7, timeout=110,
                  env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]})
    images, windows = windows_of(done.stderr)
    td.check(done.stdout == b"done 2\n" and windows == 0, f"{done.stdout!r} {done.stderr!r}")
    td.check(images < 8 or b"ends at once, with status 3" in done.stderr, f"{done.stderr!r}")
    data = td.report_json(out)
    td.check(data["coverage"]["samples"] > 20 and "no window was modelled" in td.report(out).replace("\n          ", " "), f"{data}")


def elsewhere():
    """A program that only its own mount namespace has."""
    path, folder = td.scratch("strings"), td.scratch("elsewhere")
    os.makedirs(folder)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(STRINGS)
    td.run(["gcc", "-O1", "-fno-builtin", "-o", path, path + ".c"])
    script = f"mount -t tmpfs none {folder} && cp {path} {folder}/own && echo there && exec {folder}/own"
    with subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        try:
            if running.stdout.readline() != b"there\n":
                td.skip("no mount namespace can be made here")
            time.sleep(0.3)
            done = td.run([td.TDREC, "--source", "live", "--overhead", "50%", "--duration", "2", "-o", td.scratch("elsewhere.td"),
                           "-p", str(running.pid)], 0, timeout=60)
            images, windows = windows_of(done.stderr)
            judge(done, images, windows)
            td.check(windows > 0, f"of {images} images: {done.stderr!r}")
        finally:
            running.send_signal(signal.SIGKILL)
            running.wait()


def environment():
    """The program's environment is the one it would have."""
    given = {"PATH": os.environ["PATH"], "HOME": td.scratch("home"), "XDG_CACHE_HOME": td.scratch("cache")}
    out = td.scratch("environment.td")
    for more in ({}, {"GLIBC_TUNABLES": "glibc.malloc.check=0"}):
        native = td.run(["env"], 0, env={**given, **more})
        done = td.run([td.TDREC, "--source", "live", "-o", out, "--", "env"], 0, timeout=60, env={**given, **more})
        td.check(done.stdout == native.stdout, f"{done.stdout!r}, natively {native.stdout!r}")


def refused():
    for words, said in ((["--windows", "5"], b"--source live"), (["--source", "clock", "--overhead", "5%"], b"--source live"),
                        (["--source", "live", "--overhead", "much"], b"percentage"),
                        (["--source", "lvie"], b"did you mean live?"), (["--source", "live", "-a"], b"-p")):
        done = td.run([td.TDREC, *words, "-o", td.scratch("x.td"), "--", "true"], 125, timeout=60)
        td.check(said in done.stderr and done.stderr.count(b"\n") <= 2, f"{words}: {done.stderr!r}")


def short():
    """What ends before the first image says so, and what gives categories then."""
    done = td.run([td.TDREC, "--source", "live", "-o", td.scratch("short.td"), "--", "true"], 0, timeout=60)
    if b"before the first image" not in done.stderr:  # a slow machine: one was due
        td.check(windows_of(done.stderr)[0] > 0 or b"no image could be taken" in done.stderr, f"{done.stderr!r}")
        return
    td.check(b"--source sim" in done.stderr, f"{done.stderr!r}")
    text = td.report(td.scratch("short.td")).replace("\n          ", " ")
    td.check("no window was modelled" in text and "modelled on core" not in text, text)


def server():
    """Windows of a server go on behind its system calls: with what it got for them itself. It never sees one interrupted."""
    path = td.workload("epoll_server")
    with subprocess.Popen([path, "serve"], stdout=subprocess.PIPE) as serving:
        port = serving.stdout.readline().decode().strip()
        with subprocess.Popen([path, "ask", port, "5"], stdout=subprocess.PIPE) as asking:
            time.sleep(0.3)
            done = td.run([td.TDREC, "--source", "live", "--overhead", "50%", "--duration", "3", "-o", td.scratch("server.td"),
                           "-p", str(serving.pid)], 0, timeout=60)
            asked = asking.communicate(timeout=60)[0].decode()
        served = serving.communicate(timeout=60)[0].decode()
    td.check(asking.returncode == 0 and serving.returncode == 0, f"{asking.returncode} {serving.returncode}")
    td.check(asked.startswith("asked ") and asked[6:] == served[7:], f"{asked!r} {served!r}")
    images, windows = windows_of(done.stderr)
    judge(done, images, windows)
    late = re.search(rb"(\d+) were not run in time", done.stderr)
    tried = images - (int(late.group(1)) if late else 0)
    whole_ones = int(re.search(rb"\((\d+) whole\)", done.stderr).group(1))
    td.check(tried < 5 or whole_ones >= 0.8 * tried, f"{whole_ones} of {tried}: {done.stderr!r}")
    td.check(b"the program's own answers" in done.stderr, f"{done.stderr!r}")


def limits():
    """Where the model has no room, it is said, and time is recorded. A full /dev/shm is no matter: nothing lies there."""
    path, out = program(), td.scratch("limits.td")
    done = td.run(["sh", "-c", 'ulimit -f 2000; exec "$@"', "sh", td.TDREC, "--source", "live", "-o", out, "--", path, "200"], 7,
                  timeout=60)
    td.check(b"only time is recorded: the limits leave no room" in done.stderr and done.stdout == b"done 2\n", f"{done!r}")
    td.check(td.report_json(out)["coverage"]["samples"] > 0, "no samples")
    td.check("no window was modelled" in td.report(out).replace("\n          ", " "), td.report(out))
    script = 'mount -t tmpfs -o size=64k none /dev/shm && echo there && { head -c 100000 /dev/zero >/dev/shm/full; exec "$@"; }'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", td.TDREC, "--source", "live", "--overhead", "50%",
                           "-o", out, "--", path, "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    if not done.stdout.startswith(b"there\n"):
        td.skip("no mount namespace can be made here")
    td.check(done.returncode == 7 and done.stdout == b"there\ndone 2\n", f"{done!r}")
    images, windows = windows_of(done.stderr)
    judge(done, images, windows)
    td.check(windows > 0, f"{done.stderr!r}")


EFFECTS = r"""
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* Counts the signals that it gets. */
static pid_t counter(int to) {
    sigset_t set;
    long count = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    const pid_t child = fork();
    if (child) return child;
    while (sigwaitinfo(&set, NULL) != SIGTERM) count++;
    while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0) count++;
    _exit(write(to, &count, sizeof count) < 0);
}
int main(int argc, char **argv) {
    int pair[2], tell[2], log = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
    long done = 0, received = 0, signals = 0;
    char byte = 'x';
    if (pipe(tell) < 0 || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) < 0) return 1;
    const pid_t child = counter(tell[1]);
    for (clock_t end = clock() + 2 * CLOCKS_PER_SEC; clock() < end;) {
        for (int i = 0; i < 200; i++, done++) {
            for (volatile int k = 0; k < 3000; k++) continue;
            if (write(log, "line\n", 5) != 5) return 2;
            const int made = open(argv[2], O_CREAT | O_EXCL | O_WRONLY, 0600);
            if (made < 0 || close(made) < 0 || rename(argv[2], argv[3]) < 0 || unlink(argv[3]) < 0) return 3;
            if (send(pair[0], &byte, 1, 0) != 1) return 4;
            while (recv(pair[1], &byte, 1, 0) == 1) received++;
            while (sigqueue(child, SIGRTMIN, (union sigval){0}) < 0)
                if (errno != EAGAIN || sched_yield() < 0) return 5;
        }
    }
    kill(child, SIGTERM);
    if (read(tell[0], &signals, sizeof signals) != sizeof signals || waitpid(child, NULL, 0) != child) return 6;
    if (received != done || signals != done || access(argv[2], F_OK) == 0 || access(argv[3], F_OK) == 0) return 7;
    return printf("%ld\n", done) < 0;
}
"""


def effects():
    """A program that writes, makes, renames, unlinks, sends and kills all the time: its windows do none of it again."""
    path, log = td.scratch("effects"), td.scratch("log")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(EFFECTS)
    td.run(["gcc", "-O1", "-o", path, path + ".c"])
    done, _, _ = record(path, log, td.scratch("made"), td.scratch("moved"))
    with open(log, "rb") as file:
        text = file.read()
    td.check(text == b"line\n" * int(done.stdout), f"{len(text)} bytes of {done.stdout!r} lines")


td.cases({"short": short, "whole": whole, "threads": threads, "apart": apart, "interpreters": interpreters, "attach": attach, "versions": versions,
          "static": static, "shared": shared, "broken": broken, "elsewhere": elsewhere, "environment": environment, "refused": refused, "server": server,
          "effects": effects, "limits": limits})
