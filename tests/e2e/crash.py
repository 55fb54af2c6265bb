#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recorder dies or cannot write: the profile up to a second before is readable, the program goes on."""
import os
import signal
import subprocess
import time

import td

FULL_S = 3.0  # CPU seconds of the application
KILL_S = 2.2  # CPU seconds after which the recorder is killed


def start(out, *options):
    """tdrec over a program that notes its own end; returns the recorder's process and the note's path."""
    done = td.scratch("done")
    if os.path.exists(done):
        os.unlink(done)
    child = subprocess.Popen([td.TDREC, "--source", "clock", "-F", "999", "-o", out, *options, "--", "sh", "-c",
                              f'"{td.workload("split")}" {FULL_S} && echo finished >"{done}"'],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             start_new_session=True)
    return child, done


def application_finished(done):
    for _ in range(300):
        if os.path.exists(done):
            return True
        time.sleep(0.1)
    return False


def profile_of_killed(out):
    """A killed recorder may not have come to name the file as asked for."""
    if os.path.exists(out):
        return out
    folder = os.path.dirname(out)
    near = [name for name in os.listdir(folder) if name.startswith(os.path.basename(out))]
    td.check(near, f"no profile at all in {os.listdir(folder)}")
    return os.path.join(folder, near[0])


def kill():
    """SIGKILL: nothing can be done any more, so it must have been done before."""
    out = td.scratch("killed.td")
    child, done = start(out)
    td.wait_for_cpu(child, KILL_S)
    child.send_signal(signal.SIGKILL)
    child.wait()
    td.check(application_finished(done), "the application did not go on")
    data = td.report_json(profile_of_killed(out), status=3)
    td.check(data["coverage"]["complete"] is False, "a cut recording calls itself complete")
    at_least = (KILL_S - 1.1) * 999 * 0.95  # the last second may be lost
    td.check(data["coverage"]["samples"] >= at_least,
             f"{data['coverage']['samples']} samples of {KILL_S} CPU s, expected at least {at_least:.0f}")
    text = td.report(profile_of_killed(out), status=3)
    td.check("heavy" in text or "work_chain" in text, f"the partial profile shows no functions:\n{text}")


def signalled(number):
    out = td.scratch(f"signal{number}.td")
    child, done = start(out)
    td.wait_for_cpu(child, KILL_S)
    child.send_signal(number)
    err = child.communicate(timeout=60)[1]
    td.check(number == signal.SIGTERM or application_finished(done),
             f"the application did not go on after signal {number}: {err!r}")
    data = td.report_json(profile_of_killed(out), status=(0, 3))
    td.check(data["coverage"]["samples"] > KILL_S * 999 * 0.9, f"{data['coverage']['samples']} samples")
    if number == signal.SIGHUP:  # the command goes on: its profile is not complete
        td.check(data["coverage"]["complete"] is False and b"hung up (SIGHUP)" in err, f"{data['coverage']} {err!r}")
        td.check("hung up (SIGHUP)" in " ".join(td.report(out, status=3).split()), "the report does not say why")


def hangup():
    signalled(signal.SIGHUP)


def terminate():
    signalled(signal.SIGTERM)


def file_size_limit():
    """ulimit -f: SIGXFSZ must not kill the recorder; the message says what happened; the program goes on. The limit is
    half of what the same recording takes: how much that is, is the machine's."""
    whole, out, done = td.scratch("unlimited.td"), td.scratch("limited.td"), td.scratch("limited.done")

    def record(path, limit):
        command = (f'ulimit -f {limit}; exec "{td.TDREC}" --source clock -F 20000 --call-graph fp -o "{path}" -- sh -c '
                   f"'\"{td.workload('deep')}\" 4 100 && echo finished >\"{done}\"'")
        return subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False, timeout=120)

    record(whole, "unlimited")
    os.unlink(done)
    result = record(out, os.path.getsize(whole) // 2 // 1024)  # bash counts in KiB
    td.check(os.path.exists(done), f"the application did not finish: {result.stderr!r}")
    td.check(result.returncode == 125 and b"File too large" in result.stderr,
             f"exit {result.returncode}: {result.stderr!r}")
    data = td.report_json(profile_of_killed(out), status=3)
    td.check(data["coverage"]["samples"] > 300, f"{data['coverage']['samples']} samples before the limit")


def record_into(out, done):
    """As many places and files as a short program can have."""
    return subprocess.run([td.TDREC, "--source", "clock", "-F", "20000", "--call-graph", "fp", "-o", out, "--",
                           "sh", "-c", f'"{td.workload("deep")}" 2 100; "{td.workload("shapes")}" 1; '
                           f'find /usr/lib -type f >"{td.scratch("list")}"; echo finished >"{done}"'],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          check=False, timeout=120)


def full_disk():
    """A file system that holds a quarter of what the profile needs: how many samples there are, and so how large it is,
    is the machine's, and one recording may be half of the one before."""
    if os.geteuid() != 0:
        td.skip("mounting a small file system needs root")
    page = os.sysconf("SC_PAGE_SIZE")
    whole, done = td.scratch("whole.td"), td.scratch("full.done")
    record_into(whole, done)
    os.remove(done)
    pages = max(os.path.getsize(whole) // 4 // page, 1)
    mount = td.scratch("small")
    os.makedirs(mount)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={pages * page}", "tmpfs", mount],
                      stderr=subprocess.DEVNULL, check=False).returncode:
        td.skip("mount is not allowed here")
    try:
        out = os.path.join(mount, "p.td")
        result = record_into(out, done)
        td.check(os.path.exists(done), f"the application did not finish: {result.stderr!r}")
        td.check(result.returncode == 125 and b"No space" in result.stderr,
                 f"{os.path.getsize(whole)} bytes on {pages} pages: exit {result.returncode}: {result.stderr!r}")
        td.report_json(profile_of_killed(out), status=(0, 3))
    finally:
        subprocess.run(["umount", mount], check=False)


td.need_perf_events()
td.cases({"kill": kill, "hangup": hangup, "terminate": terminate, "file_size_limit": file_size_limit,
          "full_disk": full_disk})
