#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tdrec --off-cpu: programs that say themselves where they waited, for what and how long."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import td  # noqa: E402

CLOCK = [td.TDREC, "--source", "clock", "-F", "999", "--off-cpu"]
# The kernel tells a pipe from a file, where it has names.
REASONS = {"contended": ("lock",), "sleep_for": ("sleep",), "serve": ("pipe", "read")}


def need_stacks():
    """The kernel's own code is sampled: perf_event_paranoid allows it, or we may do all."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        if int(file.read()) > 1 and os.geteuid() != 0:
            td.skip("perf_event_open: kernel events are not allowed here")
    if not any(line.endswith(" schedule\n") for line in open("/proc/kallsyms", encoding="ascii")):
        td.skip("perf_event_open: the kernel has no names here")


def waits(path):
    return td.report_json(path)["waits"]


def told(done):
    """What the program says: seconds by function, added up."""
    found = {}
    for line in done.stdout.decode().splitlines():
        name, seconds = line.split()
        found[name] = found.get(name, 0) + float(seconds)
    return found


def check_places(path, done, more):
    found = {place["function"]: place for place in waits(path)["places"]}
    for name, seconds in told(done).items():
        place = found.get(name, {})
        # The program reads its clock before and after: on a busy machine it says more, but never less.
        got = place.get("time_ns", 0) / 1e9
        td.check(seconds * 0.6 - 0.05 < got < seconds * 1.02 + 0.02,
                 f"{more}: {name} waited {seconds} s, told are {got} s: {found}")
        td.check(place["for"] in REASONS[name] and place["line"] and place["file"].endswith("waits.c"), f"{place}")


def check_stacks(path):
    """Each wait has a stack, but for those whose samples were lost, which the report says."""
    found = td.report_json(path)
    bare = sum(place["waits"] for place in found["waits"]["places"] if place["function"] is None)
    td.check(bare <= found["coverage"]["lost"], f"{bare} waits without a stack: {found['waits']}")


def places():
    """A lock, a sleep, a pipe: by function and line, with what was waited for, in text, folded and JSON."""
    need_stacks()
    out = td.scratch("places.td")
    for more in ((), ("-g",), ("--call-graph", "none", "-e", "cpu-clock")):
        done = td.run([*CLOCK, *more, "-o", out, "--", td.workload("waits"), "0.6"])
        check_places(out, done, more)
    text = td.run([td.TDREPORT, "-w", "80", "-i", out]).stdout.decode()
    td.check("waiting " in text and "Waiting, off the CPU" in text and max(map(len, text.splitlines())) <= 80, text)
    folded = td.run([td.TDREPORT, "folded", "--off-cpu", "-i", out]).stdout.decode()
    lines = [line for line in folded.splitlines() if ";contended;" in line]
    td.check(lines and 2e8 < sum(int(line.rpartition(" ")[2]) for line in lines) < 9e9, folded)
    for words in (("functions", "--off-cpu"), ("export", "--off-cpu", "--format", "pprof", "-o", td.scratch("p.gz"))):
        td.run([td.TDREPORT, *words, "-i", out])
    done = td.run([td.TDREC, "--source", "clock", "-o", out, "--", td.workload("split"), "0.1"])
    td.check("waits" not in td.report_json(out), "waits that nobody asked for")
    done = td.run([td.TDREPORT, "folded", "--off-cpu", "-i", out], 2)
    td.check(b"off-cpu" in done.stderr, f"{done.stderr!r}")


def methods():
    """Whole CPUs and single tasks tell the same; on-CPU time is what it is without."""
    need_stacks()
    out = td.scratch("methods.td")
    for method in ("task", "cpu") if os.geteuid() == 0 else ("task",):
        done = td.run([*CLOCK, "--method", method, "-o", out, "--", td.workload("waits"), "0.6"])
        check_places(out, done, method)
        td.run([*CLOCK, "--method", method, "-o", out, "--", td.workload("split"), "0.5"])
        found = {row["module"]: row["time_share"] for row in td.report_json(out, "modules")["modules"]}
        td.check(found.get("split", 0) > 0.8, f"{method}: {found}")


def together():
    """Two recordings at the same time, of the same waits: each has all the stacks. Linux may give all samples of a
    software event the id of the recording that it serves first."""
    need_stacks()
    outs = [td.scratch(f"together.{i}.td") for i in range(2)]
    for _ in range(5):
        td.run([word for out in outs for word in (*CLOCK, "-o", out, "--")] + [td.workload("waits"), "0.3"])
        found = [td.report_json(out) for out in outs]
        # Two recorders that get no CPU for long may lose samples.
        if not any(report["coverage"]["lost"] for report in found):
            break
    for report in found:
        reasons = {place["function"]: place["for"] for place in report["waits"]["places"]}
        td.check(report["coverage"]["lost"] == 0 and None not in reasons, f"{report['coverage']} {report['waits']}")
        for name, known in REASONS.items():
            td.check(reasons.get(name) in known, f"{name}: {reasons}")


def attached():
    """-p: what waited when the recording began and goes on waiting has no end, and is told up to the end."""
    need_stacks()
    child = subprocess.Popen(["sh", "-c", "while :; do sleep 0.05; done"])
    out = td.scratch("attached.td")
    try:
        td.run([*CLOCK, "-o", out, "-p", str(child.pid), "--duration", "1"])
        found = waits(out)
        reasons = {place["for"]: place["time_ns"] for place in found["places"]}
        td.check(reasons.get("child", 0) > 3e8 and found["time_ns"] < 3e9, f"{found}")
    finally:
        child.kill()
        child.wait()


def whole_machine():
    """-a: those of all, and never of the idle task."""
    if os.geteuid() != 0:
        td.skip("needs root")
    need_stacks()
    child = subprocess.Popen(["sleep", "60"])
    out = td.scratch("all.td")
    try:
        td.run([*CLOCK, "-o", out, "-a", "--", td.workload("waits"), "0.4"])
        found = waits(out)
        td.check(any(place["function"] == "contended" for place in found["places"]), f"{found}")
        td.check(not any(place["thread"] == "swapper" for place in found["places"]), f"{found}")
    finally:
        child.kill()
        child.wait()


def unprivileged():
    """Who may not see the kernel gets the time by thread, and is told why."""
    if os.geteuid() != 0:
        td.skip("needs root")
    td.need("setpriv")
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        if int(file.read()) != 2:
            td.skip("perf_event_open: perf_event_paranoid is not 2 here")
    folder = td.scratch("nobody")
    os.makedirs(folder, exist_ok=True)
    os.chmod(td.SCRATCH, 0o755)
    os.chown(folder, 65534, 65534)
    for program in (td.TDREC, td.workload("waits")):
        shutil.copy(program, folder)
    out = os.path.join(folder, "waits.td")
    done = td.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", f"{folder}/tdrec", "--source",
                   "clock", "--off-cpu", "-o", out, "--", f"{folder}/waits", "0.4"])
    found = waits(out)
    whole = sum(told(done).values())
    td.check(whole * 0.6 - 0.05 < found["time_ns"] / 1e9 < whole * 1.5 + 1, f"{whole}: {found}")
    td.check(all(place["function"] is None for place in found["places"]), f"{found}")
    td.check(b"perf_event_paranoid" in done.stderr and b"by thread" in done.stderr, f"{done.stderr!r}")
    td.check(b"(thread waits)" in td.run([td.TDREPORT, "-i", out]).stdout, "no thread")


# Tells when recording was asked for, when it had begun, how long it then slept, and when recording had ended.
SLEEPER = """import os, sys, time
control, answers = os.open(sys.argv[1], os.O_WRONLY), os.open(sys.argv[2], os.O_RDONLY)
def say(word):
    os.write(control, word)
    assert os.read(answers, 5) == b'ack\\n\\0'
time.sleep(0.5)
asked = time.monotonic()
say(b'enable\\n')
began = time.monotonic()
for i in range(6):
    time.sleep(0.05)
slept = time.monotonic()
say(b'disable\\n')
ended = time.monotonic()
time.sleep(0.5)
print(slept - began, ended - asked)
"""


def paused():
    """--control: what was waited while recording was on, from the first wait on with its stack, and nothing else. One
    that began before is not told: it has no beginning."""
    need_stacks()
    out, control, answers = (td.scratch(name) for name in ("paused.td", "control", "answers"))
    for path in (control, answers):
        os.mkfifo(path)
    done = td.run([*CLOCK, "-o", out, "-D", "-1", "--control", f"fifo:{control},{answers}", "--", sys.executable, "-c",
                   SLEEPER, control, answers])
    slept, recorded = map(float, done.stdout.split())
    found = waits(out)
    asleep = sum(place["time_ns"] for place in found["places"] if place["for"] == "sleep") / 1e9
    check_stacks(out)
    # On a busy machine the program may be taken off its CPU before or after it sleeps, which is no wait. Where
    # records were lost, not all are told.
    lost = td.report_json(out)["coverage"]["lost"]
    td.check((lost or asleep > 0.18) and asleep < slept + 0.001, f"{asleep} s of sleep, {slept} s by the program: {found}")
    td.check(found["time_ns"] / 1e9 < recorded + 0.001, f"{recorded} s were recorded: {found}")


td.need_programs()
td.need_perf_events()
td.cases({"places": places, "methods": methods, "attached": attached, "whole_machine": whole_machine,
          "unprivileged": unprivileged, "together": together, "paused": paused})
