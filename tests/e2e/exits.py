#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exit statuses, and what goes to which stream."""
import os
import signal
import subprocess
import sys
import time

import td


def tdrec(command, status, *options):
    return td.run([td.TDREC, "--source", "clock", "-o", td.scratch("p.td"), *options, "--", *command], status)


def commands():
    """The command's own status, 128 + N for a signal."""
    td.need_perf_events()
    tdrec(["true"], 0)
    tdrec(["sh", "-c", "exit 7"], 7)
    tdrec(["sh", "-c", "kill -TERM $$"], 128 + signal.SIGTERM)
    tdrec(["sh", "-c", "kill -SEGV $$"], 128 + signal.SIGSEGV)
    tdrec(["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL)


def hints():
    """What other tools call it, options behind the command, and errors that stand alone."""
    td.need_perf_events()
    folder = td.scratch("hints")
    os.makedirs(folder)
    os.symlink("/bin/true", os.path.join(folder, "app"))

    def said(*words):
        done = subprocess.run([td.TDREC, "--source", "clock", *words], cwd=folder, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60, check=False)
        return done.stderr.decode()

    for words, hint in ((["./app", "-o", "x.td"], "'-o' stands behind the command"),
                        (["./app", "--call-graph=fp"], "'--call-graph=fp' stands behind"),
                        (["record", "./app"], "tdrec takes the command itself: tdrec ./app"),
                        (["record", "-g", "./app"], "tdrec takes the command itself"),
                        (["stat", "./app"], "tdrec --count ./app"), (["report"], "read by tdreport")):
        td.check(hint in said(*words), f"tdrec {' '.join(words)}: {said(*words)}")
    for words in (["./app"], ["--", "./app", "-o", "x.td"], ["stat", "--version"], ["./app", "-o", "x.out"],
                  ["-q", "./app", "-o", "x.td"]):
        td.check("behind" not in said(*words) and "is taken as" not in said(*words), f"{words}: {said(*words)}")
    for words in (["./no-such-program"], ["-o", "/nonexistent/x.td", "./app"]):
        done = subprocess.run([td.TDREC, *words], cwd=folder, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              timeout=60, check=False)
        lines = done.stderr.decode().splitlines()
        named = "/nonexistent" if len(words) > 1 else words[0]
        td.check(len(lines) == 1 and named in lines[0], f"{words}: not one line: {lines}")


def missing():
    td.need_perf_events()
    done = tdrec(["./no-such-program"], 127)
    td.check(b"no-such-program" in done.stderr, f"the message does not name it: {done.stderr!r}")
    with open(td.scratch("data"), "w", encoding="utf-8") as file:
        file.write("no program")
    done = tdrec([td.scratch("data")], 126)
    td.check(td.scratch("data").encode() in done.stderr, f"the message does not name it: {done.stderr!r}")
    done = tdrec(["/usr"], 126)
    td.check(b"'/usr': it is a folder" in done.stderr, f"the message does not say why: {done.stderr!r}")
    done = td.run(["sh", "-c", 'ulimit -n 5; exec "$0" --source clock true', td.TDREC], 125)
    td.check(b"ulimit -n" in done.stderr, f"the message does not say what to do: {done.stderr!r}")


def own():
    """125: tdrec's own failure."""
    done = td.run([td.TDREC, "--source", "clock", "-o", "/nonexistent/p.td", "--", "true"], 125)
    td.check(b"/nonexistent/p.td" in done.stderr, f"the message does not name the file: {done.stderr!r}")
    done = td.run([td.TDREC, "--no-such-option", "--", "true"], 125)
    td.check(b"no-such-option" in done.stderr, f"the message does not name the option: {done.stderr!r}")
    td.run([td.TDREC], 125)


def reporting():
    done = td.run([td.TDREPORT, "--no-such-option"], 2)
    td.check(done.stderr and not done.stdout, "a usage error belongs to stderr")
    done = td.run([td.TDREPORT, "-i", td.scratch("absent.td")], (1, 2, 3, 4))
    td.check(b"absent.td" in done.stderr, f"the message does not name the file: {done.stderr!r}")
    with open(td.scratch("garbage.td"), "wb") as file:
        file.write(os.urandom(4096))
    td.run([td.TDREPORT, "-i", td.scratch("garbage.td")], 3)
    with open(td.scratch("empty.td"), "wb"):
        pass
    td.run([td.TDREPORT, "-i", td.scratch("empty.td")], (3, 4))


def help_and_version():
    for program in (td.TDREC, td.TDREPORT):
        name = os.path.basename(program).encode()
        done = td.run([program, "--help"])
        td.check(name in done.stdout and not done.stderr, f"{program} --help: {done.stderr!r}")
        td.check(max(len(line) for line in done.stdout.decode().split("\n")) <= 100, f"{program} --help is wide")
        done = td.run([program, "--version"])
        td.check(done.stdout.startswith(name + b" 0."), f"{program} --version: {done.stdout!r}")
        td.check(b"zstd" in done.stdout, f"{program} --version names no features: {done.stdout!r}")


def full_stdout():
    """A failed write to stdout is an error; a closed pipe is not a complaint."""
    td.need_perf_events()
    tdrec([td.workload("split"), "0.2"], 0)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([td.TDREPORT, "-i", td.scratch("p.td")], stdout=full, stderr=subprocess.PIPE, check=False)
    td.check(done.returncode not in (0, 141) and done.stderr, f"/dev/full: exit {done.returncode}, {done.stderr!r}")
    done = subprocess.run(["sh", "-c", '"$0" -i "$1" | head -c 1', td.TDREPORT, td.scratch("p.td")],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    td.check(not done.stderr, f"a closed pipe: {done.stderr!r}")


def streams():
    """The command's output is untouched, and tdrec's own words go to stderr."""
    td.need_perf_events()
    done = tdrec(["sh", "-c", "echo out; echo err >&2"], 0)
    td.check(done.stdout == b"out\n", f"stdout: {done.stdout!r}")
    td.check(b"err\n" in done.stderr and b"\r" not in done.stderr and b"\033" not in done.stderr,
             f"stderr: {done.stderr!r}")


def left_over():
    """A test that is killed leaves no process of its own and no folder."""
    program = ("import os, signal, subprocess, td; subprocess.Popen(['sh', '-c', 'sleep 1000 & echo $!; exec sleep 1001'], "
               "start_new_session=True, stdout=open(td.scratch('pid'), 'w')); print(td.SCRATCH, flush=True); input(); "
               "os.kill(os.getpid(), signal.SIGKILL)")
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             cwd=os.path.dirname(os.path.abspath(__file__)))
    note = os.path.join(child.stdout.readline().decode().strip(), "pid")
    text = ""
    while not text.endswith("\n"):
        time.sleep(0.02)
        with open(note, encoding="utf-8") as file:
            text = file.read()
    child.communicate(b"\n", timeout=60)
    for _ in range(500):
        if not os.path.exists(f"/proc/{int(text)}/exe") and not os.path.exists(note):
            return
        time.sleep(0.02)
    td.fail("a killed test left a process, or its folder")


td.cases({"commands": commands, "missing": missing, "hints": hints, "own": own, "reporting": reporting,
          "help_and_version": help_and_version, "full_stdout": full_stdout, "streams": streams, "left_over": left_over})
