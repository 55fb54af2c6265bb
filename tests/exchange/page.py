#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of tdreport html: one file that loads nothing, is harmless whatever the names are, is small, and has the totals
of tdreport --json in its tree, its functions, its call stacks and its timeline.

usage: page.py PART TDREPORT COMPOSE SOURCE_FOLDER; PART is composed, imported, hostile, large, endings or browser

browser opens pages in headless Chromium (page.cjs); scripts/viewers installs what it needs, exit 77 and a reason without.
"""
import base64
import glob
import hashlib
import html.parser
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

PART = sys.argv[1]
TDREPORT, COMPOSE, SOURCE = (os.path.abspath(word) for word in sys.argv[2:5])
HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
VIEWERS = os.environ.get("TD_VIEWERS", os.path.join(CACHE, "tdprof", "viewers"))
USUAL_BYTES = 1_000_000
COSTS = {"time": "time_ns", "slots": "slots", "event": "event", "samples": "samples"}
problems = []


def check(what, holds, detail=""):
    if not holds:
        print(f"FAILED: {what}: {str(detail)[:800]}")
        problems.append(what)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run(*words, ok=(0, 3)):
    done = subprocess.run([TDREPORT, *words], capture_output=True, check=False)
    if done.returncode not in ok:
        sys.exit(f"tdreport {' '.join(words)} gave {done.returncode}: {done.stderr.decode()}")
    return done.stdout


class Page(html.parser.HTMLParser):
    """The elements of a page, the text of its scripts and styles, and what it says where scripts do not run."""
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.comments, self.open = [], {}, [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self.open.append((tag, len(self.elements) - 1))

    def handle_endtag(self, tag):
        check(f"</{tag}> ends what is open", self.open and self.open[-1][0] == tag, self.open[-3:])
        if self.open:
            self.open.pop()

    def handle_data(self, data):
        if self.open:
            index = self.open[-1][1]
            self.texts[index] = self.texts.get(index, "") + data

    def handle_comment(self, data):
        self.comments.append(data)

    def text_of(self, tag, **attrs):
        for i, (name, has) in enumerate(self.elements):
            if name == tag and all(has.get(k) == v for k, v in attrs.items()):
                return self.texts.get(i, "")
        return None


def hash_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def check_form(name, text):
    """What a page may hold; returns its data and what it says without scripts."""
    page = Page(text)
    check(f"{name}: all elements end", not page.open, page.open)
    policies = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    check(f"{name}: one policy", len(policies) == 1, policies)
    policy = dict(part.strip().split(" ", 1) for part in policies[0].split(";"))
    scripts = [(a, page.texts.get(i, "")) for i, (tag, a) in enumerate(page.elements) if tag == "script"]
    check(f"{name}: two scripts, the data's and the page's", [s[0] for s in scripts] == [{"type": "application/json", "id": "data"}, {}])
    check(f"{name}: the policy allows this script and style only",
          policy == {"default-src": "'none'", "script-src": hash_of(scripts[1][1]), "style-src": hash_of(page.text_of("style")),
                     "base-uri": "'none'", "form-action": "'none'"}, policy)
    for tag, attrs in page.elements:
        check(f"{name}: <{tag}> is of the page", tag in {"html", "head", "meta", "title", "style", "body", "noscript", "pre", "p", "a", "header",
                                                       "div", "h1", "h2", "label", "select", "input", "span", "button", "main", "section", "script"})
        for key, value in attrs.items():
            check(f"{name}: {key}={value} loads and runs nothing", not key.startswith("on") and key not in ("src", "style", "srcset")
                  and (key != "href" or value.startswith("#")))
    check(f"{name}: one comment", len(page.comments) == 1, page.comments)
    for banned in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch(", "XMLHttpRequest",
                   "WebSocket", "sendBeacon", "localStorage", "import("):
        check(f"{name}: no {banned} in the script", banned not in scripts[1][1])
    check(f"{name}: size", len(text.encode()) <= USUAL_BYTES, len(text))
    return json.loads(scripts[0][1]), page.text_of("pre")


def children_of(metrics, metric):
    return [m["id"] for m in metrics if "level" in m and (m["parent"] or "slots") == metric]


def decode(metrics, columns, length):
    """As the page does: each value is less what the nodes below have."""
    values = {m["id"]: [0] * length for m in metrics}
    for metric, column in columns.items():
        at = 0
        for i in range(0, len(column), 2):
            at += column[i]
            values[metric][at] = column[i + 1]
    for metric in reversed([m for m in metrics if "level" in m]):
        above = values[metric["parent"] or "slots"]
        for i, value in enumerate(values[metric["id"]]):
            above[i] += value
    return values


def check_stacks(name, data, report):
    page, stacks = data["page"], data["page"]["stacks"]
    length = len(stacks["nodes"])
    own = decode(page["metrics"], stacks["values"], length)
    check(f"{name}: a root", stacks["nodes"][0] == -1 and stacks["parents"][0] == 0)
    check(f"{name}: parents stand before", all(0 < back <= i for i, back in enumerate(stacks["parents"]) if i))
    for metric in page["metrics"]:
        check(f"{name}: stacks of {metric['id']}", sum(own[metric["id"]]) == metric["total"], (sum(own[metric["id"]]), metric["total"]))
        check(f"{name}: no stack of {metric['id']} below 0", min(own[metric["id"]]) >= 0)
    for node in report["tree"]:
        check(f"{name}: stacks of {node['id']} are the tree's", sum(own[node["id"]]) == node["slots"], node)
    if not stacks["left_out"]:  # by function and module: what ends there is what the table says
        ours = {}
        for i, frame in enumerate(stacks["nodes"]):
            if frame >= 0 and own[page["primary"]][i]:
                key = tuple(stacks["frames"][frame])
                ours[key] = ours.get(key, 0) + own[page["primary"]][i]
        index = [m["id"] for m in page["metrics"]].index(page["primary"])
        table = {}
        for row in page["functions"]:
            key = (row["name"], row.get("module", -1))
            table[key] = table.get(key, 0) + row["costs"][index]
        if not page["other_functions"]["count"]:
            # Modelled time is rounded once for a function, and once for each of its stacks.
            slack = length if page["primary"] == "time" and page["modelled"] else 0
            for key in {k for k, v in ours.items() if v} | {k for k, v in table.items() if v}:
                check(f"{name}: stacks that end in {key}", abs(ours.get(key, 0) - table.get(key, 0)) <= slack, (ours.get(key), table.get(key)))


def check_functions(name, data, report):
    page = data["page"]
    costs = [m["id"] for m in page["metrics"] if "level" not in m]
    nodes = [m["id"] for m in page["metrics"] if "level" in m]
    for index, metric in enumerate(costs):
        total = sum(row["costs"][index] for row in page["functions"]) + page["other_functions"]["costs"][index]
        slack = len(report["functions"]) if metric == "time" and page["modelled"] else 0
        check(f"{name}: functions' {metric}", abs(total - page["metrics"][index]["total"]) <= slack, (total, page["metrics"][index]))
    check(f"{name}: functions", len(page["functions"]) + page["other_functions"]["count"] == len(report["functions"]))
    for ours, row in zip(page["functions"], report["functions"]):
        place = (row["function"], row["module"], row["file"], row["line"])
        shown = (ours["name"], page["modules"][ours["module"]][0] if "module" in ours else "[unknown]", ours.get("file"), ours.get("line"))
        check(f"{name}: the same rows", shown == place, (shown, place))
        for index, metric in enumerate(costs):
            check(f"{name}: {metric} of {row['function']}", row.get(COSTS[metric]) == ours["costs"][index], (row, ours))
        if row["slots"]:
            check(f"{name}: categories of {row['function']}", dict(zip(nodes, ours["shares"])) == row["categories"], (row, ours))


def check_timeline(name, data):
    page = data["page"]
    line = page["timeline"]
    if not line:
        return
    values = decode(page["metrics"], line["values"], line["steps"])
    for metric in page["metrics"]:
        if metric["id"] in line["values"] and not line["native_only"]:
            # Samples of a PMU are attributed one by one there, in tables function by function.
            slots = sum(m["total"] for m in page["metrics"] if m["id"] == "slots")
            slack = slots / 1e5 if metric.get("level", 0) > 1 and not page["modelled"] else 0
            check(f"{name}: over time, {metric['id']}", abs(sum(values[metric["id"]]) - metric["total"]) <= slack,
                  (sum(values[metric["id"]]), metric["total"]))


def check_sources(name, data):
    page = data["page"]
    for section in page["sources"] + page["instructions"]:
        for line in section["lines"]:
            pairs = line[4] if section in page["instructions"] and len(line) > 4 else line[2] if len(line) > 2 and isinstance(line[2], list) else []
            for at, value in zip(pairs[::2], pairs[1::2]):
                check(f"{name}: a line's {page['metrics'][at]['id']}", 0 < value <= page["metrics"][at]["total"], line)


def make_page(folder, path, *words):
    out = os.path.join(folder, "report.html")
    run("html", "-o", out, "-i", path, *words)
    with open(out, encoding="utf-8", newline="") as file:
        return out, file.read()


def check_page(name, folder, path, *words):
    _, text = make_page(folder, path, *words)
    data, plain = check_form(name, text)
    own = [word for i, word in enumerate(words) if "--diff" not in words[max(0, i - 1):i + 1]]
    report = json.loads(run("--json", "-n", "1000000", "-i", path, *own))
    for key in ("schema", "profile", "coverage", "tree", "verdict", "total", "rates"):
        check(f"{name}: {key} as in --json", data.get(key) == report.get(key), (data.get(key), report.get(key)))
    check_stacks(name, data, report)
    check_functions(name, data, report)
    check_timeline(name, data)
    check_sources(name, data)
    for node in (report["verdict"] or {}).get("high", []):
        check(f"{name}: the text without scripts has the verdict", node["id"] in plain, plain)
    check(f"{name}: there is a text without scripts", "source" in plain or "recorded" in plain or "coverage" in plain, plain)
    return data


def check_diff(name, folder, old, new, *words):
    """What a page says was and is are the figures of either profile."""
    data = check_page(name, folder, new, *words, "--diff", old)
    diff = data["page"]["diff"]
    plain = check_form(name, make_page(folder, new, *words, "--diff", old)[1])[1]
    check(f"{name}: the text without scripts compares, too", os.path.basename(old) in plain, plain)
    reports = [json.loads(run("--json", "-n", "1000000", "-i", path, *words)) for path in (old, new)]
    key = COSTS[diff["cost"]]
    totals = [sum(row[key] for row in report["functions"]) for report in reports]
    for column, total in enumerate(totals):
        check(f"{name}: total {column}", abs(diff["total"][column] - total) <= 1e-7 * total + 1, (diff["total"], totals))
        for row in diff["functions"]:
            if not row.get("rest") and row["cost"][column]:
                found = [r[key] for r in reports[column]["functions"] if r["function"] == (row["function"] or "[unknown]") and r["module"] == row["module"]]
                check(f"{name}: {row['function']}", any(abs(value - row["cost"][column]) <= 1e-6 * total + 1 for value in found), (row, found))
        if diff["cost"] == "slots":
            slots = {node["id"]: node["slots"] for node in reports[column]["tree"]}
            for node in diff["tree"]:
                check(f"{name}: {node['id']}", abs(slots[node["id"]] - node["cost"][column]) <= 1e-6 * total + 1, (node, slots))
    stacks = decode(diff["metrics"], diff["stacks"]["values"], len(diff["stacks"]["nodes"]))
    for metric in diff["metrics"]:
        check(f"{name}: old stacks of {metric['id']}", sum(stacks[metric["id"]]) == metric["total"], metric)
    return diff


def compose(folder, kind, name, *lines):
    script = os.path.join(SOURCE, "tests", "golden", "profiles.inc")
    path = os.path.join(folder, name + ".td")
    with open(path, "wb") as out:
        subprocess.run(["bash", "-c", f". {script}; make_{kind} \"$@\"", "sh", *lines], stdout=out, check=True,
                       env=dict(os.environ, COMPOSE=COMPOSE))
    return path


def compose_lines(folder, name, lines):
    path = os.path.join(folder, name + ".td")
    with open(path, "wb") as out:
        subprocess.run([COMPOSE], input="".join(line + "\n" for line in lines).encode(errors="surrogateescape"), stdout=out, check=True)
    return path


def composed(folder):
    for kind in ("clock", "sim", "pmu", "hybrid", "passes"):
        path = compose(folder, kind, kind)
        check_page(kind, folder, path)
        check_page(f"{kind}, filtered", folder, path, "--no-inline", "--module", "*e*")
    clock = compose(folder, "clock", "weights", "symbol 0 0x9000 0x10 chase")
    join = check_page("join", folder, os.path.join(folder, "sim.td"), "--weights", clock)
    check("a join is said to be one", join["page"]["hybrid"] and join["page"]["modelled"])
    for path in sorted(glob.glob(os.path.join(SOURCE, "tests", "data", "profiles", "*.td"))):
        check_page(os.path.basename(path), folder, path)
    data = check_page("pmu over time", folder, os.path.join(folder, "pmu.td"))
    faster = compose(folder, "sim", "faster", "tally 0 0 1000 1,1,1,1,1,1,1000 0:0x1010 0:0x2010")
    for kind, other in (("sim", faster), ("pmu", os.path.join(folder, "pmu.td")), ("clock", clock)):
        diff = check_diff(f"{kind} compared", folder, os.path.join(folder, f"{kind}.td"), other)
        check(f"{kind}: compared with the like, nothing changed", not diff["verdict"]["significant"], diff["verdict"])
    slow = compose_lines(folder, "slow", ["env argv ./app", "env source clock", "module kernel [kernel]", "symbol 0 0x1000 0x100 do_syscall_64",
                                          "symbol 0 0x5000 0x100 newcomer", "thread 100 100 app app", "clock 1000",
                                          "tally 0 0 5000 5000000000 0:0x1000", "tally 0 0 900 900000000 0:0x1000 0:0x5004"])
    diff = check_diff("slower", folder, os.path.join(folder, "clock.td"), slow)
    rows = {row["function"]: row for row in diff["functions"]}
    check("what is slower is said", diff["verdict"]["significant"] and diff["verdict"]["change"] > 1 and rows["newcomer"]["is"]
          and not rows["newcomer"]["was"] and rows["newcomer"]["cost"][4], diff["verdict"])
    done = subprocess.run([TDREPORT, "html", "--diff", os.path.join(folder, "none.td"), "-i", clock, "-o", "-"], capture_output=True, check=False)
    other = subprocess.run([TDREPORT, "html", "--diff", clock, "-i", faster, "-o", "-"], capture_output=True, check=False)
    check("what does not compare is refused", other.returncode == 2 and not other.stdout and b"record both" in other.stderr, other)
    check("no old profile, no page", done.returncode == 2 and not done.stdout, done.stderr)
    check("samples of a PMU have times", data["page"]["timeline"]["steps"] > 10, data["page"]["timeline"])
    check("sums of a model have none", check_page("sim", folder, os.path.join(folder, "sim.td"))["page"]["timeline"] is None)


def imported(folder):
    if not shutil.which("zstd"):
        skip("zstd is not installed")
    packed = sorted(glob.glob(os.path.join(SOURCE, "tests", "data", "perfdata", "*.zst")))
    check("imports", len(packed) > 10, packed)
    for source in packed:
        path = os.path.join(folder, "perf.data")
        subprocess.run(["zstd", "-q", "-d", "-f", source, "-o", path], check=True)
        check_page(os.path.basename(source), folder, path)


NAMES = ["</script><img src=x onerror=window.pwned=1>", "<!--<script>", "--><script>window.pwned=1</script>", "]]><svg/onload=window.pwned=1>",
         "\\u003c/script>\"'&amp;&lt;", "javascript:window.pwned=1", "\u202ecba\u2066\u200b name", "=HYPERLINK(1)", "x" * 3000,
         "\udcff\udcfe broken", "${window.pwned=1}`"]


def hostile_profile(folder):
    lines = ["env argv ./app", *(f"env argv {n}" for n in NAMES), *(f"env warning {n}" for n in NAMES), "env source sim", "env core golden-cove",
             f"env source_reason {NAMES[0]}", f"env cpu {NAMES[2]}", "env parameter clock_hz=1000000000", "counter 18 1000", "counter 19 1000",
             f"module kernel {NAMES[0]}", *(f"symbol 0 {0x1000 * (i + 1):#x} 0x100 {n}" for i, n in enumerate(NAMES)),
             f"thread 1 1 {NAMES[0].replace(' ', '_')} {NAMES[2]}", f"thread 2 2 app {NAMES[1]}", "sim light_operations dram_bound"]
    for i in range(len(NAMES)):
        stack = " ".join(f"0:{0x1000 * (k + 1) + 4:#x}" for k in range(i + 1))
        lines.append(f"tally {i % 2} 0 1000 {1000 + i},{3000 * (i + 1)},500 {stack}")
    return compose_lines(folder, "hostile", lines)


def hostile(folder):
    path = hostile_profile(folder)
    _, text = make_page(folder, path)
    data, plain = check_form("hostile", text)
    check("hostile: what is not the page's own begins no element", NAMES[0] not in text and "<img" not in text and "<svg" not in text)
    names = {row["name"] for row in data["page"]["functions"]}
    check("hostile: names are kept as they are", set(NAMES[:9]) <= names, names)
    check("hostile: the title is text", "</script>" in Page(text).text_of("title"), Page(text).text_of("title"))
    check("hostile: the text without scripts shows what steers", "\u202e" not in plain and "<script>" in plain, plain)
    check_page("hostile", folder, path)
    # Source text of a path that the profile names.
    source = os.path.join(folder, "evil.c")
    with open(source, "wb") as file:
        file.write(b"int main(void)\n{\n    volatile unsigned long x = 0; /* </script><!-- \xff\xc2\x9b \x1b[31m \r */\n"
                   b"    return (int)x;\n}\n")


def large_lines(stacks, seed=1):
    rng = random.Random(seed)
    yield from ["env argv ./large", "env source sim", "env core golden-cove", "env parameter clock_hz=1000000000", "counter 18 1000000000",
                "counter 19 1000000000", "module kernel [kernel]"]
    for i in range(4000):
        yield f"symbol 0 {0x1000 * (i + 1):#x} 0x800 ns::Worker<{i % 60}, std::allocator<char> >::method_{i}(unsigned long, char const*)"
    yield "thread 1 1 app app"
    yield "sim light_operations dram_bound l1_bound l3_bound ports_utilization icache_misses branch_mispredicts"
    for i in range(stacks):
        depth = rng.randint(3, 24)
        path = [1 + int(rng.paretovariate(0.7)) % 40 if d < 3 else rng.randint(1, 4000) for d in range(depth)]
        cost = int(1000 * rng.paretovariate(1.1))
        values = ",".join(str(int(cost * rng.random())) for _ in range(7))
        yield f"tally 0 0 {cost} {values},{cost} " + " ".join(f"0:{0x1000 * p + 16:#x}" for p in path)


def large(folder):
    """100,000 different stacks: the page stays small, says what it left out, and all sums hold."""
    path = compose_lines(folder, "large", large_lines(100000))
    data = check_page("large", folder, path)
    stacks = data["page"]["stacks"]
    check("large: what was left out is said", stacks["left_out"] > 100000 and 0 < stacks["left_out_share"] < 1, stacks["left_out"])
    check("large: a good part stays", len(stacks["nodes"]) >= 5000, len(stacks["nodes"]))
    rest = [i for i, frame in enumerate(stacks["nodes"]) if frame == -2]
    parents = [i - stacks["parents"][i] for i in rest]
    check("large: one node a parent has what was left out", rest and len(set(parents)) == len(parents), len(rest))
    # Names of a megabyte in all.
    long = ["env argv ./long", "env source clock", "module kernel [kernel]", *(f"symbol 0 {0x1000 * (i + 1):#x} 0x100 {'n' * 3000}{i}" for i in range(2000)),
            "thread 1 1 app app", "clock 1000", *(f"tally 0 0 {i + 1} {i + 1}000000 0:{0x1000 * (i + 1) + 4:#x}" for i in range(2000))]
    check_page("long names", folder, compose_lines(folder, "long", long))


def endings(folder):
    """Where nothing can be shown, no page is made; what is there stays."""
    out = os.path.join(folder, "kept.html")
    with open(out, "w", encoding="utf-8") as file:
        file.write("kept")
    def ends(code, *words):
        done = subprocess.run([TDREPORT, "html", *words], capture_output=True, check=False, cwd=folder)
        check(f"tdreport html {words}: exit {code}", done.returncode == code, (done.returncode, done.stderr))
        return done
    clock = compose(folder, "clock", "clock")
    ends(4, "-i", clock, "--function", "no_such", "-o", out)
    ends(2, "-i", os.path.join(folder, "none.td"), "-o", out)
    ends(2, "-i", clock, "-o", out, "--no-such")
    ends(3, "-i", clock, "-o", os.path.join(folder, "none", "x.html"))
    with open(out, encoding="utf-8") as file:
        check("what was there stays", file.read() == "kept")
    done = ends(0, "-i", clock, "-o", "-")
    check_form("stdout", done.stdout.decode())
    check("stdout: nothing else is said", done.stderr == b"", done.stderr)
    done = ends(0, "-i", clock)
    check("report.html is the default", os.path.exists(os.path.join(folder, "report.html")) and b"report.html" in done.stderr, done.stderr)
    check("a page is made twice the same", ends(0, "-i", clock, "-o", "-").stdout == ends(0, "-i", clock, "-o", "-").stdout)
    damaged = os.path.join(folder, "damaged.td")
    with open(clock, "rb") as source, open(damaged, "wb") as target:
        data = bytearray(source.read())
        data[len(data) // 2] ^= 0xff
        target.write(data)
    done = subprocess.run([TDREPORT, "html", "-i", damaged, "-o", os.path.join(folder, "damaged.html")], capture_output=True, check=False)
    check("of a damaged profile there is a page, or a reason", done.returncode in (0, 3) and done.stderr, done)
    if os.path.exists("/dev/full"):  # a device is written to, not replaced
        full = os.path.join(folder, "full")
        os.symlink("/dev/full", full)
        ends(3, "-i", clock, "-o", full)
        check("a device stays one", os.path.islink(full))


def browser(folder):
    modules = os.path.join(VIEWERS, "node_modules")
    node = os.path.join(modules, ".bin", "node")
    chromium = shutil.which("chromium") or skip("chromium is not installed")
    for what in ("puppeteer-core", "axe-core"):
        if not os.path.exists(os.path.join(modules, what)):
            skip(f"npm's {what} is not installed (scripts/viewers)")
    if not os.path.exists(node):
        node = shutil.which("node") or skip("node is not installed")
    pages = []
    for name, path in [("sim", compose(folder, "sim", "sim")), ("pmu", compose(folder, "pmu", "pmu")), ("clock", compose(folder, "clock", "clock")),
                       ("diff", compose(folder, "sim", "changed", "tally 0 0 9000000 90000,90000000,6000,12000,2000,70000,90000000 0:0x1010")),
                       ("passes", compose(folder, "passes", "passes")), ("hostile", hostile_profile(folder)),
                       ("large", compose_lines(folder, "large", large_lines(100000)))]:
        out = os.path.join(folder, name + ".html")
        run("html", "-o", out, "-i", path, *(["--diff", pages[0]["profile"]] if name == "diff" else []))
        report = os.path.join(folder, name + ".json")
        with open(report, "wb") as file:
            file.write(run("--json", "-n", "1000000", "-i", path))
        pages.append({"name": name, "page": out, "report": report, "profile": path})
    done = subprocess.run([node, os.path.join(HERE, "page.cjs"), modules, chromium, json.dumps(pages)], check=False, timeout=170)
    check("page.cjs", done.returncode == 0, done.returncode)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        {"composed": composed, "imported": imported, "hostile": hostile, "large": large, "endings": endings, "browser": browser}[PART](folder)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
