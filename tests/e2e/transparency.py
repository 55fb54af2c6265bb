#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Under tdrec a program sees what it would see without: signals, descriptors, environment, terminal, group."""
import os
import signal
import subprocess
import time

import td

LOOK = r"""
import os, signal, sys
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
for key in ("SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd", "NoNewPrivs", "Seccomp", "CapEff", "CapAmb", "Umask"):
    print(key, status[key])
for fd in sorted(int(name) for name in os.listdir("/proc/self/fd")):
    try:
        print("fd", fd, os.readlink(f"/proc/self/fd/{fd}"))
    except OSError:
        pass
for key in sorted(os.environ):
    if key not in ("_", "SHLVL"):
        print("env", key, os.environ[key])
print("cwd", os.getcwd(), "nice", os.getpriority(os.PRIO_PROCESS, 0), "policy", os.sched_getscheduler(0),
      "affinity", os.sched_getaffinity(0))
print("limits", open("/proc/self/limits").read())
print("session", os.getsid(0) == int(sys.argv[1]), "group", os.getpgid(0) == int(sys.argv[2]))
print("argv", sys.argv)
"""


def look(prefix):
    """What a python under `prefix` sees. -S -E keep it from looking at more than itself."""
    command = [*prefix, "python3", "-c", LOOK, str(os.getsid(0)), str(os.getpgid(0))]
    return td.run(command).stdout.decode()


def same():
    td.need_perf_events()
    bare = look([])
    under = look([td.TDREC, "--source", "clock", "-o", td.scratch("p.td"), "--"])
    for one, other in zip(bare.splitlines(), under.splitlines()):
        if one.startswith("fd ") and "/proc/" in one:
            continue  # the listing's own descriptor names a process
        if one.startswith("fd ") and "pipe:" in one:
            one, other = one.split("pipe:")[0], other.split("pipe:")[0]
        td.check(one == other, f"without tdrec: {one!r}\nwith tdrec:    {other!r}")
    td.check(len(bare.splitlines()) == len(under.splitlines()), f"{bare}\n---\n{under}")


def stdin():
    td.need_perf_events()
    done = subprocess.run([td.TDREC, "--source", "clock", "-o", td.scratch("p.td"), "--", "cat"], input=b"through\n",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    td.check(done.stdout == b"through\n" and done.returncode == 0, f"{done}")


def interrupt():
    """Ctrl-C at the terminal reaches the whole group; a program that handles it goes on, and is recorded to its end."""
    td.need_perf_events()
    out = td.scratch("int.td")
    program = ("import signal, time\nseen = []\nsignal.signal(signal.SIGINT, lambda *a: seen.append(1))\n"
               "print('ready', flush=True)\nend = time.process_time() + 1.5\n"
               "while time.process_time() < end: pass\nprint('seen', len(seen), flush=True)\nraise SystemExit(5)")
    child = subprocess.Popen([td.TDREC, "--source", "clock", "-o", out, "--", "python3", "-c", program],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True)
    td.check(child.stdout.readline() == b"ready\n", "the program did not start")
    time.sleep(0.3)
    os.killpg(child.pid, signal.SIGINT)
    stdout, stderr = child.communicate(timeout=60)
    td.check(stdout == b"seen 1\n", f"the program saw {stdout!r}: {stderr!r}")
    td.check(child.returncode == 5, f"exit {child.returncode}, expected the program's own 5: {stderr!r}")
    samples = td.report_json(out)["coverage"]["samples"]
    td.check(samples > 700, f"{samples} samples: recording did not go on after Ctrl-C")


def interrupted_to_death():
    """A program that dies of Ctrl-C: 130, and the profile is whole."""
    td.need_perf_events()
    out = td.scratch("int.td")
    child = subprocess.Popen([td.TDREC, "--source", "clock", "-o", out, "--", td.workload("split"), "30"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True)
    td.wait_for_cpu(child, 1.0)
    os.killpg(child.pid, signal.SIGINT)
    stderr = child.communicate(timeout=60)[1]
    td.check(child.returncode in (130, -2), f"exit {child.returncode}: {stderr!r}")
    td.check(td.report_json(out)["coverage"]["samples"] > 500, "hardly any samples")


def job_control():
    """A stopped program is not taken for an ended one."""
    td.need_perf_events()
    out = td.scratch("stop.td")
    done = td.run([td.TDREC, "--source", "clock", "-o", out, "--", "sh", "-c",
                   "(sleep 0.5; kill -CONT $$) & kill -STOP $$; exit 9"], 9)
    td.check(b"Stopped" not in done.stdout, f"{done}")


td.cases({"same": same, "stdin": stdin, "interrupt": interrupt, "interrupted_to_death": interrupted_to_death,
          "job_control": job_control})
