#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""a64.py known_answer_a64|words_a64|paths_a64|images_a64 BUILD WORDS: aarch64 programs on the modelled core.

known_answer_a64  the kernels of known_answer.py
words_a64         every word of the C library, against what objdump says of it
paths_a64         call paths through recursion, tail calls and longjmp, and the lines of a report
images_a64        a program that executes another, and one that ends by an instruction that is not there
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CC, OBJDUMP = "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump"
LIBRARIES = "/usr/aarch64-linux-gnu/lib/lib*.so.*"
UNKNOWN_MAX = 0.001

# Kinds of branch (enum td_branch_kind) by mnemonic.
BRANCHES = {"b": 2, "bl": 3, "ret": 4, "retaa": 4, "retab": 4, "br": 5, "braa": 5, "brab": 5, "braaz": 5,
            "brabz": 5, "blr": 6, "blraa": 6, "blrab": 6, "blraaz": 6, "blrabz": 6,
            "cbz": 1, "cbnz": 1, "tbz": 1, "tbnz": 1}
ATOMIC = re.compile(r"(ld|st)(add|clr|eor|set|smax|smin|umax|umin)|cas|swp")

EXCLUSIVE = re.compile(r"stl?xr")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def build(source, output, *flags):
    if not shutil.which(CC):
        skip(f"{CC} is not installed")
    subprocess.run([CC, "-O2", "-g", "-fno-tree-vectorize", *flags, "-o", output,
                    os.path.join(HERE, source)], check=True)


def known_answer(folder, binaries, _words):
    plugin, program = os.path.join(binaries, "tdprof-sim-plugin.so"), os.path.join(folder, "kernels")
    build("kernels.c", program, "-static")
    return subprocess.run([os.path.join(HERE, "known_answer.py"), plugin, program],
                          check=False).returncode


def expected(mnemonic, operands):
    """What the word must have been taken for: flags and kind of branch."""
    base = mnemonic.split(".")[0]
    atomic = bool(ATOMIC.match(base))
    zeroes = base == "dc" and operands.startswith("zva")
    # A store-exclusive of one register reads what it replaces, under QEMU.
    load = base.startswith("ld") or atomic or bool(EXCLUSIVE.match(base))
    store = base.startswith("st") or atomic or zeroes
    flags = ("L" if load else "-") + ("S" if store else "-") + ("P" if base.startswith("prf") else "-")
    return flags, 1 if mnemonic.startswith("b.") else BRANCHES.get(base, 0)


def disassemble(files):
    """{word: [mnemonic, operands, how often]}"""
    found = {}
    for name in files:
        text = subprocess.run([OBJDUMP, "-d", name], capture_output=True, text=True, check=True).stdout
        for word, mnemonic, operands in re.findall(
                r"^ +[0-9a-f]+:\t([0-9a-f]{8}) \t(\S+)(?:\t(.*))?$", text, re.M):
            if not mnemonic.startswith(".") and mnemonic != "udf":
                found.setdefault(word, [mnemonic, operands, 0])[2] += 1
    return found


def words_test(_folder, _binaries, words):
    files = [f for f in glob.glob(LIBRARIES) if re.search(r"/lib(c|m|stdc\+\+)\.so", f)]
    if not shutil.which(OBJDUMP) or not files:
        skip(f"{OBJDUMP} or the arm64 C library is not installed")
    found = disassemble(files)
    lines = subprocess.run([words], input="\n".join(found), capture_output=True, text=True,
                           check=True).stdout.splitlines()
    total = sum(count for _, _, count in found.values())
    unknown, wrong = 0, []
    for line in lines:
        word, flags, branch = line.split()
        mnemonic, operands, count = found[word]
        unknown += count if flags[0] == "U" else 0
        if (flags[1:], int(branch)) != expected(mnemonic, operands):
            wrong.append(f"{word} {mnemonic} {operands}: taken for {flags} {branch}")
    print(f"{len(found)} words of {total}, {100 * unknown / total:.3f} % of them unknown, "
          f"{len(wrong)} taken for another kind")
    print("\n".join(wrong[:20]))
    return 1 if wrong or unknown > UNKNOWN_MAX * total or total < 100000 else 0


# leaf: its path from main, as `folded` writes it
PATHS = {
    "leaf_recursive": "main;recurse;recurse;recurse;recurse;leaf_recursive",
    "leaf_tail": "main;leaf_tail",
    "leaf_before_jump": "main;lands;jumps;jumps;jumps;jumps;leaf_before_jump",
    "leaf_after_jump": "main;lands;leaf_after_jump",
    "leaf_last": "main;leaf_last",
}


def check_paths(report, profile):
    text = subprocess.run([report, "folded", "--no-inline", "-i", profile], capture_output=True, text=True,
                          check=True).stdout
    problems = []
    for leaf, want in PATHS.items():
        rows = [row.rsplit(" ", 1) for row in text.splitlines() if row.rsplit(" ", 1)[0].endswith(leaf)]
        found = max(rows, key=lambda row: float(row[1]))[0] if rows else "nothing"
        found = found[found.rfind(";main;") + 1:]  # the thread's name comes first
        if found != want or len(rows) != 1:
            problems.append(f"{leaf}: {len(rows)} paths, {found}")
    return problems


def check_lines(report, profile):
    out = subprocess.run([report, "--json", "-i", profile], capture_output=True, text=True, check=True)
    data = json.loads(out.stdout)
    problems = []
    if data["profile"]["core"] != "neoverse-n2":
        problems.append(f"the core is {data['profile']['core']}")
    first = data["lines"][0]
    if not (first["file"] or "").endswith("paths_a64.c"):
        problems.append(f"the first line is {first}")
    return problems


def programs(binaries):
    """tdrec and tdreport."""
    if not shutil.which("qemu-aarch64") or not os.path.exists(os.path.join(binaries,
                                                                           "tdprof-sim-plugin.so")):
        skip("needs qemu-aarch64 and the plugin (not built with sanitizers)")
    return os.path.join(binaries, "tdrec"), os.path.join(binaries, "tdreport")


def images(folder, binaries, _words):
    record, report = programs(binaries)
    program, profile = os.path.join(folder, "images"), os.path.join(folder, "images.td")
    build("images_a64.c", program)
    problems = []
    done = subprocess.run([record, "-q", "--source", "sim", "-o", profile, program, "exec"],
                          capture_output=True, text=True, check=False)
    if (done.returncode, done.stdout) != (3, "child 7\n"):
        problems.append(f"exec: {done}")
    names = [row["function"] for row in json.loads(subprocess.run(
        [report, "functions", "--json", "--no-inline", "-i", profile], capture_output=True, text=True,
        check=True).stdout)["functions"]]
    if "executed" not in names:
        problems.append(f"exec: what was executed is not in the profile: {names}")
    done = subprocess.run([record, "--source", "sim", "-o", profile, program, "sve"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 132 or "the SVE instruction 2518e3e0 at images+" not in done.stderr:
        problems.append(f"sve: {done}")
    done = subprocess.run([record, "--source", "sim", "-o", profile, program, "asks"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0 or any(f"asked for {name}," not in done.stderr for name in ("seccomp", "io_uring")):
        problems.append(f"asks: {done}")
    print("\n".join(problems))
    return 1 if problems else 0


def paths(folder, binaries, _words):
    record, report = programs(binaries)
    problems = []
    for name, flags in (("dynamic", ()), ("static", ("-static",))):
        program, profile = os.path.join(folder, name), os.path.join(folder, name + ".td")
        build("paths_a64.c", program, *flags)
        subprocess.run([record, "-q", "--source", "sim", "-o", profile, program], check=True)
        problems += [f"{name}: {p}" for p in check_paths(report, profile) + check_lines(report, profile)]
    print("\n".join(problems))
    return 1 if problems else 0


def main():
    name, binaries, words = sys.argv[1:4]
    tests = {"known_answer_a64": known_answer, "words_a64": words_test, "paths_a64": paths,
             "images_a64": images}
    with tempfile.TemporaryDirectory() as folder:
        return tests[name](folder, binaries, words)


if __name__ == "__main__":
    sys.exit(main())
