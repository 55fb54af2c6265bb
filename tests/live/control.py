#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tdrec --control: the command itself says which part of it is recorded, and waits for each answer."""
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import td  # noqa: E402

CLOCK = [td.TDREC, "--source", "clock"]
# "+WORD": write it, and expect ack; "-WORD": and expect nack; "touch": 3000 page faults; else a command to run.
SCRIPT = """
import mmap, os, sys
control, answers = os.open(sys.argv[1], os.O_WRONLY), os.open(sys.argv[2], os.O_RDONLY)
for word in sys.argv[3:]:
    if word[0] in '+-':
        os.write(control, word[1:].encode() + b'\\n')
        got = os.read(answers, 5)
        if got != (b'ack\\n\\0' if word[0] == '+' else b'nack\\n'):
            sys.exit(f'{word}: {got}')
    elif word == 'touch':
        block = mmap.mmap(-1, 4096 * 3000)
        block.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(3000): block[page * 4096] = 1
    elif os.system(word) != 0:
        sys.exit(f'{word} failed')
"""


def fifos():
    paths = [td.scratch("control"), td.scratch("answers")]
    for path in paths:
        if not os.path.exists(path):
            os.mkfifo(path)
    return paths


def program(*words):
    return [sys.executable, "-c", SCRIPT, *fifos(), *words]


def control():
    return ["--control", f"fifo:{','.join(fifos())}"]


def modules(path):
    return {row["module"]: row["time_share"] for row in td.report_json(path, "modules")["modules"]}


def sampled():
    """What runs while recording is off is not in the profile; mappings made then are known; the head says it."""
    out = td.scratch("control.td")
    inlined, split = f'"{td.workload("inlined")}" 0.05 >/dev/null', f'"{td.workload("split")}" 0.15 >/dev/null'
    for method in ("task", "cpu") if os.geteuid() == 0 else ("task",):
        done = td.run([*CLOCK, "--method", method, "-F", "999", "-o", out, "-D", "-1", *control(), "--", *program(
            inlined, "+ping", "+enable", split, "+disable", inlined, "-enable cycles", "-disabl", "+evlist",
            "+enable", "+enable", split, "+disable", "+snapshot", f'"{td.TDREPORT}" -i "{out}" >/dev/null 2>&1; test $? -eq 3',
            "+stop", "-enable", inlined)])
        found = modules(out)
        td.check(found.get("split", 0) > 0.5 and "inlined" not in found, f"{method}: {found}")
        told = td.report_json(out)["profile"]
        td.check(told["recorded_pieces"] == 2 and 0 < told["recorded_s"] < told["duration_s"],
                 f"{told}")
        head = td.run([td.TDREPORT, "-i", out]).stdout
        td.check(b"only a part of the run was recorded" in head and b"mostly waiting" not in head, f"{head!r}")
        for part in (b"'disabl' is no command (did you mean disable?)", b"'enable cycles': single events",
                     b"event cpu-clock", b"stopped through --control", b"recording has ended"):
            td.check(part in done.stderr, f"no {part} in {done.stderr!r}")


def counted():
    """--count: what happens while counting is off is not counted, threads by themselves neither."""
    for more in ((), ("--per-thread",)):
        out = td.scratch("counts.json")
        td.run([*CLOCK, "--count", "--json", "-o", out, *more, "-e", "page-faults", "-D", "-1", *control(), "--",
                *program("touch", "+enable", "touch", "+disable", "touch", "-snapshot", "+stop", "touch")])
        with open(out, encoding="utf-8") as file:
            whole = json.load(file)
        got = {row["event"]: row["count"] for row in whole["events"]}["page-faults"]
        td.check(2700 < got < 3300, f"{more}: {got} page faults of 3000")
        td.check(whole["pieces"] == 1 and whole["elapsed_s"] < whole["whole_s"] and whole["user_s"] is None, f"{whole}")


def attached():
    """-p, by descriptors: what was running goes on; the end of all writers is told, and nothing is lost by it."""
    child = subprocess.Popen([td.workload("split"), "60"], stdout=subprocess.DEVNULL)
    out = td.scratch("attached.td")
    mine, theirs = os.pipe()
    answers, ack = os.pipe()
    try:
        recorder = subprocess.Popen([*CLOCK, "-F", "999", "-o", out, "-D", "-1", "--control", f"fd:{mine},{ack}", "-p",
                                     str(child.pid)], pass_fds=(mine, ack), stderr=subprocess.PIPE)
        os.close(mine)
        os.close(ack)

        def say(word):
            os.write(theirs, word)
            return os.read(answers, 5)

        # In pieces, without an end, several at once.
        os.write(theirs, b"\n pi")
        td.check(say(b"ng \r\n") == b"ack\n\0", "ping")
        td.check(say(b"enable") == b"ack\n\0", "enable without an end")
        time.sleep(0.8)  # of which a program that spins gets some
        os.write(theirs, b"disable\0ping\n")
        td.check(os.read(answers, 5) + os.read(answers, 5) == b"ack\n\0ack\n\0", "two at once")
        os.close(theirs)
        while b"are gone: recording stays off" not in (line := recorder.stderr.readline()):
            td.check(line, "the end of the writers was not told")
        recorder.send_signal(signal.SIGINT)
        td.check(recorder.wait(30) == 0, f"exit {recorder.returncode}")
        td.check(td.report_json(out)["coverage"]["samples"] > 0 and child.poll() is None, "nothing was recorded")
    finally:
        child.kill()
        child.wait()


def refused():
    """What cannot be, in one sentence, before the command runs; one that is never switched on says so."""
    out = td.scratch("refused.td")
    regular = td.scratch("regular")
    with open(regular, "wb"):
        pass
    for words, part in (("fifo:/no/such/fifo", b"mkfifo /no/such/fifo"), (f"fifo:{regular}", b"not a FIFO"),
                        ("fd:99", b"99 is not open"), ("fd:1x", b"'1x'"), ("fifo", b"fifo:PATH"),
                        (f"fifo:{fifos()[0]},", b"missing")):
        done = td.run([*CLOCK, "-o", out, "--control", words, "--", "sh", "-c", "echo ran"], 125)
        td.check(part in done.stderr and done.stderr.count(b"\n") == 1 and not done.stdout, f"{words}: {done}")
        td.check(not os.path.exists(out), f"{words} left a profile")
    # Nobody reads the answers: said once, and the command goes on. A 0 byte ends a command, too.
    read, write = os.pipe()
    mine, theirs = os.pipe()
    os.close(read)
    os.write(theirs, b"ping\0ping\n")
    threading.Timer(0.5, os.close, (theirs,)).start()
    done = td.run([*CLOCK, "-o", out, "-D", "-1", "--control", f"fd:{mine},{write}", "--", "sleep", "1.5"],
                  pass_fds=(mine, write))
    td.check(done.stderr.count(b"nobody reads the answers") == 1, f"{done.stderr!r}")
    td.check(b"no 'enable' came" in done.stderr and b"are gone" in done.stderr, f"{done.stderr!r}")
    done = td.run([td.TDREPORT, "-i", out], 4)
    td.check(b"never switched on" in done.stderr, f"{done.stderr!r}")


td.need_programs()
td.need_perf_events()
td.cases({"sampled": sampled, "counted": counted, "attached": attached, "refused": refused})
