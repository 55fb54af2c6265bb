#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""As an unprivileged user: own programs are recorded, what is missing is said in one sentence with its fix."""
import os
import shutil
import subprocess

import td

NOBODY = 65534


def as_nobody(command, status=0, **more):
    if os.geteuid() != 0:
        td.skip("changing to another user needs root")
    td.need("setpriv")
    return td.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--", *command], status,
                  env={**os.environ, "HOME": td.scratch("home"), "XDG_CACHE_HOME": td.scratch("home")}, **more)


def place():
    """Copies that the user may read and run, wherever the checkout lies."""
    if os.geteuid() != 0:
        td.skip("changing to another user needs root")
    os.chmod(td.SCRATCH, 0o755)
    folder = td.scratch("bin")
    os.makedirs(folder, exist_ok=True)
    for name in (td.TDREC, td.TDREPORT, td.workload("split")):
        shutil.copy(name, folder)
    home = td.scratch("home")
    os.makedirs(home, exist_ok=True)
    os.chown(home, NOBODY, NOBODY)
    return folder, home


def paranoid():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as file:
        return int(file.read())


def own_program():
    td.need_perf_events()
    folder, home = place()
    if paranoid() > 2:
        td.skip(f"perf_event_paranoid is {paranoid()}: perf_event_open is refused to users")
    out = os.path.join(home, "p.td")
    done = as_nobody([f"{folder}/tdrec", "--source", "clock", "-o", out, "--", f"{folder}/split", "1"])
    td.check(paranoid() < 2 or b"kernel" in done.stderr, f"no word that kernel time is not sampled: {done.stderr!r}")
    data = td.report_json(out)
    td.check(data["coverage"]["samples"] > 500, f"{data['coverage']['samples']} samples")
    td.check(os.stat(out).st_mode & 0o777 == 0o600, f"mode {os.stat(out).st_mode & 0o777:o}, expected 600")
    as_nobody([f"{folder}/tdreport", "-i", out])


def other_process():
    """Attaching to root's process: refused, with the cause and the fix."""
    td.need_perf_events()
    folder, home = place()
    victim = subprocess.Popen(["sleep", "20"])
    try:
        done = as_nobody([f"{folder}/tdrec", "--source", "clock", "-o", os.path.join(home, "q.td"), "--duration", "1",
                          "-p", str(victim.pid)], 125)
    finally:
        victim.kill()
        victim.wait()
    td.check(b"another user" in done.stderr and b"sudo" in done.stderr, f"no cause and fix: {done.stderr!r}")


def system_wide():
    td.need_perf_events()
    folder, home = place()
    if paranoid() < 1:
        td.skip(f"perf_event_paranoid is {paranoid()}: system-wide is allowed to users")
    done = as_nobody([f"{folder}/tdrec", "--source", "clock", "-a", "--duration", "1", "-o",
                      os.path.join(home, "r.td")], 125)
    td.check(b"perf_event_paranoid" in done.stderr or b"CAP_PERFMON" in done.stderr or b"cap_perfmon" in done.stderr,
             f"no cause: {done.stderr!r}")


def descriptors():
    """Too few descriptors: one sentence that says how many and which limit."""
    td.need_perf_events()
    done = td.run(["bash", "-c", f'ulimit -n 4; exec "{td.TDREC}" --source clock -o "{td.scratch("n.td")}" -- true'],
                  125)
    td.check(b"descriptor" in done.stderr or b"ulimit" in done.stderr or b"open files" in done.stderr,
             f"no cause: {done.stderr!r}")


def setuid():
    """A setuid or setgid tdrec would run any command with its owner's rights: refused, in one sentence."""
    if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
        td.skip("the plugin is not built (sanitizers), which need ptrace to end a program")
    folder, home = place()
    program = os.path.join(folder, "tdrec")
    for mode in (0o4755, 0o2755):
        os.chmod(program, mode)
        done = as_nobody([program, "--source", "clock", "-o", os.path.join(home, "s.td"), "--", "id", "-u"], None)
        if done.returncode == 0 and done.stdout == b"65534\n":
            td.skip("setuid has no effect in the scratch folder (nosuid)")
        td.check(done.returncode == 125 and b"setuid" in done.stderr and done.stderr.count(b"\n") == 1 and
                 not done.stdout, f"{mode:o}: {done}")


def memory():
    """Without memory: one sentence, tdrec's own status, whatever stage it comes to."""
    td.need_perf_events()
    if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
        td.skip("the plugin is not built (sanitizers), which reserve more memory than there is")
    out = td.scratch("m.td")
    seen = set()
    for source, sizes in (("clock", (8000, 9000, 11000, 13000, 16000)), ("sim", (8000, 16000, 70000, 120000, 200000))):
        for size in sizes:
            done = td.run(["bash", "-c", f'ulimit -v {size}; exec "{td.TDREC}" --source {source} -o "{out}" -- true'],
                          None)
            seen.add((source, done.returncode))
            td.check(done.returncode in (0, 125, 127), f"{source}, ulimit -v {size}: {done}")
            if done.returncode == 125:
                td.check(b"memory" in done.stderr or b"ulimit" in done.stderr or b"ring" in done.stderr, f"{done}")
                td.check(not os.path.exists(out), f"{source}, {size}: a profile of nothing")
            elif os.path.exists(out):
                os.unlink(out)
    td.check(("clock", 125) in seen and ("sim", 125) in seen, f"memory was enough: {seen}")


def doctor():
    """--doctor says what this machine and user can do: exit 0, and each 'no' with its reason."""
    text = td.run([td.TDREC, "--doctor"], (0, 1)).stdout.decode()
    td.check("clock" in text, f"--doctor does not speak of clock:\n{text}")


td.cases({"own_program": own_program, "other_process": other_process, "system_wide": system_wide,
          "descriptors": descriptors, "setuid": setuid, "memory": memory, "doctor": doctor})
