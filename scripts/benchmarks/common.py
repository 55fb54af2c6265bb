# SPDX-License-Identifier: MIT
"""What the rows of scripts/bench share: running with CPU and memory counted, medians, the table."""
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BENCH = os.path.join(ROOT, "build/bench")
RELEASE = os.environ.get("TD_BUILD", os.path.join(ROOT, "build/release"))
TDREC = os.path.join(RELEASE, "tdrec")
TDREPORT = os.path.join(RELEASE, "tdreport")


class Unmeasured(Exception):
    """A row that cannot be had here, and why."""


def build():
    """Builds build/release, quietly."""
    log = os.path.join(ROOT, "build/bench-build.log")
    os.makedirs(os.path.dirname(log), exist_ok=True)
    with open(log, "w", encoding="utf-8") as file:
        for command in (["cmake", "--preset", "release"], ["cmake", "--build", "build/release"]):
            if subprocess.run(command, cwd=ROOT, stdout=file, stderr=file, check=False).returncode:
                sys.exit(f"scripts/bench: the build failed, see {log}")


def programs(*names):
    done = subprocess.run([os.path.join(ROOT, "scripts/bench_programs"), *names], check=False)
    if done.returncode:
        raise Unmeasured(f"scripts/bench_programs could not make {', '.join(names)}")


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Unmeasured(f"{tool} is not installed (scripts/setup bench)")


def machine():
    model = ""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        match = re.search(r"model name\s*:\s*(.*)", file.read())
        model = match.group(1) if match else ""
    return {"cpu": model, "cpus": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()[0]}


class Run:
    """One finished command."""

    def __init__(self, status, wall, usage, out, err):
        self.status = status
        self.wall = wall
        self.cpu = usage.ru_utime + usage.ru_stime  # of the command and all it waited for
        self.rss_mb = usage.ru_maxrss / 1024
        self.out = out
        self.err = err


def run(command, timeout=None, env=None, check=True, cwd=None):
    """Runs, with wall time, CPU time of the whole tree and the peak memory of its biggest process."""
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        start = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd,
                                 env={**os.environ, "LC_ALL": "C", **(env or {})}, start_new_session=bool(timeout))
        status, usage = wait(child, timeout)
        wall = time.monotonic() - start
        out.seek(0)
        err.seek(0)
        done = Run(status, wall, usage, out.read(), err.read())
    if check and done.status != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.status}\n{done.err[-2000:]}{done.out[-500:]}")
    return done


def wait(child, timeout):
    """wait4 with a time limit; a command over it is killed with its group, status None."""
    if not timeout:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode, usage
    end = time.monotonic() + timeout
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode, usage
        if time.monotonic() > end:
            os.killpg(child.pid, 9)
            _, _, usage = os.wait4(child.pid, 0)
            child.returncode = -9
            return None, usage
        time.sleep(0.01)


def perf():
    """perf's path: Debian's wrapper looks for one of the running kernel's version."""
    found = shutil.which("perf")
    if not found:
        raise Unmeasured("perf is not installed (scripts/setup bench)")
    return found


def perf_samples(done):
    match = re.search(r"\((?:~)?(\d+) samples\)", done.err)
    return int(match.group(1)) if match else 0


def perf_lost(done):
    return sum(int(number) for number in re.findall(r"[Ll]ost (\d+) (?:samples|events)", done.err))


def perf_record(out, hertz, command, extra=()):
    """perf 6.1 aborts on some files' build-ids (an assertion in build-id.c): then again without them (-B)."""
    words = ["-e", "cpu-clock", "-F", str(hertz), "-o", out, *extra, "--", *command]
    done = run([perf(), "record", *words], check=False)
    return done if done.status == 0 else sound(run([perf(), "record", "-B", *words], check=False))


def sound(done):
    """A rival that aborts is no measurement, and no failure of ours."""
    if done.status:
        raise Unmeasured(f"perf itself ended with {done.status}: {done.err.strip()[-120:]}")
    return done


def tdrec(out, hertz, command, extra=()):
    return run([TDREC, "--source", "clock", "-F", str(hertz), "-o", out, *extra, "--", *command])


def td_json(profile, *words):
    return json.loads(run([TDREPORT, *words, "-i", profile, "--json"]).out)


def median(values):
    return statistics.median(values)


def cppcheck_command(quick=False):
    """The C++ program with deep inlining, on a C++ source of its own."""
    source = os.path.join(BENCH, "src/cppcheck/lib", "token.cpp" if quick else "valueflow.cpp")
    return [os.path.join(BENCH, "cppcheck"), "--quiet", "--max-configs=1", source]


def zstd_command(quick=False):
    corpus = os.path.join(BENCH, "corpus.small" if quick else "corpus")
    return [os.path.join(BENCH, "zstd"), "-q", "-19", "-f", corpus, "-o", os.path.join(BENCH, "corpus.zst")]


def pool_command(quick=False):
    return [os.path.join(BENCH, "pool"), "2" if quick else "10"]


class Bench:
    """Collects rows: what, ours, the rival's, the bar."""

    def __init__(self, quick):
        self.quick = quick
        self.rows = []
        self.skipped = []
        self.name = ""
        self.scratch = tempfile.mkdtemp(prefix="tdbench-", dir=BENCH if os.path.isdir(BENCH) else None)

    def begin(self, name):
        self.name = name
        print(f"bench: {name} …", file=sys.stderr, flush=True)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def add(self, what, ours, rival=None, ratio=None, bar="", met=None):
        """One line. `ours` and `rival` are text with units; `met` None means there is no bar."""
        self.rows.append({"row": self.name, "what": what, "ours": ours, "rival": rival, "ratio": ratio, "bar": bar,
                          "met": None if met is None else bool(met)})
        print(f"bench:   {what}: {ours}" + (f" against {rival}" if rival else "") +
              (f", bar {bar}: {'met' if met else 'MISSED'}" if met is not None else ""), file=sys.stderr, flush=True)

    def skip(self, name, why):
        self.skipped.append(name)
        print(f"bench: {name}: not measured: {why}", file=sys.stderr)

    def print_table(self):
        shutil.rmtree(self.scratch, ignore_errors=True)
        here = machine()
        print(f"{here['cpu']}, {here['cpus']} CPUs, Linux {here['kernel']}, load {here['load']:.1f}"
              f"{', --quick: not for quoting' if self.quick else ''}\n")
        print("| row | what | tdprof | rival | ratio | bar | met |\n|---|---|---|---|---|---|---|")
        for row in self.rows:
            ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}"
            met = {None: "", True: "yes", False: "**no**"}[row["met"]]
            print(f"| {row['row']} | {row['what']} | {row['ours']} | {row['rival'] or ''} | {ratio} | {row['bar']} "
                  f"| {met} |")
        for name in self.skipped:
            print(f"| {name} | not measured here | | | | | |")
