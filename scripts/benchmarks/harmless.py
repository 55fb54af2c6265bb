# SPDX-License-Identifier: MIT
"""What `--source live` does to programs: nothing that they or others could see. Each runs natively, then several times as
`tdrec --source live` runs it, and what it printed, its exit status or signal, and the files that it left must be the same.
Then tdrec and its imager are killed at random moments of a recording: the program must come to its end as if they had not
been."""
import os
import random
import shutil
import signal
import subprocess
import time

from . import common

KILLS = 40
SUBJECTS = os.path.join(common.RELEASE, "tests/bench/subjects")
VICTIM = os.path.join(common.RELEASE, "tests/live/victim")
LIMIT_S = 120
KILLED = [[VICTIM, "signals"], [VICTIM, "threads"], [VICTIM, "wait"], [VICTIM, "calls"], [SUBJECTS, "coroutines"],
          [SUBJECTS, "prefork"], [SUBJECTS, "itimers"], [SUBJECTS, "altstack"]]

MAKEFILE = """all: $(foreach i,1 2 3 4 5 6 7 8 9,part.$(i))
\t@sort $^ > whole; rm $^
part.%:
\t@i=0; while [ $$i -lt 20000 ]; do i=$$((i + 1)); done; echo $* $$i > $@
"""
BASH = """trap 'echo got USR1' USR1; trap 'echo leaving' EXIT
for i in 1 2 3 4; do (n=0; while [ $n -lt 15000 ]; do n=$((n + 1)); done; exit $i) & done
for job in $(jobs -p); do wait $job; echo child $?; done
kill -USR1 $$; echo {1..400} | tr ' ' '\\n' | while read x; do echo $((x * x)); done | tail -1; exit 9"""
PYTHON_POOL = """
import multiprocessing
def f(n): return sum(i * i % 7 for i in range(n))
with multiprocessing.get_context('fork').Pool(4) as pool: print(sum(pool.map(f, range(2000, 2400))))
"""
PYTHON_COMMANDS = """
import concurrent.futures, subprocess, sys
def f(n): return subprocess.run([sys.executable, '-S', '-c', f'import sys; sys.exit(sum(range({n})) % 50)']).returncode
with concurrent.futures.ThreadPoolExecutor(4) as pool: print(list(pool.map(f, range(1000, 1024))))
"""
PYTHON_SERVER = """
import asyncio
async def serve(reader, writer):
    while line := await reader.readline():
        writer.write(b'%d\\n' % sum(range(int(line) % 997)))
    writer.close()
async def ask(port, first):
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    total = 0
    for i in range(first, first + 1500):
        writer.write(b'%d\\n' % i)
        total += int(await reader.readline())
    writer.close()
    return total
async def main():
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    port = server.sockets[0].getsockname()[1]
    print(await asyncio.gather(*(ask(port, k) for k in (1, 500, 900))))
asyncio.run(main())
"""
PYTHON_SIGNALS = """
import os, signal, time
seen = []
signal.signal(signal.SIGALRM, lambda *a: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
end = time.process_time() + 0.5
while time.process_time() < end: sum(range(1000))
signal.setitimer(signal.ITIMER_REAL, 0)
pid = os.fork()
if pid == 0: os.kill(os.getpid(), signal.SIGKILL)
print(len(seen) > 3, os.waitpid(pid, 0)[1])
"""
PERL = """
my $sum = 0;
for my $k (1..30) { pipe(my $r, my $w); my $p = fork();
  if (!$p) { my $s = 0; $s += $_ % 7 for 1..20000 + $k; print $w $s; close $w; exit 3 }
  close $w; $sum += <$r>; waitpid($p, 0); $bad++ if $? >> 8 != 3; }
print "$sum ", $bad // 0, "\\n"; exit 4
"""
NODE_SERVER = """
const http = require('http');
const server = http.createServer((q, r) => { let s = 0; for (let i = 0; i < 20000; i++) s += i % 7; r.end(q.url + s); });
server.listen(0, '127.0.0.1', () => {
  const port = server.address().port; let left = 400, sum = 0;
  const next = (k) => http.get({ port, path: '/' + k, agent: false }, (r) => { r.on('data', d => sum += d.length);
    r.on('end', () => { if (--left > 3) next(k + 4); else if (left === 0) { console.log(sum); server.close(); } }); });
  for (let k = 0; k < 4; k++) next(k);
});
"""
NODE_WORKERS = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (isMainThread) { let sum = 0, left = 4;
  for (let i = 0; i < 4; i++) new Worker(__filename).on('message', m => { sum += m; if (--left === 0) console.log(sum); });
} else { let m = new Map(); for (let i = 0; i < 300000; i++) m.set(i % 5003, (m.get(i % 5003) || 0) + i);
  let t = 0; for (const v of m.values()) t += v; parentPort.postMessage(t); }
"""
JAVA = """
import java.util.*; import java.util.concurrent.*;
public class Main { public static void main(String[] a) throws Exception {
  ExecutorService pool = Executors.newFixedThreadPool(4); List<Future<Long>> all = new ArrayList<>();
  for (int k = 0; k < 16; k++) { final int s = k; all.add(pool.submit(() -> { Map<Integer, Long> m = new HashMap<>(); long t = 0;
    for (int i = 0; i < 300000; i++) { m.merge(i % 4001 + s, (long) i, Long::sum); t += new String("x" + i).hashCode() % 7; }
    for (long v : m.values()) t += v; return t; })); }
  long sum = 0; for (Future<Long> f : all) sum += f.get(); pool.shutdown(); System.out.println(sum); System.exit(5); } }
"""
GO = """package main
import ("fmt"; "sync")
func main() { var w sync.WaitGroup; c := make(chan int, 8); for k := 0; k < 64; k++ { w.Add(1); go func(k int) { defer w.Done()
 m := map[int]int{}; for i := 0; i < 30000; i++ { m[i%503] += i * k }; c <- len(m) }(k) }; go func() { w.Wait(); close(c) }()
 t := 0; for x := range c { t += x }; fmt.Println(t) }
"""
TCL = "set s 0; array set m {}; for {set i 0} {$i < 300000} {incr i} {incr m([expr {$i % 503}]) $i}; " \
      "foreach k [array names m] {incr s $m($k)}; puts $s; exit 6"
SQL = """CREATE TABLE t(a, b); WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<150000)
INSERT INTO t SELECT x, x*7919%5003 FROM c; CREATE INDEX i ON t(b); SELECT b, count(*), sum(a) FROM t GROUP BY b ORDER BY 3 DESC LIMIT 5;"""
GIT = """git init -q . && git config user.email a@b && git config user.name n && for i in 1 2 3 4 5 6; do seq $i 30000 > f$i; git add .;
GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z git commit -q -m $i; done; git log --format=%H;
git gc -q --aggressive; git fsck --no-progress; rm -rf .git"""
ARCHIVE = "mkdir d; for i in 1 2 3 4 5 6 7 8; do seq $i 60000 > d/$i; done; tar c --mtime=@0 --owner=0 --group=0 --sort=name d | " \
          "xz -T2 -2 | xz -dc | gzip -n | tee d.tgz | sha256sum; gunzip < d.tgz | tar t | wc -l; rm -r d"
XARGS = "seq 1 24 | xargs -P 4 -I{} sh -c 'i=0; while [ $i -lt 4000 ]; do i=$((i + 1)); done; echo {} > out.{}'; cat out.* | sort -n; rm out.*"
PIPES = "i=0; while [ $i -lt 200 ]; do echo $(echo $i | tr 0-9 a-j); i=$((i + 1)); done | sort | tee sorted | cksum; " \
        "yes | head -3000000 | wc -l; seq 400000 | awk '{s += $1 % 7} END {print s}'; grep -c a sorted"
STOPS = "(i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; exit 7) & for k in 1 2 3 4 5 6; do sleep 0.03; kill -STOP $!; sleep 0.02; " \
        "kill -CONT $!; done; wait $!; echo $?"
COUNT = "n=0; while [ $n -lt 60000 ]; do n=$((n + 1)); done; echo $n"
OPENSSL = "seq 300000 | openssl enc -aes-256-cbc -pbkdf2 -iter 200000 -S 0011223344556677 -k x | sha256sum"
RUBY = "h = Hash.new(0); 900_000.times { |i| h[i % 503] += i }; puts h.values.sum"
GDB = f"gdb -q -batch -nx -ex run -ex 'info program' --args {SUBJECTS} alarm | sed 's/process [0-9]*/process/'"


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def built(sources):
    """Programs that a compiler makes first."""
    java, go = os.path.join(sources, "java"), os.path.join(sources, "go-program")
    if shutil.which("javac"):
        os.makedirs(java)
        subprocess.run(["javac", "-d", java, write(sources, "Main.java", JAVA)], check=True)
    if shutil.which("go"):
        subprocess.run(["go", "build", "-o", go, write(sources, "main.go", GO)], check=True, cwd=sources)
    return {"java": ["java", "-cp", java, "Main"], "go": [go]}


def programs(sources):
    """name: the command, which runs in an empty folder."""
    found = {
        "sh, pipelines": ["sh", "-c", PIPES], "bash, jobs and traps": ["bash", "-c", BASH], "stopped and continued": ["bash", "-c", STOPS],
        "make -j4": ["make", "-s", "-j4", "-f", write(sources, "Makefile", MAKEFILE)], "xargs -P4": ["sh", "-c", XARGS],
        "tar, xz -T2, gzip": ["sh", "-c", ARCHIVE],
        "gcc": ["gcc", "-O2", "-c", os.path.join(common.ROOT, "base/bytes.c"), "-I", common.ROOT, "-D_GNU_SOURCE", "-o", "out.o"],
        "python": ["python3", "-c", "print(len({i % 5003: str(i) for i in range(1200000)}))"],
        "python, pool of processes": ["python3", write(sources, "pool.py", PYTHON_POOL)],
        "python, commands by threads": ["python3", "-c", PYTHON_COMMANDS], "python, server under load": ["python3", "-c", PYTHON_SERVER],
        "python, signals": ["python3", "-c", PYTHON_SIGNALS], "perl, forks and pipes": ["perl", "-e", PERL],
        "node, server under load": ["node", "-e", NODE_SERVER], "node, workers": ["node", write(sources, "workers.js", NODE_WORKERS)],
        "ruby": ["ruby", "-e", RUBY], "tcl": ["tclsh", write(sources, "a.tcl", TCL)], "sqlite": ["sqlite3", "base.db", SQL],
        "git": ["sh", "-c", GIT], "openssl": ["sh", "-c", OPENSSL], **built(sources),
        "strace": ["strace", "-f", "-c", "-o", "/dev/null", SUBJECTS, "sigchld"], "gdb": ["sh", "-c", GDB],
        "pid namespace": ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "sh", "-c", COUNT + "; echo $$"],
        "terminal": ["script", "-qec", "sh -c '" + COUNT + "; tty | cut -c1-8'", "/dev/null"],
        "timeout": ["timeout", "-s", "INT", "1", "sh", "-c", "while :; do :; done"],
        "killed": ["sh", "-c", COUNT + "; kill -KILL $$"],
        "daemon": ["sh", "-c", f"{SUBJECTS} daemon $PWD/done; while [ ! -e done ]; do sleep 0.05; done; cat done"],
    }
    for mode in ("altstack", "itimers", "alarm", "sigchld", "signalfd", "timerfd", "inotify", "mlock", "dontfork", "shm", "uring",
                 "file_limit", "memory_limit", "cpu_limit", "setuid", "strict", "sandbox", "prefork", "spawn", "coroutines", "robust",
                 "queue", "leader", "segv", "abort"):
        found[mode] = [SUBJECTS, mode]
    for mode in ("signals", "timer", "calls", "wait", "vfork", "locks", "offsets", "threads", "faults", "shared", "stopped", "confined",
                 "limited", "traced", "tracer", "apart", "exec"):
        found["victim, " + mode] = [VICTIM, mode]
    only = os.environ.get("TD_HARMLESS_ONLY", "")
    return {name: command for name, command in found.items() if shutil.which(command[0]) and (not only or name in only.split(";"))}


def left(folder):
    """Every file below the folder, with its kind, mode and content."""
    found = []
    for at, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(at, name)
            content = b""
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
            found.append((os.path.relpath(path, folder), os.lstat(path).st_mode, content))
    return sorted(found)


def outcome(command, scratch, before=()):
    """What can be seen of a run."""
    folder = os.path.join(scratch, "run")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        done = subprocess.run([*before, *command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=LIMIT_S, check=False, env={**os.environ, "LC_ALL": "C"})
    except subprocess.TimeoutExpired:
        return "it does not end", b"", [], [], 0
    # A status over 128 is how tdrec tells a signal.
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    lines = done.stderr.splitlines()
    images = sum(int(line.split()[1]) for line in lines if line.startswith(b"tdrec: ") and b" images, " in line)
    return status, done.stdout, [line for line in lines if not line.startswith(b"tdrec: ")], left(folder), images


def difference(native, seen):
    for what, wanted, got in zip(("exit status", "output", "errors", "files"), native, seen):
        if wanted != got:
            return f"{what}: {str(wanted)[-300:]} natively, {str(got)[-300:]} recorded"
    return None


def try_program(bench, name, command, scratch, runs):
    """True: as without us each time. None: it cannot be tried, or is not the same each time by itself."""
    native = outcome(command, scratch)
    if native[0] == 77:
        bench.add(f"{name}: cannot be tried here", "skipped")
        return None
    profile = os.path.join(scratch, "live.td")
    seen = [outcome(command, scratch, [common.TDREC, "--source", "live", "-o", profile, "--"]) for _ in range(runs)]
    bad = [text for text in (difference(native, one) for one in seen) if text]
    images = sum(one[4] for one in seen)
    if bad and any(difference(native, outcome(command, scratch)) for _ in range(3)):
        bench.add(f"{name}: differs without us, too", f"{len(bad)} of {runs} runs")
        return None
    bench.add(name, f"{runs - len(bad)} of {runs} runs as without us, {images} images" + "".join(f"; {text}" for text in bad[:1]),
              None, None, "all", not bad)
    return not bad


def imager_of(tdrec):
    """The process that this tdrec has for images."""
    with open(f"/proc/{tdrec}/task/{tdrec}/children", encoding="ascii") as file:
        children = file.read().split()
    for child in children:
        with open(f"/proc/{child}/comm", encoding="ascii") as file:
            if file.read() == "td-imager\n":
                return int(child)
    return None


def try_kill(command, native, which, scratch):
    """One recording of a running program, killed at a random moment. What went wrong, or None."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    profile = os.path.join(scratch, "killed.td")
    tdrec = subprocess.Popen([common.TDREC, "-q", "--source", "live", "--overhead", "50%", "-o", profile, "-p", str(child.pid)],
                             stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(random.uniform(0.03, 0.3))
    try:
        target = tdrec.pid if which == "tdrec" else imager_of(tdrec.pid)
        if target:
            os.kill(target, signal.SIGKILL)
    except OSError:
        pass  # it has ended
    try:
        out, err = child.communicate(timeout=LIMIT_S)
        tdrec.wait(30)
    except subprocess.TimeoutExpired:
        child.kill()
        tdrec.kill()
        return "one of both does not end"
    return None if (child.returncode, out) == native else f"{native} natively, {child.returncode} {out} {err[-200:]}"


def try_kills(bench, which, scratch):
    bad = []
    for i in range(len(KILLED) if bench.quick else KILLS):
        command = KILLED[i % len(KILLED)]
        done = subprocess.run(command, capture_output=True, check=False)
        text = try_kill(command, (done.returncode, done.stdout), which, scratch)
        if text:
            bad.append(f"{command[-1]}: {text}")
    bench.add(f"{which} killed at a random moment, the program goes on", f"{len(bad)} faults" + "".join(f"; {text}" for text in bad[:3]), None,
              None, "0", not bad)


def run(bench):
    common.need("qemu-x86_64", "gcc", "make", "perl", "python3")
    random.seed(3)
    runs = int(os.environ.get("TD_HARMLESS_RUNS", "2" if bench.quick else "20"))
    sources, scratch = bench.path("harmless"), bench.path("harmless-run")
    os.makedirs(sources)
    os.makedirs(scratch)
    found = [try_program(bench, name, command, scratch, runs) for name, command in programs(sources).items()]
    bench.add("programs that were as without us in every run", f"{found.count(True)} of {len(found) - found.count(None)}", None, None, "all",
              False not in found)
    try_kills(bench, "tdrec", scratch)
    try_kills(bench, "imager", scratch)
