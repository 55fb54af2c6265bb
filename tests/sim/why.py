#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""why.py TDREC TDREPORT PROGRAM SOURCE CORE: tdreport why names the cause that is planted in each marked line.

A line with "WHY cause" in a comment must have that cause (one of several). With "SAYS word" the sentence of the first of these
must have the words; or any sentence the place of the line with the words as its comment (joined by _). What runs is modelled,
so that every figure is the same on every machine."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

failures = []


def check(truth, text):
    if not truth:
        failures.append(text)


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def planted(source):
    """(line, causes, what the sentence says or "")"""
    with open(source, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        mark = re.search(r"/\* WHY ([a-z0-9_ ]+?)(?: SAYS (\w+))? \*/", line)
        if mark:
            comment = f"/* {(mark[2] or '').replace('_', ' ')} */"
            other = [n for n, text in enumerate(lines, 1) if comment in text]
            yield number, mark[1].split(), f"{os.path.basename(source)}:{other[0]}" if other else mark[2] or ""


def check_loop(why):
    """The parts of the chain are the chain, and no port is busier than the ports' bound; the sentence says what binds."""
    place, loop = why["place"], why["loop"]
    bounds = loop["bounds"]
    if loop["chain"]:
        parts = sum(link["cycles"] for link in loop["chain"])
        check(abs(parts - bounds["chain"]) < 1e-4, f"{place}: the chain's parts are {parts} of {bounds['chain']} cycles")
    each = [port["cycles"] for port in loop["ports"]["each"]]
    if each:
        check(abs(max(each) - bounds["ports"]) < 1e-4, f"{place}: ports are busy for {each}, their bound is {bounds['ports']}")
        check(sum(each) >= loop["ports"]["uops"] * 0.999, f"{place}: {each} is less than the uops on the busiest ports")
    lines, bytes_run = loop["code_lines"], loop["code_bytes"]
    check(lines is None or 0 < bytes_run <= 64 * lines, f"{place}: {bytes_run} bytes of code are in {lines} lines")
    binding = {"dependency_chain": "chain", "port": "ports", "divider": "divider"}.get(why["cause"])
    if binding and bounds[binding] and bounds[binding] > 0.6 * loop["cycles_per_iteration"]:
        check(f"{bounds[binding]:.2f} cycles" in why["sentence"], f"{place}: the sentence does not say {bounds[binding]:.2f} cycles")


def check_place(why, causes, says):
    place = why["place"]
    print(f"{place} {why['cause']}: {why['sentence']}")
    check(why["cause"] in causes, f"{place}: the cause is {why['cause']} ({why['category']}), not {' or '.join(causes)}")
    if ":" in says or why["cause"] == causes[0]:
        words = says if ":" in says else says.replace("_", " ")
        check(words in why["sentence"], f"{place}: the sentence does not say {words}")
    if why["loop"]:
        check_loop(why)
    if why["cause"] in ("dependency_chain", "port", "divider"):
        check(why["loop"] is not None, f"{place}: no loop is known")
    if why["instruction"]:
        found = f"{os.path.basename(why['instruction']['file'] or '?')}:{why['instruction']['line']}"
        check(found == place, f"{place}: {found} is blamed")


def check_text(tdreport, profile, places):
    asked = run(tdreport, "why", "-i", profile, "--width", "80", *places)
    lines = asked.stdout.splitlines()
    check(asked.returncode == 0, f"no text: {asked.stderr}")
    check(sum(line.startswith("cause ") for line in lines) == len(places), "not every place has a cause")
    check(any(line.startswith("ports ") for line in lines), "no loop's ports are shown")
    wide = [line for line in lines if len(line) > 80 and not any(place in line for place in places)]
    check(not wide, f"wider than 80 columns: {wide}")


def check_elsewhere(tdreport, profile, source, answers):
    """annotate and the page say the same of the lines that they have a sentence of; annotate's callers are not known."""
    sentences = {int(why["place"].rpartition(":")[2]): why["sentence"] for why in answers}
    name = os.path.basename(source)
    rows = json.loads(run(tdreport, "functions", "-i", profile, "--json").stdout)["functions"]
    functions = [row["function"] for row in rows if row["module"] == answers[0]["instruction"]["module"] and row["slots_share"] > 0.002]
    asked = run(tdreport, "annotate", "-i", profile, "--json", *functions)
    sections = json.loads(asked.stdout)["annotate"] if asked.returncode == 0 else []
    noted = {line["line"]: line["why"]["sentence"] for section in sections if os.path.basename(section["file"] or "") == name
             for line in section["lines"] if "why" in line}
    check(len(set(noted) & set(sentences)) >= len(sentences) * 2 // 3, f"annotate has sentences of {sorted(noted)}, of {sorted(sentences)}")
    page = run(tdreport, "html", "-i", profile, "-o", "-").stdout
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    sources = json.loads(data[1])["page"]["sources"] if data else []
    shown = {line: (title, text) for section in sources if os.path.basename(section["file"] or "") == name
             for line, title, text in section.get("whys", [])}
    check(len(set(shown) & set(sentences)) >= 2, f"the page has sentences of {sorted(shown)}, of {sorted(sentences)}")
    text = run(tdreport, "annotate", "-i", profile, "--width", "80", f"{name}:{min(noted, default=1)}").stdout
    check(f"why {min(noted, default=1)} " in text, f"annotate's text has no sentence: {text}")
    for line in set(sentences) & (set(noted) | set(shown)):
        for found in (noted.get(line), shown.get(line, (None, None))[1]):
            check(found is None or sentences[line].startswith(found) or found.startswith(sentences[line]),
                  f"{name}:{line}: {found!r} elsewhere, {sentences[line]!r} by why")


def check_core(tdrec, tdreport, program, source, core, folder):
    profile = os.path.join(folder, f"{core}.td")
    done = run(tdrec, "--source", "sim", "--sim-core", core, "-o", profile, program)
    if done.returncode != 0:
        check(False, f"tdrec: {done.stderr}")
        return
    places = {f"{os.path.basename(source)}:{line}": (causes, says) for line, causes, says in planted(source)}
    check(len(places) > 0, f"{source} has no marks")
    print(f"-- {core}: {len(places)} planted causes")
    asked = run(tdreport, "why", "-i", profile, "--json", *places)
    check(asked.returncode == 0, f"exit {asked.returncode}: {asked.stderr.strip()}")
    answers = json.loads(asked.stdout)["why"] if asked.returncode == 0 else []
    check([why["place"] for why in answers] == list(places), "other places are answered than those asked for")
    for why in answers:
        check_place(why, *places[why["place"]])
    check_elsewhere(tdreport, profile, source, answers)
    check_text(tdreport, profile, places)
    typo = run(tdreport, "why", "-i", profile, "no_such_function")
    check(typo.returncode == 4 and "no_such_function" in typo.stderr, f"a name that is not there: {typo.stderr}")


def check_stripped(tdrec, tdreport, program, core, folder):
    """Without a place and without lines it is the hottest code all the same that is asked about. Without a build-id no names
    of the other copy are found."""
    stripped, profile = os.path.join(folder, "stripped"), os.path.join(folder, "stripped.td")
    if run("strip", "-R", ".note.gnu.build-id", "-o", stripped, program).returncode != 0:
        return
    run(tdrec, "-q", "--source", "sim", "--sim-core", core, "-o", profile, stripped)
    asked = run(tdreport, "why", "-i", profile, "--json")
    answers = json.loads(asked.stdout)["why"] if asked.returncode == 0 else []
    places = [why["place"] for why in answers]
    check("stripped" in places, f"of a stripped program: {asked.stderr} {places}")


def main():
    tdrec, tdreport, program, source, core = sys.argv[1:]
    if not shutil.which("qemu-x86_64"):
        print("skipped: needs qemu-x86_64")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")  # names are looked up once
        check_core(tdrec, tdreport, program, source, core, folder)
        check_stripped(tdrec, tdreport, program, core, folder)
    for failure in failures:
        print(f"FAIL {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
