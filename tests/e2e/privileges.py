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


def doctor():
    """--doctor says what this machine and user can do: exit 0, and each 'no' with its reason."""
    text = td.run([td.TDREC, "--doctor"], (0, 1)).stdout.decode()
    td.check("clock" in text, f"--doctor does not speak of clock:\n{text}")


td.cases({"own_program": own_program, "other_process": other_process, "system_wide": system_wide,
          "descriptors": descriptors, "doctor": doctor})
