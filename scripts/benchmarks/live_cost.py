# SPDX-License-Identifier: MIT
"""What `--source live` costs, in three rows. cost: the program's own CPU time and wall time against native, by how much memory it
has, its pauses, and how long the recording goes on after it. attach: a SQLite loop, a node server, a python worker and a pool of
8 threads that run already: their throughput while they are recorded, and how much of their time the report explains. short:
programs of 0.05 to 1 s: how long the whole takes, and how far level 1 is off the exact model."""
import json
import os
import re
import signal
import subprocess
import time

from . import common, errors, live

PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
int main(int argc, char **argv)
{
    const size_t words = (size_t)atol(argv[1]) << 17;
    const long rounds = atol(argv[2]);
    uint64_t *memory = malloc(words * 8), x = (uint64_t)argc, sum = 0;
    struct rusage usage;
    struct timespec begin, end;
    for (size_t i = 0; i < words; i += 512)
        memory[i] = i;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < rounds; i++) {
        for (int k = 0; k < 16; k++)
            x = x * UINT64_C(6364136223846793005) + 1442695040888963407u, sum += x >> 60;
        sum += memory[(x >> 20) % words];
        if (i % 4 == 0)
            memory[(x >> 20) % (words / 16 + 1)] = sum; /* a sixteenth of it is written all the time */
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"cpu\": %.4f, \"wall\": %.4f, \"end\": %.4f, \"sum\": %lu}\n",
           usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6,
           end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) * 1e-9, end.tv_sec + end.tv_nsec * 1e-9, (unsigned long)sum);
    return 0;
}
"""
MEMORY_MB = (10, 100, 2000)
ROUNDS = {10: 150_000_000, 100: 110_000_000, 2000: 70_000_000}

SQLITE_LOOP = """
import sqlite3, sys
base = sqlite3.connect(':memory:')
base.execute('CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT)')
base.executemany('INSERT INTO t VALUES(?, ?)', ((i, 'x%d' % (i * 7919 % 5003)) for i in range(20000)))
n = 0
while True:
    base.execute("SELECT count(*), sum(length(b)), max(a) FROM t WHERE b LIKE '%7' AND a % 3").fetchone()
    n += 1
    print(n, flush=True)
"""
PYTHON_WORKER = """
import json, sys
n = 0
while True:
    words = {}
    for i in range(4000):
        for word in ('the %d quick %d brown' % (i % 97, i % 7)).split(): words[word] = words.get(word, 0) + 1
    json.dumps(words); n += 1
    print(n, flush=True)
"""
NODE_SERVER = """
const http = require('http');
const server = http.createServer((q, r) => { const m = {}; for (let i = 0; i < 3000; i++) m['k' + i % 101] = (m['k' + i % 101] || 0) + i;
  r.end(JSON.stringify(m)); });
let n = 0;
server.listen(0, '127.0.0.1', () => { const port = server.address().port, agent = new http.Agent({ keepAlive: true });
  const next = () => http.get({ port, agent }, (r) => { r.resume(); r.on('end', () => { if (++n % 20 === 0) console.log(n); next(); }); });
  for (let k = 0; k < 4; k++) next(); });
"""
POOL = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static atomic_long done;
static int by_size(const void *a, const void *b) { return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b; }
static void *work(void *arg)
{
    int *numbers = malloc(20000 * sizeof(int));
    unsigned seed = (unsigned)(uintptr_t)arg;
    for (;;) {
        for (int i = 0; i < 20000; i++) numbers[i] = rand_r(&seed);
        qsort(numbers, 20000, sizeof(int), by_size);
        atomic_fetch_add(&done, 1);
    }
    return arg;
}
int main(void)
{
    pthread_t threads[8];
    for (uintptr_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (;;) { usleep(50000); printf("%ld\n", atomic_load(&done)); fflush(stdout); }
}
"""


def compiled(bench, name, text):
    path = bench.path(name)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["gcc", "-O2", "-g", "-pthread", "-o", path, path + ".c"], check=True)
    return path


def pauses(said):
    """Images, the longest pause and all of them in ms, and what of it others had the CPU."""
    found = re.search(r"(\d+) images, (\d+) windows .*longest pause ([\d.]+) ms, ([\d.]+) ms in all(?: \(([\d.]+) ms)?", said)
    if not found:
        raise common.Unmeasured(f"no images: {said.strip()[-200:]}")
    return int(found.group(1)), int(found.group(2)), float(found.group(3)), float(found.group(4)), float(found.group(5) or 0)


def cost(bench):
    common.need("qemu-x86_64", "gcc")
    path, out = compiled(bench, "live-memory", PROGRAM), bench.path("cost.td")
    sizes = [int(word) for word in os.environ.get("TD_COST_MB", "").split()] or (MEMORY_MB[:2] if bench.quick else MEMORY_MB)
    for size in sizes:
        native, recorded, last, after = [], [], None, []
        command = [path, str(size), str(ROUNDS[size] // (3 if bench.quick else 1))]
        for _ in range(2 if bench.quick else 3):
            native.append(json.loads(common.run(command).out))
            done = common.run([common.TDREC, "--source", "live", "-o", out, "--", *command])
            ended = time.clock_gettime(time.CLOCK_MONOTONIC)
            recorded.append(json.loads(done.out))
            after.append(ended - recorded[-1]["end"])
            last = pauses(done.err)
        limit = 1.25 if size > 1000 else 1.15
        for what, bar in (("cpu", 1.10), ("wall", limit)):
            ours, rival = (common.median([run[what] for run in runs]) for runs in (recorded, native))
            bench.add(f"{size} MB: the program's {what} time", f"{ours:.2f} s", f"{rival:.2f} s natively", ours / rival, f"<= {bar}",
                      ours <= bar * rival)
        held = (last[3] - last[4]) / max(last[0], 1)
        bench.add(f"{size} MB: images, windows; pauses", f"{last[0]}, {last[1]}; longest {last[2]:.1f} ms, {last[3]:.1f} ms in all, of it "
                  f"{last[4]:.1f} ms waiting for a CPU; {held:.2f} ms each without that", None, None, "<= 10 ms each" if size == 100 else "",
                  held <= 10 if size == 100 else None)
        bench.add(f"{size} MB: the profile is there after the program's end", f"{max(after):.1f} s", None, None, "<= 10 s", max(after) <= 10)


def count_in(path):
    """The last whole number of the program's output."""
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - 200))
        words = file.read().split(b"\n")[:-1]
    return int(words[-1]) if words and words[-1].isdigit() else 0


def rate(path, pid, seconds):
    """What it gets done for each second of its CPU time, and of wall time."""
    def cpu():
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            words = file.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    begin, begin_cpu, begin_s = count_in(path), cpu(), time.monotonic()
    seconds()
    done = count_in(path) - begin
    return done / max(cpu() - begin_cpu, 0.01), done / (time.monotonic() - begin_s)


def attach_one(bench, name, command, duration):
    out, log, said = bench.path("attach.td"), bench.path("attach.out"), []
    with open(log, "wb") as file, subprocess.Popen(command, stdout=file) as child:
        try:
            time.sleep(2)
            before = rate(log, child.pid, lambda: time.sleep(duration))
            start = time.monotonic()
            words = [common.TDREC, "--source", "live", "-o", out, "--duration", str(duration), "-p", str(child.pid)]
            during = rate(log, child.pid, lambda: said.append(common.run(words, timeout=100).err))
            whole = time.monotonic() - start
            after = rate(log, child.pid, lambda: time.sleep(duration))
        finally:
            child.send_signal(signal.SIGKILL)
    rows = common.td_json(out, "functions", "-n", "1000")["functions"]
    known = sum(row["time_share"] or 0 for row in rows if any(share is not None for share in row["categories"].values()))
    images, windows, longest, _, waited = pauses(said[0])
    bench.add(f"{name}: report", f"{whole:.1f} s; {images} images, {windows} windows, longest pause {longest:.1f} ms ({waited:.1f} ms of all "
              f"waiting); {100 * known:.0f} % of the time has categories", None, None, "<= 20 s, half of the time", whole <= 20 and known >= 0.5)
    rival = max(before, after) if bench.quick else tuple((a + b) / 2 for a, b in zip(before, after))
    for i, what in enumerate(("for each second of its CPU time", "for each second")):
        bench.add(f"{name}: throughput {what}", f"{during[i]:.1f}", f"{rival[i]:.1f}", during[i] / rival[i], ">= 0.95" if i == 0 else "",
                  during[i] >= 0.95 * rival[i] if i == 0 else None)


def attach(bench):
    common.need("qemu-x86_64", "gcc", "python3")
    duration = 4 if bench.quick else 8
    programs = {"sqlite loop": ["python3", "-c", SQLITE_LOOP], "python worker": ["python3", "-c", PYTHON_WORKER],
                "node server": ["node", "-e", NODE_SERVER], "pool of 8 threads": [compiled(bench, "live-pool", POOL)]}
    for name, command in programs.items():
        attach_one(bench, name, command, duration)


def short(bench):
    common.need("qemu-x86_64", "gcc", "perl", "sqlite3")
    kernels = kernel_program(bench)
    programs = {f"{name} {rounds}": [kernels, name, str(rounds)]
                for name, rounds in (("bodies", 800), ("join", 6), ("matrix", 10), ("sieve", 20), ("trees", 4), ("qsort", 4))}
    programs["perl"] = ["perl", "-e", live.sized(live.PERL, 300000)]
    programs["sqlite"] = ["sqlite3", ":memory:", live.sized(live.SQL, 80000)]
    programs["python"] = ["python3", "-c", live.sized(live.PYTHON, 80000)]
    near = 0
    for name, command in programs.items():
        native = common.run(command)
        out, exact = bench.path("short.td"), bench.path("short-exact.td")
        done = common.run([common.TDREC, "--source", "live", "--sim-core", live.CORE, "-o", out, "--", *command], timeout=100)
        common.run([common.TDREC, "-q", "--source", "sim", "--sim-core", live.CORE, "-o", exact, "--", *command], timeout=500)
        shown, known = ({node["id"]: node for node in common.td_json(path)["tree"] if node["id"] in live.FIRST} for path in (out, exact))
        seen = [node for node in live.FIRST if node in shown]  # none: no window
        off = max((abs((shown[node]["share"] or 0) - (known[node]["share"] or 0)) for node in seen), default=1)
        stated = max((shown[node].get("error") or 0 for node in seen), default=1)
        found = re.search(r"(\d+) images, (\d+) windows", done.err)
        good = bool(found and int(found.group(2))) and off <= 0.10 and done.wall - native.wall <= 5
        near += good
        bench.add(f"{name}: {native.wall:.2f} s natively", f"{done.wall:.1f} s, level 1 within {off:.3f}, ± up to {stated:.2f} said, "
                  f"{found.group(0) if found else 'nothing'}", None, None, "<= 5 s, 0.10", good)
    bench.add("short programs with an answer in time and near", f"{near} of {len(programs)}")


def kernel_program(bench):
    path = bench.path("live-short")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(errors.SOURCE)
    subprocess.run(["gcc", "-O2", "-g", "-fno-inline-functions-called-once", "-o", path, path + ".c", "-lm"], check=True)
    return path
