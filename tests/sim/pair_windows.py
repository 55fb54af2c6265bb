#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pair_windows.py PLUGIN PAIR: windows of a compressor begin as the program goes on there: what they count from the first thousand
instructions of detailed warming on is what an exact run counts. Without near warming L1 lacks what the program has just used."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

PLUGIN, PAIR = sys.argv[1:3]
CORE = "zen4"


def record(folder):
    """The words of a run of gzip, of some 20 million instructions."""
    text, words = os.path.join(folder, "text"), os.path.join(folder, "words")
    choose = random.Random(7)
    vocabulary = ["".join(choose.choices("etaoinshrdlu", k=choose.randint(2, 9))) for _ in range(3000)]
    with open(text, "w", encoding="ascii") as file:
        file.write(" ".join(vocabulary[min(int(choose.expovariate(0.004)), 2999)] for _ in range(42000)))
    subprocess.run(["qemu-x86_64", "-cpu", "max,-erms,-fsrm", "-plugin", f"{PLUGIN},core={CORE},mode=exact", shutil.which("gzip"),
                    "-c", text], stdout=subprocess.DEVNULL, check=True, env={**os.environ, "TDPROF_WORDS": words})
    return words


def steps(words, near):
    """[{count: (of an exact run, by how much windows differ)}] per 1,000 instructions, from the detailed warming on."""
    out = subprocess.run([PAIR, words, CORE, "--gap", "20", "--warm", "20", "--near", str(near)], check=True, capture_output=True,
                         text=True).stdout
    print(out)
    return [{name.strip(): (float(exact), float(more)) for name, exact, more in re.findall(r"([A-Z0-9a-z ]+) ([\d.]+) ([-+][\d.]+)", line)}
            for line in out.replace(":", ",").splitlines()]


def more(rows, name):
    """By how much all steps together differ from the exact run, as a share of it."""
    return sum(row[name][1] for row in rows) / sum(row[name][0] for row in rows)


def main():
    if not shutil.which("qemu-x86_64"):
        print("qemu-x86_64 is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        words = record(folder)
        rows, far = steps(words, 20), steps(words, 0)
        assert len(rows) == 6, rows
        for name in ("cycles", "mispredicts", "L1D misses"):
            assert abs(more(rows, name)) < 0.02, (name, more(rows, name))
        assert abs(more(rows[:1], "L1D misses")) < 0.01 and more(far[:1], "L1D misses") > 0.03, (rows[0], far[0])
    return 0


sys.exit(main())
