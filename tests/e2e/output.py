#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where the profile goes: what must not be moved away, what is kept, what is left behind."""
import os
import signal
import stat
import subprocess
import time

import td

td.need_perf_events()


def tdrec(out, command=("true",), status=0, **more):
    return td.run([td.TDREC, "--source", "clock", "-o", out, "--", *command], status, **more)


def refused(path, name=None, **more):
    before = os.lstat(path)
    target = os.readlink(path) if os.path.islink(path) else None
    done = tdrec(name or path, status=125, **more)
    td.check(done.stderr.count(b"\n") == 1 and b"name a file" in done.stderr, f"{path}: {done.stderr!r}")
    after = os.lstat(path)
    td.check((before.st_ino, before.st_mode) == (after.st_ino, after.st_mode), f"{path} was replaced")
    td.check(target is None or os.readlink(path) == target, f"{path} leads elsewhere")
    td.check(not os.path.lexists(path + ".old"), f"{path} was moved")


def links():
    """Names of devices, pipes and open files stay what they are, also for root."""
    folder = td.scratch("dev")
    os.makedirs(folder)
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    for name, target in (("null", "/dev/null"), ("stdout", "/proc/self/fd/1"), ("pipe", fifo), ("sub", folder),
                         ("twice", os.path.join(folder, "stdout")), ("full", "../dev/null")):
        link = os.path.join(folder, name)
        os.symlink(target, link)
        refused(link)
    refused(fifo)
    os.symlink("/proc/self/fd", os.path.join(folder, "fd"))
    # Redirected to a regular file it is a link to one, and still no place of ours.
    with open(td.scratch("redirected"), "wb") as file:
        done = subprocess.run([td.TDREC, "--source", "clock", "-o", os.path.join(folder, "stdout"), "--", "true"],
                              stdout=file, stderr=subprocess.PIPE, check=False)
        td.check(done.returncode == 125 and b"name a file" in done.stderr, f"{done}")
        done = subprocess.run([td.TDREC, "--source", "clock", "-o", os.path.join(folder, "fd/1"), "--", "true"],
                              stdout=file, stderr=subprocess.PIPE, check=False)
        td.check(done.returncode == 125 and b"name a file" in done.stderr, f"{done}")
    td.check(os.readlink(os.path.join(folder, "stdout")) == "/proc/self/fd/1", "the link is gone")


def planted():
    """A link to a file is moved away, not followed; so is one to nothing."""
    victim, link, dangling = td.scratch("victim"), td.scratch("link.td"), td.scratch("dangling.td")
    with open(victim, "w", encoding="utf-8") as file:
        file.write("precious")
    os.symlink(victim, link)
    os.symlink(td.scratch("nowhere"), dangling)
    for path in (link, dangling):
        tdrec(path)
        td.check(stat.S_ISREG(os.lstat(path).st_mode) and stat.S_IMODE(os.lstat(path).st_mode) == 0o600, path)
        td.check(os.path.islink(path + ".old"), f"{path}.old is not the link")
    with open(victim, encoding="utf-8") as file:
        td.check(file.read() == "precious", "the link was followed")
    td.check(not os.path.exists(td.scratch("nowhere")), "the link was followed")


def kept():
    """The last good profile outlives recordings that fail, and recordings of nothing."""
    out = td.scratch("p.td")
    work = [td.workload("split"), "0.5"]
    tdrec(out, work)
    good = open(out, "rb").read()
    broken = td.scratch("broken")
    with open(broken, "w", encoding="utf-8") as file:
        file.write("#!/no/such/interpreter\n")
    os.chmod(broken, 0o755)
    tdrec(out, [broken], (126, 127))
    td.check(open(out, "rb").read() == good and not os.path.exists(out + ".old"), "a failure moved the good profile")
    for _ in range(3):
        tdrec(out, ["true"])
    kept_at = [path for path in (out, out + ".old") if open(path, "rb").read() == good]
    td.check(kept_at or td.report_json(out + ".old")["coverage"]["samples"] > 0, "nothing is left of the good profile")
    tdrec(out, work)
    td.check(td.report_json(out)["coverage"]["samples"] > 100, "the new profile is not at its place")
    td.check(not [name for name in os.listdir(td.SCRATCH) if name.endswith(".tmp")], f"{os.listdir(td.SCRATCH)}")


def killed():
    """SIGKILL at any time: a readable profile or none yet, and nothing beside it."""
    folder = td.scratch("killed")
    os.makedirs(folder)
    out = os.path.join(folder, "p.td")
    for step in range(12):
        child = subprocess.Popen([td.TDREC, "-q", "--source", "clock", "-F", "999", "-o", out, "--",
                                  td.workload("split"), "0.4"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(0.004 * step * step)
        child.send_signal(signal.SIGKILL)
        child.wait()
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        left = set(os.listdir(folder))
        td.check(left <= {"p.td", "p.td.old"}, f"{left}")
        for name in left:
            done = td.run([td.TDREPORT, "-i", os.path.join(folder, name), "--json"], (0, 3, 4))
            td.check(b"Assertion" not in done.stderr, f"{done.stderr!r}")


def outlived():
    """The command ends, what it started goes on: how much, which, and what to do, on stderr and in the report."""
    out = td.scratch("outlived.td")
    done = tdrec(out, ["sh", "-c", '"$0" 30 >/dev/null 2>&1 & echo $!; exit 0', td.workload("split")])
    child = int(done.stdout)
    try:
        for text in (done.stderr.decode(), td.report(out)):
            text = " ".join(text.split())
            td.check("1 process that it started still runs" in text and f"({child})" in text and "tdrec -p" in text, text)
    finally:
        os.kill(child, signal.SIGKILL)
    done = tdrec(out, ["sh", "-c", "true & wait"])
    td.check(b"still run" not in done.stderr, f"{done.stderr!r}")


td.cases({"links": links, "planted": planted, "kept": kept, "killed": killed, "outlived": outlived})
