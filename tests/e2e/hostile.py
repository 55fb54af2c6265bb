#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Symbol, thread, process, path and source names that try to steer a terminal or break a format come out harmless."""
import json
import os
import re
import shutil
import subprocess

import td

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]")
TEXT_COMMANDS = [[], ["functions"], ["lines"], ["modules"], ["threads"], ["folded"], ["annotate"], ["dump"]]
JSON_COMMANDS = [[], ["functions"], ["lines"], ["modules"], ["threads"]]


def harmless(what, raw):
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        td.fail(f"{what}: invalid UTF-8: {error}: {raw[max(0, error.start - 60):error.end + 20]!r}")
    found = CONTROLS.search(text)
    if found:
        at = found.start()
        td.fail(f"{what}: U+{ord(found.group()):04X} in {text[max(0, at - 60):at + 40]!r}")


def profile():
    """A hostile program under a hostile path, run with hostile arguments."""
    td.need_perf_events()
    folder = td.scratch("dir \033[32m;\n$(x)")
    os.makedirs(folder, exist_ok=True)
    program = shutil.copy(td.workload("hostile"), os.path.join(folder, "prog \033[1m\u202e"))
    out = td.scratch("hostile.td")
    done = td.run([td.TDREC, "--source", "clock", "-F", "2000", "--call-graph", "fp", "-o", out, "--", program, "0.5",
                   "\033]0;argument\a\n\xff"])
    harmless("tdrec's stderr", done.stderr)
    return out


def text():
    out = profile()
    for words in TEXT_COMMANDS:
        done = td.run([td.TDREPORT, *words, "-i", out], (0, 4))
        harmless(f"tdreport {' '.join(words)}: stdout", done.stdout)
        harmless(f"tdreport {' '.join(words)}: stderr", done.stderr)
    seen = td.run([td.TDREPORT, "functions", "--no-inline", "-i", out]).stdout.decode()
    td.check("hot" in seen and "pwned" in seen, f"the hostile function is not in the table at all:\n{seen}")


def folded():
    """Frames are parted by ';' and the count stands after the last blank, whatever the names hold."""
    out = profile()
    total = 0
    for line in td.report(out, "folded").splitlines():
        td.check(re.fullmatch(r".+ \d+", line), f"no folded line: {line!r}")
        total += int(line.rpartition(" ")[2])
        for frame in line.rpartition(" ")[0].split(";"):
            td.check(frame, f"an empty frame (a name with ';' inside?): {line!r}")
    td.check(total > 0, "nothing folded")
    depth = max(line.count(";") for line in td.report(out, "folded").splitlines() if "hot" in line)
    td.check(depth <= 12, f"the hostile frame became several: depth {depth}")


def as_json():
    out = profile()
    for words in JSON_COMMANDS:
        done = td.run([td.TDREPORT, *words, "-i", out, "--json"])
        harmless(f"tdreport {' '.join(words)} --json", done.stdout)
        json.loads(done.stdout)


def exports():
    out = profile()
    listing = td.run([td.TDREPORT, "export", "--format", "no-such", "-o", "/dev/null", "-i", out], None)
    names = [name for name in ("folded", "csv", "ndjson", "json", "speedscope", "firefox", "callgrind", "pprof")
             if name.encode() in listing.stderr]
    if not names:
        td.skip("no exporter is named by 'tdreport export --format no-such'")
    for name in names:
        target = td.scratch(f"out.{name}")
        td.run([td.TDREPORT, "export", "--format", name, "-o", target, "-i", out])
        with open(target, "rb") as file:
            raw = file.read()
        if name in ("pprof",):
            continue  # binary
        if raw[:2] == b"\x1f\x8b":
            import gzip
            raw = gzip.decompress(raw)
        harmless(f"export {name}", raw.replace(b"\r\n", b"\n") if name == "csv" else raw)  # RFC 4180
        if name in ("json", "speedscope", "firefox"):
            json.loads(raw)
    harmless("html", td.run([td.TDREPORT, "html", "-o", "-", "-i", out]).stdout)


def source():
    """Source text with escape sequences, through annotate."""
    td.need_perf_events()
    td.need("gcc")
    path = td.scratch("evil.c")
    with open(path, "wb") as file:
        file.write(b"#include <time.h>\nint main(void)\n{\n    volatile unsigned long x = 0;\n"
                   b"    for (unsigned long i = 0; i < 400000000ul; i++) /* \033]0;pwned\007 \xff \xc2\x9b \r */\n"
                   b"        x += i; /* \033[31m */\n    return 0;\n}\n")
    subprocess.run(["gcc", "-O1", "-g", "-o", td.scratch("evil"), path], check=True)
    out = td.record([td.scratch("evil")])
    done = td.run([td.TDREPORT, "annotate", "main", "-i", out])
    harmless("annotate", done.stdout)
    td.check(b"pwned" in done.stdout, f"the source line is not shown:\n{done.stdout.decode()}")
    page = td.run([td.TDREPORT, "html", "-o", "-", "-i", out]).stdout
    harmless("html", page)
    td.check(b"pwned" in page, "the source line is not on the page")
    page = td.run([td.TDREPORT, "html", "--no-source", "-o", "-", "-i", out]).stdout
    td.check(b"pwned" not in page and b"--no-source" in page, "the source line is on the page without source")


def secret():
    """A profile may name any file as its source: root is not shown what only root may read."""
    td.need_perf_events()
    td.need("gcc")
    if os.geteuid() != 0:
        td.skip("only root reads what others may not")
    path = td.scratch("secret.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write("int main(void)\n{\n    volatile unsigned long x = 0;\n"
                   "    for (unsigned long i = 0; i < 400000000ul; i++)\n        x += i; /* hunter2 */\n    return 0;\n}\n")
    subprocess.run(["gcc", "-O1", "-g", "-o", td.scratch("secret"), path], check=True)
    out = td.record([td.scratch("secret")])
    os.chmod(path, 0o600)
    done = td.run([td.TDREPORT, "annotate", "main", "-i", out])
    td.check(b"hunter2" not in done.stdout and b"only root may read it" in done.stdout + done.stderr, done.stdout.decode())
    done = td.run([td.TDREPORT, "html", "-o", "-", "-i", out])
    td.check(b"hunter2" not in done.stdout and b"only root may read it" in done.stdout, "the page of a file that only root may read")
    done = td.run([td.TDREPORT, "annotate", "main", "-i", out, "--source-dir", "/"])
    td.check(b"hunter2" in done.stdout, f"the user asked for it:\n{done.stdout.decode()}")


td.cases({"text": text, "folded": folded, "json": as_json, "exports": exports, "source": source, "secret": secret})
