# SPDX-License-Identifier: MIT
"""Addresses of the C++ program to functions, inline chains and lines: 100,000 distinct ones of its text in random order, and
those of the samples of a profile. Every tool gets the same list, and all its CPUs; start-up is counted."""
import json
import os
import random
import re
import shutil
import subprocess

from . import common


def text_section(path):
    """(address, file offset, size) of .text."""
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    match = re.search(r"\] \.text\s+PROGBITS\s+([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", out)
    return tuple(int(number, 16) for number in match.groups())


def build_id(path):
    out = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True).stdout
    match = re.search(r"Build ID: ([0-9a-f]+)", out)
    if not match:
        raise common.Unmeasured(f"{path} has no build-id")
    return match.group(1)


def feed(command, addresses, limit=None):
    """Runs a tool with the addresses on its standard input (from a file: no pipe to fill)."""
    with open(addresses, encoding="utf-8") as file:
        text = file.read()
    path = addresses + ".in"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return common.run(["sh", "-c", f'exec "$@" <"{path}" >"{path}.out"', "sh", *command], timeout=limit, check=False)


class Subject:
    """The program, and how its addresses are handed to the tools."""

    def __init__(self, bench):
        self.bench = bench
        self.program = os.path.join(common.BENCH, "cppcheck")
        self.tool = os.path.join(common.RELEASE, "tests/bench/symbolize_bench")
        self.address, self.offset, self.size = text_section(self.program)
        self.llvm = shutil.which("llvm-symbolizer-14") or shutil.which("llvm-symbolizer")
        if not os.path.exists(self.tool):
            raise common.Unmeasured("symbolize_bench is not built")

    def write(self, picks):
        with open(self.bench.path("offsets"), "w", encoding="utf-8") as file:
            file.writelines(f"{self.offset + at:x}\n" for at in picks)
        with open(self.bench.path("addresses"), "w", encoding="utf-8") as file:
            file.writelines(f"0x{self.address + at:x}\n" for at in picks)

    def ours(self):
        return [self.tool, self.program, build_id(self.program), self.bench.path("offsets"), self.bench.path("cache")]

    def cold(self):
        shutil.rmtree(self.bench.path("cache"), ignore_errors=True)
        return common.run(self.ours())

    def warm(self):
        return json.loads(common.run(self.ours()).out)["seconds"]

    def rival(self):
        return feed([self.llvm, f"--obj={self.program}", "--inlining", "--functions", "--demangle"],
                    self.bench.path("addresses")).wall

    def against_llvm(self, what, bar):
        """In turns; returns what ours found."""
        cold, llvm, found = [], [], {}
        for _ in range(1 if self.bench.quick else 3):
            done = self.cold()
            cold.append(done.wall)
            found = json.loads(done.out)
            if self.llvm:
                llvm.append(self.rival())
        ours = common.median(cold)
        if llvm:
            ratio = common.median(llvm) / ours
            self.bench.add(f"{what} against llvm-symbolizer-14", f"{ours:.2f} s", f"{common.median(llvm):.2f} s", ratio,
                           f">= {bar}", ratio >= bar)
        return found, ours


def sampled_addresses(bench, subject):
    """Where the samples of a profile of the program lie in its text, in the order of time, as perf recorded them."""
    data = bench.path("s.data")
    common.perf_record(data, 4000, common.cppcheck_command(bench.quick))
    out = common.run([common.perf(), "script", "-i", data, "-F", "ip,sym,symoff,dso", "--show-mmap-events"], check=False).out
    base = re.search(r"\[0x([0-9a-f]+)\(0x[0-9a-f]+\) @ (0x)?([0-9a-f]+) [^\n]*r-xp [^\n]*/cppcheck$", out, re.M)
    if not base:
        raise common.Unmeasured("perf script shows no mapping of the program")
    start = int(base.group(1), 16) - int(base.group(3), 16)
    found = [int(m.group(1), 16) - start - subject.offset
             for m in re.finditer(r"^\s*([0-9a-f]+) .*/cppcheck\)$", out, re.M)]
    return [at for at in found if 0 <= at < subject.size]


def run(bench):
    common.programs("cppcheck")
    subject = Subject(bench)
    count = 10000 if bench.quick else 100000
    picks = random.Random(1).sample(range(subject.size), min(count, subject.size))
    subject.write(picks)
    found, ours = subject.against_llvm(f"{len(picks)} addresses in random order", 2)
    bench.add(f"{len(picks)} addresses, named", f"{found['named'] / len(picks):.4f}", None, None, "",)
    rate = len(picks) / common.median([subject.warm() for _ in range(1 if bench.quick else 3)])
    bench.add("cached second run, addresses per second", f"{rate / 1e6:.2f} M", None, None, ">= 1 M", rate >= 1e6)
    common.need("eu-addr2line")
    slow = feed(["eu-addr2line", "-i", "-f", "-C", "-e", subject.program], bench.path("addresses"),
                20 if bench.quick else 200)
    over = "over " if slow.status is None else ""  # it was stopped: the ratio is a floor
    bench.add(f"{len(picks)} addresses against eu-addr2line -i", f"{ours:.2f} s", f"{over}{slow.wall:.2f} s",
              slow.wall / ours, ">= 10", slow.wall / ours >= 10)
    picks = sampled_addresses(bench, subject)
    subject.write(picks)
    subject.against_llvm(f"{len(picks)} samples of a profile", 10)
