# SPDX-License-Identifier: MIT
"""Time and memory of reports: the table of a million samples, and source lines of the C++ program."""
import os

from . import common

SRCLINE_LIMIT_S = 400


def million(bench):
    """A million samples of the pool, under both."""
    seconds = "4" if bench.quick else "44"
    command = [os.path.join(common.BENCH, "pool"), seconds]
    data, profile = bench.path("m.data"), bench.path("m.td")
    common.perf_record(data, 25000, command, ["-g"])
    common.tdrec(profile, 25000, command, ["--call-graph", "fp"])
    samples = common.td_json(profile)["coverage"]["samples"]
    perf_runs, td_runs, import_runs = [], [], []
    for _ in range(1 if bench.quick else 3):
        perf_runs.append(common.run([common.perf(), "report", "-i", data, "--stdio", "--no-children"]))
        td_runs.append(common.run([common.TDREPORT, "-i", profile]))
        import_runs.append(common.run([common.TDREPORT, "-i", data], check=False))
    rival, rival_rss = common.median([r.wall for r in perf_runs]), common.median([r.rss_mb for r in perf_runs])
    for what, runs, bar in (("tdreport on its own profile", td_runs, 1), ("tdreport -i perf.data", import_runs, 3)):
        if any(done.status for done in runs):
            bench.add(f"{what}, {samples} samples", "failed: " + runs[0].err.strip().split("\n")[-1][:80], None, None,
                      f">= {bar}", False)
            continue
        ours, rss = common.median([r.wall for r in runs]), common.median([r.rss_mb for r in runs])
        bench.add(f"{what} against perf report --stdio, {samples} samples", f"{ours:.2f} s", f"{rival:.2f} s",
                  rival / ours, f">= {bar}", rival / ours >= bar)
        bench.add(f"{what}: memory", f"{rss:.0f} MB", f"{rival_rss:.0f} MB", rival_rss / rss, ">= 2",
                  rival_rss / rss >= 2)


def srcline(bench):
    """perf pipes every address through addr2line: minutes. It is stopped after a while; the ratio is then a floor."""
    command = common.cppcheck_command(bench.quick)
    data, profile = bench.path("l.data"), bench.path("l.td")
    common.perf_record(data, 4000, command)
    common.tdrec(profile, 4000, command)
    env = {"XDG_CACHE_HOME": bench.path("empty-cache")}
    ours = common.run([common.TDREPORT, "lines", "-i", profile], env=env)
    again = common.run([common.TDREPORT, "lines", "-i", profile], env=env)
    limit = 60 if bench.quick else SRCLINE_LIMIT_S
    rival = common.run([common.perf(), "report", "-i", data, "--stdio", "-s", "srcline"], timeout=limit, check=False)
    stopped = rival.status is None
    ratio = rival.wall / ours.wall
    bench.add("tdreport lines, nothing cached, against perf report -s srcline", f"{ours.wall:.2f} s",
              f"{'over ' if stopped else ''}{rival.wall:.0f} s", ratio, ">= 100", ratio >= 100)
    bench.add("tdreport lines, second time", f"{again.wall:.2f} s", f"{'over ' if stopped else ''}{rival.wall:.0f} s",
              rival.wall / again.wall)


def run(bench):
    common.programs("cppcheck", "pool")
    million(bench)
    srcline(bench)
