#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tdrec in what containers are made of: user, pid and mount namespaces, no /proc, no /sys, seccomp filters."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import td  # noqa: E402

NOBODY = 65534
OWN_USER = ("unshare", "--user", "--map-root-user")


def need_namespaces(*words):
    td.need("unshare")
    done = subprocess.run([*words, "true"], stderr=subprocess.PIPE, check=False)
    if done.returncode:
        td.skip(f"unshare is not allowed here: {done.stderr.decode().strip()}")


def sysctl(name):
    try:
        with open(f"/proc/sys/kernel/{name}", encoding="ascii") as file:
            return int(file.read())
    except OSError:
        td.skip(f"perf_event_open: there is no kernel.{name}")


def doctor(*prefix):
    """Its lines, {name: (whether good, text)}; each fits a terminal."""
    text = td.run([*prefix, td.TDREC, "--doctor"], (0, 1)).stdout.decode()
    lines = {}
    name = None
    for line in text.splitlines():
        td.check(len(line) <= 80 or " " not in line.strip(), f"{len(line)} columns: {line}")
        start = re.match(r"(ok|no)  (.{22}) (.*)", line)
        if start:
            name = start.group(2).strip()
            lines[name] = (start.group(1) == "ok", start.group(3))
        else:
            td.check(line.startswith(" " * 27) and name, f"no line of a text: {line!r}")
            lines[name] = (lines[name][0], f"{lines[name][1]} {line.strip()}")
    return lines


def recorded(prefix, *words, source="clock"):
    out = td.scratch("sandbox.td")
    for path in (out, out + ".old"):
        if os.path.exists(path):
            os.remove(path)
    done = td.run([*prefix, td.TDREC, "--source", source, "-o", out, *words, "--", td.workload("split"), "0.3"])
    data = td.report_json(out, "modules")
    share = {row["module"]: row["time_share"] for row in data["modules"]}.get("split", 0)
    td.check(share > 0.8, f"{source}: split has {share}: {data['modules']}")
    return done.stderr.decode()


def check_user(lines):
    """What the kernel grants to users, and what then is missing, with what helps."""
    paranoid = sysctl("perf_event_paranoid")
    for level, name in ((1, "kernel time"), (0, "whole CPUs")):
        good, text = lines[name]
        td.check(good == (paranoid <= level), f"{name}: {good}, perf_event_paranoid is {paranoid}")
        td.check(good or f"sysctl kernel.perf_event_paranoid={level}" in text, f"{name}: {text}")
    good, text = lines["kernel names"]
    if sysctl("kptr_restrict") == 0 and paranoid > 1 and "/proc/kallsyms" not in text:
        td.check(not good and "kptr" not in text and "kernel.perf_event_paranoid=1" in text, f"kernel names: {text}")


def user_namespace():
    """User 0 of a container is a user to the kernel: what it grants is recorded, the rest is the host's."""
    need_namespaces(*OWN_USER)
    if sysctl("perf_event_paranoid") > 2:
        td.skip("perf_event_open: forbidden to users")
    text = recorded(OWN_USER)
    lines = doctor(*OWN_USER)
    td.check(lines["your own programs"][0], f"{lines}")
    check_user(lines)
    td.check("security module" not in text, text)
    if sysctl("perf_event_paranoid") > 1:
        td.check("on the host: sudo sysctl kernel.perf_event_paranoid=1" in text, text)
        td.check("on the host: " in lines["kernel time"][1], f"{lines}")
        td.check("sudo tdrec" not in lines["kernel time"][1], f"{lines}")
    if sysctl("perf_event_paranoid") > 0:
        done = td.run([*OWN_USER, td.TDREC, "-a", "--source", "clock", "--duration", "0.1"], 125)
        td.check(b"on the host: sudo sysctl kernel.perf_event_paranoid=0" in done.stderr, f"{done.stderr!r}")


def no_proc():
    """Without /proc and /sys: time is sampled, and no guess is told as a fact."""
    if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
        td.skip("the plugin is not built (sanitizers), which need /proc to end a program")
    prefix = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
              'mount -t tmpfs none /proc && mount -t tmpfs none /sys && exec "$@"', "-")
    need_namespaces(*prefix)
    if sysctl("perf_event_paranoid") > 2:
        td.skip("perf_event_open: forbidden to users")
    text = recorded(prefix)
    td.check("perf_event_paranoid is" not in text, text)
    recorded(prefix, source="auto")
    done = td.run([*prefix, td.TDREC, "--source", "sim", "-o", td.scratch("none.td"), "--", "true"], 125)
    td.check(b"/proc" in done.stderr and b"install" not in done.stderr, f"{done.stderr!r}")
    lines = doctor(*prefix)
    check_user(lines)
    td.check("/proc" in lines["kernel names"][1] and "/proc" in lines["modelled top-down"][1], f"{lines}")
    cpus = len(os.sched_getaffinity(0))
    td.check(f" {cpus} CPUs" in lines["descriptors"][1], f"{lines['descriptors']}")


def other_proc():
    """In a pid namespace with the /proc of another, numbers there are other processes: none is taken for ours."""
    prefix = ("unshare", "--user", "--map-root-user", "--pid", "--fork")
    need_namespaces(*prefix)
    recorded(prefix)
    if os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")) and shutil.which("qemu-x86_64"):
        recorded(prefix, source="sim")
    done = td.run([*prefix, td.TDREC, "--source", "clock", "-o", td.scratch("p.td"), "--duration", "0.1", "-p", "1"], 125)
    td.check(b"mount -t proc" in done.stderr, f"{done.stderr!r}")


def outside():
    """From a pid namespace, -a has the others' time but none of their names: they all have the number 0."""
    if os.geteuid() != 0:
        td.skip("needs root")
    prefix = ("unshare", "--pid", "--fork", "--mount-proc")
    need_namespaces(*prefix)
    child = subprocess.Popen([td.workload("split"), "20"], stdout=subprocess.DEVNULL)
    out = td.scratch("outside.td")
    try:
        done = td.run([*prefix, td.TDREC, "--source", "clock", "-F", "999", "-a", "--duration", "0.5", "-o", out])
    finally:
        child.kill()
        child.wait()
    modules = {row["module"] for row in td.report_json(out, "modules")["modules"]}
    td.check("[unknown]" in modules and "split" not in modules, f"{modules}")
    td.check(b"outside of this container" in done.stderr, f"{done.stderr!r}")


def unprivileged():
    """--doctor to a user: each fix is of what is in the way."""
    if os.geteuid() != 0:
        check_user(doctor())
        return
    td.need("setpriv")
    os.chmod(td.SCRATCH, 0o755)
    td.TDREC = shutil.copy(td.TDREC, td.SCRATCH)
    lines = doctor("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")
    check_user(lines)
    td.check(lines["others' processes"] == (False, "only your own: sudo tdrec"), f"{lines}")


def filtered():
    """Under a seccomp filter nothing is promised that the filter refuses."""
    lines = doctor(os.environ["TD_DENY"], "1")
    for name in ("your own programs", "kernel time", "whole CPUs", "others' processes"):
        td.check(not lines[name][0], f"{name}: {lines[name]}")
    td.check("seccomp" in lines["your own programs"][1], f"{lines}")


td.need_perf_events()
td.cases({name: globals()[name] for name in (
    "user_namespace", "no_proc", "other_proc", "outside", "unprivileged", "filtered")})
