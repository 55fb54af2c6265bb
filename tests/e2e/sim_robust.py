#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recorder of a modelled program dies or is told to end: the profile is readable, the program goes on, and nothing
is left behind."""
import json
import os
import resource
import shutil
import signal
import subprocess
import time

import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")

TEMP = td.scratch("temp")
os.makedirs(TEMP)
COMMAND = 'i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; echo finished >"$0"'


def start(out, done, *prefix, options=()):
    if os.path.exists(done):
        os.unlink(done)
    return subprocess.Popen([*prefix, td.TDREC, "--source", "sim", *options, "-o", out, "--", "sh", "-c", COMMAND, done],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            start_new_session=True, env={**os.environ, "TMPDIR": TEMP})


def finished(done):
    for _ in range(1500):
        if os.path.exists(done):
            return True
        time.sleep(0.1)
    return False


def wait_for_snapshots(out):
    """Until a good part of what was modelled can be read."""
    for _ in range(100):
        time.sleep(1)
        done = subprocess.run([td.TDREPORT, "-i", out, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=False)
        if done.returncode == 3 and done.stdout and json.loads(done.stdout)["profile"]["instructions"] > 2000000:
            return
    td.fail("nothing is written while the program runs")


def ended(number, out_name, options=()):
    out, done = td.scratch(out_name), td.scratch("done")
    child = start(out, done, options=options)
    wait_for_snapshots(out)
    child.send_signal(number)
    err = child.communicate(timeout=200)[1]
    data = td.report_json(out, status=(0, 3))
    td.check(data["profile"]["instructions"] > 2000000, f"{data['profile']}")
    td.check(any(row["module"].startswith(("dash", "sh", "bash")) for row in data["functions"]), "no function of the shell")
    td.check(not os.listdir(TEMP), f"left behind: {os.listdir(TEMP)}")
    return child.returncode, data, done, err


def kill():
    code, data, done, _ = ended(signal.SIGKILL, "killed.td")
    td.check(code == -signal.SIGKILL and data["coverage"]["complete"] is False, f"{code}: {data['coverage']}")
    td.check(finished(done), "the program did not go on")


def kill_sampled():
    """The records of a simulated PMU lie in files, of which nothing is left either."""
    _, _, done, _ = ended(signal.SIGKILL, "sampled.td", ["--sim-core", "golden-cove", "--sim-pmu", "1000,4000x2"])
    td.check(finished(done), "the program did not go on")


def killed_program():
    """What is told at a program's end alone, of its code and its accesses, is there when it was killed."""
    out, done = td.scratch("program.td"), td.scratch("done")
    child = start(out, done)
    wait_for_snapshots(out)
    for pid, _ in td.children_of(child.pid):
        os.kill(pid, signal.SIGKILL)
    err = child.communicate(timeout=200)[1]
    td.check(child.returncode == 128 + signal.SIGKILL, f"{child.returncode}: {err!r}")
    loops = td.report_json(out, "loops")["loops"]
    td.check(len(loops) > 0, "no loop is known")
    habits = td.report(out, "dump").count(" habit module=")
    td.check(habits > 100, f"{habits} habits")


def hangup():
    code, data, done, err = ended(signal.SIGHUP, "hangup.td")
    td.check(code == 128 + signal.SIGHUP and not data["coverage"]["complete"], f"{code}: {err!r}")
    td.check(b"hung up (SIGHUP)" in err, f"{err!r}")
    td.check(finished(done), "the program did not go on")


def terminate():
    """SIGTERM is handed on, and the program's end is the recording's."""
    code, data, done, err = ended(signal.SIGTERM, "terminated.td")
    td.check(code == 128 + signal.SIGTERM and data["coverage"]["complete"], f"{code}: {err!r}")
    td.check(not os.path.exists(done), "the program did not get the signal")


def wrong():
    """One sentence with the fix each."""
    out = td.scratch("wrong.td")
    empty = td.scratch("empty")
    os.makedirs(empty)
    script = td.scratch("script")
    with open(script, "w", encoding="utf-8") as file:
        file.write("#!/nonexistent/interpreter\n")
    os.chmod(script, 0o755)
    foreign = td.scratch("foreign")
    with open("/bin/true", "rb") as file:
        data = bytearray(file.read())
    data[18:20] = (243).to_bytes(2, "little")  # EM_RISCV
    with open(foreign, "wb") as file:
        file.write(data)
    os.chmod(foreign, 0o755)
    for command, environment, status, words in (
            (["/bin/true"], {"PATH": empty}, 125, (b"qemu-x86_64", b"apt-get install qemu-user")),
            ([script], {}, 125, (b"/nonexistent/interpreter", b"#!")),
            ([foreign], {}, 125, (b"a processor that is neither",)),
            (["./no-such-program"], {}, 127, (b"there is no such program",)),
            ([empty + "/.."], {}, 126, (b"cannot execute",)) if os.geteuid() else
            (["no-such-program"], {}, 127, (b"PATH",))):
        done = td.run([td.TDREC, "--source", "sim", "-o", out, "--", *command], status,
                      env={**os.environ, **environment})
        td.check(done.stderr.count(b"\n") == 1 and all(word in done.stderr for word in words),
                 f"{command}: {done.stderr!r}")


def other_plugin():
    """A plugin of another version is not run: what it says would be read as what it is not."""
    folder = td.scratch("other")
    os.makedirs(folder)
    for name in ("tdrec", "tdprof-sim-plugin.so"):
        shutil.copy(os.path.join(td.BUILD, name), folder)
    path = os.path.join(folder, "tdprof-sim-plugin.so")
    with open(path, "rb") as file:
        data = file.read()
    td.check(data.count(b"tdprof plugin ") > 0, "the plugin has no mark")
    with open(path, "wb") as file:
        file.write(data.replace(b"tdprof plugin ", b"tdprof plugin 0"))
    done = td.run([os.path.join(folder, "tdrec"), "--source", "sim", "-o", td.scratch("x.td"), "--", "true"], 125, timeout=60)
    td.check(b"of another version" in done.stderr and done.stderr.count(b"\n") == 1, f"{done.stderr!r}")


def default():
    """Without a PMU, the model is used where it can be, and says so in one line; options that sample keep the clock."""
    out = td.scratch("default.td")
    done = td.run([td.TDREC, "-o", out, "--", "/bin/true"])
    first = done.stderr.split(b"\n")[0]
    if b"no core PMU" not in first:
        td.skip("this machine has a PMU")
    td.check(b"source sim" in first and b"slower" in first and b"--source clock" in first, f"{first!r}")
    td.check("modelled" in td.report(out), "the report's head does not say modelled")
    data = td.report_json(out)["profile"]
    td.check(data["source"] == "sim" and "no core PMU" in data["source_reason"], f"{data}")
    done = td.run([td.TDREC, "-o", out, "--", "/bin/true"], env={**os.environ, "PATH": td.scratch("nowhere")})
    td.check(b"source clock" in done.stderr and b"apt-get install qemu-user" in done.stderr, f"{done.stderr!r}")
    done = td.run(["bash", "-c", 'ulimit -f 100; exec "$@"', "-", td.TDREC, "-o", out, "--", "/bin/true"])
    td.check(b"source clock" in done.stderr and b"ulimit" in done.stderr, f"{done.stderr!r}")
    done = td.run([td.TDREC, "--source", "sim", "-F", "99", "-o", out, "--", "/bin/true"])
    td.check(b"-F: the modelled core takes no samples" in done.stderr, f"{done.stderr!r}")


def quiet_without_terminal():
    """No progress line but on a terminal."""
    done = td.run([td.TDREC, "--source", "sim", "-o", td.scratch("q.td"), "--", "sh", "-c",
                   "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"])
    td.check(b"\x1b" not in done.stderr and b"\r" not in done.stderr, f"{done.stderr!r}")


def calibrate():
    """The machine's own core: measured, kept, used when asked for, and never else."""
    environment = {**os.environ, "XDG_CONFIG_HOME": td.scratch("config")}
    out = td.scratch("host.td")
    command = [td.TDREC, "--source", "sim", "--sim-core", "host", "-o", out, "--", "/bin/true"]
    done = td.run(command, 125, env=environment)
    td.check(b"tdrec --calibrate" in done.stderr and done.stderr.count(b"\n") == 1, f"{done.stderr!r}")
    done = td.run([td.TDREC, "--calibrate"], env=environment)
    rows = {line[:28].strip(): float(line[28:].split()[0]) for line in done.stdout.decode().split("\n")[1:10]}
    print(done.stdout.decode())
    td.check(500 < rows["clock"] < 8000, f"{rows}")
    td.check(1 < rows["L1 latency"] < rows["L2 latency"] < rows["L3 latency"] < rows["memory latency"], f"{rows}")
    td.check(5 < rows["mispredicted branch"] < 60, f"{rows}")
    td.check(os.path.exists(os.path.join(td.scratch("config"), "tdprof/host.uarch")), "no description was written")
    td.run(command, env=environment)
    data = td.report_json(out)["profile"]
    td.check(data["core"] == "host", f"{data}")
    td.run([td.TDREC, "--source", "sim", "-o", out, "--", "/bin/true"], env=environment)
    td.check(td.report_json(out)["profile"]["core"] != "host", "the calibrated core was used without being asked for")
    # Of an earlier version, which knew fewer keys.
    path = os.path.join(td.scratch("config"), "tdprof/host.uarch")
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("walk ")]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    done = td.run(command, 125, env=environment)
    td.check(b"tdrec --calibrate" in done.stderr and b"'walk'" in done.stderr, f"{done.stderr!r}")


def crowd():
    """Thousands of threads at a time: the later ones share models, so that memory has a bound, and nothing is lost."""
    threads = 4200
    out = td.scratch("crowd.td")
    command = [td.workload("crowd"), str(threads), "500"]
    if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        td.skip(f"no {threads} threads are allowed here")
    done = td.run([td.TDREC, "--source", "sim", "-o", out, "--", *command], timeout=230)
    td.check(b"crowd_work 4201 times" in done.stdout, f"{done}")
    td.check(b"more than 128 threads at a time" in done.stderr, f"{done.stderr!r}")
    kbytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"{kbytes / 1024:.0f} MB")
    # QEMU alone takes 90 kB for each; with models of their own the threads took more than 4 GB.
    td.check(kbytes < 1100 * 1024, f"{kbytes} kB for {threads} threads")
    # 500 rounds, an instruction at the least, in each thread and in the child.
    rows = td.report_json(out, "functions", "--no-inline")["functions"]
    work = [row for row in rows if row["function"] == "crowd_work"]
    td.check(work and 501 * (threads + 1) < work[0]["instructions"] < 10 * 500 * (threads + 1), f"{work}")
    # With models of their own, the threads stand by themselves.
    td.run([td.TDREC, "--source", "sim", "-o", out, "--", td.workload("crowd"), "60", "500"])
    td.check(len(td.report_json(out, "threads")["threads"]) == 62, "61 threads and a child")


td.cases({"kill": kill, "kill_sampled": kill_sampled, "killed_program": killed_program, "hangup": hangup, "terminate": terminate, "wrong": wrong, "other_plugin": other_plugin, "default": default,
          "quiet_without_terminal": quiet_without_terminal, "calibrate": calibrate,
          "crowd": crowd})
