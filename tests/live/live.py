#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tdrec against the running kernel: what can be attached to, what is refused, what becomes of the file."""
import errno
import json
import os
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import td  # noqa: E402

NOBODY = 65534
CLOCK = [td.TDREC, "--source", "clock"]


def tdrec(*words, status=0, prefix=(), **more):
    return td.run([*prefix, *CLOCK, *words], status, **more)


def spin(seconds="4"):
    return subprocess.Popen([td.workload("split"), seconds], stdout=subprocess.DEVNULL)


def need_root():
    if os.geteuid() != 0:
        td.skip("needs root")


def samples(path):
    return td.report_json(path)["coverage"]["samples"]


def own_memory():
    """An environment for bounds on memory: AddressSanitizer keeps what was freed, up to 256 MB of it."""
    kept = os.environ.get("ASAN_OPTIONS", "")
    return {**os.environ, "ASAN_OPTIONS": f"{kept}:quarantine_size_mb=4".lstrip(":")}


def modules(path):
    return {row["module"]: row["time_share"] for row in td.report_json(path, "modules")["modules"]}


def attach():
    """-p, by both methods where both are allowed: only that process, all its threads, known mappings."""
    child = subprocess.Popen([td.workload("pool"), "20"], stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    out = td.scratch("attach.td")
    try:
        for method in ("task", "cpu") if os.geteuid() == 0 else ("task",):
            tdrec("-o", out, "-F", "999", "--method", method, "-p", str(child.pid), "--duration", "1")
            td.check(samples(out) > 100, f"{method}: {samples(out)} samples")
            share = modules(out).get("pool", 0)
            td.check(share > 0.8, f"{method}: pool has {share} of the time: {modules(out)}")
    finally:
        child.kill()
        child.wait()


def attach_ends():
    """The recording ends when the process does; a process that is not there is named."""
    child = spin("0.7")
    start = time.monotonic()
    tdrec("-o", td.scratch("ends.td"), "-p", str(child.pid), timeout=60)
    td.check(time.monotonic() - start < 50, "tdrec went on without its process")
    child.wait()
    child = spin("0.7")  # nobody waits for it meanwhile: it stays as a zombie
    tdrec("--count", "-e", "cpu-clock", "-p", str(child.pid), timeout=60)
    td.check(time.monotonic() - start < 50, "tdrec --count went on without its process")
    child.wait()
    done = tdrec("-o", td.scratch("gone.td"), "-p", str(child.pid), status=125)
    td.check(str(child.pid).encode() in done.stderr, f"{done.stderr!r}")


def threads():
    child = spin()
    out = td.scratch("thread.td")
    try:
        tdrec("-o", out, "-t", str(child.pid), "-F", "999", "--duration", "0.5")
    finally:
        child.kill()
        child.wait()
    td.check(samples(out) > 20, f"{samples(out)} samples")


def system_wide():
    need_root()
    child = spin()
    out = td.scratch("all.td")
    try:
        tdrec("-o", out, "-a", "-F", "999", "--duration", "1")
    finally:
        child.kill()
        child.wait()
    td.check(modules(out).get("split", 0) > 0.005, f"the spinning program is not seen: {modules(out)}")


def cpus():
    """-C samples one CPU; a program pinned to it is found, its mappings from whatever CPU they were made on."""
    need_root()
    cpu = max(os.sched_getaffinity(0))
    out = td.scratch("cpu.td")
    tdrec("-o", out, "-F", "999", "-C", str(cpu), "--", "taskset", "-c", str(cpu), td.workload("split"), "1")
    td.check(modules(out).get("split", 0) > 0.1, f"{modules(out)}")
    done = tdrec("-o", out, "-C", "4000", "--duration", "1", status=125)
    td.check(b"online" in done.stderr, f"{done.stderr!r}")


def cgroup():
    need_root()
    for root in ("/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if os.path.exists(os.path.join(root, "cgroup.procs")):
            break
    else:
        td.skip("no cgroup hierarchy")
    folder = os.path.join(root, f"td-live-{os.getpid()}")
    try:
        os.mkdir(folder)
    except OSError as error:
        td.skip(f"cgroups cannot be made here: {error}")
    child = subprocess.Popen(["sh", "-c", f'echo $$ >{folder}/cgroup.procs && exec "{td.workload("split")}" 20'],
                             stdout=subprocess.DEVNULL)
    out = td.scratch("cgroup.td")
    try:
        time.sleep(0.3)
        tdrec("-o", out, "-F", "999", "-G", os.path.basename(folder), "--duration", "1")
        td.check(modules(out).get("split", 0) > 0.8, f"{modules(out)}")
    finally:
        child.kill()
        child.wait()
        os.rmdir(folder)
    done = tdrec("-o", out, "-G", "no/such/cgroup", "--duration", "1", status=125)
    td.check(b"no/such/cgroup" in done.stderr, f"{done.stderr!r}")


def counted(*words, status=0):
    """--count --json: each event's count, and the whole object."""
    done = td.run([td.TDREC, "--count", "--json", *words], status)
    whole = [json.loads(line) for line in done.stdout.decode().split("\n{\n")[0].splitlines()
             if line.startswith('{"schema"')]
    last = json.loads(done.stdout[done.stdout.index(b"{\n"):])
    return {row["event"]: row for row in last["events"]}, last, whole


def cpu_seconds(pid):
    """CPU time that a process has used, by the kernel's clock ticks."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        words = file.read().rpartition(")")[2].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


def count():
    """--count: what the kernel says of the command itself, children included; intervals add up to the whole."""
    script = ("import os, resource, sys, mmap\n"
              "def touch():\n"
              "    block = mmap.mmap(-1, 4096 * 3000)\n"
              "    block.madvise(mmap.MADV_NOHUGEPAGE)\n"
              "    for page in range(3000): block[page * 4096] = 1\n"
              "pid = os.fork()\n"
              "touch()\n"
              "if pid == 0: os._exit(0)\n"
              "os.waitpid(pid, 0)\n"
              "own, child = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))\n"
              "faults = sum(r.ru_minflt + r.ru_majflt for r in (own, child))\n"
              "cpu = sum(r.ru_utime + r.ru_stime for r in (own, child))\n"
              "with open(sys.argv[1], 'w') as file: print(faults, cpu, file=file)\n"
              "os._exit(0)\n")  # an interpreter's end touches a thousand pages
    told = td.scratch("usage")
    events, whole, _ = counted("-e", "cpu-clock,task-clock,page-faults,context-switches", "--", sys.executable, "-c",
                               script, told)
    with open(told, encoding="ascii") as file:
        faults, cpu = (float(word) for word in file.read().split())
    got = events["page-faults"]["count"]
    # Counting begins at the exec, and ends after the last line of the script.
    td.check(faults - 300 <= got <= faults + 300 and got > 6000, f"{got} page faults, getrusage says {faults}")
    got = events["task-clock"]["count"] / 1e9
    td.check(0.7 * cpu - 0.02 <= got <= 1.3 * cpu + 0.05, f"{got} s of task-clock, getrusage says {cpu}")
    td.check(events["context-switches"]["count"] >= 1, "no context switch")
    td.check(abs(whole["user_s"] + whole["system_s"] - cpu) < 0.3 * cpu + 0.05, f"{whole}")
    td.check(whole["schema"] == "tdrec-count/1" and not whole["interval"], f"{whole}")

    events, whole, intervals = counted("-I", "100", "-e", "task-clock,page-faults", "--", td.workload("split"), "0.7")
    td.check(len(intervals) >= 4 and all(one["interval"] for one in intervals), f"{len(intervals)} intervals")
    for name in ("task-clock", "page-faults"):
        parts = sum(row["count"] for one in intervals for row in one["events"] if row["event"] == name)
        td.check(parts == events[name]["count"], f"{name}: intervals have {parts}, the whole {events[name]['count']}")

    out = td.scratch("count.txt")
    done = td.run([td.TDREC, "--count", "--source", "clock", "-o", out, "--", "sh", "-c", "echo mine; exit 7"], 7)
    td.check(done.stdout == b"mine\n", f"{done.stdout!r}")
    with open(out, encoding="utf-8") as file:
        text = file.read()
    td.check("page-faults" in text and "s elapsed" in text and max(map(len, text.splitlines())) <= 80, text)

    child = spin()
    try:
        before = cpu_seconds(child.pid)
        events, _, _ = counted("-e", "task-clock", "-p", str(child.pid), "--duration", "0.5")
        took, got = cpu_seconds(child.pid) - before, events["task-clock"]["count"] / 1e9
        # Begin and end of tdrec are not counted; on a busy machine the child gets little in all.
        td.check(0.4 * took - 0.02 <= got <= took + 0.02, f"{got} s counted of {took} s")
    finally:
        child.kill()
        child.wait()


def thread_counts(whole):
    """{(tid, name): {event: count}} of --per-thread."""
    return {(one["tid"], one["name"]): {row["event"]: row["count"] for row in one["events"]}
            for one in whole["threads"]}


def check_thread_sums(whole):
    """The whole is the sum of its threads, to the unit."""
    for row in whole["events"]:
        parts = sum(counts[row["event"]] for counts in thread_counts(whole).values())
        td.check(parts == row["count"], f"{row['event']}: threads have {parts}, the whole {row['count']}")


def count_threads():
    """--count --per-thread: threads and children by themselves, from their start on; live ones in every interval."""
    _, whole, intervals = counted("--per-thread", "-I", "200", "--source", "clock", "--", td.workload("pool"))
    check_thread_sums(whole)
    threads = thread_counts(whole)
    workers = {name: counts for (_, name), counts in threads.items() if name.startswith("worker-")}
    td.check(len(workers) == 8 and len(threads) == 9, f"{sorted(threads)}")
    td.check(all(counts["task-clock"] > 1e7 for counts in workers.values()), f"{workers}")
    cpu = whole["user_s"] + whole["system_s"]
    clock = sum(counts["task-clock"] for counts in threads.values()) / 1e9
    td.check(0.9 * cpu - 0.02 <= clock <= cpu + 0.05, f"{clock} s counted, the command took {cpu}")
    for key, counts in threads.items():
        parts = sum(thread_counts(one).get(key, {}).get("task-clock", 0) for one in intervals)
        td.check(parts == counts["task-clock"], f"{key}: intervals have {parts}, the whole {counts['task-clock']}")
    misses = whole["thread_misses"]
    td.check(misses["late"] + misses["missed"] >= 8 and misses["missed"] == 0, f"{misses}")

    script = ("import os\n"
              "for i in range(3):\n"
              "  if os.fork() == 0:\n"
              "    sum(range(3000000))\n"
              "    os._exit(0)\n"
              "for i in range(3): os.wait()\n")
    _, whole, _ = counted("--per-thread", "-e", "task-clock,page-faults", "--", sys.executable, "-c", script)
    check_thread_sums(whole)
    td.check(len({one["pid"] for one in whole["threads"]}) == 4, f"{whole['threads']}")

    out = td.scratch("threads.txt")
    td.run([td.TDREC, "--count", "--per-thread", "--source", "clock", "-o", out, "--", "sh", "-c",
            "ls / >/dev/null; exit 3"], 3)
    with open(out, encoding="utf-8") as file:
        text = file.read()
    td.check("Threads: " in text and max(map(len, text.splitlines())) <= 80, text)

    script = ("import threading, time\n"
              "def spin():\n"
              "    while True: sum(range(1000))\n"
              "for i in range(3): threading.Thread(target=spin, daemon=True).start()\n"
              "print('ready', flush=True)\n"
              "time.sleep(60)\n")
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        _, whole, _ = counted("--per-thread", "-e", "task-clock", "-p", str(child.pid), "--duration", "0.4")
        check_thread_sums(whole)
        td.check(len(whole["threads"]) == 4 and all(one["pid"] == child.pid for one in whole["threads"]), f"{whole}")
        tid = max(one["tid"] for one in whole["threads"])
        _, whole, _ = counted("--per-thread", "-e", "task-clock", "-t", str(tid), "--duration", "0.3")
        td.check([one["tid"] for one in whole["threads"]] == [tid], f"{whole}")
        td.check(whole["threads"][0]["events"][0]["count"] > 1e6, f"{whole}")
    finally:
        child.kill()
        child.wait()


def count_refused():
    """What --count cannot do is said with what can be done instead."""
    for words, part in ((("-F", "99"), b"samples"), (("--source", "sim"), b"tdreport"), (("-g",), b"samples"),
                        (("-I", "1"), b"10"), (("-e", "no-such-event"), b"no-such-event"),
                        (("--method", "cpu"), b"-a"), (("--per-thread", "-a"), b"tdreport threads"),
                        (("--per-thread", "--passes", "2"), b"one run")):
        done = td.run([td.TDREC, "--count", *words, "--", "true"], 125)
        td.check(part in done.stderr and not done.stdout, f"{words}: {done.stderr!r}")
    done = td.run([td.TDREC, "-I", "100", "--", "true"], 125)
    td.check(b"--count" in done.stderr, f"{done.stderr!r}")
    td.run([td.TDREC, "--count", "--", "/no/such/program"], 127)


def delay():
    """-D: nothing before is sampled, but mappings made before are known."""
    out = td.scratch("delay.td")
    tdrec("-o", out, "-F", "999", "-D", "2000", "--", "sh", "-c",
          f'"{td.workload("inlined")}" 0.2; sleep 2; exec "{td.workload("split")}" 0.5')
    td.check(50 < samples(out) < 700, f"{samples(out)} samples of 0.5 s at 999 Hz")
    found = modules(out)
    td.check(found.get("split", 0) > 0.8 and "inlined" not in found, f"{found}")


def duration():
    """The recording stops, the program does not."""
    out = td.scratch("duration.td")
    done = tdrec("-o", out, "-F", "999", "--duration", "0.4", "--", "sh", "-c",
                 f'"{td.workload("split")}" 1 >/dev/null; echo finished; exit 3', status=3)
    td.check(done.stdout == b"finished\n", f"{done}")
    td.check(samples(out) < 600, f"{samples(out)} samples of 0.4 s")


def refused():
    """One sentence each, and never another event in its place."""
    words = {errno.EPERM: b"seccomp", errno.ENOSYS: b"seccomp", errno.EACCES: b"seccomp", errno.EINVAL: b"refuses",
             errno.EBUSY: b"taken", errno.EMFILE: b"descriptors", errno.ENOENT: b"cpu-clock"}
    for number, word in words.items():
        done = tdrec("-o", td.scratch("refused.td"), "--", "true", status=125,
                     prefix=(os.environ["TD_DENY"], str(number)))
        td.check(word in done.stderr, f"errno {number}: {done.stderr!r}")
        td.check(not os.path.exists(td.scratch("refused.td")), f"errno {number} left a profile")
    done = tdrec("-o", td.scratch("refused.td"), "-e", "no-such-event", "--", "true", status=125)
    td.check(b"no-such-event" in done.stderr, f"{done.stderr!r}")
    # A plan opens nothing.
    td.run([os.environ["TD_DENY"], "1", td.TDREC, "--plan", "--json", "./app"])


def as_nobody():
    need_root()
    td.need("setpriv")
    folder = td.scratch("nobody")
    os.makedirs(folder, exist_ok=True)
    os.chmod(td.SCRATCH, 0o755)
    os.chown(folder, NOBODY, NOBODY)
    shutil.copy(td.TDREC, folder)
    shutil.copy(td.workload("split"), folder)
    return folder, ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")


def memory_lock():
    """Rings that cannot be locked shrink; the program is recorded all the same."""
    folder, prefix = as_nobody()
    out = os.path.join(folder, "lock.td")
    td.run(["bash", "-c", 'ulimit -l 64; exec "$@"', "-", *prefix, f"{folder}/tdrec", "--source", "clock", "-m",
            "16384", "-F", "999", "-o", out, "--", f"{folder}/split", "0.5"])
    td.check(samples(out) > 50, f"{samples(out)} samples")
    # What may be locked is for all CPUs together: the first ring must not take it from the second.
    for pages in ("256", "4096"):
        td.run(["bash", "-c", 'ulimit -l 0; exec "$@"', "-", *prefix, f"{folder}/tdrec", "--source", "clock", "-g", "-m",
                pages, "-F", "999", "-o", out, "--", f"{folder}/split", "0.5"])
        td.check(samples(out) > 50, f"-m {pages}: {samples(out)} samples")


def setuid():
    folder, prefix = as_nobody()
    path = os.path.join(folder, "privileged")
    shutil.copy(td.workload("split"), path)
    os.chmod(path, 0o4755)
    done = td.run([*prefix, f"{folder}/tdrec", "--source", "clock", "-o", os.path.join(folder, "s.td"), "--", path,
                   "0.1"], (125, 126))
    td.check(b"setuid" in done.stderr, f"{done.stderr!r}")


def output():
    """The file before becomes .old; links are not followed; what is no file is not touched; nobody else may read."""
    folder = td.scratch("output")
    os.makedirs(folder)
    out = os.path.join(folder, "p.td")
    victim = os.path.join(folder, "victim")
    with open(victim, "w", encoding="utf-8") as file:
        file.write("precious")
    os.symlink(victim, out)
    tdrec("-o", out, "--", "true")
    with open(victim, encoding="utf-8") as file:
        td.check(file.read() == "precious", "a symbolic link was followed")
    td.check(stat.S_ISREG(os.lstat(out).st_mode), "the profile is no regular file")
    td.check(os.lstat(out).st_mode & 0o777 == 0o600, f"mode {os.lstat(out).st_mode & 0o777:o}")
    first = os.lstat(out).st_ino
    tdrec("-o", out, "--", "true")
    td.check(os.lstat(out + ".old").st_ino == first, "the previous profile is not .old")
    td.check(sorted(os.listdir(folder)) == ["p.td", "p.td.old", "victim"], f"left over: {os.listdir(folder)}")
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    for path in (fifo, folder, "/dev/null", os.path.join(folder, "absent/p.td"), "-", folder + "/"):
        done = tdrec("-o", path, "--", "true", status=125)
        td.check(path.encode() in done.stderr, f"{path}: {done.stderr!r}")
    td.check(stat.S_ISFIFO(os.lstat(fifo).st_mode), "the pipe is gone")


def patterns():
    folder = td.scratch("patterns")
    os.makedirs(folder)
    env = {**os.environ, "SLURM_PROCID": "7"}
    tdrec("-o", os.path.join(folder, "%h-%r-%p.td"), "--", "true", env=env)
    names = os.listdir(folder)
    host = os.uname().nodename
    td.check(len(names) == 1 and names[0].startswith(f"{host}-7-") and names[0][len(host) + 3:-3].isdigit(), f"{names}")
    tdrec("-o", os.path.join(folder, "%x.td"), "--", "true", status=125)


def passes():
    """Each run records its own groups, into one file; the status is the command's."""
    out = td.scratch("passes.td")
    child = td.workload("split")
    done = tdrec("--passes", "2", "-e", "cpu-clock,task-clock", "-F", "999", "-o", out,
                 "--", "sh", "-c", f"echo once; {child} 0.3; exit 3", status=3)
    td.check(done.stdout.count(b"once") == 2, f"runs: {done.stdout!r}")
    td.check(b"run 2 of 2" in done.stderr, done.stderr)
    dump = td.report(out, "dump")
    for group in range(2):
        td.check(f"run group={group} " in dump, f"no samples of group {group}")
    td.check('"passes=2"' in dump, "the profile does not say how many runs there were")
    td.check("pass group=1 pass=2" in dump and "pass group=0" not in dump, "the profile does not say which run sampled what")
    td.check(dump.count("  total 9 samples") == 1, "one end")
    # The command is ended after the first run's time: there is no second, and the first is whole.
    tdrec("--passes", "2", "-e", "cpu-clock,task-clock", "-F", "999", "--duration", "0.3", "-o", out,
          "--", "sh", "-c", f"{child} 0.8; kill -KILL $$", status=137)
    td.check(samples(out) > 20 and "total 9 samples" in td.report(out, "dump"), "the first run was not kept")
    tdrec("--passes", "2", "-o", out, "--", "true", status=125)
    tdrec("--passes", "17", "-o", out, "--", "true", status=125)


def second_interrupt():
    """The first interrupt is the command's; the second ends the recording and leaves the command alone."""
    out = td.scratch("second.td")
    program = "trap : INT; echo ready; i=0; while [ $i -lt 30 ]; do sleep 0.1; i=$((i+1)); done; echo finished; exit 4"
    child = subprocess.Popen([*CLOCK, "-o", out, "--", "sh", "-c", program], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    td.check(child.stdout.readline() == b"ready\n", "the program did not start")
    for _ in range(2):
        child.send_signal(signal.SIGINT)
        time.sleep(0.4)
    td.check(td.report_json(out)["coverage"]["complete"], "the profile is not complete after the second interrupt")
    stdout, stderr = child.communicate(timeout=60)
    td.check(stdout == b"finished\n" and child.returncode == 4, f"{child.returncode} {stdout!r} {stderr!r}")


def forks():
    """2,000 processes of 20 ms together: their time is sampled, not only that of long ones."""
    need_root()
    out = td.scratch("forks.td")
    done = tdrec("-o", out, "-F", "999", "--", td.workload("storm"), "300", "3000", status=0)
    text = done.stderr.decode()
    counted = float(text.split("CPU time ")[1].split(" s counted")[0])
    sampled = float(text.split("counted, ")[1].split(" s sampled")[0])
    td.check(abs(sampled / counted - 1) < 0.15, f"counted {counted} s, sampled {sampled} s: {text}")
    td.check("301 processes" in text, text)


def lost():
    """A recorder that is held up loses samples, and everybody is told."""
    out = td.scratch("lost.td")
    child = subprocess.Popen([*CLOCK, "-o", out, "-F", "10000", "-m", "4", "--", td.workload("split"), "2"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(0.7)
    child.send_signal(signal.SIGSTOP)
    time.sleep(1)
    child.send_signal(signal.SIGCONT)
    text = child.communicate(timeout=100)[1].decode()
    number = td.report_json(out)["coverage"]["lost"]
    td.check(number > 100, f"{number} lost: {text}")
    td.check(f"{number:,} lost" in text, f"{number} lost, but: {text}")


def quick_end():
    """A recorder that is killed at once leaves a readable head."""
    out = td.scratch("quick.td")
    child = subprocess.Popen([*CLOCK, "-o", out, "--", "sleep", "3"], stderr=subprocess.DEVNULL)
    for _ in range(200):
        if os.path.exists(out) and os.path.getsize(out) > 200:
            break
        time.sleep(0.05)
    child.kill()
    child.wait()
    td.check(b"sleep" in td.run([td.TDREPORT, "dump", "-i", out], (0, 3)).stdout, "the command is not in the head")
    said = td.run([td.TDREPORT, "-i", out], None).stderr
    td.check(b"cut off" in said and b"sample faster" not in said, f"{said!r}")


def large_map():
    """A perf map of any size costs tdrec no memory, and its names are found."""
    out = td.scratch("large.td")
    try:
        tdrec("-o", out, "-F", "999", "--", td.workload("jit"), "0.5", "48")
    finally:
        for name in os.listdir("/tmp"):
            path = os.path.join("/tmp", name)
            if name.startswith("perf-") and name.endswith(".map") and os.path.getsize(path) > 48 << 20:
                os.remove(path)
    shares = td.shares(td.report_json(out, "functions"))
    td.check(shares.get("jit_loop", 0) > 0.5, f"{shares}")
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    td.check(most < 200, f"tdrec or tdreport took {most:.0f} MB")


def sparse_file():
    """Sections of a gigabyte that are a hole in the file take no memory and no time."""
    path, out = td.scratch("sparse"), td.scratch("sparse.td")
    with open(td.workload("split"), "rb") as file:
        image = bytearray(file.read())
    table = struct.unpack_from("<Q", image, 40)[0]
    count, names = struct.unpack_from("<HH", image, 60)
    texts = struct.unpack_from("<Q", image, table + 64 * names + 24)[0]
    for at in range(table, table + 64 * count, 64):
        name = texts + struct.unpack_from("<I", image, at)[0]
        if image[name:image.index(0, name)] in (b".symtab", b".debug_info"):
            struct.pack_into("<QQ", image, at + 24, len(image) + 4096, (1 << 30) // 24 * 24)
    with open(path, "wb") as file:
        file.write(image)
        file.truncate(len(image) + 8192 + (1 << 30))
    os.chmod(path, 0o755)
    if os.stat(path).st_blocks > 100000:
        td.skip("the temporary folder has no sparse files")
    tdrec("-o", out, "-F", "999", "--", path, "0.3")
    td.check(modules(out).get("sparse", 0) > 0.5, f"{modules(out)}")
    text = td.report(out, "functions", "--no-cache").replace("\n      ", " ")
    td.check("is mostly a hole in the file" in text and "stripped" not in text, f"the reason is not told:\n{text}")
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    td.check(most < 256, f"{most:.0f} MB")


def flood():
    """100,000 renames, mappings, and files mapped: little memory, and nothing of others is lost."""
    out = td.scratch("flood.td")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    td.check(before < 64 * 1024, f"{before} kB before")
    tdrec("-o", out, "-F", "999", "--", "sh", "-c", f"{td.workload('split')} 1 & {td.workload('flood')} 100000; wait", timeout=100,
          env=own_memory())
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    data = td.report_json(out, "modules")
    rows = {os.path.basename(row["module"]): row for row in data["modules"]}
    td.check(rows["split"]["time_ns"] > 700000000, f"split worked for a second: {rows}")
    td.check(most < 96, f"{most:.0f} MB")


td.need_perf_events()
td.cases({name: globals()[name] for name in (
    "attach", "attach_ends", "threads", "system_wide", "cpus", "cgroup", "delay", "duration", "refused", "memory_lock",
    "output", "passes", "patterns", "second_interrupt", "setuid", "forks", "lost", "quick_end", "count",
    "count_refused", "count_threads", "large_map", "sparse_file", "flood")})
