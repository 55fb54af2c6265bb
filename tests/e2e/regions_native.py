#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Regions that a program marks (tdprof/region.h) in native runs: by the clock everywhere, by counters where there are
some. The truth is tests/workloads/regions.c; no time is compared with another but as a part with its whole."""
import json
import os
import re
import shutil
import subprocess

import marked
import td

td.need_programs()
td.need_perf_events()


def regions(command, *options, source="clock", status=0):
    """{path: row} of `tdreport regions`, a path as "outer/inner"; and the report."""
    profile = td.record(command, *options, source=source, status=status)
    return td.regions_of(profile)


def workload(case, number, **more):
    return regions([td.workload("regions"), case, str(number)], **more)


def check_sums(rows):
    """A region holds those in it; lengths are those of calls."""
    for path, row in rows.items():
        inner = [other for name, other in rows.items()
                 if name.startswith(path + "/") and "/" not in name[len(path) + 1:]]
        td.check(row["cpu_ns"] >= sum(other["cpu_ns"] for other in inner), f"{path}: {row}, in it: {inner}")
        length = row["call_length"]
        if row["calls"] == row["ended"] == length["calls"]:
            td.check(row["time_ns"] >= sum(other["time_ns"] for other in inner), f"{path}: {row}, in it: {inner}")
            td.check(length["min"] <= length["mean"] * 1.000001 and length["mean"] <= length["max"] * 1.000001,
                     f"{path}: {length}")
            td.check(abs(length["mean"] * row["calls"] - row["time_ns"]) <= 1e-6 * row["time_ns"] + 1, f"{path}: {row}")


def sources():
    """Those that this machine has; without a PMU, what is taken by itself runs the command twice."""
    plan = td.run([td.TDREC, "--plan", "true"]).stdout.decode()
    return ("clock", "pmu") if "source pmu\n" in plan else ("clock",)


def calls(rows):
    return {path: (row["calls"], row["ended"]) for path, row in rows.items()}


def time():
    rows, data = workload("nested", 100000)
    check_sums(rows)
    td.check(calls(rows) == {"outer": (1, 1), "outer/inner": (5, 5), "outer/once": (1, 1), "inner": (1, 1)}, f"{rows}")
    td.check(not any(data["region_marks"].values()), f"{data['region_marks']}")
    td.check("only time is known" in data["regions_how"], data["regions_how"])
    for row in rows.values():
        td.check(row["time_ns"] > 0 and row["cpu_ns"] > 0 and row["slots"] is None, f"{row}")
    text = td.report(td.scratch("profile.td"), "regions", "-w", "80")
    td.check("time per call" in text and "only time is known" in text, text)
    td.check(max(map(len, text.split("\n"))) <= 80, text)


def misuse():
    rows, data = workload("misuse", 1000)
    check_sums(rows)
    td.check(data["region_marks"] == {"stray_ends": 3, "ended_by_outer": 1, "unfinished_calls": 1},
             f"{data['region_marks']}")
    td.check(calls(rows) == {"around": (1, 1), "around/forgotten": (1, 1), "foreign": (1, 1), "(no name)": (1, 1),
                             "never ended": (1, 0)}, f"{rows}")
    text = td.report(td.scratch("profile.td"), "regions")
    td.check("up to the thread's last mark" in " ".join(text.split()), text)


def many():
    """A million names: those beyond the first thousand in one row, and all calls are there."""
    names = 1000000
    rows, data = workload("many", names)
    check_sums(rows)
    td.check(sum(row["calls"] for row in rows.values()) == names + 100 + 1, f"{len(rows)} rows")
    td.check(len(rows) <= 1024 and rows["(other regions)"]["calls"] > names * 0.99, f"{rows['(other regions)']}")
    td.check(not any(data["region_marks"].values()), f"{data['region_marks']}")


def threads():
    rows, _ = workload("threads", 1000)
    row = rows["shared name"]
    td.check(len(rows) == 1 and row["threads"] == 4 and row["calls"] == row["ended"] == 12, f"{rows}")


def forks():
    """What is open at a fork is open in both; the child's is a call of its own."""
    rows, data = workload("forks", 1000)
    td.check(calls(rows) == {"across": (2, 2), "child": (1, 1)} and rows["across"]["threads"] == 2, f"{rows}")
    td.check(not any(data["region_marks"].values()), f"{data['region_marks']}")


def execs():
    rows, _ = workload("execs", 1000, status=None)
    td.check(calls(rows) == {"whole": (8, 8), "replaced": (1, 0), "cut": (1, 0)}, f"{rows}")
    td.check(rows["whole"]["threads"] == 1, f"the same thread before and after the exec: {rows}")


def killed():
    rows, data = workload("killed", 1000, status=None)
    td.check(calls(rows) == {"whole": (7, 7), "cut": (1, 0)}, f"{rows}")
    td.check(data["region_marks"]["unfinished_calls"] == 1, f"{data['region_marks']}")


def churn():
    """Threads that end leave no descriptors behind, also of counters."""
    for source in sources():
        out = td.run([td.TDREC, "-q", "--source", source, "-o", td.scratch("profile.td"), "--", td.workload("regions"),
                      "churn", "200"]).stdout.decode()
        td.check(out == "0 descriptors more\n", f"{source}: {out}")


def closes():
    """A program that closes all descriptors, and has its own where ours were, goes on; so does counting its calls."""
    for source in sources():
        _, data = workload("closes", 1000, source=source)
        td.check([(row["name"], row["calls"]) for row in data["regions"]] == [("whole", 7)], f"{data['regions']}")


def build(name, compiler, text, *words):
    source = td.scratch(name)
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    program = source.rpartition(".")[0]
    td.run([compiler, *words, "-I" + os.path.join(td.ROOT, "region"), "-o", program, source])
    return program


def static():
    """A static program; one without debug information or optimization."""
    for words in (["-O2", "-static"], ["-O0", "-s", "-no-pie"], ["-O3", "-flto", "-fPIE", "-pie"], ["-std=gnu89"]):
        rows, _ = regions([build("static.c", "gcc", marked.SMALL, *words)])
        td.check(calls(rows) == {"a": (1, 1)}, f"{words}: {rows}")


def library():
    """Another language, by the library."""
    path = td.scratch("libtdprof-region.so")  # without sanitizers, which Python is not built for
    td.run(["gcc", "-O2", "-fPIC", "-shared", "-I" + td.ROOT, "-o", path, os.path.join(td.ROOT, "region/library.c")])
    program = ("import ctypes, os, sys\n"
               f"region = ctypes.CDLL({path!r})\n"
               "for i in range(3):\n"
               "    region.tdprof_region_begin(b'outer')\n"
               "    region.tdprof_region_begin(b'inner')\n"
               "    region.tdprof_region_end(b'inner')\n"
               "    region.tdprof_region_end(b'outer')\n")
    rows, _ = regions(["python3", "-c", program], "--regions")
    td.check(calls(rows) == {"outer": (3, 3), "outer/inner": (3, 3)}, f"{rows}")


def started():
    """A program without marks sees nothing of tdrec; what it starts has regions when that is asked for."""
    command = ["sh", "-c", 'env; exec "$0" nested 1000', td.workload("regions")]
    for options, status, found in (((), 4, 0), (("--regions",), 0, 4)):
        profile = td.scratch("profile.td")
        out = td.run([td.TDREC, "-q", "--source", "clock", *options, "-o", profile, "--", *command]).stdout
        td.check((b"TDPROF_REGIONS=" in out) == bool(options), f"{options}: {out}")
        done = td.run([td.TDREPORT, "regions", "-i", profile, "--json"], status)
        td.check(not found or len(json.loads(done.stdout)["regions"]) == found, f"{done.stdout}")
        td.check(found or b"tdrec --regions" in done.stderr, f"{done.stderr}")


def cxx():
    rows, _ = regions([build("app.cc", "g++", marked.CXX, "-std=c++11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror")])
    td.check(calls(rows) == {"outer": (3, 3), "outer/inner": (3, 3)}, f"{rows}")
    if shutil.which("clang++-14"):
        rows, _ = regions([build("app.cc", "clang++-14", marked.CXX, "-std=c++17", "-O2", "-Wall", "-Werror")])
        td.check(calls(rows) == {"outer": (3, 3), "outer/inner": (3, 3)}, f"{rows}")


def counted():
    """Where there is a PMU, its counts are in the region that ran."""
    if "pmu" not in sources():
        td.skip("no core PMU")
    for _ in range(4):  # others may have all counters for a while
        rows, data = workload("nested", 20000000, source="pmu")
        td.check(calls(rows)["outer/inner"] == (5, 5), f"{rows}")
        td.check("own counters" in data["regions_how"], data["regions_how"])
        check_sums(rows)
        if rows["outer"]["counted"] > 0.05:
            break
    else:
        td.skip("the counters were taken by others")
    outer = rows["outer"]
    td.check(0 < outer["counted"] <= 1 and outer["cycles"] > 0, f"{outer}")


def named():
    """Events that the user names are counted, too: a round of the program is two instructions."""
    if "pmu" not in sources():
        td.skip("no core PMU")
    rounds = 1000000
    for _ in range(4):
        out = td.scratch("profile.td")
        td.run([td.TDREC, "-q", "-e", "{cycles,instructions}:S", "-F", "99", "-o", out, "--", td.workload("regions"),
                "nested", str(rounds)])
        rows, _ = td.regions_of(out)
        if all(row["counted"] == 1 for row in rows.values()):
            break
    else:
        td.skip("the counters were taken by others")
    for path, count in {"outer": 16, "outer/inner": 15, "outer/once": 1, "inner": 1}.items():
        # Interrupts count as well, more of them on a busy machine.
        found = rows[path]["instructions"]
        td.check(2 * rounds * count <= found <= 4 * rounds * count, f"{path}: {found} instructions, {count} spins")
        td.check(rows[path]["cycles"] > 0, f"{rows[path]}")


def between():
    """Values read in user mode are those of read()."""
    out = td.run([td.workload("region_between")]).stdout.decode()
    if out == "user access is off\n":
        td.skip("user access to counters is off")
    if "wrong" not in out:
        td.skip(f"no core PMU ({out.strip()})")
    td.check(out.startswith("0 wrong"), out)


def limits():
    """Where the limits leave little room, there is a smaller memory, or none; the program goes on."""
    sanitized = not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so"))  # they reserve terabytes
    for limit, found in (("-f 4096", True), ("-f 8", False), ("-v 4000000", True)):
        if sanitized and limit.startswith("-v"):
            continue
        command = f'ulimit {limit}; exec "$0" -q --source clock -o "$1" -- "$2" nested 1000'
        td.run(["bash", "-c", command, td.TDREC, td.scratch("profile.td"), td.workload("regions")])
        if found:
            td.check(len(td.report_json(td.scratch("profile.td"), "regions")["regions"]) == 4, limit)
        else:
            td.report(td.scratch("profile.td"), "regions", status=4)


CONFINED = """#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tdprof/region.h>
#include <unistd.h>

static void confine(void)
{
    static const unsigned deadly[] = {__NR_openat, __NR_perf_event_open, __NR_ioctl, __NR_fcntl};
    struct sock_filter steps[16] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned n = 1;
    for (unsigned i = 0; i < 4; i++) {
        steps[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, deadly[i], 0, 1);
        steps[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    steps[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {.len = (unsigned short)n, .filter = steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        _exit(2);
}

static void *mark(void *name)
{
    errno = 99;
    tdprof_region_begin(name);
    tdprof_region_end(name);
    if (errno != 99)
        _exit(3);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int status = 0, pid;
    (void)argv;
    if (argc > 1) {
        mark("before");
        pid = fork();
        if (pid == 0) {
            confine();
            mark("in a child");
            _exit(0);
        }
        waitpid(pid, &status, 0);
        return status != 0;
    }
    confine();
    if (pthread_create(&thread, NULL, mark, "in a thread"))
        return 4;
    pthread_join(thread, NULL);
    mark("after");
    return 0;
}
"""


def confined():
    """A filter of system calls that kills: no mark makes such a call after it."""
    if "Seccomp:\t0" not in open("/proc/self/status", encoding="utf-8").read():
        td.skip("the kernel does not let confined be tried")
    program = build("confined.c", "gcc", CONFINED, "-O2", "-pthread")
    for source in sources():
        for words, found in ((["child"], {"before"}), ([], set())):
            td.run([td.TDREC, "-q", "--source", source, "-o", td.scratch("profile.td"), "--", program, *words])
            if found:
                data = td.report_json(td.scratch("profile.td"), "regions")
                td.check({row["name"] for row in data["regions"]} == found, f"{data['regions']}")


def descriptors():
    """Threads that run leave the program at least half of its descriptors: here none but the first few are counted."""
    if "pmu" not in sources():
        td.skip("no core PMU")
    command = 'ulimit -S -n 256; exec "$0" -q --source pmu -o "$1" -- "$2" crowd 250'
    out = td.run(["bash", "-c", command, td.TDREC, td.scratch("profile.td"), td.workload("regions")]).stdout.decode()
    td.check(int(out) >= 150, f"{out} descriptors are left")


def cost():
    """50 ns are 600 instructions of a core that runs four a cycle at 3 GHz; we take fewer."""
    for events in (2, 4, 5):
        out = td.run([td.TDREC, "-q", "--source", "clock", "-o", td.scratch("profile.td"), "--",
                      td.workload("region_cost"), str(events)]).stdout.decode()
        if "ptrace" in out:
            td.skip(out.strip())
        found = re.fullmatch(r"([0-9.]+) instructions\n", out)
        td.check(found and float(found[1]) <= 540, f"{events} events: {out}")
        print(f"{events} events: {out.strip()} a pair")


def off():
    """Without tdrec nothing is opened, and nothing but the first mark of a program looks for it."""
    if not shutil.which("strace"):
        done = subprocess.run([td.workload("regions"), "nested", "1000"], check=False)
        td.check(done.returncode == 0, f"{done}")
        return
    done = subprocess.run(["strace", "-f", td.workload("regions"), "nested", "1000"], stderr=subprocess.PIPE,
                          check=False)
    td.check(done.returncode == 0 and b"perf_event_open" not in done.stderr, f"{done}")


td.cases({"time": time, "misuse": misuse, "many": many, "threads": threads, "forks": forks, "execs": execs,
          "killed": killed, "churn": churn, "closes": closes, "static": static, "library": library, "started": started, "cxx": cxx,
          "counted": counted, "named": named, "between": between, "limits": limits,
          "confined": confined, "descriptors": descriptors, "cost": cost, "off": off})
