#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images of programs that run: what they print, return and leave behind is as without."""
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import td  # noqa: E402

HERE = os.path.join(td.BUILD, "tests/live")
IMAGES = os.path.join(HERE, "live_images")
VICTIM = os.path.join(HERE, "victim")
PROGRAM = "import sys\n" \
          "words = {}\n" \
          "for i in range(600000):\n" \
          "    words[i % 5003] = words.get(i % 5003, 0) + i\n" \
          "open(sys.argv[1], 'w').write(str(sum(words.values())))\n" \
          "print(len(words), file=sys.stderr)\n" \
          "sys.exit(3)\n"
SHELL = "i=0; while [ $i -lt 150 ]; do echo $(echo $i | tr 0-9 a-j); i=$((i + 1)); done | sort | tee \"$1\" | cksum"
MAKEFILE = "all: $(foreach i,1 2 3 4 5 6 7 8 9,$(OUT).$(i))\n" \
           "\t@sort $^ > $(OUT); rm $^\n" \
           "$(OUT).%:\n" \
           "\t@i=0; while [ $$i -lt 3000 ]; do i=$$((i + 1)); done; echo $* $$i > $@\n"


def counts(report):
    """How many of each outcome the tool tells; and no image may be damaged."""
    with open(report, encoding="utf-8") as file:
        text = file.read()
    td.check("DAMAGED" not in text, text)
    found = {name: int(number) for number, name in re.findall(r"^TOTAL (\d+) (.*)$", text, re.M)}
    if not found.get("taken") and found.get("the kernel does not let this user stop it"):
        td.skip("ptrace is not allowed here")
    return found, text


def watched(command, count=60, every=4, **more):
    """The command's result with images taken of it, and their outcomes."""
    report = td.scratch("report")
    done = subprocess.run([IMAGES, "-n", str(count), "-i", str(every), "-o", report, "--", *command],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, check=False, **more)
    if done.returncode == 77:
        td.skip("ptrace is not allowed here: " + done.stderr.decode())
    return done, *counts(report)


def victim(mode, seen):
    """Runs a program that checks on itself, sound each time, until the outcomes are such that seen(counts, text): on a
    busy machine few images are taken of a short program."""
    for _ in range(5):
        done, found, text = watched([VICTIM, mode])
        if done.returncode == 77:
            td.skip(f"the kernel does not let {mode} be tried")
        td.check(done.returncode == 0 and done.stdout == b"sound\n", f"{mode}: {done}\n{text}")
        if seen(found, text):
            return
    td.check(False, f"{mode}: {text}")


def own(*modes):
    for mode in modes:
        victim(mode, lambda found, text: found.get("taken") and "by copying" not in text)


def computing():
    own("work", "threads", "shared", "exec")


def signals():
    own("signals", "timer", "faults", "stopped")


def calls():
    own("calls", "locks", "offsets")


def children():
    own("wait", "vfork")


def apart():
    """What clones do not get is in the images: all 4 MB of it."""
    victim("apart", lambda found, text: any(int(size) >= 4096 for size in re.findall(r": taken .* image (\d+) KB", text)))


def confined():
    """Where no clone may be made, a small program is copied; a traced one is left alone, and who traces."""
    victim("confined", lambda found, text: "by copying" in text)
    victim("limited", lambda found, text: "by copying" in text)
    victim("traced", lambda found, text: found.get("a debugger holds the process"))
    victim("tracer", lambda found, text: found.get("the process is a debugger, which would see the clone"))


def same(name, command, out):
    """Run twice, with and without: output, errors, status and file are the same."""
    plain = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    with open(out, "rb") as file:
        wanted = file.read()
    os.unlink(out)
    done, _, text = watched(command, 100, 2)
    td.check((done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr),
             f"{name}: {plain}\n{done}\n{text}")
    with open(out, "rb") as file:
        td.check(file.read() == wanted, f"{name}: the file has changed")
    os.unlink(out)


def commands():
    out = td.scratch("out")
    same("sh", ["sh", "-c", SHELL, "sh", out], out)
    same("python", [sys.executable, "-c", PROGRAM, out], out)
    td.need("make")
    makefile = td.scratch("Makefile")
    with open(makefile, "w", encoding="ascii") as file:
        file.write(MAKEFILE)
    same("make", ["make", "-j4", "-f", makefile, f"OUT={out}"], out)


def running(pid):
    """Processes of this program that are neither zombies nor `pid`."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != pid:
            try:
                if os.readlink(f"/proc/{name}/exe") == os.path.realpath(VICTIM):
                    with open(f"/proc/{name}/status", encoding="ascii") as file:
                        if f"PPid:\t{pid}\n" in file.read():
                            found.append(int(name))
            except OSError:
                pass
    return found


def killed():
    """Whoever asks for images is killed at any moment: the program goes on, and no clone of it stays."""
    random.seed(1)
    end = time.monotonic() + 8
    rounds = 0
    while time.monotonic() < end and rounds < 15:
        rounds += 1
        child = subprocess.Popen([VICTIM, "signals"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        tool = subprocess.Popen([IMAGES, "-n", "10000", "-i", "0", "-p", str(child.pid)], stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0.01, 0.2))
        tool.send_signal(signal.SIGKILL)
        tool.wait()
        wait_for(lambda: not running(child.pid), "a clone is left")
        out, err = child.communicate(timeout=60)
        td.check((child.returncode, out) == (0, b"sound\n"), f"{child.returncode} {out} {err}")


def wait_for(true, what):
    end = time.monotonic() + 20
    while not true():
        td.check(time.monotonic() < end, what)
        time.sleep(0.02)


def attach():
    """-p: images of a process that runs already; nothing of it stays, neither tracer nor child."""
    child = subprocess.Popen([VICTIM, "long"], stdout=subprocess.PIPE)
    report = td.scratch("report")
    subprocess.run([IMAGES, "-n", "5", "-i", "1", "-o", report, "-p", str(child.pid)], timeout=60, check=True)
    children_left = None
    if child.poll() is None:
        with open(f"/proc/{child.pid}/status", encoding="ascii") as file:
            text = file.read()
        td.check("TracerPid:\t0\n" in text or "State:\tZ" in text, text)
        with open(f"/proc/{child.pid}/task/{child.pid}/children", encoding="ascii") as file:
            children_left = file.read()
    out, _ = child.communicate(timeout=60)
    td.check((child.returncode, out) == (0, b"sound\n"), f"{child.returncode} {out}")
    found, text = counts(report)
    td.check(found.get("taken"), text)
    td.check(not children_left, f"children: {children_left}")


td.cases({name: globals()[name] for name in (
    "computing", "signals", "calls", "children", "apart", "confined", "commands", "killed", "attach")})
