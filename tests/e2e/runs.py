#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every run of a command, the first and the others, natively and modelled, finds itself as without tdrec."""
import json
import os
import resource
import signal
import subprocess

import td

td.need_perf_events()

# All that a program is started with, one block for each run.
LOOK = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
    char text[4096];
    sigset_t mask;
    FILE *out = fopen(argv[1], "a");
    const long bytes = read(0, text, sizeof(text));

    fprintf(out, "stdin %ld bytes\n", bytes);
    for (int fd = 0; fd < 1024; fd++) {
        const int flags = fcntl(fd, F_GETFL);
        if (fd != fileno(out) && flags >= 0)
            fprintf(out, "fd %d: %o %d\n", fd, flags & ~0100000, fcntl(fd, F_GETFD));
    }
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int s = 1; s < 65; s++) {
        struct sigaction action = {0};
        if (sigaction(s, NULL, &action) == 0)
            fprintf(out, "signal %d: blocked %d, ignored %d\n", s, sigismember(&mask, s), action.sa_handler == SIG_IGN);
    }
    for (int r = 0; r < RLIMIT_NLIMITS; r++) {
        struct rlimit limit;
        if (getrlimit(r, &limit) == 0)
            fprintf(out, "limit %d: %lx %lx\n", r, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
    fprintf(out, "nice %d\numask %o\n", getpriority(PRIO_PROCESS, 0), umask(0));
    fprintf(out, "group %d, session %d\ncwd %s\n", getpgrp(), getsid(0), getcwd(text, sizeof(text)));
    for (int i = 0; i < argc; i++)
        fprintf(out, "arg %s\n", argv[i]);
    for (char **e = environ; *e; e++)
        fprintf(out, "env %s\n", *e);
    fprintf(out, "end\n");
    return fclose(out) != 0;
}
"""
SOURCES = {"clock": (1, ["--source", "clock"]),
           "passes": (2, ["--source", "clock", "-e", "cpu-clock,task-clock", "--passes", "2"]),
           "count": (1, ["--count", "--source", "clock"]),
           "count_passes": (2, ["--count", "-e", "cpu-clock,task-clock", "--passes", "2"]),
           "sim": (1, ["--source", "sim"]),
           "hybrid": (2, ["--source", "hybrid"])}


def need_sources(*sources):
    if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
        td.skip("the plugin is not built (sanitizers)")
    td.need("qemu-x86_64")
    return sources


def unusual():
    """What a careless launcher would not hand on."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    os.nice(1)


def usual():
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def blocks(prefix, prepare, program):
    note, given = td.scratch("note"), td.scratch("given")
    with open(given, "w", encoding="utf-8") as file:
        file.write("skipped\nread\n")
    if os.path.exists(note):
        os.unlink(note)
    with open(given, "rb") as stdin:
        os.lseek(stdin.fileno(), 8, os.SEEK_SET)
        done = subprocess.run([*prefix, program, note], stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              preexec_fn=prepare, env={**os.environ, "_": "x"}, timeout=120, check=False)
    td.check(done.returncode == 0, f"{prefix}: exit {done.returncode}: {done.stderr!r}")
    with open(note, encoding="utf-8") as file:
        return file.read().split("end\n")[:-1]


def same(*sources):
    program = td.scratch("look")
    with open(program + ".c", "w", encoding="utf-8") as file:
        file.write(LOOK)
    td.run(["gcc", "-O1", "-o", program, program + ".c"])
    for prepare in (usual, unusual):
        bare = blocks([], prepare, program)[0].splitlines()
        td.check("stdin 5 bytes" in bare, f"{bare}")
        for source in sources:
            count, options = SOURCES[source]
            runs = blocks([td.TDREC, *options, "-o", td.scratch("p.td"), "--"], prepare, program)
            td.check(len(runs) == count, f"{source}: {len(runs)} runs")
            for number, run in enumerate(runs):
                differ = sorted(set(bare) ^ set(run.splitlines()))
                td.check(not differ, f"{source}, run {number + 1}, {prepare.__name__}: {differ}")


def native():
    same("clock", "passes", "count", "count_passes")


def modelled():
    same(*need_sources("sim", "hybrid"))


def waits(source):
    """A program that waits for SIGCHLD, and one that ends a child, come to their ends in every run."""
    count, options = SOURCES[source]
    note = td.scratch(source)
    td.run([td.TDREC, *options, "-o", td.scratch("p.td"), "--", "sh", "-c",
            'trap "echo ended >>$0" CHLD; sleep 0.2 & wait; trap - CHLD; sleep 100 & kill $!; wait; exit 3', note], 3,
           timeout=60)
    with open(note, encoding="utf-8") as file:
        ends = file.read().split()
    td.check(ends == ["ended"] * count, f"{source}: {ends}")


def children():
    waits("passes")


def modelled_children():
    for source in need_sources("sim", "hybrid"):
        waits(source)


def elapsed():
    """One thread, however short, uses at most one CPU of the time that is called elapsed."""
    for _ in range(5):
        counts = json.loads(td.run([td.TDREC, "--count", "--json", "--source", "clock", "--", "true"]).stdout)
        rates = [event["rate"] for event in counts["events"] if event["rate_unit"] == "CPUs used"]
        td.check(rates and max(rates) <= 1.01, f"{counts}")


td.cases({"elapsed": elapsed, "native": native, "modelled": modelled, "children": children, "modelled_children": modelled_children})
