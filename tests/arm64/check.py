#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what the emulated machine recorded: check.py KERNEL CONSOLE TDREPORT"""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile

KERNEL, CONSOLE, TDREPORT = sys.argv[1:4]
failures = []


def check(good, name, figure=""):
    print(f"  {'ok' if good else 'FAILED'}  {KERNEL}  {name}  {figure}")
    if not good:
        failures.append(name)


def read_console():
    """The texts, their exit codes and the files that the machine printed."""
    texts, codes, files = {}, {}, {}
    kind = name = None
    lines = []
    with open(CONSOLE, encoding="utf-8", errors="replace") as console:
        for line in console.read().replace("\r", "").split("\n"):
            mark = re.match(r"=== (text|file) (\S+)$", line)
            if mark:
                (kind, name), lines = mark.groups(), []
            elif line.startswith("=== end") and kind == "text":
                texts[name], codes[name], kind = "\n".join(lines), int(line.split()[2]), None
            elif line.startswith("=== end") and kind == "file":
                files[name], kind = base64.b64decode("".join(lines)), None
            elif kind:
                lines.append(line)
    return texts, codes, files


def dump(data):
    with tempfile.NamedTemporaryFile(suffix=".td") as file:
        file.write(data)
        file.flush()
        return subprocess.run([TDREPORT, "dump", "-i", file.name], capture_output=True, text=True, check=True).stdout


def number(text, key):
    found = re.search(rf"\b{key}=(\d+)", text)
    return int(found.group(1)) if found else 0


class Profile:
    """What a dump says: the deltas of each group's samples, and the counters at the end."""

    def __init__(self, text):
        self.counts, self.sums, self.columns, self.samples, self.threads = {}, {}, {}, 0, set()
        self.lost = number(text, "lost") + number(text, "lost_records")
        self.last_time, self.backwards = {}, 0
        self.distances = {}  # by CPU: what the sampler counted since the sample before
        group = None
        for line in text.split("\n"):
            words = line.split()
            if re.match(r"\s*\w+\s+counts event=", line):
                self.counts[number(line, "event")] = {
                    key: number(line, key) for key in ("counted", "sampled", "elsewhere", "rest")}
            elif re.match(r"\s*\w+\s+group \d+ ", line):
                self.columns[int(words[2])] = [
                    (kind, int(event)) for kind, event in re.findall(r"\[(\S+) event=(\d+)", line)]
            elif "run group=" in line:
                group = number(line, "group")
                cpu = number(line, "cpu")
            elif line.strip().startswith("time=") and group is not None:
                self.take(words, group, cpu)

    def take(self, words, group, cpu):
        self.samples += 1
        self.threads.add(words[1])
        time = int(words[0][5:])
        self.backwards += time < self.last_time.get((group, cpu), 0)
        self.last_time[group, cpu] = time
        self.distances.setdefault(cpu, []).append(int(words[3]))
        for (_, event), value in zip(self.columns[group], words[3:]):
            self.sums[event] = self.sums.get(event, 0) + int(value)

    def check_sums(self, name, whole):
        """The deltas' sum, with what is known to lie elsewhere, is what the counters held."""
        shown = {event for columns in self.columns.values() for _, event in columns}
        for event, counts in self.counts.items():
            # The second sampler of pairs counts what the first does; samples do not say it twice.
            sampled = self.sums.get(event, 0) if event in shown else counts["sampled"]
            check(sampled == counts["sampled"] and
                  sampled + counts["elsewhere"] + counts["rest"] == counts["counted"] > 0,
                  f"{name}: event {event}: deltas add up to the counter",
                  f"{sampled} + {counts['elsewhere']} + {counts['rest']} = {counts['counted']}")
            if whole:
                check(counts["rest"] <= 0.1 * counts["counted"], f"{name}: event {event}: little after the last sample",
                      f"{counts['rest'] / max(1, counts['counted']):.2%}")
        check(len(self.counts) >= 1, f"{name}: has counts")
        check(self.lost == 0, f"{name}: nothing lost")
        check(self.backwards == 0, f"{name}: samples in the order of time")


def check_pairs(name, profile, period, busy, spread):
    """Two samplers of one group on the real driver: every other sample comes the same short distance after the other."""
    distances = profile.distances.get(busy, [])
    short = sorted(d for d in distances if d < period / 4)
    check(len(short) >= max(20, 0.45 * len(distances)), f"{name}: samples come in pairs", f"{len(short)} of {len(distances)}")
    if short:
        middle, low, high = (short[int(len(short) * part)] for part in (0.5, 0.05, 0.95))
        check(middle > 1000 and high - low < spread * middle, f"{name}: at a constant distance",
              f"{middle}, 90 % from {low} to {high}, of a period of {period}")


def check_count(texts, codes, work, sampled):
    """--count: inherited counters, so threads and forked children are in it on every kernel."""
    check(codes.get("count") == 0, "count: tdrec ended well", texts.get("count", "")[-200:] if codes.get("count") else "")
    try:
        events = {row["event"]: row for row in json.loads(texts.get("counts", ""))["events"]}
    except ValueError:
        check(False, "count: JSON", texts.get("counts", "")[:200])
        return
    got = {name: events[name]["count"] for name in ("cycles", "instructions")}
    check(0.95 * work < got["instructions"] < 2.6 * work, "count: instructions are those of the program",
          f"{got['instructions']} for {work}")
    check(all(row["running_ns"] == row["enabled_ns"] > 0 for row in events.values()), "count: nothing had to wait")
    # With -icount shift=0 the machine executes an instruction a nanosecond, and its cycle counter runs at 1 GHz.
    ratio = got["cycles"] / got["instructions"]
    check(0.95 < ratio < 1.05, "count: a cycle an instruction", f"{ratio:.3f}")
    if sampled:
        ratio = got["instructions"] / max(1, sampled)
        check(0.9 < ratio < 1.1, "count: instructions as the sampled run has them", f"{ratio:.3f}")
    told = texts.get("counted", "")
    check("instructions per cycle" in told and codes.get("counted") == 0, "count: by the core's description",
          "" if "instructions per cycle" in told else told[-200:])


def check_threads(texts, codes, work):
    """--count --per-thread: a counter group a thread on the real driver; threads and children by themselves."""
    check(codes.get("each") == 0, "threads: tdrec ended well", texts.get("each", "")[-200:])
    try:
        whole = json.loads(texts.get("threads", ""))
    except ValueError:
        check(False, "threads: JSON", texts.get("threads", "")[:200])
        return
    counts = [{row["event"]: row["count"] for row in one["events"]} for one in whole["threads"]]
    for row in whole["events"]:
        check(sum(one[row["event"]] for one in counts) == row["count"] > 0,
              f"threads: {row['event']} adds up to the whole")
    check(len(counts) == 7, "threads: the main one, three threads, three children", str(len(counts)))
    # Each executes the same loop, of which a little may run before its counters are open; QEMU counts the
    # instructions of all its CPUs on each of them. On a busy host tdrec comes late to more of it, and says so.
    misses = whole["thread_misses"]
    short = [one["instructions"] for one in counts if one["instructions"] < 0.6 * work / 7]
    check(len(short) <= misses["late"] + misses["missed"], "threads: each has its part of the work, or tdrec came late",
          f"short {short}, all {work}, {misses}")


def main():
    texts, codes, files = read_console()
    work = int(texts.get("alone", "0") or 0)
    check(texts.get("kernel", "").startswith(KERNEL + "."), "the kernel is the one asked for", texts.get("kernel", ""))
    check("armv8_pmuv3" in texts.get("doctor", ""), "--doctor names the PMU")
    check(all(name in texts for name in ("plan", "report")), "everything ran")
    sampled = None
    for name in ("cpu", "system", "period", "task", "pmu", "stacks", "pairs", "pairs0", "pairs1", "pinned"):
        check(codes.get(name) == 0, f"{name}: tdrec ended well", texts.get(name, "")[-200:] if codes.get(name) else "")
        if codes.get(name) != 0 or f"{name}.td" not in files:
            continue
        profile = Profile(dump(files[f"{name}.td"]))
        check(profile.samples >= 10, f"{name}: samples", str(profile.samples))
        profile.check_sums(name, whole=name in ("cpu", "system", "pmu", "pairs"))
        if name.startswith("pairs"):
            # The kernel's own instructions vary from interrupt to interrupt.
            check_pairs(name, profile, 3000000, busy=name == "pairs1", spread=1 if name == "pairs" else 0.2)
        if name == "pinned":
            sampled = profile.counts[1]["sampled"]
        if name in ("cpu", "system"):
            check(len(profile.threads) >= 7, f"{name}: threads and forked children", str(len(profile.threads)))
            instructions = profile.counts[1]["sampled"]
            # QEMU counts the instructions of all its CPUs on each of them.
            check(0.95 * work < instructions < 2.6 * work, f"{name}: instructions are those of the program",
                  f"{instructions} for {work}")
    check("keep no distance" in texts.get("no_pairs", ""), "no_pairs: says why")
    check_count(texts, codes, work, sampled)
    check_threads(texts, codes, 2 * work)
    # Group reads are inherited from Linux 6.12 on; before, only the first thread has them, and tdrec says so.
    if KERNEL == "6.1":
        check("6.12" in texts.get("task", ""), "task: says that threads are left out")
    elif "task.td" in files:
        profile = Profile(dump(files["task.td"]))
        check(len(profile.threads) >= 7, "task: threads and forked children", str(len(profile.threads)))
        check(0.95 * work < profile.counts[1]["counted"] < 2.6 * work, "task: counts what the program executed",
              f"{profile.counts[1]['counted']} for {work}")
    print(f"{KERNEL}: {len(failures)} failed")
    return 1 if failures else 0


sys.exit(main())
