#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples programs of five kinds, unwinds each stack by our tables, our interpreter and libunwind, and
wants them equal, frame by frame, on 10,000 stacks; and 99.5 % of the stacks whole.

tests/unwind/agree.py BINARIES [--bench]     BINARIES: where unwind_capture and unwind_replay are
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
WANTED = 10000
ROUNDS_MAX = 4  # a busy machine takes fewer samples of a program than a quiet one
WHOLE_SHARE = 0.995
# name, compiler, source, flags, arguments, bytes of stack. Copies are long enough for whole stacks, but for
# handlers on a stack of their own, of which only what was interrupted can be known.
PROGRAMS = [
    ("c-gcc", "gcc", "signals.c", ["-O2", "-fcf-protection", "-pthread"], [], 32768),
    ("c-clang", "clang", "signals.c", ["-O2", "-pthread"], [], 32768),
    ("c-altstack", "gcc", "signals.c", ["-O2", "-pthread"], ["own"], 32768),
    ("c-static", "gcc", "signals.c", ["-O1", "-static", "-pthread", "-Wl,--eh-frame-hdr"], [], 32768),
    ("c-static-bare", "gcc", "signals.c", ["-O1", "-static", "-pthread"], [], 32768),
    ("c-lazy", "gcc", "signals.c", ["-O2", "-pthread", "-Wl,-z,lazy", "-fno-pie", "-no-pie"], [], 32768),
    ("recursion", "gcc", "recursion.c", ["-O2"], [], 65528),
    ("recursion-clang", "clang", "recursion.c", ["-O1"], [], 65528),
    ("exceptions", "g++", "exceptions.cc", ["-O2"], [], 16384),
    ("exceptions-lld", "clang++", "exceptions.cc", ["-O2", "-fuse-ld=lld"], [], 16384),
    ("frame-pointers", "gcc", "frame_pointers.c", ["-O2", "-fno-omit-frame-pointer"], [], 16384),
    ("frame-pointers-clang", "clang", "frame_pointers.c", ["-O2", "-fno-omit-frame-pointer"], [], 16384),
    ("rust", "rustc", "hash.rs", ["-O"], [], 16384),
    ("assembly", "gcc", "assembly.S", [], [], 8192),
]
LINE = re.compile(r": (\d+) samples, .*; differ from interpreter (\d+), from libunwind (\d+)")


def build(folder, program):
    name, compiler, source, flags = program[:4]
    if os.uname().machine != "x86_64" or not shutil.which(compiler):
        return None
    path = os.path.join(folder, name)
    done = subprocess.run([compiler, *flags, "-o", path, os.path.join(HERE, source)], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{name}: not built: {done.stderr.strip().splitlines()[-1:]}")
        return None
    return path


def counts(text):
    samples, full, reference = map(int, LINE.search(text).groups())
    complete = re.search(r"complete (\d+)", text)
    earlier = re.search(r"libunwind stopped earlier (\d+)", text)
    return samples, full, reference, int(complete[1]) if complete else 0, int(earlier[1])


def examine(program, binaries, path, bench):
    """Samples one program and compares its stacks: (samples, whole ones, failures); None: no samples can be taken here."""
    name = program[0]
    failures = 0
    stored = path + ".tri"
    done = subprocess.run([os.path.join(binaries, "unwind_capture"), stored, "10000", str(program[5]), "4000",
                           path, *program[4]], capture_output=True, text=True)
    if done.returncode == 77:
        print("SKIP: perf_event_open: " + done.stderr.strip())
        return None
    replay = subprocess.run([os.path.join(binaries, "unwind_replay"), *bench, stored], capture_output=True, text=True)
    print(f"{name}{replay.stdout.partition('.tri')[2].strip()}")
    os.unlink(stored)
    samples, full, reference, complete, earlier = counts(replay.stdout)
    # libgcc's unwinder overwrites its own return addresses before it jumps: those few stacks are
    # nobody's to unwind, and what is made of them differs. A stack that we call whole is excused nowhere.
    allowed = samples - complete if name.startswith("exceptions") else 0
    # libunwind finds tables by .eh_frame_hdr, which gcc gives no static program unless told to.
    allowed = samples if name == "c-static-bare" else allowed
    by_pointer = re.search(r"by frame pointer (\d+) equal, \d+ in prologues, (\d+) differ", replay.stdout)
    if name.startswith("frame-pointers") and (int(by_pointer[2]) or int(by_pointer[1]) < samples * 0.9):
        print(f"{name}: FAILED: frame pointers say otherwise")
        failures += 1
    # Where libunwind gives up although a table describes the code, nothing is compared: it may seldom.
    if name != "c-static-bare" and earlier > samples // 100:
        print(f"{name}: FAILED: libunwind stopped earlier in {earlier} stacks")
        failures += 1
    if full or reference > allowed or samples == 0:
        print(f"{name}: FAILED: {full} differ from the interpreter, {reference} from libunwind")
        failures += 1
    return samples, complete, failures


def main():
    binaries = sys.argv[1]
    bench = ["--bench"] if "--bench" in sys.argv else []
    total = whole = should = failures = rounds = 0
    with tempfile.TemporaryDirectory() as folder:
        built = [(program, build(folder, program)) for program in PROGRAMS]
        for program, path in built:
            if not path:
                print(f"{program[0]}: left out")
        built = [(program, path) for program, path in built if path]
        while built and total < WANTED and rounds < ROUNDS_MAX:
            rounds += 1
            for program, path in built:
                found = examine(program, binaries, path, bench)
                if not found:
                    return 77
                samples, complete, failed = found
                failures += failed
                total += samples
                if program[0] != "c-altstack":
                    whole += complete
                    should += samples
    print(f"{total} stacks of {len(built)} programs; {100 * whole / max(should, 1):.2f} % whole")
    if total < WANTED:
        print(f"FAILED: fewer than {WANTED} stacks")
        failures += 1
    if whole < WHOLE_SHARE * should:
        print(f"FAILED: fewer than {100 * WHOLE_SHARE} % whole")
        failures += 1
    return 1 if failures else 0


sys.exit(main())
