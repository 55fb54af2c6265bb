#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the samples that we read from a perf.data with what `perf script` prints for it:
thread, time, event, period and the file or kernel that the sample lies in, one for one.

usage: compare_perf_script.py MODEL_PRINT PERF_DATA [PERF_SCRIPT_TEXT]
"""
import collections
import re
import subprocess
import sys

LINE = re.compile(
    r"^\s*(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s+"
    r"(?P<period>\d+)\s+(?P<event>\S.*?):\s+(?P<ip>[0-9a-f]+)\s+\((?P<dso>.*)\)$")


def theirs(path, text):
    if text is None:
        command = ["perf", "script", "--no-itrace", "--ns", "-G", "-F",
                   "comm,pid,tid,time,event,period,ip,dso", "-i", path]
        text = subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8",
                                                                                     "replace")
    samples = collections.Counter()
    for line in text.splitlines():
        match = LINE.match(line)
        if not match:
            if line.strip():
                sys.exit(f"not understood: {line!r}")
            continue
        g = match.groupdict()
        # perf names anonymous memory after the file that a JIT compiler might write.
        dso = re.sub(r"^/tmp/perf-\d+\.map$", "//anon", g["dso"])
        if dso == "[unknown]" and int(g["ip"], 16) >> 63:
            dso = "[kernel.kallsyms]"  # also where perf has no map of it
        ip = g["ip"] if dso in ("[kernel.kallsyms]", "[unknown]") else ""
        samples[(g["comm"], g["pid"], g["tid"], int(g["s"] + g["ns"]), g["event"],
                 int(g["period"]), dso, ip)] += 1
    return samples


def ours(program, path):
    text = subprocess.run([program, "--samples", path], check=True,
                          capture_output=True).stdout.decode("utf-8", "replace")
    samples = collections.Counter()
    for line in text.splitlines():
        _, comm, pid, tid, time, event, period, place = line.split("\t")
        dso, _, offset = place.rpartition("+0x")
        ip = offset if dso in ("[kernel.kallsyms]", "[unknown]") else ""
        samples[(comm, pid, tid, int(time), event, int(period), dso, ip)] += 1
    return samples


def main():
    text = open(sys.argv[3], errors="replace").read() if len(sys.argv) > 3 else None
    a = theirs(sys.argv[2], text)
    b = ours(sys.argv[1], sys.argv[2])
    for sample in list(a - b)[:10]:
        print("only perf has  ", sample)
    for sample in list(b - a)[:10]:
        print("only we have   ", sample)
    print(f"{sum(a.values())} samples by perf, {sum(b.values())} by us, "
          f"{sum((a & b).values())} equal")
    return 0 if a == b and a else 1


if __name__ == "__main__":
    sys.exit(main())
