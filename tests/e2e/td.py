# SPDX-License-Identifier: MIT
"""What the end-to-end tests share: the two programs, a scratch folder, the known-answer programs, skipping."""
import atexit
import ctypes
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BUILD = os.environ.get("TD_BUILD", os.path.join(ROOT, "build/dev"))
TDREC = os.path.join(BUILD, "tdrec")
TDREPORT = os.path.join(BUILD, "tdreport")
WORKLOADS = os.path.join(BUILD, "workloads")
SCRATCH = tempfile.mkdtemp(prefix="td-e2e-")
# All that a test starts has this in its environment, however it came about.
MARK = f"TD_TEST_SCRATCH={SCRATCH}"
os.environ["TD_TEST_SCRATCH"] = SCRATCH
# One core on every machine; a test of the choice unsets it.
os.environ["TDPROF_SIM_CORE"] = "golden-cove"


def end_left_over():
    """Ends what this test started and did not end; False when there was nothing."""
    found = False
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                ours = MARK.encode() in file.read().split(b"\0")
            if ours and int(name) != os.getpid():
                os.kill(int(name), signal.SIGKILL)
                found = True
        except OSError:
            pass
    return found


def guard():
    """A process that waits for the end of this one, also by a timeout's SIGKILL, and cleans up behind it."""
    alive, held = os.pipe()  # `held` is closed with this process: it goes to no other
    os.set_inheritable(held, False)
    if os.fork():
        os.close(alive)
        return
    os.setsid()
    os.close(held)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.read(alive, 1)
    for _ in range(50):  # what is ended may have started more meanwhile
        if not end_left_over():
            break
        time.sleep(0.02)
    shutil.rmtree(SCRATCH, True)
    os._exit(0)


guard()
atexit.register(shutil.rmtree, SCRATCH, True)
# Names are looked up anew in each test, and nothing is left in the user's cache.
os.environ["XDG_CACHE_HOME"] = os.path.join(SCRATCH, "cache")
os.environ["TERM"] = "dumb"
for name in ("NO_COLOR", "PAGER", "LESS"):
    os.environ.pop(name, None)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def need(tool):
    if not shutil.which(tool):
        skip(f"{tool} is not installed")


def need_programs():
    for path in (TDREC, TDREPORT):
        if not os.path.exists(path):
            skip(f"{os.path.basename(path)} is not built")


def need_perf_events():
    """Asks the kernel itself for a cpu-clock sampling event on this thread, user space only."""
    attr = bytearray(128)
    struct.pack_into("=IIQQQQ", attr, 0, 1, 128, 0, 1000000, 1, 0)  # PERF_TYPE_SOFTWARE, CPU_CLOCK, period, IP
    struct.pack_into("=Q", attr, 40, 1 << 5 | 1 << 6)  # exclude_kernel, exclude_hv
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(298, (ctypes.c_char * 128).from_buffer(attr), 0, -1, -1, 0)
    if fd < 0:
        skip(f"perf_event_open: {os.strerror(ctypes.get_errno())}")
    os.close(fd)


def scratch(name):
    return os.path.join(SCRATCH, name)


def workload(name):
    path = os.path.join(WORKLOADS, name)
    if not os.path.exists(path):
        skip(f"the workload {name} is not built")
    return path


def run(command, status=0, timeout=120, **more):
    """Runs; the exit status must be `status` (None: any; a tuple: one of them). Text is bytes."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, check=False, **more)
    wanted = status if isinstance(status, tuple) else (status,)
    if status is not None and done.returncode not in wanted:
        fail(f"{' '.join(map(str, command))}: exit {done.returncode}, expected {status}\n"
             f"stdout: {done.stdout[-2000:].decode(errors='replace')}\n"
             f"stderr: {done.stderr[-4000:].decode(errors='replace')}")
    for text in (done.stderr, done.stdout):
        if b"AddressSanitizer" in text or b"runtime error:" in text:
            fail(f"{' '.join(map(str, command))}: sanitizer:\n{text[-6000:].decode(errors='replace')}")
    return done


def record(command, *options, hertz=999, out=None, status=0, source="clock"):
    """tdrec over the command; returns the profile's path."""
    out = out or scratch("profile.td")
    run([TDREC, "--source", source, "-F", str(hertz), "-o", out, *options, "--", *command], status)
    return out


def report(profile, *words, status=0):
    return run([TDREPORT, *words, "-i", profile], status).stdout.decode()


def report_json(profile, *words, status=0):
    return json.loads(run([TDREPORT, *words, "-i", profile, "--json"], status).stdout)


def regions_of(profile):
    """{path: row} of `tdreport regions`, a path as "outer/inner"; and the report."""
    data = report_json(profile, "regions")
    paths = []
    for row in data["regions"]:
        paths.append((paths[row["parent"]] + "/" if row["parent"] is not None else "") + row["name"])
    check(len(set(paths)) == len(paths), f"a region comes twice: {paths}")
    return dict(zip(paths, data["regions"])), data


def children_of(pid):
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except (OSError, NotADirectoryError):
            continue
        if name.isdigit() and int(fields[1]) == pid:
            found.append((int(name), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")))
    return found


def cpu_below(pid):
    """CPU seconds of all processes that descend from `pid`."""
    return sum(cpu + cpu_below(child) for child, cpu in children_of(pid))


def wait_for_cpu(child, seconds):
    """However busy the machine is, the application has then used so much CPU."""
    for _ in range(1200):
        if cpu_below(child.pid) >= seconds:
            return
        time.sleep(0.05)
    fail(f"the application does not come to {seconds} CPU seconds")


def fail(message):
    print(f"FAILED: {message}")
    sys.exit(1)


def check(condition, message):
    if not condition:
        fail(message)


def check_share(what, share, truth, samples, slack=0.01):
    """A share found by sampling lies within four standard errors of the truth, and a little for start and end."""
    error = 4 * math.sqrt(max(truth * (1 - truth), 0.0001) / max(samples, 1)) + slack
    print(f"{what}: {share:.4f}, truth {truth:.4f}, allowed ± {error:.4f} ({samples} samples)")
    check(abs(share - truth) <= error, f"{what}: {share:.4f} is not {truth:.4f} ± {error:.4f}")


def shares(data, key="functions", name="function"):
    """{name: time share} of a report's rows, equal names added."""
    sums = {}
    for row in data[key]:
        sums[row[name]] = sums.get(row[name], 0) + row["time_share"]
    return sums


def composed(kind):
    """A profile made from lines, as the golden tests have them: of counters that this machine lacks."""
    compose = os.path.join(BUILD, "tests/golden/compose_profile")
    folder = os.path.join(ROOT, "tests/golden")
    script = f'. "{folder}/profiles.inc"; make_{kind}'
    return subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, check=True,
                          env={**os.environ, "COMPOSE": compose, "CASES": folder}).stdout


def cases(table):
    """The program's first word names the case to run."""
    if not sys.argv[1:] or set(sys.argv[1:]) - set(table):
        sys.exit(f"name one of {', '.join(table)}")
    need_programs()
    for name in sys.argv[1:]:
        table[name]()
        print(f"{name}: good")
