# SPDX-License-Identifier: MIT
"""Call stacks from copies of the stack's bytes, on the C++ program: the file, the cost of application and recorder
together, what is lost at 25 kHz, and the unwinder alone beside libunwind. perf copies as many bytes as it does by default
(8 kB) and unwinds nothing while it records; tdrec copies 16 kB and unwinds."""
import os
import re
import subprocess

from . import common, cost

OURS = ["--call-graph", "dwarf"]
THEIRS = ["--call-graph", "dwarf,8192"]
CAPTURED = 10000  # stacks for the unwinder alone
WHOLE_BYTES = 65528  # all of nearly every stack


def pairs(bench, hertz, runs, command):
    """Both recorders by turns: CPU of application and recorder, samples, lost, bytes in the file."""
    figures = {"td": [], "perf": []}
    for _ in range(runs):
        path = bench.path("unwind.td")
        done = common.tdrec(path, hertz, command, OURS)
        coverage = common.td_json(path)["coverage"]
        figures["td"].append((done.cpu, coverage["samples"], coverage["lost"], os.path.getsize(path)))
        path = bench.path("unwind.data")
        done = common.perf_record(path, hertz, command, THEIRS)
        figures["perf"].append((done.cpu, common.perf_samples(done), common.perf_lost(done), os.path.getsize(path)))
        os.unlink(path)
    return figures


def of(figures, who, index):
    return common.median([run[index] for run in figures[who]])


def bytes_a_sample(figures, who):
    return common.median([run[3] / max(run[1], 1) for run in figures[who]])


def lost_share(figures, who):
    return common.median([run[2] / max(run[1] + run[2], 1) for run in figures[who]])


def recording(bench, runs, command):
    figures = pairs(bench, 4000, runs, command)
    mine, rival = bytes_a_sample(figures, "td"), bytes_a_sample(figures, "perf")
    bench.add(f"bytes a sample, 4 kHz ({of(figures, 'td', 1):.0f} samples)", f"{mine:.1f}", f"{rival:.0f}", rival / mine,
              "<= 16, ratio >= 500", mine <= 16 and rival / mine >= 500)
    mine, rival = of(figures, "td", 0), of(figures, "perf", 0)
    bench.add("CPU of application and recorder, 4 kHz", f"{mine:.2f} s", f"{rival:.2f} s", mine / rival, "<= perf's",
              mine <= rival)
    figures = pairs(bench, 25000, 1 if bench.quick else 3, command)
    mine, rival = lost_share(figures, "td"), lost_share(figures, "perf")
    bench.add("lost, 25 kHz", f"{100 * mine:.2f} %", f"{100 * rival:.2f} %", None, "<= 1 %", mine <= 0.01)
    bench.add("CPU of application and recorder, 25 kHz", f"{of(figures, 'td', 0):.2f} s",
              f"{of(figures, 'perf', 0):.2f} s", of(figures, "td", 0) / of(figures, "perf", 0))
    peak = cost.recorder_rss(25000, OURS, command, bench.path("rss.td"))
    bench.add("peak memory of tdrec, 25 kHz", f"{peak:.0f} MB", None, None, "<= 128 MB", peak <= 128)


def unwinder(bench, command):
    tools = os.path.join(common.RELEASE, "tests/unwind")
    replay = os.path.join(tools, "unwind_replay")
    if not os.path.exists(replay):
        raise common.Unmeasured("the tests are not built, or without libunwind (scripts/setup test)")
    stored = bench.path("stacks.tri")
    done = subprocess.run([os.path.join(tools, "unwind_capture"), stored, "4000", str(WHOLE_BYTES), str(CAPTURED), *command],
                          capture_output=True, text=True, check=False)
    if done.returncode == 77:
        raise common.Unmeasured(done.stderr.strip())
    text = subprocess.run([replay, "--bench", stored], capture_output=True, text=True, check=False).stdout
    os.unlink(stored)
    speed = {name: float(number) for name, number in re.findall(r"(tables|interpreter|libunwind) ([\d.]+)(?= )", text)}
    samples = int(re.search(r": (\d+) samples", text)[1])
    cut = re.search(r"short_copy (\d+)", text)
    whole = int(re.search(r"complete (\d+)", text)[1]) / max(samples - (int(cut[1]) if cut else 0), 1)
    bench.add(f"frames unwound a second on one core ({samples} stacks)", f"{speed['tables']:.1f} million",
              f"{speed['libunwind']:.2f} million", speed["tables"] / speed["libunwind"], ">= 5 million",
              speed["tables"] >= 5)
    bench.add("stacks unwound to the first function, where the copy is long enough", f"{100 * whole:.2f} %", None, None,
              ">= 99.5 %", whole >= 0.995)


def run(bench):
    common.programs("cppcheck")
    command = common.cppcheck_command(bench.quick)
    unwinder(bench, command)
    recording(bench, 1 if bench.quick else 5, command)
