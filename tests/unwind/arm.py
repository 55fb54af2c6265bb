#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aarch64: an emulated program is stopped at 600 places by a debugger; our unwinder must find the debugger's frames
in the registers and stack bytes. Once more with signed return addresses, against the chain of frame pointers.

tests/unwind/arm.py BINARIES     BINARIES: where unwind_foreign is
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = ["aarch64-linux-gnu-gcc", "qemu-aarch64", "gdb-multiarch"]
# name, flags, stops, where the truth is from
RUNS = [("plain", ["-O2"], 450, "debugger"), ("unoptimized", ["-O0"], 150, "debugger"),
        ("signed", ["-O2", "-mbranch-protection=standard"], 200, "chain")]
SECONDS = 120


def stops(folder, program, count, truth):
    """The file of stacks, or None when the emulator or the debugger gave up."""
    socket, out = os.path.join(folder, "gdb.socket"), program + ".stacks"
    if os.path.exists(socket):
        os.unlink(socket)
    with subprocess.Popen(["qemu-aarch64", "-cpu", "max", "-g", socket, program], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as emulator:
        try:
            while not os.path.exists(socket) and emulator.poll() is None:
                time.sleep(0.02)
            done = subprocess.run(
                ["gdb-multiarch", "-q", "-nx", "-batch", "-x", os.path.join(HERE, "arm_stops.py"), program],
                env={**os.environ, "PROGRAM": program, "OUT": out, "STOPS": str(count), "SOCKET": socket, "FROM": truth},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
        finally:
            emulator.kill()
    if done.returncode or "Error" in done.stderr:
        print(done.stderr[-2000:])
        return None
    return out


def main():
    for tool in NEEDED:
        if not shutil.which(tool):
            print(f"SKIP: {tool} is not installed")
            return 77
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, flags, count, truth in RUNS:
            program = os.path.join(folder, name)
            subprocess.run(["aarch64-linux-gnu-gcc", *flags, "-g", "-static", "-o", program,
                            os.path.join(HERE, "programs/arm.c")], check=True)
            stacks = stops(folder, program, count, truth)
            if not stacks:
                failures += 1
                continue
            done = subprocess.run([os.path.join(sys.argv[1], "unwind_foreign"), program, stacks], capture_output=True,
                                  text=True, check=False)
            print(f"{name}: {done.stdout.strip()}{done.stderr.strip()}")
            failures += done.returncode != 0 or f"{count} stacks" not in done.stdout
    return 1 if failures else 0


sys.exit(main())
